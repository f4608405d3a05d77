"""Gain ratios compare as C4.5 would, whenever they differ by more than the bound that is promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.cost_model import at_most, with_tree
from protocols.counts import RowCounts
from protocols.gain_ratio import greatest
from protocols.id3 import Leaf, Problem, Split, Tree, id3
from protocols.openings import read_choices
from protocols.rules import NO_RULES, Rules
from smc.counting import forecast
from smc.engines import Profile
from tests.support.noisy_rows import noisy, timeless


def entropy(counts: Sequence[int]) -> float:
    whole = sum(counts)
    return -sum(n / whole * math.log(n / whole) for n in counts if n)


def informations(table: np.ndarray) -> tuple[float, float]:
    """Gain and split information of an attribute, from n(v, c)."""
    parts = table.sum(axis=1)
    rest = sum(n / table.sum() * entropy(row) for n, row in zip(parts.tolist(), table.tolist(), strict=True) if n)
    return entropy(table.sum(axis=0).tolist()) - rest, entropy(parts.tolist())


def check(chosen: int, tables: Sequence[np.ndarray], delta: float) -> bool:
    """Compare a choice with the exact criterion; return whether there was no other that it could be."""
    pairs = [informations(table) for table in tables]
    off, mean = 1.25 * delta, sum(gain for gain, _ in pairs) / len(pairs)
    gain, split = pairs[chosen]
    useful = [split > 1e-12 for _, split in pairs]
    if not any(useful):
        return False
    assert useful[chosen]
    assert gain >= mean - 2 * off - 1e-9
    beaten = 0
    for other, (its_gain, its_split) in enumerate(pairs):
        ahead = its_gain * split - gain * its_split
        unsure = off * (gain + split + its_gain + its_split) + 4 * delta**2
        if useful[other] and its_gain > mean + 2 * off:
            assert ahead <= unsure, (chosen, other, pairs)
        beaten += other != chosen and (its_gain < mean - 2 * off or -ahead > unsure)
    return beaten == len(pairs) - 1


def choices(play: Any, name: str, problem: Problem, nodes: Sequence[Sequence[int]], shares: Any, form: str) -> Any:
    """The choice of every node, from both parties' tables."""

    def program(engine: Any) -> Any:
        engine.form = form
        (index,) = engine.reveal(greatest(engine, problem, nodes, shares[engine.party], []))
        return read_choices(index, np.array(list(map(len, nodes)))).tolist()

    return play(program, name).agreed


@pytest.mark.parametrize("name", ["clear", pytest.param("yao", marks=pytest.mark.slow), "mixed"])
@settings(max_examples=6)
@given(data=st.data())
def test_random_nodes(play, name: str, data: st.DataObject) -> None:
    domains = tuple(data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=5)))
    classes, delta = data.draw(st.integers(2, 4)), data.draw(st.sampled_from([0.001, 0.03, 1.0]))
    rng, scale = np.random.default_rng(data.draw(st.integers(0, 999))), data.draw(st.sampled_from([3, 40, 5000]))
    every = range(len(domains))
    nodes = [tuple(every), tuple(sorted(rng.permutation(len(domains))[: rng.integers(2, len(domains) + 1)].tolist()))]
    rows = [rng.integers(0, [*domains, classes], (int(rng.integers(2, scale + 2)), len(domains) + 1)) for _ in nodes]
    for part in rows:  # some attributes tell much
        part[: len(part) // 2, -1] = part[: len(part) // 2, int(rng.integers(len(domains)))] % classes
    problem = Problem(domains, classes, 5001, delta=delta, criterion="gain-ratio")

    def tables(party: int | None) -> list[np.ndarray]:
        found = [np.zeros((len(nodes), size, classes), dtype=np.int64) for size in domains]
        for node, part in enumerate(rows):
            for attribute in every:
                own = part if party is None else part[party::2]
                np.add.at(found[attribute], (node, own[:, attribute], own[:, -1]), 1)
        return found

    form = data.draw(st.sampled_from(["size", "depth"]))
    chosen = choices(play, name, problem, nodes, (tables(0), tables(1)), form)
    for node, (line, choice) in enumerate(zip(nodes, chosen, strict=True)):
        check(choice, [tables(None)[attribute][node] for attribute in line], delta)


MANY = np.array([[8, 0], [8, 0], [8, 1], [0, 8], [0, 8], [1, 8]])
RARE = np.array([[24, 25], [1, 0]])
WEAK, STRONG = np.array([[16, 9], [9, 16]]), np.array([[22, 3], [3, 22]])
NONE, SINGLE = np.array([[13, 12], [12, 13]]), np.array([[25, 25], [0, 0]])
TABLES = [MANY, RARE, WEAK, STRONG, NONE, SINGLE]


@pytest.mark.parametrize(
    ("nodes", "barred", "chosen"),
    [
        ([(0, 3, 2)], (), [1]),  # the first has the greatest gain, the second the greatest ratio
        ([(1, 2, 4)], (), [1]),  # the first has the greatest ratio, but gains less than the mean
        ([(0, 1, 2, 3, 4), (1, 2, 4), (5, 2)], (), [3, 1, 1]),  # a mean is that of a node's own candidates
        ([(5, 4)], (), [1]),  # the first is no split
        ([(0, 3, 2)], (1,), [0]),
        ([(1, 2, 4)], (1,), [0]),  # of those that are left none gains the mean
        ([(5, 2, 4)], (1, 2), [0]),
    ],
)
def test_a_choice_of_known_ratios(play, nodes: Any, barred: tuple[int, ...], chosen: list[int]) -> None:
    problem = Problem(tuple(map(len, TABLES)), 2, 100, criterion="gain-ratio")
    most = max(map(len, nodes))

    def program(engine: Any) -> Any:
        tables = [np.repeat(table[None] * engine.party, len(nodes), axis=0) for table in TABLES]
        bits = [np.full((1, len(nodes)), place not in barred, dtype=np.uint8) for place in range(most)]
        feasible = [engine.constant(bit) for bit in bits] if barred else []
        (index,) = engine.reveal(greatest(engine, problem, nodes, tables, feasible))
        return read_choices(index, np.array(list(map(len, nodes)))).tolist()

    assert play(program, "clear").agreed == chosen
    if not barred:
        assert check(chosen[0], [TABLES[attribute] for attribute in nodes[0]], problem.delta) or 5 in nodes[0]


@pytest.mark.parametrize("rules", [NO_RULES, Rules(k=4)], ids=str)
def test_trees_grow_and_cost_what_is_estimated(play, rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = noisy(200, 4, 3)
    problem = Problem((3, 2, 4, 2), 3, 150, rules=rules, criterion="gain-ratio", max_depth=3)

    def counts(party: int) -> RowCounts:
        own = rows[rows[:, -2] == party]
        return RowCounts(problem.domains, 3, own[:, :-2], own[:, -1])

    run = play(lambda e: id3(e, problem, counts(e.party)), "mixed")
    exact = forecast(lambda engine: with_tree(engine, problem, run.agreed), Profile("mixed"))
    most = forecast(lambda engine: at_most(engine, problem), Profile("mixed"))
    for meter, same, bound in zip(run.meters, exact.meters, most.meters, strict=True):
        assert timeless(same) == timeless(meter)
        assert bound.total.bytes_sent >= meter.total.bytes_sent
    monkeypatch.setattr("protocols.gain_ratio.BATCH", 7)
    assert play(lambda e: id3(e, problem, counts(e.party)), "clear").agreed == run.agreed
    if rules is NO_RULES:
        assert walked(run.agreed, rows, (0, 1, 2, 3), problem) > 3


def walked(tree: Tree, part: np.ndarray, left: tuple[int, ...], problem: Problem) -> int:
    """Check all splits below; return how many there are."""
    if isinstance(tree, Leaf):
        return 0
    assert isinstance(tree, Split)
    tables = [np.zeros((problem.domains[a], problem.classes), dtype=np.int64) for a in left]
    for table, attribute in zip(tables, left, strict=True):
        np.add.at(table, (part[:, attribute], part[:, -1]), 1)
    check(left.index(tree.attribute), tables, problem.delta)
    rest = tuple(a for a in left if a != tree.attribute)
    below = [part[part[:, tree.attribute] == value] for value in range(problem.domains[tree.attribute])]
    return 1 + sum(walked(child, rows, rest, problem) for child, rows in zip(tree.children, below, strict=True))
