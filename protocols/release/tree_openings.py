"""Openings of a tree with noisy choices, defined once for counting and records.

Every level opens each node's choice, an attribute or "stop", if a node has two candidates; then the class of each leaf.
That is the level of the trees itself, and nothing else. For a target of one class nothing is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from protocols.counts import ForestCounts, NoRows
from protocols.edges import remaining
from protocols.openings import index_width
from protocols.release.tree import private_tree
from protocols.release.tree_problem import Problem
from protocols.tree import Forest, Leaf, Open, Split, Tree
from smc.counting import CountingEngine
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

KINDS = ("attribute of a node, or that it is a leaf", "class of a leaf")


@dataclass(frozen=True)
class OpenedLevel:
    """All values that one level of a tree with noise opens.

    Attributes:
        choices: For each node with attributes left the position of the chosen one among these, or `left` for "stop".
            None if no node has two candidates.
        labels: Class of each new leaf.
        left: Largest number of remaining attributes of a node.
        nodes: Number of nodes.
    """

    choices: list[int] | None
    labels: list[int]
    left: int
    nodes: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of nodes and of splits, and the largest number of remaining attributes of a node."""
        return self.nodes, self.nodes - len(self.labels), self.left

    def bits(self, problem: Problem) -> Iterator[list[BitMatrix]]:
        """Yield the opened bits of the level, one list for each opening."""
        if self.choices is not None:
            yield [bitpack.from_integers(self.choices, index_width(problem.candidates(self.left)))]
        if self.labels:
            yield [bitpack.from_integers(self.labels, index_width(problem.classes))]


def levels(problem: Problem, forest: Forest) -> Iterator[OpenedLevel]:
    """Yield the opened values of a run that ends with these trees, level by level, up to the first undecided level.

    Args:
        problem: Public problem of the trees.
        forest: The trees, which may be unfinished.
    """
    every = tuple(range(len(problem.domains)))
    level: list[tuple[Tree, tuple[int, ...]]] = [(tree, every) for tree in forest] if problem.classes > 1 else []
    depth = 0
    while level and not any(isinstance(node, Open) for node, _ in level):
        left = max(len(rest) for _, rest in level)
        chooses = problem.counts_attributes(depth, left)
        choices = [rest.index(node.attribute) if isinstance(node, Split) else left for node, rest in level if rest]
        labels = [node.label for node, _ in level if isinstance(node, Leaf)]
        yield OpenedLevel(choices if chooses else None, labels, left, len(level))
        level = [
            (child, remaining(problem.runs, rest, node.attribute, answer))
            for node, rest in level
            if isinstance(node, Split)
            for answer, child in enumerate(node.children)
        ]
        depth += 1


def opened(problem: Problem, forest: Forest, depth: int | None = None) -> dict[str, int]:
    """Return the number of opened values of each kind, for these trees or one of their levels.

    Args:
        problem: Public problem of the trees.
        forest: The trees, which may be unfinished.
        depth: Depth of the level. Default: all levels.
    """
    counts = [(len(level.choices or ()), len(level.labels)) for level in levels(problem, forest)]
    chosen = counts if depth is None else counts[depth : depth + 1]
    return dict(zip(KINDS, (sum(column) for column in zip((0, 0), *chosen, strict=True)), strict=True))


def with_forest(engine: CountingEngine, problem: Problem, forest: Forest, counts: ForestCounts | None = None) -> None:
    """Count the cost of the run that ends with these trees.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        problem: Public problem of the trees.
        forest: The trees at the end of the run.
        counts: Source of counts whose own messages are counted too; None if counting sends none.
    """
    engine.answers = (bits for level in levels(problem, forest) for bits in level.bits(problem))
    private_tree(engine, problem, NoRows(problem.domains, problem.classes) if counts is None else counts)
