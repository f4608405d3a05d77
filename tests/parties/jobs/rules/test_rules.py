"""Association rules against mlxtend on the union, and against counting by hand."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import apriori, association_rules

from parties.jobs import kinds
from parties.jobs.result_files import picture as svg_of
from parties.jobs.rules.exact import Found
from parties.jobs.rules.joint import shown
from parties.tables.schema import Schema
from protocols import association
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError, JointRefusalError
from smc.local import run_local
from smc.session import Session
from tests.support.places import SHARED
from tests.support.questions import counts

SCHEMA = Schema({"a": ("0", "1"), "b": ("x", "y", "z"), "c": ("0", "1"), "d": ("0", "1")}, "d")
Line = dict[str, str]
LINES = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SCHEMA.attributes.items()}), max_size=14
)


def task_of(schema: Schema = SCHEMA, **said: Any) -> Any:
    kind = kinds.find("rules")
    return kind.canonical(kind.Settings.model_validate({"max_rows": 5000, **said}), schema)  # type: ignore[attr-defined]


def state_of(task: Any, sides: Any, profile: Profile = Profile("clear")) -> Found:  # noqa: B008 (immutable)
    def party(session: Session) -> Any:
        own = task.own_rows(counts(task, sides[session.party]))
        return task.run(engine_of(session, profile), own, task.states.beginning, lambda step: None)

    one, other = run_local(party)
    assert one == other
    assert task.states.decode(task.states.encode(one)) == one
    return one


def test_missing_values_are_no_items_as_in_mlxtend() -> None:
    """A gap is no item: the frequent sets are those of one-hot columns of the values that are known."""
    schema = Schema({"a": ("x", "y", "?"), "b": ("?", "u", "v"), "c": ("0", "1")}, "c")
    rng = np.random.default_rng(3)
    lines = [
        {
            name: str(rng.choice(values, p=[0.2, 0.2, 0.6] if name == "a" else None))
            for name, values in schema.attributes.items()
        }
        for _ in range(300)
    ]
    hot = pd.DataFrame(
        {f"{n}={v}": [line[n] == v for line in lines] for n, vs in schema.attributes.items() for v in vs if v != "?"}
    )
    found: dict[str, set[frozenset[str]]] = {}
    for missing in ("leave out", "value"):
        task = task_of(schema, support=0.1, k=1, missing=missing)
        state = state_of(task, (lines[::2], lines[1::2]))
        document = task.document(state)
        found[missing] = {frozenset(items) for items in document["sets"]}
        assert document["missing"] == missing
        assert "missing values of 'a', 'b'" in task.disclosure.question
        assert "missing values of 'a', 'b'" in task.text(document, 0)
    assert found["leave out"] == {*apriori(hot, min_support=0.1, use_colnames=True, max_len=4)["itemsets"]}
    assert any("a=?" in items for items in found["value"])


def by_hand(lines: list[Line], task: Any) -> tuple[set[frozenset[str]], set[tuple[frozenset[str], frozenset[str]]]]:
    """All frequent sets and rules that hold, by trying every set."""
    settings_ = task.settings
    support, confidence, lift = (Fraction(str(getattr(settings_, n))) for n in ("support", "confidence", "lift"))
    rows = [frozenset(f"{name}={value}" for name, value in line.items()) for line in lines]

    def number(items: frozenset[str]) -> int:
        return sum(items <= row for row in rows)

    items = [f"{name}={value}" for name, values in task.schema.attributes.items() for value in values]
    sets = {
        chosen
        for size in range(1, settings_.max_length + 1)
        for chosen in map(frozenset, combinations(items, size))
        if len({item.split("=")[0] for item in chosen}) == size
        and number(chosen) >= max(support * len(rows), settings_.k)
    }
    rules = {
        (a, chosen - a)
        for chosen in sets
        for size in range(1, len(chosen))
        for a in map(frozenset, combinations(sorted(chosen), size))
        if number(chosen) >= confidence * number(a)
        and number(chosen) * len(rows) >= lift * number(a) * number(chosen - a)
    }
    return sets, rules


def told(document: Any) -> Any:
    return (
        {frozenset(items) for items in document["sets"]},
        {(frozenset(rule["if"]), frozenset(rule["then"])) for rule in document["rules"]},
    )


@settings(max_examples=60)
@given(
    LINES, LINES, st.sampled_from([0.01, 0.3, 0.5, 1.0]), st.sampled_from([0.5, 1.0]), st.sampled_from([0.0, 1.0, 1.2])
)
@example([{"a": "0", "b": "x", "c": "0", "d": "0"}] * 2, [{"a": "0", "b": "x", "c": "0", "d": "0"}], 0.5, 1.0, 1.0)
def test_all_sets_and_rules_of_any_rows(
    one: list[Line], other: list[Line], support: float, confidence: float, lift: float
) -> None:
    task = task_of(support=support, confidence=confidence, lift=lift, k=2, show="all")
    document = task.document(state_of(task, (one, other)))
    assert told(document) == by_hand([*one, *other], task)


@given(st.integers(0, 60), st.integers(0, 60), st.fractions(0, 1, max_denominator=40).filter(bool))
def test_the_share_of_all_rows_is_exact(one: int, other: int, support: Fraction) -> None:
    """Of each number of rows that a set may have, by whatever parts: it is frequent from `support` of all on."""
    numbers = list(range(one + other + 1))
    parts = [(min(one, number), number - min(one, number)) for number in numbers]
    problem = association.Problem(tuple(range(len(numbers))), 60, support)
    sets = [(number,) for number in numbers]

    def party(session: Session) -> Any:
        own = np.array([part[session.party] for part in parts], dtype=np.int64)
        return association.frequent(
            engine_of(session, Profile("clear")), problem, sets, own, (one, other)[session.party]
        )

    assert run_local(party)[0] == [(number,) for number in numbers if number >= support * (one + other)]


@pytest.mark.parametrize("cells", [1, 1 << 22])
def test_sets_of_any_length_are_counted(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table of all cells, or of those that rows are in where there are too many."""
    monkeypatch.setattr(association, "MOST_CELLS", cells)
    rng, values = np.random.default_rng(1), [2, 3, 4]
    places = np.array([(column, at) for column, size in enumerate(values) for at in range(size)])
    pieces = [np.column_stack([rng.integers(0, values, (size, 3)), rng.integers(1, 5, size)]) for size in (30, 0, 2)]
    sets = [items for size in (3, 1, 2) for items in combinations(range(9), size)]
    sets = [items for items in sets if len({int(places[item, 0]) for item in items}) == len(items)]
    everything = np.concatenate(pieces)
    expected = [
        everything[(everything[:, places[list(items), 0]] == places[list(items), 1]).all(axis=1), -1].sum()
        for items in sets
    ]
    assert association.counted(pieces, values, places, sets).tolist() == expected


def test_only_pairs_of_different_columns_are_candidates() -> None:
    """Two columns of 1,000 values: 1,000,000 pairs are few enough, 1,999,000 would not be."""
    problem = association.Problem(tuple([0] * 1000 + [1] * 1000), 10, Fraction(1, 2))
    assert len(problem.candidates((tuple((item,) for item in range(2000)),))) == 1_000_000


@pytest.mark.parametrize(
    ("rows", "support", "larger"), [(7, 0.5, False), (8, 0.5, True), (4, 1.0, True), (3, 1.0, False)]
)
def test_the_larger_bound_is_opened_first(rows: int, support: float, larger: bool) -> None:
    """Of `rows` in all, the share is four at least, or is not: then four rows are frequent and three are not."""
    task = task_of(k=4, support=support)
    line = {"a": "1", "b": "x", "c": "1", "d": "0"}
    state = state_of(task, ([line] * 2, [line] * (rows - 2)))
    assert state.by_support is larger
    assert told(task.document(state))[0] == by_hand([line] * rows, task)[0]


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw", "ferret")], ids=str)
def test_engines_agree_and_open_what_they_say(profile: Profile) -> None:
    rng = np.random.default_rng(3)
    lines = [
        {"a": str(a), "b": "xyz"[b], "c": str(a if rng.random() < 0.9 else 1 - a), "d": str(rng.integers(0, 2))}
        for a, b in zip(rng.integers(0, 2, 80), rng.integers(0, 3, 80), strict=True)
    ]
    task = task_of(support=0.2, show="all", max_rows=80)
    bits = 0
    steps = []

    def party(session: Session) -> Any:
        own = task.own_rows(counts(task, lines[:30] if session.party else lines[30:]))
        found = task.run(engine_of(session, profile), own, task.states.beginning, steps.append)
        return found, session.meter.total.bits_opened

    (state, bits), _ = run_local(party)
    assert told(task.document(state)) == by_hand(lines, task)
    assert (
        bits
        == task.disclosure.opened(state)["decision"]
        == sum(task.disclosure.bits.of_step(step) for step in steps) // 2
    )
    resumed = task.states.cut(state, 2)
    assert task.states.steps(resumed) == 2

    def onward(session: Session) -> Any:
        own = task.own_rows(counts(task, lines[:30] if session.party else lines[30:]))
        return task.run(engine_of(session, profile), own, resumed, lambda step: None)

    assert run_local(onward)[0] == state


@pytest.mark.skipif(not SHARED.exists(), reason="needs the shared tables")
@pytest.mark.parametrize(("name", "header"), [("car", None), ("house-votes-84", None), ("tic-tac-toe", None)])
def test_they_are_those_of_mlxtend(name: str, header: None) -> None:
    with (SHARED / "data" / f"{name}.csv").open() as file:
        columns, *lines = list(csv.reader(file))
    frame = pd.DataFrame(lines, columns=columns)
    schema = Schema({column: tuple(sorted(frame[column].unique())) for column in frame}, columns[-1])
    least, longest = {"car": (0.05, 3), "house-votes-84": (0.35, 3), "tic-tac-toe": (0.08, 3)}[name]
    task = task_of(schema, support=least, confidence=0.7, lift=1.1, max_length=longest, show="all", k=1)
    rows = [dict(zip(columns, line, strict=True)) for line in lines]
    document = task.document(state_of(task, (rows[::2], rows[1::2])))
    onehot = pd.get_dummies(frame, prefix_sep="=").astype(bool)
    frequent = apriori(onehot, min_support=least, use_colnames=True, max_len=longest)
    rules = association_rules(frequent, metric="confidence", min_threshold=0.7)
    rules = rules[rules.lift >= 1.1 - 1e-12]
    assert told(document) == (set(frequent.itemsets), set(zip(rules.antecedents, rules.consequents, strict=True)))
    assert document["rules"]


def test_what_is_shown_says_all() -> None:
    sets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    rules = [((0,), (1,)), ((0,), (1, 2)), ((0, 2), (1,)), ((1,), (2,))]
    assert shown(sets, rules, "non-redundant") == [((0,), (1, 2)), ((1,), (2,))]
    assert shown(sets, rules, "maximal") == [((0,), (1, 2)), ((0, 2), (1,))]
    assert set(shown(sets, rules, "all")) == set(rules)


def test_result_as_text_and_picture() -> None:
    task = task_of(k=1, support=0.5, confidence=0.9)
    lines = [{"a": "1", "b": "x", "c": "1", "d": "0"}] * 6
    document = task.document(state_of(task, (lines, lines)))
    assert document["rules"] == [] or document["sets"]
    assert "frequent sets" in task.text(document, 0)
    assert (svg_of(task.files(), document) or "").startswith("<?xml")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"support": 0.0}, "support"),
        ({"support": 1.5}, "support"),
        ({"columns": ("a",)}, "at least two"),
        ({"lift": 1.234567}, "lift: give at most 6 digits"),
        ({"support": 0.12345678901234567}, "support and confidence: give at most"),
        ({"columns": ("a", "q")}, "columns: 'q'"),
    ],
)
def test_wrong_questions_are_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises((InputError, ValueError), match=why):
        task_of(**said)


def test_a_column_that_items_cannot_name_is_refused() -> None:
    with pytest.raises(InputError, match="'a=b' has an = in its name"):
        task_of(Schema({"a=b": ("0", "1"), "c": ("0", "1")}, "c"))


def test_too_many_candidates_are_refused_before_anything_is_counted() -> None:
    wide = Schema({f"c{i}": tuple(map(str, range(400))) for i in range(4)}, "c0")
    with pytest.raises(InputError, match=r"columns: their values make 960,000 pairs|at most"):
        task_of(Schema({**wide.attributes, "e": tuple(map(str, range(400)))}, "e"))
    problem = association.Problem(tuple(range(3000)), 10, Fraction(1, 2))
    with pytest.raises(InputError, match="4,498,500 sets of 2"):
        problem.candidates((tuple((item,) for item in range(3000)),))


def test_too_many_rules_are_refused_before_they_are_made() -> None:
    """24 columns of which all values go together: the sets of each length fit, 240,200,270 rules of them do not."""
    problem = association.Problem(tuple(range(24)), 10, Fraction(1, 2), max_length=8)
    levels: association.Levels = ()
    while association.number_of_rules(levels) <= association.MOST_CANDIDATES:
        levels = (*levels, tuple(problem.candidates(levels)))
    with pytest.raises(InputError, match="1,436,580 rules may hold, at most 1,048,576"):
        problem.candidates(levels)
    assert len(levels) == 5
    some = levels[:4]
    assert association.number_of_rules(some) == len(association.rules_of(some))


def test_a_run_stops_in_a_line_where_rules_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(association, "MOST_CANDIDATES", 100)
    task = task_of(k=1, support=0.1)
    lines = [{"a": "1", "b": "x", "c": "1", "d": "0"}] * 6
    sizes: list[int] = []

    def party(session: Session) -> Any:
        own = task.own_rows(counts(task, lines))
        return task.run(
            engine_of(session, Profile("clear")), own, task.states.beginning, lambda step: sizes.append(step.size)
        )

    assert association.number_of_rules(run_local(party)[0].levels) == 50
    monkeypatch.setattr(association, "MOST_CANDIDATES", 49)
    sizes.clear()
    with pytest.raises(JointRefusalError, match="50 rules may hold"):
        run_local(party)
    assert sizes == [9, 9, 6, 6, 4, 4, 1, 1]  # sets of one to four, no rules


def test_a_run_stops_where_candidates_are_more_than_agreed() -> None:
    lines = [{"a": "1", "b": "x", "c": "1", "d": "0"}] * 6
    task = task_of(k=1, support=0.1, most=9)
    assert task.disclosure.bits.at_most == 5 * 9 + 1  # sets of four lengths, rules, and the larger bound
    with pytest.raises(JointRefusalError, match="at most 9 are decided"):
        state_of(task, (lines, lines))
    with pytest.raises(InputError, match="most: is less than the 9 values of the columns"):
        task_of(most=8)
    with pytest.raises(InputError, match="most cannot be combined with epsilon"):
        task_of(most=20, epsilon=1.0)
    with pytest.raises(InputError, match="first needs epsilon"):
        task_of(first=3)


def test_k_counts_people() -> None:
    """Of people with at most 3 rows each, 3 k rows are of k people at least."""
    lines = [{"a": "1", "b": "x", "c": "1", "d": "0"}] * 6
    sides = lines, [{**lines[0], "a": "0"}] * 5
    tasks = [task_of(k=2, support=0.1, at_most=at_most) for at_most in (1, 3)]
    sets = [told(task.document(state_of(task, sides)))[0] for task in tasks]
    assert frozenset({"a=0"}) in sets[0] - sets[1]
    assert frozenset({"a=1"}) in sets[1]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_with_noise_the_most_frequent_sets_are_chosen_and_counted(adjacency: str) -> None:
    rng = np.random.default_rng(3)
    drawn = zip(rng.random(4000) < 0.8, rng.random(4000) < 0.9, rng.random(4000) < 0.95, strict=True)
    lines = [{"a": str(int(a)), "b": "x" if b else "y", "c": str(int(a == c)), "d": "0"} for a, b, c in drawn]
    task = task_of(epsilon=16.0, first=8, adjacency=adjacency, max_length=2, confidence=0.75, show="all", support=0.5)
    scales = [1.0 if adjacency == "add-remove" else 2.0, 9 / 8]
    assert [float(noise.scale) for noise in task.mechanisms] == scales
    assert sum(loss.amount for loss in task.disclosure.spends) == 16
    state = state_of(task, (lines[:1500], lines[1500:]))
    document = task.document(state)
    by_count = sorted(by_hand(lines, task_of(support=0.01, max_length=2))[0], key=lambda s: -number(lines, s))
    assert {frozenset(items) for items in document["sets"]} == set(by_count[:8])
    for items, count in zip(document["sets"], document["counts"], strict=True):
        assert abs(count["value"] - number(lines, frozenset(items))) < 40
        assert count["low"] <= count["value"] <= count["high"]
    assert abs(document["rows"]["value"] - 4000) < 40
    assert task.disclosure.opened(state) == {"choice with noise": 8, "number with noise": 9}
    rule = next(rule for rule in document["rules"] if rule["if"] == ["a=1"] and rule["then"] == ["c=1"])
    both, of_if, of_then = (number(lines, frozenset(items)) for items in (["a=1", "c=1"], ["a=1"], ["c=1"]))
    assert rule["support"] == pytest.approx(both / 4000, rel=0.05)
    assert rule["confidence"] == pytest.approx(both / of_if, rel=0.05)
    assert rule["lift"] == pytest.approx(both * 4000 / of_if / of_then, rel=0.05)
    assert all(rule["confidence"] >= 0.75 and rule["lift"] >= 1 for rule in document["rules"])
    words = task.text(document, 0)
    assert words.startswith(f"{document['counts'][0]['value']:,} (")
    assert all(f"): {' and '.join(items)}\n" in words for items in document["sets"])
    assert "all rows: " in words
    assert "epsilon 16" in words


def number(lines: list[Line], items: frozenset[str]) -> int:
    return sum(items <= {f"{name}={value}" for name, value in line.items()} for line in lines)


def test_cost_is_counted_ahead() -> None:
    assert forecast(task_of().cost(None).program, Profile("gmw", "ferret")).bytes > 0
