"""Every question against an answer by counting row by row, its promise against all neighbours, its cost as counted."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.release.noise import Noise
from parties.jobs.release.predicates import parse
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.result_files import picture as svg_of
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import SCHEMA, Known, Row, asked, counts, known_noise, state_of

ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SCHEMA.attributes.items()}), max_size=12
)
WHERE = st.sampled_from([None, "sex = male", "age in [old, young] and visits in [0, 2, 3.5, -1]", "outcome = bad"])
BY = st.sampled_from([None, ("sex",), ("outcome", "age")])
NAMES = sorted(name.removeprefix("release ") for name in kinds.BUILT_IN if name.startswith("release "))


def meant(rows: Sequence[Row], where: str | None) -> list[Row]:
    (predicate,) = parse(where or "", SCHEMA)
    return [row for row in rows if all(row[column] in values for column, values in predicate.wanted)]


def numbers(rows: Sequence[Row]) -> list[Fraction]:
    return [Fraction(row["visits"]) for row in rows if row["visits"] != "?"]


def without_none(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def by_group(
    rows: Sequence[Row], where: str | None, by: Sequence[str] | None, answer: Callable[[list[Row]], Any]
) -> list[tuple[Row, Any]]:
    """The answer of each group of rows, in the order of the schema's values."""
    (predicate,) = parse(where or "", SCHEMA)
    found = meant(rows, where)
    cells = product(*(predicate.values(column, SCHEMA) for column in by or ()))
    groups = [dict(zip(by or (), cell, strict=True)) for cell in cells]
    return [(cell, answer([row for row in found if cell.items() <= row.items()])) for cell in groups]


def pearson(rows: list[Row]) -> float | None:
    """The correlation of visits, where they are known, and a bad outcome; None if one does not vary."""
    pairs = [(float(row["visits"]), float(row["outcome"] == "bad")) for row in rows if row["visits"] != "?"]
    if len(set(pairs)) < 2 or any(len(set(column)) < 2 for column in zip(*pairs, strict=True)):
        return None
    return statistics.correlation(*zip(*pairs, strict=True))


def told(document: dict[str, Any], key: str = "value") -> list[tuple[Row, Any]]:
    return [(one["cell"], one[key]) for one in document["numbers"]]


@settings(max_examples=25)
@given(ROWS, ROWS, WHERE, BY)
def test_exact_answers_are_those_of_counting(
    left: list[Row], right: list[Row], where: str | None, by: tuple[str, ...] | None
) -> None:
    rows, given_ = [*left, *right], without_none(where=where, exact=True)

    def answer(name: str, **more: Any) -> dict[str, Any]:
        task = asked(name, **given_, **more)
        return task.document(state_of(task, [left, right]))

    groups = without_none(by=by)
    assert told(answer("sum", column="visits", **groups)) == by_group(rows, where, by, lambda part: sum(numbers(part)))
    inputs = by_group(rows, where, by, lambda part: float(statistics.mean(numbers(part))) if numbers(part) else None)
    for (cell, mean), (other, expected) in zip(told(answer("mean", column="visits", **groups)), inputs, strict=True):
        assert cell == other
        assert mean == expected if expected is None else mean == pytest.approx(expected)
    spread = by_group(
        rows, where, by, lambda part: statistics.pstdev(map(float, numbers(part))) if numbers(part) else None
    )
    for (cell, deviation), (other, expected) in zip(
        told(answer("deviation", column="visits", **groups)), spread, strict=True
    ):
        assert cell == other
        assert deviation == expected if expected is None else deviation == pytest.approx(expected, abs=1e-9)
    together = by_group(rows, where, by, pearson)
    for (cell, value), (other, expected) in zip(
        told(answer("correlation", numeric=("visits", "outcome"), **groups)), together, strict=True
    ):
        assert cell == other
        assert (value is None) == (expected is None)
        assert value is None or value == pytest.approx(expected, abs=1e-9)
    columns = by or ("age",)
    table = answer("table", by=columns)
    assert told(table) == by_group(rows, where, columns, len)
    for column in columns:
        margins = [(m["cell"], m["value"]) for m in table["margins"] if column in m["cell"]]
        assert margins == by_group(rows, where, [column], len)
        histogram = answer("histogram", by=column)
        assert told(histogram) == by_group(rows, where, [column], len)
        assert histogram["total"]["value"] == table["total"]["value"] == len(meant(rows, where))
    for cell, value in told(answer("median", column="visits", **groups)):
        part = numbers([row for row in meant(rows, where) if cell.items() <= row.items()])
        assert not part or statistics.median_low(part) <= value <= statistics.median_high(part)
    of = "sex" if by == ("outcome", "age") else "age"
    candidates = parse(where or "", SCHEMA)[0].values(of, SCHEMA)

    def most(part: list[Row]) -> list[str]:
        found = Counter(row[of] for row in part)
        return sorted(candidates, key=lambda value: -found[value])[: len(candidates) - 1]

    if len(candidates) > 1:
        first = answer("top", column=of, first=len(candidates) - 1, **groups)
        assert told(first, "first") == by_group(rows, where, by, most)


@settings(max_examples=15)
@given(ROWS, ROWS)
def test_exact_counts_and_models(left: list[Row], right: list[Row]) -> None:
    rows = [*left, *right]
    task = asked("count", where="sex = male; age = old and outcome != good; all", exact=True)
    found = task.document(state_of(task, [left, right]))["numbers"]
    texts = ["sex = male", "age = old and outcome = bad", "all rows"]
    expected = [len(meant(rows, text if text != "all rows" else None)) for text in texts]
    assert [(one["of"], one["value"]) for one in found] == list(zip(texts, expected, strict=True))
    task = asked("naive-bayes", columns=("visits", "age"), where="sex = male", exact=True)
    document = task.document(state_of(task, [left, right]))
    males = meant(rows, "sex = male")
    assert document["classes"] == {label: sum(row["outcome"] == label for row in males) for label in ("good", "bad")}
    assert list(document["columns"]) == ["age", "visits"]
    for column, table in document["columns"].items():
        for value, line in table.items():
            assert line == [sum((row[column], row["outcome"]) == (value, c) for row in males) for c in ("good", "bad")]


@pytest.mark.parametrize("noise", [-7, 0, 3])
def test_noise_is_added_to_every_number(noise: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise that is known: what is opened is the exact number and it, in the units of the question."""
    monkeypatch.setattr(Noise, "law", known_noise(noise))
    row = {"age": "old", "sex": "male", "visits": "3.5", "outcome": "bad"}
    rows = [[row] * 20, [row | {"visits": "-1", "sex": "female"}] * 10]
    cases: list[tuple[str, dict[str, Any]]] = [
        ("count", {"where": "sex = male; age = old"}),
        ("histogram", {"by": "age"}),
        ("table", {"by": ("sex", "age")}),
        ("sum", {"column": "visits", "by": ("sex",)}),
        ("mean", {"column": "visits"}),
        ("deviation", {"column": "visits"}),
        ("correlation", {"numeric": ("outcome", "visits")}),
        ("naive-bayes", {}),
        ("marginals", {"ways": 3}),
    ]
    for name, given_ in cases:
        exact = state_of(asked(name, **given_, exact=True), rows)
        assert state_of(asked(name, **given_), rows) == [number + noise for number in exact], name
    task = asked("sum", column="visits", by=("sex",))
    document = task.document(state_of(task, rows))
    male, female = document["numbers"]
    assert (male["noisy"], female["noisy"]) == (70 + noise / 2, -10 + noise / 2)  # in halves
    assert male["low"] < male["noisy"] < male["high"]
    assert document["scale"] == 3.5
    task = asked("histogram", by="age")
    young = task.document(state_of(task, rows))["numbers"][0]
    assert (young["noisy"], young["value"]) == (noise, max(noise, 0))
    task = asked("table", by=("sex", "age"))
    document = task.document(state_of(task, rows))
    assert document["total"]["value"] == max(30 + 6 * noise, 0)
    assert sum(one["value"] for one in document["numbers"]) == document["total"]["value"]


SUMS: list[tuple[str, dict[str, Any]]] = [
    ("count", {"where": "sex = male"}),
    ("count", {"where": "sex = male; age = old; sex = female; age in [old, young]"}),
    ("count", {"where": "age = young; age = old; age = old and sex = male"}),
    ("count", {"where": "sex = male; sex = female", "delta": 1e-6}),
    ("count", {"where": "sex = male; age = old; outcome = bad", "delta": 1e-6}),
    ("histogram", {"by": "age"}),
    ("histogram", {"by": "age", "where": "age = old"}),
    ("table", {"by": ("age", "sex")}),
    ("sum", {"column": "visits"}),
    ("sum", {"column": "visits", "by": ("age", "sex")}),
    ("sum", {"column": "visits", "where": "visits in [2, 3.5]"}),
    ("deviation", {"column": "visits"}),
    ("correlation", {"numeric": ("visits", "outcome"), "where": "sex = male"}),
    ("mean", {"column": "visits"}),
    ("mean", {"column": "visits", "by": ("sex",), "where": "age != old"}),
    ("naive-bayes", {}),
    ("naive-bayes", {"where": "sex = male", "columns": ("age",), "delta": 1e-5}),
    ("marginals", {"where": "sex = male", "columns": ("age", "outcome", "sex")}),
    ("marginals", {"sets": "age; age,outcome; visits", "delta": 1e-5}),
]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(("name", "given_"), SUMS, ids=str)
def test_no_neighbours_are_told_apart_better_than_promised(name: str, given_: dict[str, Any], adjacency: str) -> None:
    """Over all rows that can be added, or put in another's place: the loss of all numbers together is epsilon at most.

    That of a number is its change over the scale, or for Gaussian noise the square of it over 2 sigma^2. And it is no
    promise that is kept with more noise than it takes: for some neighbours the loss is what it may be.
    """
    task = asked(name, **given_, epsilon=0.75, adjacency=adjacency)
    every = [dict(zip(SCHEMA.attributes, values, strict=True)) for values in product(*SCHEMA.attributes.values())]
    brought = [np.zeros(task.query.numbers, dtype=np.int64), *(task.own_rows(counts(task, [row])) for row in every)]
    table = np.unique(np.array(brought), axis=0)
    others = table if adjacency == "replace" else table[~table.any(axis=1)]
    changes = np.abs(table[:, None] - others[None]).reshape(-1, task.query.numbers)
    spent, end = np.zeros(len(changes)), 0
    for part in task.query.parts:
        assert part.noise is not None
        start, end = end, end + part.numbers
        change, scale = changes[:, start:end], float(part.noise.scale)
        gaussian = part.noise.family == "discrete Gaussian"
        spent += (change**2).sum(axis=1) / (2 * scale**2) if gaussian else change.sum(axis=1) / scale
    promised = float(sum(loss.amount for loss in task.disclosure.spends))
    assert {one.adjacency for one in task.disclosure.spends} == {adjacency}
    assert spent.max() <= promised * (1 + 1e-9)
    some = given_.get("where", "").count(";") == 3 or (name, adjacency) == ("sum", "replace")
    if not some:  # of these the promise is kept with a little more than it takes
        assert spent.max() >= promised * (1 - 1e-9)
    if "delta" not in given_:
        assert promised == pytest.approx(0.75)


@pytest.mark.parametrize("name", ["median", "top"])
def test_choices_take_noise_for_every_place_and_once_more_if_replaced(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for first, adjacency, scale in ((1, "add-remove", 4), (1, "replace", 8), (2, "add-remove", 8), (2, "replace", 12)):
        if name == "median" and first > 1:
            continue
        more = {"first": first} if name == "top" else {}
        task: Any = asked(name, column="visits", epsilon=0.25, adjacency=adjacency, **more)
        (mechanism,) = task.query.mechanisms
        assert (mechanism.scale, mechanism.sensitivity / mechanism.epsilon) == (scale, scale)
        assert [(one.amount, one.adjacency) for one in task.disclosure.spends] == [(0.25, adjacency)]
    values, groups = 5 if name == "top" else 4, 3
    counted: list[int] = []
    monkeypatch.setattr(Noise, "law", lambda self, numbers: counted.append(numbers) or Known(0))
    asked(name, column="visits", by=("age",), **more)
    assert counted == [values * groups]  # so that all samples are within 2^-40 together


@pytest.mark.parametrize(("name", "by", "many"), [("histogram", "age", 3), ("table", ("age", "sex"), 6)])
def test_a_law_is_for_all_numbers_together(monkeypatch: pytest.MonkeyPatch, name: str, by: Any, many: int) -> None:
    counted: list[int] = []
    monkeypatch.setattr(Noise, "law", lambda self, numbers: counted.append(numbers) or Known(0))
    assert state_of(asked(name, by=by), [[], []]) == [0] * many
    assert set(counted) == {many}


ASKED: dict[str, dict[str, Any]] = {
    "count": {"where": "sex = male; age = old; outcome = bad", "delta": 1e-6},
    "histogram": {"by": "age"},
    "edges": {"numeric": ("visits",), "parts": 2},
    "table": {"by": ("age", "outcome")},
    "sum": {"column": "visits"},
    "mean": {"column": "visits", "by": ("sex",)},
    "choose": {"column": "visits", "prices": "1,2,3.5", "by": ("sex",)},
    "deviation": {"column": "visits", "by": ("sex",)},
    "correlation": {"numeric": ("visits", "outcome"), "by": ("sex",)},
    "median": {"column": "visits", "by": ("sex",)},
    "top": {"column": "age", "first": 2},
    "naive-bayes": {"delta": 1e-6},
    "marginals": {"sets": "age,outcome; sex", "delta": 1e-6},
    "triangles": {"columns": ("age", "visits"), "where": "sex = male", "delta": 1e-6},
    "risks": {"target": "outcome", "target_value": "bad", "by": "sex"},
    "rates": {"target": "visits", "by": "sex", "where": "visits in [0, 2]"},
    "difference": {"column": "visits", "by": "sex"},
}


def test_the_cases_are_all_questions() -> None:
    assert sorted(ASKED) == NAMES


def test_a_question_is_about_its_target_unless_it_names_others() -> None:
    subjects = {name: asked(name, **about, epsilon=1.0).disclosure.subject for name, about in ASKED.items()}
    others = {"count": "", "triangles": "", "correlation": "visits and outcome", "marginals": "'age', 'outcome', 'sex'"}
    compared = {"risks": "sex", "rates": "sex", "difference": "sex"}
    targets = {name: asked(name, **about, epsilon=1.0).query.target for name, about in ASKED.items()}
    assert subjects == {**targets, **others, **compared}
    assert (targets["mean"], targets["top"], targets["naive-bayes"]) == ("visits", "age", "outcome")


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw")], ids=str)
@pytest.mark.parametrize("exact", [False, True], ids=["noisy", "exact"])
@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_what_is_measured(name: str, exact: bool, profile: Profile) -> None:
    given_ = {key: value for key, value in ASKED[name].items() if not (exact and key == "delta")}
    task = asked(name, **given_, **({"exact": True} if exact else {}))
    counted = forecast(task.cost(Inputs()).program, profile)
    meters: dict[int, Any] = {}
    row = {"age": "old", "sex": "male", "visits": "2", "outcome": "bad"}

    def program(session: Any) -> Any:
        meters[session.party] = session.meter
        own = task.own_rows(counts(task, [row] * 5))
        return task.run(engine_of(session, profile), own, None, lambda step: None)

    one, other = run_local(program)
    assert one == other
    assert sum(task.disclosure.opened(one).values()) == len(one)
    assert task.disclosure.opened(None) == dict.fromkeys(task.disclosure.opened(one), 0)
    for party in (0, 1):
        for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(counted.costs[party], field) == getattr(meters[party].total, field), field


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_a_question(name: str) -> None:
    """Noise and what it promises, or that there is none; the result as JSON, as text and as a picture."""
    row = {"age": "old", "sex": "male", "visits": "2", "outcome": "bad"}
    noisy = asked(name, **ASKED[name])
    exact = asked(name, **{key: value for key, value in ASKED[name].items() if key != "delta"}, exact=True)
    assert "with noise that neither knows" in noisy.disclosure.reveals("bob")[0]
    assert "e^1 = 2.72" in noisy.disclosure.reveals("bob")[0]
    assert "exactly" in exact.disclosure.reveals("bob")[0]
    assert "this tells each party the other's number" in exact.disclosure.reveals("bob")[0]
    assert (noisy.exact, exact.exact, exact.disclosure.spends) == (False, True, ())
    assert noisy.disclosure.spends
    delta = ASKED[name].get("delta")
    assert ("but for events of probability 1e-06" in noisy.disclosure.reveals("bob")[0]) == (delta is not None)
    for task in (noisy, exact):
        document = task.document(state_of(task, [[row] * 5, [row] * 4]))
        assert document.get("delta") == (None if task.exact else delta)
        assert ("epsilon 1, delta 1e-06" in type(task).text(document, 0)) == (delta is not None and not task.exact)
        assert json.loads(json.dumps(document)) == document
        text = type(task).text(document, 0)
        assert text.endswith("\n")
        assert ("exact, without noise" in text) == task.exact
        assert ("epsilon 1" in text) != task.exact
        is_drawn = issubclass(task.Settings, DrawnSettings)
        picture = svg_of(type(task).files(), document)
        assert (picture is not None) == is_drawn
        names = [file.name for file in type(task).files()]
        assert (f"{task.about.noun}.svg" in names) == is_drawn


def test_percentages_within_a_column_add_up_to_100_there() -> None:
    task = asked("table", by=("sex", "age"), within=("sex",), exact=True)
    document = task.document([10, 20, 30, 4, 0, 0])
    found = {(one["cell"]["sex"], one["cell"]["age"]): one["percent"] for one in document["numbers"]}
    assert document["within"] == ["sex"]
    assert found["male", "middle"] == pytest.approx(100 * 20 / 60, abs=1e-5)
    assert found["female", "young"] == 100
    margins = {next(iter(one["cell"].values())): one["percent"] for one in document["margins"]}
    assert margins["male"] == pytest.approx(100 * 60 / 64, abs=1e-5)  # of all
    assert "percentages of the rows of each sex" in task.text(document, 0)
    with pytest.raises(InputError, match="within: 'outcome' is not one of the columns of by"):
        asked("table", by=("sex", "age"), within=("outcome",))
