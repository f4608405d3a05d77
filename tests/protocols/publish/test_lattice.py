"""Joint full-domain generalisation: what a search row by row finds on the union, on every engine, whole or resumed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.publish import lattice
from protocols.publish.cost_model import costliest, with_found, with_node
from protocols.publish.lattice import Asking, FullDomain, levels
from protocols.publish.lattice_search import (
    NOTHING,
    Found,
    Lattice,
    asked,
    bounds,
    decode,
    encode,
    opened,
    read,
    towards,
)
from protocols.publish.problem import Problem
from protocols.publish.suppression import SPAN, small_rows
from protocols.rules import NO_RULES, Rules
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from smc.meter import Meter
from smc.primitives import bits as bitpack
from smc.session import Session
from tests.support.anonymity import ETHNICITY, ZIP
from tests.support.joint_lattice import lowest, published, recoded, suppressed
from tests.support.joint_mondrian import Model, Row, any_rows, close, distinct, keeps

CLEAR, GMW = Profile("clear"), Profile("gmw", "ferret")
FLAT = ((0, 1, 2), (0, 0, 0))
DEEP = ((0, 1, 2, 3, 4), (0, 0, 1, 1, 2), (0, 0, 1, 1, 1), (0, 0, 0, 0, 0))


def run(
    task: FullDomain, rows: list[list[Row]], profile: Profile = CLEAR, start: Found = NOTHING, on_step: Any = None
) -> tuple[Found, dict[int, Meter]]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> Found:
        meters[session.party] = session.meter
        lines = [(*row, count) for row, count in Counter(rows[session.party]).items()]
        own = np.array(lines, dtype=np.int64).reshape(-1, len(task.problem.columns) + 1)
        return levels(engine_of(session, profile), task, own, on_step if session.party == 0 else None, start)

    found, same = run_local(both)
    assert found == same
    return found, meters


def asking(
    hierarchies: Any, number: int, k: int, against: Any, most: int = 0, others: Any = (), models: Rules = NO_RULES
) -> FullDomain:
    domains = tuple(len(levels[0]) for levels in hierarchies)
    nodes = Lattice(tuple(hierarchies), 10_000 if against == "public" else None)
    return FullDomain(Problem(domains, number, k, against, others, models), nodes, most)


def coded(columns: list[list[str]]) -> list[Row]:
    places = [{value: i for i, value in enumerate(dict.fromkeys(column))} for column in columns]
    return [tuple(place[v] for place, v in zip(places, row, strict=True)) for row in zip(*columns, strict=True)]


def test_the_nine_rows_of_the_lesson_halved() -> None:
    """k = 2, MaxSup = 2: least height 1; [1, 0] and [0, 1] both leave out 2 rows, [0, 0] 6, [1, 1] and [0, 2] none."""
    zips = list(dict.fromkeys(ZIP))
    prefixes = [[(code,) for (code,) in coded([[z[:n] for z in zips]])] for n in (5, 4, 3)]
    hierarchies = (FLAT, tuple(tuple(code for (code,) in level) for level in prefixes))
    rows = coded([ETHNICITY, ZIP])
    halves = [rows[::2], rows[1::2]]
    numbers = {
        node: suppressed(hierarchies, node, halves, 2, "public") for node in [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    }
    assert numbers == {(0, 0): 6, (1, 0): 2, (0, 1): 2, (1, 1): 0, (0, 2): 0}
    task = asking(hierarchies, 9, 2, "public", 2)
    found, _ = run(task, halves, GMW)
    assert found.node == (0, 1)  # of the two the one that loses less by the domains: ZIP codes keep 4 digits of 5
    assert found.published is not None
    left = {
        recoded(hierarchies, found.node, row)
        for own in published(hierarchies, found.node, halves, 2, "public")
        for row in own
    }
    assert left == {divmod(i, 2) for i, bit in enumerate(found.published) if bit}
    assert sum(run(asking(hierarchies, 9, 2, "public", 1), halves)[0].node or ()) == 2
    assert sum(run(asking(hierarchies, 9, 2, "public", 6), halves)[0].node or ()) == 0


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    number = draw(st.integers(1, 5))
    found = [tuple(range(number))]
    for _ in range(draw(st.integers(0, 2))):
        parents = draw(st.lists(st.integers(0, 2), min_size=number, max_size=number))
        numbered = {parent: i for i, parent in enumerate(dict.fromkeys(parents[group] for group in found[-1]))}
        found.append(tuple(numbered[parents[group]] for group in found[-1]))
    return (*found, (0,) * number) if max(found[-1]) or len(found) == 1 else tuple(found)


MODELS: dict[str, tuple[dict[str, Any], Model]] = {
    "k": ({}, any_rows),
    "l": ({"l": 2}, distinct(2)),
    "t": ({"t": 0.3}, close(Fraction("0.3"))),
}


@settings(max_examples=50)
@given(st.lists(hierarchies(), min_size=1, max_size=3), st.sampled_from(["public", "k", "l", "t"]), st.data())
def test_it_is_the_first_of_the_lowest_nodes_that_leave_out_few_rows(
    trees: list[Any], name: str, data: st.DataObject
) -> None:
    against = "public" if name == "public" else "peer"
    fields, model = MODELS["k" if name == "public" else name]
    row = st.tuples(*(st.integers(0, len(levels[0]) - 1) for levels in trees), st.sampled_from([0, 0, 1, 2]))
    rows = [data.draw(st.lists(row, max_size=25)) for _ in (0, 1)]
    k, most = data.draw(st.integers(1, 4)), 0 if name == "t" else data.draw(st.integers(0, 12))
    task = asking(trees, 25, k, against, most, (3,), Rules(**fields) if fields else NO_RULES)
    shared = all({r[i] for r in rows[0]} & {r[i] for r in rows[1]} for i in range(len(trees) + 1))
    if not keeps(rows, rows, k, against, model) or (all(rows) and not shared):
        with pytest.raises(InputError, match=r"fewer than k|owner of each row"):
            run(task, rows)
        return
    found, _ = run(task, rows)
    nodes = lowest(trees, rows, k, against, most, model)
    assert found.node in nodes
    order = task.lattice.heights[sum(nodes[0])]
    assert found.node == min(nodes, key=order.index)
    assert sorted(order, key=lambda node: (task.lattice.loss(node), node)) == list(order)
    assert decode(encode(found)) == found
    if found.published is not None:
        sizes = task.lattice.sizes
        places = np.array(
            np.unravel_index(np.flatnonzero(found.published), [s[n] for s, n in zip(sizes, found.node, strict=True)])
        )
        kept = [row for own in published(trees, found.node, rows, k, against) for row in own]
        assert {tuple(map(int, place)) for place in places.T} == {recoded(trees, found.node, row) for row in kept}


def random_rows(number: int, seed: int) -> list[list[Row]]:
    rng = np.random.default_rng(seed)
    return [
        [(int(rng.integers(3)), int(rng.binomial(4, 0.4)), int(rng.binomial(4, 0.2))) for _ in range(number)]
        for _ in (0, 1)
    ]


@pytest.mark.parametrize("against", ["public", "peer"])
@pytest.mark.parametrize("profile", [Profile("yao"), GMW, Profile("mixed")], ids=str)
def test_every_engine_finds_it_for_the_cost_that_was_forecast(profile: Profile, against: str) -> None:
    trees, rows = (FLAT, DEEP, DEEP), random_rows(60, 3)
    task = asking(trees, 60, 6, against, 5)
    found, meters = run(task, rows, profile)
    assert found.node in lowest(trees, rows, 6, against, 5)
    assert 0 < sum(found.node or ()) < 7
    for program in (with_node, with_found):
        what: Any = found.node if program is with_node else found
        counted = forecast(lambda engine, program=program, what=what: program(engine, task, what), profile)
        for party in (0, 1):
            cost, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
            assert {**cost, "seconds": 0} == {**said, "seconds": 0}
    most = forecast(lambda engine: with_node(engine, task, costliest(task.lattice)), profile)
    assert most.meters[0].total.as_dict()["bytes_sent"] >= meters[0].total.as_dict()["bytes_sent"]


@pytest.mark.parametrize("against", ["public", "peer"])
def test_a_run_goes_on_from_any_step(against: str) -> None:
    task, rows = asking((FLAT, DEEP, DEEP), 60, 6, against, 5), random_rows(60, 5)
    seen: list[Asking] = []
    found, _ = run(task, rows, on_step=seen.append)
    assert [step.search for step in seen] == [found.first(i) for i in range(found.steps)]
    assert found.steps > 3
    for i in range(1, found.steps + 1):
        assert run(task, rows, start=found.first(i))[0] == found


def test_rows_in_small_classes_are_summed_over_any_number_of_classes() -> None:
    rng = np.random.default_rng(1)
    sizes = [1, SPAN, SPAN + 1, SPAN**2 + 3]
    most = [np.full(SPAN, 4), np.zeros(SPAN, dtype=np.int64)]  # as many as fit
    tables = [[*(rng.integers(0, 5, size) for size in sizes), full] for full in most]

    def both(session: Session) -> list[int]:
        engine = engine_of(session, CLEAR)
        (bits,) = engine.reveal(small_rows(engine, 5, tables[session.party]))
        return [int(x) for x in bitpack.to_integers(bits)]

    expected = [int(sum(n for n in a + b if n < 5)) for a, b in zip(*tables, strict=True)]
    assert run_local(both)[0] == expected


def test_nodes_with_too_many_classes_are_passed_over() -> None:
    everything, part = Lattice((FLAT, DEEP)), Lattice((FLAT, DEEP), 6)
    kept = {node for nodes in everything.heights for node in nodes if everything.possible(node) <= 6}
    assert {node for nodes in part.heights for node in nodes} == kept != {(0, 0)}
    assert bounds(part, NOTHING) == (min(map(sum, kept)), 4)
    for height in range(bounds(part, NOTHING)[0], 5):
        found = towards(part, height)
        assert asked(part, found) is None
        assert bounds(part, found) == (height, height)


def test_what_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for case, words in (
        ({"trees": (((0, 1, 2), (0, 0, 1)),)}, "a top with one group"),
        ({"trees": (((0, 1, 2), (0, 0, 1), (0, 1, 1), (0, 0, 0)),)}, "two parents"),
        ({"most": 19}, "from 0 to 18"),
        ({"most": -1}, "from 0 to 18"),
        ({"most": 1, "models": Rules(t=0.2)}, "max_suppressed_rows must be 0"),
        ({"most": 1, "models": Rules(l=1.5, diversity="entropy")}, "max_suppressed_rows must be 0"),
        ({"against": "public", "models": Rules(l=2, against="public")}, "l and t need against = peer here"),
        ({"trees": (tuple([tuple(range(3))] * 300 + [(0, 0, 0)]),) * 2}, "90,601 combinations of levels"),
    ):
        fields: Any = {"trees": (FLAT,), "most": 0, "against": "peer", "models": NO_RULES, **case}
        with pytest.raises(InputError, match=words):
            asking(fields["trees"], 9, 2, fields["against"], fields["most"], (3,), fields["models"])
    with pytest.raises(InputError, match="hierarchy of its values"):
        FullDomain(Problem((2,), 9, 2), Lattice((FLAT,)))
    monkeypatch.setattr(lattice, "MOST_POSSIBLE", 14)
    assert asking((FLAT, DEEP), 9, 2, "peer").lattice.most is None
    with pytest.raises(InputError, match="up to 15 possible classes at one step of the search, more than 14"):
        asking((FLAT, DEEP), 9, 2, "public")
    with pytest.raises(ProtocolError, match="beyond the nodes of its height"):
        read(Lattice((FLAT, FLAT, FLAT)), 1, np.ones((2, 1), dtype=np.uint8))


def test_what_is_opened_is_counted() -> None:
    found = Found((True, False), (0, 1), (True, False, True))
    assert list(opened(3, found).values()) == [4, 2, 1, 3]
    assert [list(opened(3, found, i).values()) for i in range(4)] == [
        [4, 1, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 3],
    ]
    assert list(opened(3, NOTHING).values()) == [0, 0, 0, 0]
