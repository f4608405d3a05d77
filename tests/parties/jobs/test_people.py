"""Noise that hides people: every kind scales it by the rows of a person, and no person is told apart better than
promised."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Kind, people, refusal
from parties.jobs.release.noise import Noise, gauss, laplace, noisy_max, private_bound
from parties.jobs.spending import ConcentratedLoss
from parties.sources import TableSettings
from parties.tables.schema import Schema
from protocols.release import triangles
from protocols.release.laplace import DiscreteLaplace
from smc.counting import forecast
from smc.engines import Profile
from tests.support.questions import SCHEMA, asked, counts

pytestmark = pytest.mark.slow

EPSILON = 0.75
ASKED: dict[str, dict[str, Any]] = {
    "release count": {"where": "sex = male; age = old"},
    "release histogram": {"by": "age"},
    "release table": {"by": ("age", "sex")},
    "release sum": {"column": "visits"},
    "release mean": {"column": "visits"},
    "release deviation": {"column": "visits"},
    "release correlation": {"numeric": ["visits", "outcome"]},
    "release median": {"column": "visits"},
    "release top": {"column": "age", "first": 2},
    "release choose": {"column": "visits", "prices": "1,2.5"},
    "release triangles": {"columns": ("age", "visits"), "delta": 1e-6},
    "release naive-bayes": {"delta": 1e-6},
    "release marginals": {"sets": "age,outcome; sex", "delta": 1e-6},
    "release edges": {"numeric": ("visits",)},
    "evaluate report": {
        "classifier": '{"target": "outcome", "classes": {"good": 3, "bad": 2}, "columns": {"sex": {"male": [2, 1], '
        '"female": [1, 1]}}}',
        "target_value": "bad",
    },
    "evaluate error": {
        "classifier": '{"target": "visits", "least": 0, "greatest": 2, "intercept": 1, "columns": {}}',
    },
    "release risks": {"target": "outcome", "target_value": "bad", "by": "sex"},
    "release rates": {"target": "visits", "by": "sex", "where": "visits in ['0', '2']"},
    "release difference": {"column": "visits", "by": "sex"},
    "survive curve": {"time": "visits", "event": "outcome", "event_value": "bad"},
    "quantile": {"column": "visits"},
    "rules": {"first": 4},
    "scorecard": {"delta": 1e-6},
    "test chi2": {"columns": ("age", "outcome")},
    "test proportions": {"target": "outcome", "by": "sex"},
    "test trend": {"target": "outcome", "by": "age"},
    "test welch": {"column": "visits", "by": "sex"},
    "cluster": {"columns": ("visits",), "bounds": ("-1:4",), "k": 2, "method": "in-process", "iterations": 3},
    "regress joint": {"target": "outcome", "delta": 1e-6},
    "regress logistic": {"target": "outcome", "target_value": "bad", "columns": ("age",)},
    "regress poisson": {"target": "visits", "columns": ("sex",), "where": "visits in ['0', '2']"},
    "survive cox": {"time": "visits", "event": "outcome", "event_value": "bad", "columns": ("sex",)},
    "boost": {"target": "outcome", "delta": 1e-6, "rounds": 2},
    "synthesise": {"delta": 1e-6, "columns": ("age", "sex")},
    "publish joint-table": {"by": "age", "across": "sex"},
    "id3": {"target": "outcome", "max_depth": 2},
}
MORE: list[tuple[str, dict[str, Any]]] = [
    ("release count", {"where": "sex = male; age = old", "delta": 1e-6}),
    ("cluster", {"columns": ("visits",), "bounds": ("-1:4",), "k": 2, "method": "grid"}),
    ("regress joint", {"target": "outcome", "method": "output", "delta": 1e-6, "least_rows": 500}),
    ("regress joint", {"target": "visits", "method": "ridge", "delta": 1e-6, "columns": ("age", "sex")}),
    ("regress joint", {"target": "outcome", "method": "choice", "columns": ("visits",), "numeric": ("visits",)}),
    ("synthesise", {"delta": 1e-6, "columns": ("age", "sex"), "select": "mst"}),
    ("publish joint-table", {"by": "age", "sum": "visits"}),
    ("id3", {"target": "outcome", "max_depth": 1, "epsilon": None, "support_epsilon": EPSILON}),
    ("id3", {"target": "outcome", "max_depth": 1, "quality": "gini", "trees": 2}),
]


def task_of(name: str, **said: Any) -> Any:
    kind = kinds.find(name)
    made = kind.Settings.model_validate({"max_rows": 1000, "epsilon": EPSILON, **said})
    schema = SCHEMA if "sum" not in said else Schema({**SCHEMA.attributes, "visits": ("0", "2", "7")}, "outcome")
    return kind.canonical(made, schema)  # type: ignore[attr-defined]


def noises(task: Any) -> list[Fraction]:
    """The scale of all noise that a task takes, whatever it is; of what depends on the rows, for rows that may be."""
    match task.name:
        case "id3" if task.settings.support_epsilon is not None:
            return [task.noise.scale]
        case "id3":
            problem = task.problem
            return [problem.class_law().scale, *(problem.attribute_law(left).scale for left in (1, 2))]
        case "regress joint" if task.settings.method == "choice":
            return [task.method.law.scale]
        case "regress joint" if task.settings.method == "output":
            return [task.method.noise.scale * Fraction(task.method.unit)]
        case "regress joint":
            return [task.method.noise.scale]
        case "boost":
            return [task.noise.scale]
        case "regress logistic" | "regress poisson" | "survive cox":  # of a sum, whatever its unit
            return [Fraction(task.scoring.sigma) / (1 << task.scoring.fraction)]
        case "rules":
            return [noise.scale for noise in task.mechanisms]
        case "synthesise":
            work, epsilon = task.work, Fraction(1, 10)
            return [work.sigma(work.rho / 4), Fraction(2 * work.moved) / epsilon]
        case "publish joint-table":
            return [noise.scale for noise in (task.noise, task.rows_noise) if noise is not None]
        case "release triangles":
            settings = task.epsilon, task.replaced, task.settings.together
            return [triangles.bound_law(settings[0], settings[2]).scale, triangles.answer_law(3, *settings).scale]
        case _:
            return [noise.scale for noise in task.query.mechanisms]


def test_the_cases_are_all_kinds_with_noise() -> None:
    """A kind on tables that spends stands here: none hides rows where people are asked for."""
    noisy = {kind.name for kind in kinds.every() if "epsilon" in kind.Settings.model_fields}
    assert noisy == {name for name in kinds.names() if name in ASKED}
    assert all("at_most" in kinds.find(name).Settings.model_fields for name in ASKED)


def reads_tables() -> list[type[Kind]]:
    return [
        kind
        for kind in kinds.every()
        if any(f in kind.Settings.model_fields for f in ("max_rows", "of", "what", "target"))
    ]


def test_all_kinds_on_tables_know_people() -> None:
    """But for classify: its matched rows are one a person."""
    without = [kind.name for kind in reads_tables() if "at_most" not in kind.Settings.model_fields]
    assert without == ["classify"]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("at_most", [1, 2, 5])
@pytest.mark.parametrize(("name", "said"), [*ASKED.items(), *MORE], ids=str)
def test_noise_grows_with_the_rows_of_a_person(name: str, said: dict[str, Any], at_most: int, adjacency: Any) -> None:
    """Epsilon stays what is asked for, promised and charged; the noise has `at_most` times the scale."""
    fixed = {"rate": 1.0, "clip": 1.0, "steps": 10} if name == "regress joint" and "method" not in said else {}
    fixed |= {"lambda": 0.01} if name == "regress joint" else {}
    by_row = task_of(name, **said, **fixed, adjacency=adjacency)
    by_person = task_of(name, **said, **fixed, adjacency=adjacency, at_most=at_most)
    for of_person, of_row in zip(noises(by_person), noises(by_row), strict=True):
        # What is rounded, of sums once however many rows of a person are in them, does not grow.
        assert float(of_person / of_row) == pytest.approx(
            at_most, rel=0.02 if name.startswith(("regress", "boost", "survive cox")) else 2e-5
        )
    charged = [(loss.measure, float(loss.amount), loss.times, loss.delta) for loss in by_person.disclosure.spends]
    known = [(loss.measure, float(loss.amount), loss.times, loss.delta) for loss in by_row.disclosure.spends]
    for one, other in zip(charged, known, strict=True):
        assert one[::2] == other[::2]
        assert one[1] == pytest.approx(other[1], rel=2e-4)
    assert by_person.specification()["at_most"] == at_most
    assert "at_most" not in by_row.specification()
    assert type(by_person).agreed(by_person.specification()).specification() == by_person.specification()
    told = " ".join(by_person.disclosure.reveals("B") + people(by_person))
    assert f"at most {at_most} row" in told.lower()
    assert "one row is there" not in told
    assert "counts at both: for such a person epsilon is twice as much" in told
    assert not people(by_row)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_law_is_that_of_scaled_sensitivity(rows: int) -> None:
    """A person in the exact law: pure noise costs epsilon, Gaussian noise rho, for `rows` rows all moved one way."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    pure = laplace(epsilon, 3, "add-remove", rows)
    assert pure.scale == 6 * rows
    assert noisy_max(epsilon, 3, "replace", rows).scale == 6 * rows
    assert private_bound(epsilon, delta, "add-remove", rows).scale == 4 * rows
    law = DiscreteLaplace(laplace(epsilon, 1, "add-remove", rows).scale, 40).probabilities()
    near = [x for x in law if x + rows in law and law[x] > Fraction(1, 10**6)]
    losses = [abs(math.log(law[x] / law[x + rows])) for x in near]
    assert max(losses) == pytest.approx(0.5, abs=1e-4)
    gaussian = gauss(epsilon, delta, 4, "add-remove", rows)
    assert isinstance(gaussian.loss, ConcentratedLoss)
    assert float(rows**2 * 4 / (2 * gaussian.scale**2)) == pytest.approx(float(gaussian.loss.rho))
    assert gaussian.loss.rho == pytest.approx(gauss(epsilon, delta, 4, "add-remove").loss.amount, rel=1e-4)


PEOPLE = [
    ("count", {"where": "sex = male; age = old; visits in [2, 3.5]"}),
    ("count", {"where": "sex = male; outcome = bad", "delta": 1e-5}),
    ("histogram", {"by": "age"}),
    ("table", {"by": ("age", "outcome")}),
    ("sum", {"column": "visits", "by": ("sex",)}),
    ("mean", {"column": "visits"}),
    ("naive-bayes", {"columns": ("age",), "delta": 1e-5}),
    ("marginals", {"sets": "age; age,outcome", "delta": 1e-5}),
]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("at_most", [1, 2])
@pytest.mark.parametrize(("name", "said"), PEOPLE, ids=str)
def test_no_person_is_told_apart_better_than_promised(
    name: str, said: dict[str, Any], at_most: int, adjacency: Any
) -> None:
    """By brute force over all rows that a person can have: their numbers' loss is epsilon, or rho, at most."""
    task = asked(name, **said, epsilon=EPSILON, adjacency=adjacency, at_most=at_most)
    used = {column: values for column, values in SCHEMA.attributes.items() if column in task.columns}
    rest = {column: values[0] for column, values in SCHEMA.attributes.items()}
    rows = [{**rest, **dict(zip(used, values, strict=True))} for values in product(*used.values())]
    brought = [task.own_rows(counts(task, list(own))) for own in combinations_with_replacement(rows, at_most)]
    table = np.unique(np.array(brought), axis=0)
    others = table if adjacency == "replace" else np.zeros((1, task.query.numbers), dtype=np.int64)
    worst = Fraction(0)
    spent = np.zeros((len(table), len(others)))
    end = 0
    for part in task.query.parts:
        assert part.noise is not None
        start, end = end, end + part.numbers
        change = np.abs(table[:, None, start:end] - others[None, :, start:end])
        scale = float(part.noise.scale)
        is_gaussian = part.noise.family == "discrete Gaussian"
        spent += (change**2).sum(axis=2) / (2 * scale**2) if is_gaussian else change.sum(axis=2) / scale
    promised = float(sum((loss.amount for loss in task.disclosure.spends), worst))
    assert spent.max() <= promised * (1 + 1e-9)
    assert spent.max() >= promised * (0.45 if name in ("mean", "sum", "count") else 1 - 1e-9)


def test_a_bug_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for one row only is caught by the brute force above."""
    monkeypatch.setattr(
        "parties.jobs.release.kind.laplace", lambda epsilon, change, kind, rows: laplace(epsilon, change, kind)
    )
    with pytest.raises(AssertionError):
        test_no_person_is_told_apart_better_than_promised("histogram", {"by": "age"}, 2, "add-remove")


def most_common(edges: np.ndarray) -> tuple[int, int]:
    """LS and the triangles of an adjacency matrix."""
    common = edges @ edges
    pairs = np.triu_indices(len(edges), 1)
    return int(common[pairs].max(initial=0)), int(np.trace(edges @ common)) // 6


@pytest.mark.parametrize("together", [1, 2, 3])
def test_what_edges_of_a_person_change(together: int) -> None:
    """Triangles by brute force: LS moves by `together` at most, T by `together` (LS + together // 2), of both."""
    rng = np.random.default_rng(2)
    size, reached = 6, 0.0
    first, second = np.triu_indices(size, 1)
    for _ in range(300):
        present = rng.random(len(first)) < rng.choice([0.3, 0.6, 0.9])
        fewer = present.copy()
        there = np.flatnonzero(present)
        fewer[rng.permutation(there)[:together]] = False
        found = []
        for edges in (present, fewer):
            matrix = np.zeros((size, size), dtype=np.int64)
            matrix[first[edges], second[edges]] = matrix[second[edges], first[edges]] = 1
            found.append(most_common(matrix))
        (one, many), (other, less) = found
        assert abs(one - other) <= together
        for local in (one, other):
            assert many - less <= together * min(local + together // 2, size - 2)
        reached = max(reached, (many - less) / max(1, together * other))
    assert reached >= 1  # without the shift by together // 2 it would not be enough, or just
    noisy, epsilon, delta = 2, Fraction(1), Fraction(1, 1000)
    shift = triangles.bounded(noisy, 1000, epsilon, delta, together) - noisy
    law = DiscreteLaplace(Fraction(2 * together), 60).probabilities()
    below = sum(p for x, p in law.items() if x + shift < together // 2)
    assert below <= delta
    assert below + sum(p for x, p in law.items() if x + shift == together // 2) > delta


def test_estimates_are_of_the_noise_for_people() -> None:
    """The circuits of more noise are larger, and counted."""
    few, many = (
        forecast(task_of("release histogram", by="age", at_most=m).cost(Inputs()).program, Profile("yao"))
        for m in (1, 50)
    )
    assert few.bytes < many.bytes


def table_of(**said: Any) -> Inputs:
    table = TableSettings.model_validate({"source": "x.csv", "schema": "s.toml", "max_rows": 1000, **said})
    return Inputs(table=table, schema=SCHEMA)


def test_both_tables_have_to_be_about_the_same() -> None:
    people = table_of(person="patient", at_most=2)
    rows = table_of()
    assert refusal(task_of("release histogram", by="age", at_most=2), people) is None
    assert refusal(task_of("release histogram", by="age"), rows) is None
    assert refusal(task_of("release histogram", by="age", at_most=3), people) == (
        "at_most of the job must be 2, the bound on the rows of a person in the table here"
    )
    assert "must be 2" in str(refusal(task_of("release histogram", by="age"), people))
    assert refusal(task_of("release histogram", by="age", at_most=3), rows) == (
        "at_most of the job is 3, but the table here is of rows, not of people"
    )


def test_kinds_that_know_rows_only_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of("release histogram", by="age")
    monkeypatch.delitem(task.Settings.model_fields, "at_most")
    assert refusal(task, table_of(person="patient", at_most=2)) == (
        "the table here is of people, at most 2 rows of each, and this kind of job hides rows only"
    )


def test_what_is_typed_is_nobodys() -> None:
    kind = kinds.find("millionaires")
    task = kind(kind.Settings.model_validate({"at_most": 3}))
    assert refusal(task, Inputs()) == "at_most of the job is of a table's rows, and it reads none"


def test_exact_answers_say_whose_rows_are_counted() -> None:
    task = asked("count", where="sex = male", exact=True, at_most=4)
    assert not task.disclosure.spends
    assert people(task) == [
        "Of each person at most 4 rows take part at either party, chosen by that party's secret key.",
        "A person with rows at both parties counts at both.",
    ]


def test_noise_objects_say_the_persons_promise() -> None:
    task = asked("histogram", by="age", at_most=4)
    (mechanism,) = task.query.mechanisms
    assert isinstance(mechanism, Noise)
    assert (mechanism.scale, mechanism.epsilon, mechanism.sensitivity) == (4, 1, 4)
    assert [loss.amount for loss in task.disclosure.spends] == [1]
    assert "whether one person is there (at most 4 rows of each)" in task.promise()
    document = task.document([3] * task.query.numbers)
    assert (document["at_most"], document["scale"]) == (4, 4.0)
