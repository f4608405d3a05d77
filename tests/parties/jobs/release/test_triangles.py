"""The question of triangles: rows as edges, what it spends and says, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs.spending import exact
from parties.tables.schema import Schema
from protocols.release import ladder, triangles
from protocols.release.tails import tail
from smc.errors import InputError
from tests.support.questions import Known, asked, state_of

NAMES = tuple("abcdefg")
CALLS = Schema({"from": ("?", *NAMES[:6]), "to": (*NAMES[::-1], "?"), "kind": ("home", "work")}, "kind")
ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CALLS.attributes.items()}), max_size=30
)
ENDS: dict[str, Any] = {"columns": ("from", "to")}


def counted(rows: list[dict[str, str]]) -> int:
    edges = {frozenset((row["from"], row["to"])) for row in rows if "?" not in (row["from"], row["to"])}
    return sum(all(frozenset(pair) in edges for pair in combinations(three, 2)) for three in combinations(NAMES, 3))


@settings(max_examples=40)
@given(ROWS, ROWS, st.sampled_from([None, "kind = home", "kind = work and from in [a, b, c] and to != ?"]))
def test_rows_are_edges(left: list[dict[str, str]], right: list[dict[str, str]], where: str | None) -> None:
    """Either way round, once, of both parties; a missing end is none, nor is an edge to oneself."""
    task = asked("triangles", CALLS, exact=True, where=where, **ENDS)
    rows = [row for row in [*left, *right] if all(row[column] in values for column, values in task.where.wanted)]
    document = task.document(state_of(task, [left, right]))
    assert document["numbers"] == [{"of": "graph", "value": counted(rows)}]
    assert document["vertices"] == 7


@pytest.mark.parametrize(("adjacency", "times"), [("add-remove", 2), ("replace", 4)])
def test_what_it_spends_and_says(adjacency: str, times: int) -> None:
    task = asked("triangles", CALLS, delta=1e-6, adjacency=adjacency, **ENDS)
    assert [(one.measure, one.amount, one.delta, one.adjacency, one.times) for one in task.disclosure.spends] == [
        ("epsilon", 1, exact(1e-6), adjacency, 1)
    ]
    found = task.document([5, 40])
    assert (found["sensitivity"], found["scale"], found["delta"]) == (5, 5 * times, 1e-6)
    (number,) = found["numbers"]
    assert (number["value"], number["noisy"], number["low"], number["high"]) == (35, 40, max(0, 40 - 15 * times), 35)
    text = type(task).text(found, 0)
    assert text.splitlines()[1].split()[:2] == ["graph", "35"]
    assert f"scale {5 * times}, epsilon 1, delta 1e-06 ({adjacency})" in text
    assert "but for events of probability 1e-06" in task.disclosure.reveals("bob")[0]
    assert task.disclosure.opened([5, 40]) == {"number with noise": 2}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_noise_is_that_of_what_it_spends(monkeypatch: pytest.MonkeyPatch, adjacency: str) -> None:
    """Half of epsilon for the bound, half for the number: by hand, with noise that is known to be none."""
    scales, securities = set(), set()

    def known(scale: Fraction, security: int) -> Known:
        scales.add(scale)
        securities.add(security)
        return Known(0)

    monkeypatch.setattr(triangles, "DiscreteLaplace", known)
    task = asked("triangles", CALLS, delta=0.25, adjacency=adjacency, max_rows=1, **{**ENDS, "epsilon": 4.0})
    rows = [{"from": a, "to": b, "kind": "home"} for a, b in combinations("abcd", 2)]
    bound, number = state_of(task, [rows[:3], rows[3:]])
    # Two of K4 have two neighbours in common. X >= t at the scale 1/2 with e^(-2 t) / (1 + e^-2): below 1/4 from 1 on.
    assert (bound, number) == (2, 4)
    ((spent),) = task.disclosure.spends
    assert (spent.amount, spent.delta) == (4.0, 0.25)
    changed = 2 * bound if adjacency == "replace" else bound
    assert scales == {Fraction(1, 2), Fraction(2 * changed, 4)}
    assert securities == {38 + 4 + 1}  # 1 + e^2 is below 2^4, and two samples are drawn


@pytest.mark.parametrize(("adjacency", "changes"), [("add-remove", 1), ("replace", 2)])
def test_without_a_delta_only_the_number_is_told(adjacency: str, changes: int) -> None:
    """Noise of the graph's own ladder: how far it reaches depends on what is not told."""
    task = asked("triangles", CALLS, adjacency=adjacency, **{**ENDS, "epsilon": 8.0})
    assert ladder.is_worth_it(7, Fraction(8), changes)
    (spent,) = task.disclosure.spends
    assert (spent.measure, spent.amount, spent.delta, spent.adjacency) == ("epsilon", 8, 0, adjacency)
    found = task.document([40])
    law = ladder.ladder(7, Fraction(8), changes)
    assert found["reaches"] == {"1": law.reach(1, 0.95), "3": law.reach(3, 0.95)}
    assert found["numbers"] == [{"of": "graph", "value": 35, "noisy": 40}]
    assert (found["law"], found["scale"]) == ("ladder", changes / 4)
    assert f"off by at most {found['reaches']['1']} if it is 1, " in type(task).text(found, 0)
    assert f"ladder noise of scale {changes / 4:g}, epsilon 8 ({adjacency})" in type(task).text(found, 0)
    assert "probability" not in task.disclosure.reveals("bob")[0]
    assert task.disclosure.opened([40]) == {"number with noise": 1}


def test_with_few_vertices_it_is_noise_of_what_any_graph_can_change() -> None:
    task = asked("triangles", CALLS, adjacency="replace", **ENDS)
    found = task.document([40])
    assert (found["law"], found["scale"]) == ("discrete Laplace", 5 * 2)
    assert (found["numbers"][0]["low"], found["numbers"][0]["high"]) == (10, 35)


@settings(max_examples=5)
@given(ROWS, ROWS, st.sampled_from([{"epsilon": 16.0}, {"epsilon": 1.0}]))
def test_a_number_with_noise_is_near_the_triangles(
    left: list[dict[str, str]], right: list[dict[str, str]], more: dict[str, float]
) -> None:
    """By the ladder, and by plain noise of the scale 5, which is beyond 200 once in 10^17."""
    task = asked("triangles", CALLS, **ENDS, **more)
    (noisy,) = state_of(task, [left, right])
    assert abs(noisy - counted([*left, *right])) <= 200


def test_the_delta_of_the_notes_is_answered_with_a_warning() -> None:
    """Epsilon 1 and delta 0.1 of 100 vertices. A bound that is too small by k has a chance of delta e^(-k / 2)."""
    names = tuple(map(str, range(100)))
    graph = Schema({"from": names, "to": names})
    asked_by_notes = asked("triangles", graph, delta=0.1, **ENDS, epsilon=1.0)
    (loss,) = asked_by_notes.disclosure.spends
    assert (loss.amount, loss.delta) == (1, Fraction(1, 10))
    (warning,) = asked_by_notes.warnings
    assert warning.startswith("delta 0.1: in 10% of answers the bound may be too small")
    assert not asked("triangles", CALLS, delta=4e-4, **ENDS).warnings

    alpha, shift = math.exp(-1 / 2), tail(Fraction(2), Fraction(1, 10)) - 1
    for k in range(1, 20):
        too_small = alpha ** (shift + k) / (1 + alpha)  # P(X <= -(shift + k)) of discrete Laplace noise
        assert too_small <= 0.1 * math.exp(-(k - 1) / 2)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"columns": ("from",)}, "name two, the vertices"),
    ({"columns": ("from", "to", "kind")}, "name two, the vertices"),
    ({"columns": ("from", "t")}, "'t' is not an attribute"),
    ({"exact": True}, "exact: excludes delta"),
]


@pytest.mark.parametrize(("given_", "said"), WRONG, ids=str)
def test_what_is_refused(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        asked("triangles", CALLS, **{**ENDS, "delta": 1e-6, **given_})


@pytest.mark.parametrize(("size", "said"), [(1, "have 2 vertices, must be from 3"), (501, "1,002 vertices")])
def test_how_many_vertices_there_may_be(size: int, said: str) -> None:
    columns = {name: tuple(f"{name}{i}" for i in range(size)) for name in ("from", "to")}
    with pytest.raises(InputError, match=said):
        asked("triangles", Schema(columns | {"kind": ("x", "y")}, "kind"), delta=1e-6, **ENDS)
