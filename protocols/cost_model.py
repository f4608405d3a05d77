"""What an ID3 will cost: its conversation follows from the problem and the tree, so it can be counted without rows.

With the tree of an earlier run the count is exact. Without one, `at_most` counts the largest conversation that the
problem allows: every attribute with as many values as the one with most, and as many splits a level as there can be
nodes with enough rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from protocols.counts import RowCounts
from protocols.id3 import Problem, Tree, id3
from protocols.openings import Decisions, choice_bits, levels
from smc.counting import Answers, CountingEngine
from smc.primitives.bits import BitMatrix


def with_tree(engine: CountingEngine, problem: Problem, tree: Tree) -> None:
    """Count the run that ends with this tree."""
    _count(engine, problem, _tree_answers(problem, tree))


def at_most(engine: CountingEngine, problem: Problem, splits: int | None = None) -> None:
    """Count a run that no run of this problem exceeds; with `splits`, one with at most so many splits a level."""
    widest = replace(problem, domains=(max(problem.domains, default=1),) * len(problem.domains))
    possible = _possible(problem)
    _count(engine, widest, _full_answers(widest, possible if splits is None else min(possible, splits)))


def cells(problem: Problem) -> int:
    """Return how many counts the entropies of the largest tree are made of: what `at_most` takes long for."""
    widest, most = max(problem.domains, default=1), _possible(problem)
    total, nodes = 0, 1
    deepest = len(problem.domains)
    for depth in range(deepest if problem.max_depth is None else min(deepest, problem.max_depth)):
        splits = min(nodes, most)
        total += splits * (len(problem.domains) - depth) * widest * (problem.classes + 1)
        nodes = splits * widest
    return total


def _possible(problem: Problem) -> int:
    """Return how many nodes of a level can have the rows to split: those of two classes at least."""
    return 2 * problem.max_rows // max(2, problem.min_rows + 1, problem.rules.k)


def _count(engine: CountingEngine, problem: Problem, answers: Answers) -> None:
    engine.answers = answers
    no_rows = np.zeros((0, len(problem.domains)), dtype=np.int64)
    id3(engine, problem, RowCounts(problem.domains, problem.classes, no_rows, np.zeros(0, dtype=np.int64)))


def _tree_answers(problem: Problem, tree: Tree) -> Iterator[list[BitMatrix]]:
    """Yield what `id3` opens, in order, when it finds `tree`."""
    for level in levels(problem.domains, problem.classes, tree):
        yield [level.decisions.bits(problem.classes)]
        if level.choices is not None:
            yield [choice_bits(level.choices, level.left)]


def _full_answers(problem: Problem, most: int) -> Iterator[list[BitMatrix]]:
    """Yield what `id3` would open for a tree with as many splits a level as there are nodes, but at most `most`."""
    nodes, left, depth = 1, len(problem.domains), 0
    while nodes:
        splits = 0 if depth == problem.max_depth or not left else min(nodes, most)
        yield [Decisions(np.arange(nodes) >= splits, np.zeros(nodes, dtype=np.int64)).bits(problem.classes)]
        if splits and left > 1:
            yield [choice_bits([0] * splits, left)]
        nodes, left, depth = splits * problem.domains[0] if left else 0, left - 1, depth + 1
