"""Whole trees under rules for their leaves, against a reference that follows the definitions.

Where an entropy lies within delta above ln l the protocol may refuse what the reference allows, never the reverse.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.cost_model import at_most, with_tree
from protocols.counts import RowCounts
from protocols.id3 import Leaf, Open, Problem, Split, Tree, id3
from protocols.rules import Rules
from protocols.tree import cut
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.local import run_local
from tests.support.leaf_rules import Reference, Row, rules_for

pytestmark = pytest.mark.slow

ENGINES = ["clear", "yao", "gmw", "mixed", "lean"]
QUICK = settings(max_examples=12)
PLAIN = Problem((3, 2, 4, 2), 3, 40)


def counts_of(rows: Sequence[Row], side: Sequence[int], problem: Problem, party: int) -> RowCounts:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(problem.domains) + 1)
    own = table[np.array(side, dtype=np.int64) == party]
    return RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1])


def joint(play: Any, rows: Sequence[Row], side: Sequence[int], problem: Problem, name: str) -> Tree:
    tree: Tree = play(lambda e: id3(e, problem, counts_of(rows, side, problem, e.party)), name).agreed
    return tree


@pytest.mark.parametrize("name", ENGINES)
@QUICK
@given(data=st.data())
def test_random_tables(play, name: str, data: st.DataObject) -> None:
    domains = data.draw(st.lists(st.integers(1, 3), max_size=3))
    classes = data.draw(st.integers(2, 4))
    columns = [st.integers(0, size - 1) for size in (*domains, classes)]
    rows = data.draw(st.lists(st.tuples(*columns), max_size=60))
    side = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    problem = Problem(
        tuple(domains),
        classes,
        max_rows=data.draw(st.sampled_from([60, 1000])),
        delta=data.draw(st.sampled_from([0.1, 0.001])),
        min_rows=data.draw(st.sampled_from([0, 0, 3])),
        max_depth=data.draw(st.sampled_from([None, None, 0, 1])),
        rules=data.draw(rules_for(classes, 60)),
    )
    Reference(rows, side, problem).check(joint(play, rows, side, problem, name))


def speaking(rows: int, classes: int, seed: int) -> tuple[list[Row], list[int]]:
    """Rows whose first attributes say much of the class, and owners who have different ones."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, [3, 2, 4, 2, classes], (rows, 5))
    told = rng.random((rows, 2)) < (0.7, 0.4)
    for column in (0, 1):
        table[:, column] = np.where(told[:, column], table[:, -1] % (3, 2)[column], table[:, column])
    side = (rng.random(rows) < np.where(table[:, 2] == 0, 0.2, 0.6)).astype(int)
    return [tuple(row) for row in table.tolist()], side.tolist()


TRIED = {  # each of them changes the tree, and leaves some of it
    "k": Rules(k=8),
    "k public": Rules(k=12, against="public"),
    "l": Rules(l=2),
    "l public": Rules(l=3, against="public"),
    "entropy": Rules(l=1.6, diversity="entropy"),
    "entropy public": Rules(l=2.2, diversity="entropy", against="public"),
    "t": Rules(t=0.5),
    "t public": Rules(t=0.4, against="public"),
    "ordered": Rules(t=0.35, distance="ordered"),
    "ordered public": Rules(t=0.3, distance="ordered", against="public"),
    "all": Rules(5, 2, "distinct", 0.6, "ordered"),
    "all public": Rules(5, 1.8, "entropy", 0.5, "variational", "public"),
}


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", ["clear", "yao", "gmw", "mixed"])
@pytest.mark.parametrize("tried", TRIED)
def test_trees_with_something_to_say(play, tried: str, name: str) -> None:
    rows, side = speaking(150, 3, 7)
    plain = Problem((3, 2, 4, 2), 3, max_rows=120)
    problem = replace(plain, rules=TRIED[tried])
    tree = joint(play, rows, side, problem, name)
    assert isinstance(tree, Split)
    Reference(rows, side, problem).check(tree)
    if name == "clear":
        with pytest.raises(AssertionError):
            Reference(rows, side, problem).check(joint(play, rows, side, plain, name))


@pytest.mark.parametrize("against", ["peer", "public"])
@pytest.mark.parametrize("rules", [{"k": 20}, {"k": 10, "l": 1.3, "diversity": "entropy", "t": 0.3}], ids=str)
def test_a_real_table(play, shared: Path, rules: dict[str, Any], against: Any) -> None:
    with (shared / "data" / "car.csv").open(newline="") as stream:
        _, *lines = [line for line in csv.reader(stream) if line]
    domains = [sorted(set(column)) for column in zip(*lines, strict=True)]
    rows = [tuple(domain.index(cell) for cell, domain in zip(line, domains, strict=True)) for line in lines]
    side = np.random.default_rng(9).integers(0, 2, len(rows)).tolist()
    sizes = [len(domain) for domain in domains]
    problem = Problem(tuple(sizes[:-1]), sizes[-1], 1728, rules=Rules(**rules, against=against))
    tree = joint(play, rows, side, problem, "mixed")
    assert isinstance(tree, Split)
    Reference(rows, side, problem).check(tree)


@pytest.mark.parametrize("tried", ["k", "all", "all public", "ordered public"])
def test_both_forms_of_circuits_find_the_same(play, tried: str) -> None:
    rows, side = speaking(90, 3, 5)
    problem = Problem((3, 2, 4, 2), 3, max_rows=90, rules=TRIED[tried])

    def in_form(form: Any) -> Tree:
        def program(engine: Any) -> Tree:
            engine.form = form
            return id3(engine, problem, counts_of(rows, side, problem, engine.party))

        tree: Tree = play(program, "clear").agreed
        return tree

    assert in_form("size") == in_form("depth")


@pytest.mark.parametrize("tried", ["all", "all public"])
def test_a_level_in_many_batches(play, monkeypatch: pytest.MonkeyPatch, tried: str) -> None:
    rows, side = speaking(120, 3, 6)
    problem = Problem((3, 2, 4, 2), 3, max_rows=120, rules=TRIED[tried])
    expected = joint(play, rows, side, problem, "clear")
    for module in ("entropies", "feasibility"):
        monkeypatch.setattr(f"protocols.{module}.BATCH", 7)
    for name in ("clear", "mixed"):
        assert joint(play, rows, side, problem, name) == expected


@pytest.mark.parametrize("against", ["peer", "public"])
@pytest.mark.parametrize("depth", [None, 0])
def test_a_root_that_breaks_a_rule_is_the_first_class(play, against: Any, depth: int | None) -> None:
    """Five rows in all of class 1, three of one party: as if there were none, unless they are enough."""
    rows, side = [(0, 1)] * 5, [0, 0, 0, 1, 1]
    enough = 2 if against == "peer" else 5
    for k, label in ((enough, 1), (enough + 1, 0)):
        problem = Problem((2,), 2, max_rows=10, max_depth=depth, rules=Rules(k=k, against=against))
        assert joint(play, rows, side, problem, "mixed") == Leaf(label)
    alone = Problem((2,), 2, max_rows=10, max_depth=depth, rules=Rules(k=5, against=against))
    assert joint(play, rows, [0] * 5, alone, "mixed") == Leaf(1)  # none of the other party's is none to protect


def test_the_last_attribute_is_barred_too(play) -> None:
    """One attribute left: nothing is compared, and yet a split by it is made only if it may be."""
    rows = [(value, value) for value in (0, 0, 0, 1, 1)]
    for k, tree in ((2, Split(0, (Leaf(0), Leaf(1)))), (3, Leaf(0))):
        problem = Problem((2,), 2, max_rows=10, rules=Rules(k=k, against="public"))
        assert joint(play, rows, [0, 1, 0, 1, 0], problem, "yao") == tree


def test_what_is_left_when_the_peer_takes_its_own_rows_away(play) -> None:
    """Twelve rows to either side, but one of them alone among the others': a public k of 4 shows it."""
    rows = [(v, v) for v in (0, 1) for _ in range(12)]
    side = [0] * 11 + [1] + [1] * 12
    for against, tree in (("public", Split(0, (Leaf(0), Leaf(1)))), ("peer", Leaf(0))):
        problem = Problem((2,), 2, max_rows=30, rules=Rules(k=4, against=against))  # type: ignore[arg-type]
        assert joint(play, rows, side, problem, "mixed") == tree


@pytest.mark.parametrize("tried", ["all", "all public", "entropy public", "k public"])
def test_a_run_goes_on_from_every_level(play, tried: str) -> None:
    rows, side = speaking(120, 3, 4)
    problem = Problem((3, 2, 4, 2), 3, max_rows=120, rules=TRIED[tried])

    def run(start: Tree) -> Any:
        return play(lambda e: id3(e, problem, counts_of(rows, side, problem, e.party), start=start), "mixed")

    whole = run(Open())
    depths = {int(path.split("/")[0][6:]) for path in whole.meters[0].phases if path.startswith("level")}
    assert len(depths) > 1
    for depth in range(len(depths) + 1):
        again = run(cut(whole.agreed, depth))
        assert again.agreed == whole.agreed
        for one, other in zip(whole.meters, again.meters, strict=True):
            opened = {path: cost.bits_opened for path, cost in one.phases.items() if cost.bits_opened}
            later = {path: bits for path, bits in opened.items() if int(path.split("/")[0][6:]) >= depth}
            assert later == {path: cost.bits_opened for path, cost in other.phases.items() if cost.bits_opened}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("tried", TRIED)
def test_only_the_tree_is_opened_and_costs_are_foreseen(tried: str) -> None:
    """A run costs to the byte what is counted for its tree alone, and at most what is counted for any tree."""
    rows, side = speaking(80, 3, 3)
    problem = Problem((3, 2, 4, 2), 3, max_rows=80, delta=0.05, rules=TRIED[tried])
    for profile in (Profile("mixed"), Profile("gmw")) if "all" in tried else (Profile("lean"), Profile("yao")):
        meters = {}

        def both(session: Any, profile: Profile = profile, meters: Any = meters) -> Tree:
            meters[session.party] = session.meter
            return id3(engine_of(session, profile), problem, counts_of(rows, side, problem, session.party))

        tree, same = run_local(both)
        assert tree == same
        exact = forecast(lambda e, tree=tree: with_tree(e, problem, tree), profile)  # type: ignore[misc]
        bound = forecast(lambda e: at_most(e, problem), profile)
        for party in (0, 1):
            real = public(meters[party].total)
            assert public(exact.costs[party]) == real
            assert all(value >= real[name] for name, value in public(bound.costs[party]).items())


def public(cost: Any) -> dict[str, Any]:
    return {name: value for name, value in cost.as_dict().items() if name != "seconds"}


def test_nothing_is_computed_without_rules(play) -> None:
    """Rules that rule nothing out are none: the same messages as ever (which the transcripts pin)."""
    rows, side = speaking(40, 3, 2)
    run = play(
        lambda e: id3(e, Problem((3, 2, 4, 2), 3, 40, rules=Rules()), counts_of(rows, side, PLAIN, e.party)), "mixed"
    )
    assert not any("rules" in path for path in run.meters[0].phases)
