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
from protocols.id3 import Leaf, Problem, Split, Tree, id3, index_width
from smc.counting import Answers, CountingEngine
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix


def with_tree(engine: CountingEngine, problem: Problem, tree: Tree) -> None:
    """Count the run that ends with this tree."""
    _count(engine, problem, _tree_answers(problem, tree))


def at_most(engine: CountingEngine, problem: Problem, splits: int | None = None) -> None:
    """Count a run that no run of this problem exceeds; with `splits`, one with at most so many splits a level."""
    widest = replace(problem, domains=(max(problem.domains, default=1),) * len(problem.domains))
    possible = 2 * problem.max_rows // max(2, problem.min_rows + 1)  # a node that splits has rows of two classes
    _count(engine, widest, _full_answers(widest, possible if splits is None else min(possible, splits)))


def _count(engine: CountingEngine, problem: Problem, answers: Answers) -> None:
    engine.answers = answers
    no_rows = np.zeros((0, len(problem.domains)), dtype=np.int64)
    id3(engine, problem, RowCounts(problem.domains, problem.classes, no_rows, np.zeros(0, dtype=np.int64)))


def _tree_answers(problem: Problem, tree: Tree) -> Iterator[list[BitMatrix]]:
    """What `id3` opens, in order, when it finds `tree`."""
    level = [(tree, tuple(range(len(problem.domains))))]
    while level:
        leaves = np.array([isinstance(node, Leaf) for node, _ in level])
        labels = [node.label if isinstance(node, Leaf) else 0 for node, _ in level]
        yield [np.vstack([leaves, bitpack.from_integers(labels, index_width(problem.classes))]).astype(np.uint8)]
        splits = [(node, left) for node, left in level if isinstance(node, Split)]
        if splits and len(splits[0][1]) > 1:
            places = [left.index(node.attribute) for node, left in splits]
            yield [bitpack.from_integers(places, index_width(len(splits[0][1])))]
        level = [
            (child, tuple(a for a in left if a != node.attribute)) for node, left in splits for child in node.children
        ]


def _full_answers(problem: Problem, most: int) -> Iterator[list[BitMatrix]]:
    """What `id3` would open for a tree with as many splits a level as there are nodes, but at most `most`."""
    nodes, left, depth = 1, len(problem.domains), 0
    while nodes:
        splits = 0 if depth == problem.max_depth or not left else min(nodes, most)
        decided = np.zeros((1 + index_width(problem.classes), nodes), dtype=np.uint8)
        decided[0, splits:] = 1
        yield [decided]
        if splits and left > 1:
            yield [np.zeros((index_width(left), splits), dtype=np.uint8)]
        nodes, left, depth = splits * problem.domains[0] if left else 0, left - 1, depth + 1
