"""What an ID3 will cost: its conversation follows from the problem and the tree, so it can be counted without rows.

With the tree of an earlier run the count is exact. Without one, `typical` counts a tree of a shape that trees of such
problems have, and `most_bytes` bounds every run by the largest conversation that the problem allows: every attribute
with as many values as the one with most, and as many splits a level as there can be nodes with enough rows.

A typical tree has s(d) = (3/4 v)^d min(1, R / (4 k v^(d+1))) splits at depth d: v is the geometric mean of the domains,
R the bound on a party's rows. The first factor says how many of a node's children split again, the second how few are
left where the rows of a party in a child come near the k that it must have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from protocols.counts import RowCounts
from protocols.edges import Runs
from protocols.id3 import Problem, Tree, id3
from protocols.openings import Decisions, choice_bits, levels
from protocols.tree import Open, Split
from smc.counting import Answers, CountingEngine, forecast
from smc.engines import Profile
from smc.primitives.bits import BitMatrix

SPLITTING = 0.75  # of the children of a typical split, those that are split again while there are rows
BLOCK = 8  # instances: what costs a multiple of this costs as much apart as together


def with_tree(engine: CountingEngine, problem: Problem, tree: Tree) -> None:
    """Count the run that ends with this tree."""
    _count(engine, problem, _tree_answers(problem, tree))


def typical(engine: CountingEngine, problem: Problem) -> None:
    """Count the run that ends with a tree of typical shape, split by attributes with a typical number of values."""
    mean = _mean(problem)
    domains = tuple(sorted(problem.domains, key=lambda size: abs(math.log(size / mean))))
    ordered = replace(problem, domains=domains, runs=_single(problem))
    _count(engine, ordered, _full_answers(ordered, typical_splits(problem)))


def typical_splits(problem: Problem) -> list[int]:
    """Return how many nodes a typical tree splits at each depth; see the module's first lines."""
    mean, splits, nodes = _mean(problem), [], 1
    k = max(2, problem.rules.k)
    for depth in range(_depth(problem)):
        log_share = min(0.0, math.log(problem.max_rows / (4 * k)) - (depth + 1) * math.log(mean))
        expected = round(math.exp(depth * math.log(SPLITTING * mean) + log_share))
        splits.append(min(nodes, max(expected, int(depth == 0)), _possible(problem)))
        nodes = math.ceil(splits[-1] * mean)
    return splits


def typical_cells(problem: Problem) -> float:
    """Return how many counts the entropies of a typical tree are made of, about: what `typical` takes long for."""
    each = sum(problem.domains) * (problem.classes + 1)
    return each * sum(typical_splits(problem))


def at_most(engine: CountingEngine, problem: Problem) -> None:
    """Count a run that no run of this problem exceeds, in nothing that is counted."""
    widest = _widest(problem)
    _count(engine, widest, _full_answers(widest, [splits for _, splits in _largest(problem)]))


def cells(problem: Problem) -> int:
    """Return how many counts the entropies of the largest tree are made of: what `at_most` takes long for."""
    return sum(splits * _cells_of_a_split(problem, depth) for depth, (_, splits) in enumerate(_largest(problem)))


def most_bytes(problem: Problem, profile: Profile, largest: int) -> int:
    """Return a number of bytes, both ways together, that no run of this problem exceeds under this profile.

    More than `largest` counts of entropies are counted in parts: a level of n nodes, s of them split, costs at most t
    times one of n / t and s / t in a session of its own, rounded up to whole blocks.
    """
    if cells(problem) <= largest:
        return forecast(lambda engine: at_most(engine, problem), profile).bytes
    total = 0
    for depth, (nodes, splits) in enumerate(_largest(problem)):
        room = BLOCK * max(1, largest // (BLOCK * max(1, _cells_of_a_split(problem, depth))))
        times = max(1, -(-splits // room), -(-nodes // max(room, largest // problem.classes)))
        part = [-(-number // (times * BLOCK)) * BLOCK for number in (nodes, splits)]
        total += times * _level_bytes(problem, profile, depth, *part)
    return total


def counted_cells(problem: Problem, largest: int) -> int:
    """Return how many counts of entropies `most_bytes` goes through: what it takes long for."""
    if cells(problem) <= largest:
        return cells(problem)
    each = [_cells_of_a_split(problem, depth) for depth in range(_depth(problem))]
    return sum(max(largest, BLOCK * size) for size in each)


def _level_bytes(problem: Problem, profile: Profile, depth: int, nodes: int, splits: int) -> int:
    """Count a level of so many nodes at this depth in a session of its own."""
    left = (max(problem.domains),) * (len(problem.domains) - depth)
    last = not left or depth == problem.max_depth
    alone = replace(problem, domains=(nodes, *left), max_depth=1 if last else 2, runs=((0, 1),) if problem.runs else ())

    def level(engine: CountingEngine) -> None:
        answers = _full_answers(alone, [1, 0 if last else splits], nodes, len(left), 1)
        _count(engine, alone, answers, Split(0, (Open(),) * nodes))

    cost = forecast(level, profile).meters[0].phases["level 1"]
    return cost.bytes_sent + cost.bytes_received


def _depth(problem: Problem) -> int:
    """Return how many levels can have splits."""
    return len(problem.domains) if problem.max_depth is None else min(len(problem.domains), problem.max_depth)


def _mean(problem: Problem) -> float:
    """Return the geometric mean of the domains."""
    return math.exp(sum(map(math.log, problem.domains)) / max(1, len(problem.domains)))


def _widest(problem: Problem) -> Problem:
    return replace(problem, domains=(max(problem.domains, default=1),) * len(problem.domains), runs=_single(problem))


def _single(problem: Problem) -> Runs:
    """Return runs of one question each, if there are any: of more, a node has fewer questions left."""
    return tuple((i, i + 1) for i in range(len(problem.domains))) if problem.runs else ()


def _largest(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield the numbers of nodes and splits of each level that no tree exceeds."""
    widest, most, nodes = max(problem.domains, default=1), _possible(problem), 1
    for _ in range(_depth(problem)):
        splits = min(nodes, most)
        yield nodes, splits
        nodes = splits * widest
    yield nodes, 0


def _cells_of_a_split(problem: Problem, depth: int) -> int:
    return (len(problem.domains) - depth) * max(problem.domains, default=1) * (problem.classes + 1)


def _possible(problem: Problem) -> int:
    """Return how many nodes of a level can have the rows to split: those of two classes at least."""
    return 2 * problem.max_rows // max(2, problem.min_rows + 1, problem.rules.k)


def _count(engine: CountingEngine, problem: Problem, answers: Answers, start: Tree = Open()) -> None:  # noqa: B008
    engine.answers = answers
    no_rows = np.zeros((0, len(problem.domains)), dtype=np.int64)
    counts = RowCounts(problem.domains, problem.classes, no_rows, np.zeros(0, dtype=np.int64))
    id3(engine, problem, counts, start=start)


def _tree_answers(problem: Problem, tree: Tree) -> Iterator[list[BitMatrix]]:
    """Yield what `id3` opens, in order, when it finds `tree`."""
    for level in levels(problem.domains, problem.classes, tree, problem.runs):
        yield [level.decisions.bits(problem.classes)]
        if level.choices is not None:
            yield [choice_bits(level.choices, level.left)]


def _full_answers(
    problem: Problem, most: Sequence[int], nodes: int = 1, left: int | None = None, depth: int = 0
) -> Iterator[list[BitMatrix]]:
    """Yield what `id3` would open for a tree with as many splits a level as there are nodes, but at most `most`.

    It begins with so many nodes at this depth, with so many attributes left.
    """
    left = len(problem.domains) if left is None else left
    while nodes:
        splits = min(nodes, most[depth]) if left and depth != problem.max_depth and depth < len(most) else 0
        yield [Decisions(np.arange(nodes) >= splits, np.zeros(nodes, dtype=np.int64)).bits(problem.classes)]
        if splits and left > 1:
            yield [choice_bits([0] * splits, left)]
        nodes = splits * problem.domains[depth] if left else 0
        left, depth = left - 1, depth + 1
