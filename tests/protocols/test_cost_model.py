"""An ID3 counted beforehand: exact for its tree, a bound for any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import cost_model
from protocols.cost_model import at_most, most_bytes, typical, with_tree
from protocols.counts import RowCounts
from protocols.edges import Run
from protocols.entropies import COMPARED, argmin_netlist
from protocols.id3 import Leaf, Problem, Split, Tree, id3
from protocols.rules import NO_RULES, Rules
from smc.counting import Forecast, forecast
from smc.engines import Profile, engine_of
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.session import Session

pytestmark = pytest.mark.slow

PROFILES = [Profile("yao"), Profile("mixed", garbling="three-halves"), Profile("lean", "ferret"), Profile("gmw")]


def public(cost: Cost) -> dict[str, Any]:
    fields: dict[str, Any] = cost.as_dict()
    del fields["seconds"]
    return fields


def run(problem: Problem, rows: int, seed: int, profile: Profile) -> tuple[Tree, dict[int, Meter]]:
    rng = np.random.default_rng(seed)
    meters: dict[int, Meter] = {}
    data = [
        (
            np.stack([rng.integers(0, size, rows) for size in problem.domains], axis=1)
            if problem.domains
            else np.zeros((rows, 0), dtype=np.int64),
            rng.integers(0, problem.classes, rows),
        )
        for _ in (0, 1)
    ]

    def both(session: Session) -> Tree:
        meters[session.party] = session.meter
        return id3(
            engine_of(session, profile), problem, RowCounts(problem.domains, problem.classes, *data[session.party])
        )

    tree, same = run_local(both)
    assert tree == same
    return tree, meters


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize(
    "problem",
    [
        Problem((3, 2, 4), 3, 20, delta=0.05),
        Problem((2, 2, 2), 2, 20, delta=0.05, min_rows=6),
        Problem((3, 3), 2, 20, delta=0.05, max_depth=1),
        Problem((3,), 2, 20, delta=0.05),
        Problem((), 2, 20, delta=0.05),
        Problem((2, 2), 1, 20, delta=0.05),
    ],
    ids=str,
)
def test_costs_are_foreseen(profile: Profile, problem: Problem) -> None:
    tree, meters = run(problem, 20, 5, profile)
    exact = forecast(lambda engine: with_tree(engine, problem, tree), profile)
    bound = forecast(lambda engine: at_most(engine, problem), profile)
    for party in (0, 1):
        real = public(meters[party].total)
        assert public(exact.costs[party]) == real
        assert {path: public(cost) for path, cost in exact.meters[party].phases.items()} == {
            path: public(cost) for path, cost in meters[party].phases.items()
        }
        for name, value in public(bound.costs[party]).items():
            assert value >= real[name]


def test_the_bound_knows_how_many_nodes_can_split() -> None:
    """With few rows, or nodes that must have many, hardly any level can be full."""
    free = Problem((4,) * 5, 2, 1000, delta=0.05)
    costs = [
        forecast(lambda engine, problem=problem: at_most(engine, problem), Profile("yao")).bytes  # type: ignore[misc]
        for problem in (free, Problem((4,) * 5, 2, 1000, delta=0.05, min_rows=900), Problem((4,) * 5, 2, 4, 0.05))
    ]
    assert costs[0] > 2 * costs[1] > 0
    assert costs[0] > 2 * costs[2] > 0


def test_a_single_leaf_is_foreseen() -> None:
    problem = Problem((2, 2), 2, 8, delta=0.05, min_rows=100)
    tree, meters = run(problem, 8, 1, Profile("yao"))
    assert isinstance(tree, Leaf)
    found = forecast(lambda engine: with_tree(engine, problem, tree), Profile("yao"))
    assert public(found.costs[0]) == public(meters[0].total)


RULES = [
    NO_RULES,
    Rules(k=3),
    Rules(k=3, against="public"),
    Rules(k=2, l=2, against="public"),
    Rules(t=0.5, against="public"),
]


@st.composite
def problems(draw: st.DrawFn, most: int) -> Problem:
    domains = tuple(draw(st.lists(st.integers(1, most), max_size=4)))
    rows, depth = draw(st.sampled_from([5, 60, 900])), draw(st.none() | st.integers(0, 3))
    return Problem(
        domains, draw(st.integers(2, 4)), rows, 0.05, draw(st.sampled_from([0, 7])), depth, draw(st.sampled_from(RULES))
    )


def random_tree(draw: st.DrawFn, problem: Problem) -> Tree:
    """A tree that a run of this problem could find, if the rows are as they need to be."""
    rows_of_a_split = max(2, problem.min_rows + 1, problem.rules.k)
    deepest = len(problem.domains) if problem.max_depth is None else problem.max_depth

    def grown(rows: int, left: tuple[int, ...], depth: int) -> Tree:
        if depth == deepest or not left or rows < rows_of_a_split or draw(st.integers(0, 9)) == 0:
            return Leaf(0)
        attribute = draw(st.sampled_from(left))
        rest, size = tuple(a for a in left if a != attribute), problem.domains[attribute]
        parts = [rows // size + (place < rows % size) for place in range(size)]
        return Split(attribute, tuple(grown(part, rest, depth + 1) for part in parts))

    return grown(2 * problem.max_rows, tuple(range(len(problem.domains))), 0)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("largest", [10**9, 200])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_no_tree_costs_more_than_the_most(profile: Profile, largest: int, data: st.DataObject) -> None:
    problem = data.draw(problems(5))
    tree = random_tree(data.draw, problem)
    most = most_bytes(problem, profile, largest)
    assert forecast(lambda engine: with_tree(engine, problem, tree), profile).bytes <= most
    assert forecast(lambda engine: typical(engine, problem, 10**9), profile).bytes <= most


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_parts_cost_no_less_than_the_whole(profile: Profile, data: st.DataObject) -> None:
    problem = data.draw(problems(4))
    assert most_bytes(problem, profile, 10**9) <= most_bytes(
        problem, profile, data.draw(st.sampled_from([0, 100, 1000]))
    )


@pytest.mark.parametrize(
    ("profile", "rules"),
    [
        pytest.param(profile, rules, marks=pytest.mark.campaign if (place + turn) % 2 else ())
        for place, profile in enumerate(PROFILES)
        for turn, rules in enumerate((Rules(k=3), Rules(t=0.5, against="public")))
    ],
    ids=str,
)
def test_parts_of_a_large_tree_cost_a_little_more_than_the_whole(profile: Profile, rules: Rules) -> None:
    """The sessions that are counted apart have a beginning each; nothing else comes to it."""
    problem = Problem((8,) * 5, 3, 900, 0.05, rules=rules)
    whole, parts = (most_bytes(problem, profile, largest) for largest in (10**9, 8000))
    assert whole <= parts <= (2 if profile.ot == "ferret" else 1.1) * whole


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_a_typical_tree_counted_in_parts_costs_about_the_same(profile: Profile) -> None:
    """Bytes and gates are those of a part times the parts; rounded up, and silent OT comes in large pieces."""
    problem = Problem((6,) * 8, 3, 20_000, 0.05)
    whole, parts = (
        forecast(lambda engine, largest=largest: typical(engine, problem, largest), profile).costs[0]  # type: ignore[misc]
        for largest in (10**9, 20_000)
    )
    assert whole.and_gates <= parts.and_gates <= 1.25 * whole.and_gates
    sizes = [cost.bytes_sent + cost.bytes_received for cost in (whole, parts)]
    assert sizes[0] <= 1.05 * sizes[1]
    assert sizes[1] <= (2 if profile.ot == "ferret" else 1.25) * sizes[0]
    assert parts.rounds <= 1.5 * whole.rounds


def test_the_bound_knows_that_a_way_asks_each_attribute_once() -> None:
    """One wide column among narrow ones makes not every level as wide."""
    narrow, mixed, wide = (
        most_bytes(Problem(domains, 2, 10**6, 0.05), Profile("yao"), 10**9)
        for domains in ((3, 3, 3, 3), (12, 3, 3, 3), (12, 12, 12, 12))
    )
    assert narrow < mixed < wide / 5


@pytest.mark.parametrize("profile", [Profile("mixed"), Profile("lean", form="size"), Profile("gmw", form="depth")])
def test_a_wide_comparison_builds_small_circuits(monkeypatch: pytest.MonkeyPatch, profile: Profile) -> None:
    compared: list[int] = []

    def counted(candidates: int, *more: Any, **named: Any) -> Any:
        compared.append(candidates)
        return argmin_netlist(candidates, *more, **named)

    monkeypatch.setattr("protocols.entropies.argmin_netlist", counted)
    runs = tuple(Run(i, i + 1) for i in range(100))
    problem = Problem((2,) * 100, 2, 400, delta=0.05, max_depth=1, runs=runs, edges=3)
    in_groups = forecast(lambda engine: typical(engine, problem, 1 << 20), profile)
    assert set(compared) == {COMPARED, 100 - COMPARED, 2}
    monkeypatch.setattr("protocols.entropies.COMPARED", 128)
    whole = forecast(lambda engine: typical(engine, problem, 1 << 20), profile)
    assert max(compared) == 100
    assert [cost.and_gates for cost in in_groups.costs] == [cost.and_gates for cost in whole.costs]
    assert in_groups.bytes == pytest.approx(whole.bytes, rel=0.02)


def test_a_part_of_very_many_columns_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tuple(Run(i, i + 1) for i in range(600))
    problem = Problem((2,) * 600, 2, 400, delta=0.05, max_depth=2, runs=runs, edges=3)

    def counted(most: int) -> Forecast:
        monkeypatch.setattr(cost_model, "MOST_COUNTED", most)
        return forecast(lambda engine: typical(engine, problem, 1 << 20), Profile("lean", form="size"))

    part, whole = counted(200), counted(1 << 10)
    assert part.bytes == pytest.approx(whole.bytes, rel=0.02)
    assert part.seconds(LinkShape()) == pytest.approx(whole.seconds(LinkShape()), rel=0.1)
