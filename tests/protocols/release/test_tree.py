"""The private tree against one that is written anew: the same rows and the same noise make the same tree."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.counts import Indices, LevelCounts, RowCounts, Unpartitioned
from protocols.edges import Run
from protocols.release.choice import TIE_BITS
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laws import Law, netlist
from protocols.release.partition_rows import Partitioned, partition_rows
from protocols.release.tree import private_tree
from protocols.release.tree_costs import most_bytes
from protocols.release.tree_openings import KINDS, opened, with_forest
from protocols.release.tree_problem import Problem
from protocols.tree import Forest, Leaf, Open, Split, Tree, cut, decided_levels, walk
from smc.circuit import evaluate
from smc.counting import forecast
from smc.engines import Engine, Profile, engine_of, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.primitives import bits as bitpack
from smc.primitives.prg import Prg
from smc.session import Session

QUICK = settings(max_examples=15)
PROFILES = [Profile("yao"), Profile("mixed"), Profile("lean", "ferret"), Profile("gmw")]
SEEDS = bytes(16), bytes(range(16))  # of the two parties' contributions


def problem(domains: tuple[int, ...] = (3, 2, 4), classes: int = 3, **more: Any) -> Problem:
    fields = {"max_rows": 100, "max_depth": 2, "epsilon": Fraction(2), "leaf_epsilon": Fraction(1), **more}
    return Problem(domains, classes, **fields)


def table(made: Problem, rows: int, seed: int) -> np.ndarray:
    """Answers to all questions, and the class; those of a run agree on a value."""
    generator = np.random.default_rng(seed)
    answers = generator.integers(0, (*made.domains, made.classes), (rows, len(made.domains) + 1))
    for first, end, _ in made.runs:
        answers[:, first:end] = generator.integers(0, end - first + 1, (rows, 1)) > np.arange(end - first)
    return answers


def joint(
    made: Problem, rows: np.ndarray, name: str = "clear", start: Forest | None = None, seeds: Any = SEEDS
) -> tuple[Forest, dict[int, Meter]]:
    """The forest of both parties' rows, dealt by a fixed key; contributions from the seeds and the level."""
    meters = {}

    def program(session: Session) -> Forest:
        meters[session.party] = session.meter
        own = rows[session.party :: 2]
        counts = RowCounts(made.domains, made.classes, own[:, :-1], own[:, -1])
        dealt = (
            Partitioned(made.domains, made.classes, counts, made.trees, b"key")
            if made.trees > 1
            else Unpartitioned(counts)
        )

        def on_step(level: Any) -> None:
            session.contributions = Prg(bytes([level.depth]) + seeds[session.party][1:])

        return private_tree(make_engine(session, name), made, dealt, on_step, start)

    left, right = run_local(program)
    assert left == right
    return left, meters


class Noise:
    """The noise of a level again: what `Engine.random` makes of both parties' contributions."""

    def __init__(self, depth: int, seeds: Any = SEEDS) -> None:
        self._prgs = [Prg(bytes([depth]) + seed[1:]) for seed in seeds]

    def scores(self, law: Law, batch: int) -> list[tuple[int, int]]:
        """Of each score its noise, and what decides between equals."""
        bits, ties = self._bits(law.bits, batch), self._bits(TIE_BITS, batch)
        return list(zip(self._values(law, bits), bitpack.to_integers(ties), strict=True))

    def classes(self, law: Law, candidates: int, batch: int) -> list[list[tuple[int, int]]]:
        """The same of each class of each leaf."""
        bits = self._bits((law.bits + TIE_BITS) * candidates, batch)
        drawn = np.split(bits[: law.bits * candidates], candidates)
        ties = np.split(bits[law.bits * candidates :], candidates)
        return [
            list(zip(*pair, strict=True))
            for pair in zip(
                np.array([self._values(law, part) for part in drawn]).T.tolist(),
                np.array([bitpack.to_integers(part) for part in ties]).T.tolist(),
                strict=True,
            )
        ]

    def _bits(self, width: int, batch: int) -> np.ndarray:
        left, right = (prg.bits(width, batch) for prg in self._prgs)
        return left ^ right

    def _values(self, law: Law, bits: np.ndarray) -> list[int]:
        return bitpack.to_integers(evaluate(netlist(law), [bits])[0])


def score(made: Problem, tables: list[list[list[int]]]) -> list[int]:
    """Scores of tables of counts: for max by its definition, else as the circuits have them (see test_quality)."""
    if made.quality == "max":
        return [sum(map(max, counts)) for counts in tables]
    own = [np.array(counts) for counts in tables]

    def program(session: Session) -> list[int]:
        engine = make_engine(session, "clear")
        (opened,) = engine.reveal(made.measure.scores(engine, own if session.party else [0 * part for part in own]))
        return bitpack.to_integers(opened, signed=made.measure.signed)

    return run_local(program)[0]


def one_sided(scale: Fraction, epsilon: Fraction, candidates: int) -> OneSidedGeometric:
    """Noise for an epsilon-private choice: (1 + e^epsilon) of all candidates' distances is 2^-38 at most."""
    return OneSidedGeometric(scale, 38 + math.ceil(math.log2(1 + math.exp(epsilon))) + math.ceil(math.log2(candidates)))


def level_epsilon(made: Problem) -> Fraction:
    """A level's part of what is left by the leaves."""
    levels = min(made.max_depth, len(made.domains) - (0 if made.stop else 1))
    return (made.epsilon - made.leaf_epsilon) / levels


def measure_change(made: Problem) -> int:
    """What a row changes of a score: one row for max; of the others, whose bounds test_quality compares, D and errors.

    Both are in 32nds: D = 2 and 1/32 at most wrong for gini, D = ln N + 1 and 1/8 for entropy. A row is in one node of
    each level; one that is replaced is in two.
    """
    rows = 2 if made.replace else 1
    if made.quality == "max":
        return rows
    change, wrong = (2.0, 1 / 32) if made.quality == "gini" else (math.log(2 * made.max_rows) + 1, 1 / 8)
    return rows * (math.ceil(64 * wrong) + math.ceil(32 * (change + 2 * wrong)))


def reference(made: Problem, parts: list[list[tuple[int, ...]]]) -> Forest:
    """The forest by the words of the docstring, from each tree's rows."""
    roots: list[list[Any]] = [[None] for _ in parts]
    level = [(root, 0, rows, tuple(range(len(made.domains)))) for root, rows in zip(roots, parts, strict=True)]
    depth = 0
    while level:
        noise, left = Noise(depth), max(len(attributes) for *_, attributes in level)
        choices = [left] * len(level)
        if depth < made.max_depth and left and left + made.stop > 1:
            candidates = left + made.stop
            law = one_sided(measure_change(made) / level_epsilon(made), level_epsilon(made), candidates)
            drawn = iter(noise.scores(law, sum(len(a) + made.stop for *_, a in level if a)))
            for number, (_, _, rows, attributes) in enumerate(level):
                if not attributes:
                    continue
                every = [
                    [[sum(r[a] == v and r[-1] == c for r in rows) for c in range(made.classes)] for v in range(size)]
                    for a, size in ((a, made.domains[a]) for a in attributes)
                ]
                whole = [[sum(row[-1] == c for row in rows) for c in range(made.classes)]]
                scores = score(made, [*every, whole] if made.stop else every)
                if made.stop:
                    scores[-1] += round(2 * measure_change(made) / level_epsilon(made))
                totals = [(s + extra, tie) for s, (extra, tie) in zip(scores, drawn, strict=False)]
                best = totals.index(max(totals))
                choices[number] = left if best == len(attributes) else best
        elif depth < made.max_depth and left:
            choices = [0 if attributes else left for *_, attributes in level]
        leaves = [node for node, choice in zip(level, choices, strict=True) if choice == left]
        if leaves:
            law = one_sided((1 + made.replace) / made.leaf_epsilon, made.leaf_epsilon, made.classes)
            noisy = noise.classes(law, made.classes, len(leaves))
            for (place, number, rows, _), extras in zip(leaves, noisy, strict=True):
                counts = Counter(row[-1] for row in rows)
                totals = [(counts[c] + extra, tie) for c, (extra, tie) in enumerate(extras)]
                place[number] = Leaf(totals.index(max(totals)))
        below = []
        for (place, number, rows, attributes), choice in zip(level, choices, strict=True):
            if choice < left:
                asked, children = attributes[choice], [None] * made.domains[attributes[choice]]
                place[number] = (asked, children)
                spans = [range(run.first, run.end) for run in made.runs]
                run = next((span for span in spans if asked in span), range(0))
                for v in range(len(children)):
                    known = [asked, *(a for a in run if (a < asked if v else a > asked))]  # their answers follow
                    rest = tuple(a for a in attributes if a not in known)
                    below.append((children, v, [r for r in rows if r[asked] == v], rest))
        level, depth = below, depth + 1

    def frozen(node: Any) -> Tree:
        return node if isinstance(node, Leaf) else Split(node[0], tuple(map(frozen, node[1])))

    return tuple(frozen(root[0]) for root in roots)


@QUICK
@given(data=st.data())
def test_the_same_noise_makes_the_same_tree(data: st.DataObject) -> None:
    domains = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    runs: tuple[Run, ...] = ()
    for edges in data.draw(st.lists(st.integers(1, 4), max_size=2)):
        runs, domains = (*runs, Run(len(domains), len(domains) + edges)), (*domains, *[2] * edges)
    made = problem(
        domains,
        data.draw(st.integers(2, 4)),
        runs=runs,
        max_depth=data.draw(st.integers(0, 3)),
        epsilon=(epsilon := data.draw(st.sampled_from([Fraction(1, 10), Fraction(2), Fraction(12)]))),
        leaf_epsilon=epsilon * data.draw(st.sampled_from([Fraction(1, 2), Fraction(1, 5)])),
        stop=data.draw(st.booleans()),
        quality=data.draw(st.sampled_from(["max", "gini", "entropy"])),
        replace=data.draw(st.booleans()),
    )
    rows = table(made, data.draw(st.integers(0, 60)), 3)
    assert joint(made, rows)[0] == reference(made, [[tuple(row) for row in rows.tolist()]])


@pytest.mark.parametrize("quality", ["max", "gini"])
def test_a_row_that_is_replaced_is_in_two_nodes_of_a_level(quality: Any) -> None:
    made = problem(replace=True, quality=quality, epsilon=Fraction(4))
    for seed in range(6):
        rows = table(made, 60, seed)
        assert joint(made, rows)[0] == reference(made, [[tuple(row) for row in rows.tolist()]])


@pytest.mark.parametrize("name", ["yao", "gmw", "mixed", "lean"])
@pytest.mark.parametrize(("trees", "quality"), [(1, "max"), (3, "max"), (2, "gini")])
def test_every_engine_makes_the_same_trees(name: str, trees: int, quality: Any) -> None:
    made = problem(trees=trees, quality=quality)
    rows = table(made, 90, 5)
    assert joint(made, rows, name)[0] == joint(made, rows)[0]


def test_a_forest_is_a_tree_for_each_part_of_the_rows() -> None:
    made = problem(trees=3, stop=False)
    rows = table(made, 90, 7)
    parts: list[list[tuple[int, ...]]] = [[], [], []]
    for own in (rows[0::2], rows[1::2]):
        lines = RowCounts(made.domains, made.classes, own[:, :-1], own[:, -1]).distinct()
        for tree, line in zip(*partition_rows(lines, 3, b"key"), strict=True):
            parts[tree].append(tuple(lines[line, :-1].tolist()))
    assert sorted(row for part in parts for row in part) == sorted(map(tuple, rows.tolist()))
    assert min(map(len, parts)) > 15
    assert joint(made, rows)[0] == reference(made, parts)


@pytest.mark.parametrize("change", [1, -1])
def test_one_row_changes_one_tree_by_one_row(change: int) -> None:
    lines = np.array([[0, 1, 0, 5], [1, 1, 1, 3], [2, 0, 0, 9]])

    def parts(lines: Indices) -> Counter[tuple[int, ...]]:
        return Counter(
            (int(t), *lines[row, :-1].tolist()) for t, row in zip(*partition_rows(lines, 4, b"key"), strict=True)
        )

    other = lines[::-1].copy()  # in another order, which changes nothing
    other[1, -1] += change
    before, after = parts(lines), parts(other)
    assert sum(((before - after) + (after - before)).values()) == 1


class Repeated:
    """The same counts for each of many trees."""

    def __init__(self, made: Problem, classes: list[int], values: list[list[list[int]]]) -> None:
        self._made, self._classes, self._values = made, classes, values

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        copies = sum(isinstance(node, Open) for tree in forest for node, _ in walk(tree))
        repeated = [np.repeat(np.array([part]), copies, axis=0) for part in (self._classes, *self._values)]
        return LevelCounts(repeated[0], tuple(repeated[1:]) if attributes else ())


@pytest.mark.parametrize("rows", [0, 1])
def test_the_law_of_a_choice(rows: int) -> None:
    """Chi-square over 30,000 trees of one tiny table against the exact law; false positives: below 1e-9 a table."""
    made = problem((2, 2), 2, max_rows=1 << 20, max_depth=1, trees=30_000)
    values = [[[2, 1], [0, 1]], [[2, 0], [0, 2 - rows]]]
    classes = [2, 2]
    own = Repeated(made, classes, values)
    nobody = Repeated(made, [0, 0], [[[0, 0], [0, 0]]] * 2)

    def program(session: Session) -> Forest:
        session.contributions = Prg(bytes([session.party + 1 + 2 * rows]) * 16)
        return private_tree(make_engine(session, "clear"), made, (own, nobody)[session.party], start=None)

    forest = run_local(program)[0]
    found = Counter(tree.attribute if isinstance(tree, Split) else 2 for tree in forest)
    scores = [3, 4 - rows, 2 + made.bonus]
    law = {g: p for g, p in made.attribute_law(2).probabilities().items() if g < 60}
    exact = [Fraction(0)] * 3
    below = [[sum((p for g, p in law.items() if s + g < t), Fraction(0)) for t in range(80)] for s in scores]
    for i, t in product(range(3), range(80)):  # i has t in all, and of equals each wins as often
        (a, b), (c, d) = ((below[j][t], law.get(t - scores[j], Fraction(0))) for j in range(3) if j != i)
        exact[i] += law.get(t - scores[i], Fraction(0)) * (a * c + (a * d + b * c) / 2 + b * d / 3)
    assert abs(sum(exact) - 1) < Fraction(1, 10**9)
    chi = sum((found[i] - made.trees * float(p)) ** 2 / (made.trees * float(p)) for i, p in enumerate(exact))
    assert chi < 42  # two degrees of freedom: exp(-21)


# What is opened, what it costs, and how it goes on.


def public(cost: Cost) -> dict[str, Any]:
    fields: dict[str, Any] = cost.as_dict()
    del fields["seconds"]
    return fields


@pytest.mark.one_of(4)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize(
    "made",
    [
        problem(),
        problem(stop=False),
        problem(stop=False, max_depth=3),
        problem((3,), 2, max_depth=4, trees=4),
        problem((3, 2), 2, quality="gini"),
        problem((2, 3, 2, 2, 2), 2, runs=(Run(0, 1), Run(2, 5)), max_depth=4, trees=2),
        problem((2, 3, 2, 2, 2), 2, runs=(Run(2, 5),), max_depth=5, stop=False),
        problem((3, 2), 2, quality="entropy"),
        problem((), 2, leaf_epsilon=Fraction(2)),
        problem((2, 2), 1),
        problem(max_depth=0, leaf_epsilon=Fraction(2)),
    ],
    ids=str,
)
def test_costs_are_foreseen(profile: Profile, made: Problem) -> None:
    meters: dict[int, Meter] = {}
    rows = table(made, 60, 1)

    def program(session: Session) -> Forest:
        meters[session.party] = session.meter
        own = rows[session.party :: 2]
        counts = RowCounts(made.domains, made.classes, own[:, :-1], own[:, -1])
        dealt = (
            Partitioned(made.domains, made.classes, counts, made.trees, b"key")
            if made.trees > 1
            else Unpartitioned(counts)
        )
        return private_tree(engine_of(session, profile), made, dealt)

    forest, same = run_local(program)
    assert forest == same
    exact = forecast(lambda engine: with_forest(engine, made, forest), profile)
    for party in (0, 1):
        assert public(exact.costs[party]) == public(meters[party].total)
    assert exact.bytes <= most_bytes(made, profile, 1000)
    found = opened(made, forest)
    nodes = [node for tree in forest for node, _ in walk(tree)]
    assert found[KINDS[1]] == (sum(isinstance(node, Leaf) for node in nodes) if made.classes > 1 else 0)
    steps = [opened(made, forest, step) for step in range(max(map(decided_levels, forest)) if made.classes > 1 else 0)]
    assert found == {kind: sum(step[kind] for step in steps) for kind in KINDS}


@pytest.mark.parametrize("trees", [1, 3])
def test_a_level_that_is_computed_again_draws_the_same_noise(trees: int) -> None:
    made = problem((2, 3, 2), 2, trees=trees, max_depth=3, stop=False)
    rows = table(made, 80, 9)
    whole, _ = joint(made, rows, "mixed")
    levels = max(map(decided_levels, whole))
    assert levels > 2
    for depth in range(levels + 1):
        start = tuple(cut(tree, depth) for tree in whole)
        assert joint(made, rows, "mixed", start)[0] == whole
    other, _ = joint(made, rows, "mixed", seeds=(SEEDS[0], bytes(range(1, 17))))
    assert other != whole


def test_more_rows_than_agreed_are_refused() -> None:
    made = problem(max_rows=3)
    with pytest.raises(InputError, match="4 rows are more than the agreed maximum of 3"):
        joint(made, table(made, 8, 1))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"epsilon": Fraction(0)}, "epsilon is 0"),
        ({"epsilon": Fraction(1, 1 << 21)}, "at least 2"),
        ({"leaf_epsilon": Fraction(3)}, "at most epsilon"),
        ({"leaf_epsilon": Fraction(2)}, "none is left for the splits"),
        ({"leaf_epsilon": Fraction(0)}, "above 0"),
        ({"max_depth": -1}, "negative"),
        ({"trees": 0}, "at least one"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        problem(**change)


def test_no_table_is_dealt_that_is_too_large() -> None:
    counts = RowCounts((2,), 2, np.array([[0]]), np.array([1]))
    counts.distinct = lambda: np.array([[0, 1, 1 << 25]])  # type: ignore[method-assign]
    with pytest.raises(InputError, match="too many for several trees"):
        Partitioned((2,), 2, counts, 2, b"key")


def test_real_rows_cost_less_than_the_exact_tree(shared: Path) -> None:
    from protocols.id3 import Problem as Exact
    from protocols.id3 import id3

    # The class stands first; one vote tells nearly all of it, so the root is split whatever the noise.
    lines = [line.split(",")[::-1] for line in (shared / "data" / "house-votes-84.csv").read_text().split()][1:]
    domains = [sorted(set(column)) for column in zip(*lines, strict=True)]
    rows = np.array([[d.index(c) for d, c in zip(domains, line, strict=True)] for line in lines])
    sizes = tuple(map(len, domains[:-1]))
    made = problem(sizes, len(domains[-1]), max_rows=2000, max_depth=4, epsilon=Fraction(8), leaf_epsilon=Fraction(4))
    forest, meters = joint(made, rows, "mixed")

    def exact(engine: Engine) -> Tree:
        own = rows[engine.party :: 2]
        counts = RowCounts(sizes, made.classes, own[:, :-1], own[:, -1])
        return id3(engine, Exact(sizes, made.classes, 2000, max_depth=4), counts)

    plain: dict[int, Meter] = {}

    def program(session: Session) -> Tree:
        plain[session.party] = session.meter
        return exact(make_engine(session, "mixed"))

    run_local(program)
    assert isinstance(forest[0], Split)
    noisy, exactly = (sum(one[party].total.bytes_sent for party in (0, 1)) for one in (meters, plain))
    assert noisy < exactly
