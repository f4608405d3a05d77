"""Questions on ordered columns, "is x below an edge?", and a party's counts by question, from prefix sums.

A *question* has answers, one child for each. A column without an order is one question, whose answers are its values.
An ordered column of v values, the numbers 0 to v - 1 in their order, is v - 1 questions of two answers: whether its
value is below edge e, for e = 1, ..., v - 1. They have consecutive numbers and are a *run*. Below a node that asks for
edge e, some questions of the run no longer divide the rows: where x < e the edges from e up, elsewhere the edges up to
e. So a path can ask an ordered column again, by another edge. Nodes of one depth may have different numbers of
remaining questions. These numbers follow from the tree, which is public.

A column of three values without an order has a third cut, the second value against the others. This cut is one more
question at the end of its run, with edge -1. There are no other cuts, and below any cut at most one other still divides
the rows.

ID3 works with questions only. A party still counts by column, value and class. The counts of edge e are the sum over
the values below it, and the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from protocols.counts import Indices, LevelCounts
from protocols.tree import Split, Tree


class Run(NamedTuple):
    """Questions of one column: the first, the one after the last, and whether the last is about a middle value."""

    first: int
    end: int
    middle: bool = False


Runs = tuple[Run, ...]


@lru_cache(maxsize=1 << 14)  # many nodes of a level have equal arguments
def remaining(runs: Runs, left: tuple[int, ...], question: int, answer: int) -> tuple[int, ...]:
    """Return the questions that can still divide the rows at a child of a node.

    In a run a question asks whether the row's value is below an edge, or whether it is the middle value. A question
    outside runs is asked once on a path.

    Args:
        runs: The questions of each ordered column; public.
        left: Questions left at the node, in rising order.
        question: The question that the node asks.
        answer: The answer, a child's number from 0. At an edge 0 is "below"; at the middle value 1 is "yes".

    Returns:
        The questions left at that child, in rising order.

    Examples:
        >>> remaining((Run(1, 5),), (0, 1, 2, 3, 4), 2, 0)  # below edge 2: only edge 1, and the other column
        (0, 1)
        >>> remaining((Run(0, 3, True),), (0, 1, 2), 2, 0)  # the first value or the third remain: edge 1 divides them
        (0,)
    """
    run = next((run for run in runs if run.first <= question < run.end), Run(question, question + 1))
    first, end, middle = run
    if middle and question == end - 1:
        useless = range(first + 1 - answer, end)
    else:
        useless = range(question, end) if answer == 0 else range(first, question + 1)
    return tuple(other for other in left if other not in useless and not (middle and other == end - 1))


def spread(runs: Runs, left: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return the remaining questions, at most `most` of each run, spread evenly over the run.

    Questions outside runs all stay. Nodes below can still ask the questions that are dropped here.

    Args:
        runs: The questions of each ordered column; public.
        left: Questions left at the node, in rising order.
        most: Upper bound on the questions of one run, 1 or more.

    Examples:
        >>> spread((Run(1, 10),), (0, 3, 4, 5, 6, 7, 8, 9), 3)
        (0, 4, 6, 8)
    """
    chosen: list[int] = []
    start = 0
    for first, end, _ in runs:
        low, high = bisect_left(left, first), bisect_left(left, end)
        run = left[low:high]
        chosen += left[start:low]
        chosen += (run[(2 * i + 1) * len(run) // (2 * most)] for i in range(most)) if len(run) > most else run
        start = high
    return (*chosen, *left[start:])


def compared(runs: Runs, domains: tuple[int, ...], most: int | None) -> tuple[int, ...]:
    """Return the numbers of answers of the questions that a node with all questions left compares.

    Args:
        runs: The questions of each ordered column; public.
        domains: Number of answers of each question.
        most: Upper bound on the compared questions of one run; None for all questions.
    """
    if most is None:
        return domains
    return tuple(domains[question] for question in spread(runs, tuple(range(len(domains))), most))


def padded(lengths: Indices, starts: Indices, most: int) -> Indices:
    """Return the positions of each node's candidates, int64[nodes, most].

    Missing candidates repeat the node's first. The first wins among equals, so a repeated candidate is never chosen.

    Args:
        lengths: Number of candidates of each node, int64[nodes].
        starts: Position of each node's first candidate, int64[nodes].
        most: Number of positions of each node.
    """
    offsets = np.arange(most)
    return np.asarray(starts[:, None] + np.where(offsets < lengths[:, None], offsets, 0))


@dataclass(frozen=True)
class Questions:
    """Questions on columns: `sizes` are their numbers of values, `ordered` is True for columns with edges.

    `middle` lists the columns of three values with edges that also have the question for the second value.
    """

    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    middle: tuple[int, ...] = ()

    @cached_property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """Column and edge of every question; edge 0 asks for the value itself, -1 whether it is the middle value."""
        edges = [[*range(1, size)] if by_edge else [0] for size, by_edge in zip(self.sizes, self.ordered, strict=True)]
        for column in self.middle:
            edges[column].append(-1)
        return tuple((column, edge) for column, of_column in enumerate(edges) for edge in of_column)

    @cached_property
    def domains(self) -> tuple[int, ...]:
        """Number of answers of every question."""
        return tuple(2 if edge else self.sizes[column] for column, edge in self.asked)

    @cached_property
    def runs(self) -> Runs:
        """Questions of each column with edges."""
        firsts = [(i, column) for i, (column, edge) in enumerate(self.asked) if edge == 1]
        return tuple(
            Run(first, first + self.sizes[column] - (column not in self.middle), column in self.middle)
            for first, column in firsts
        )

    @property
    def deepest(self) -> int:
        """Largest number of questions on a path of the tree.

        A column of v ordered values has at most v - 1 questions on a path, a column without order has one.
        """
        return len(self.asked) - len(self.middle)

    def of_columns(self, tree: Tree) -> Tree:
        """Return a tree whose nodes ask by edges of columns, from a tree of question numbers; see `Split.edge`."""
        if not isinstance(tree, Split):
            return tree
        column, edge = self.asked[tree.attribute]
        return Split(column, tuple(map(self.of_columns, tree.children)), edge)

    def counts(self, tables: LevelCounts) -> LevelCounts:
        """Return counts by the questions' answers, computed from counts by the columns' values."""
        if not tables.values:
            return tables
        sums = [
            values.cumsum(axis=1) if by_edge else values
            for values, by_edge in zip(tables.values, self.ordered, strict=True)
        ]
        by_question = []
        for column, edge in self.asked:
            counts = tables.values[column]
            if edge:
                second = counts[:, -edge] if edge < 0 else tables.classes - sums[column][:, edge - 1]
                counts = np.stack([tables.classes - second, second], axis=1)
            by_question.append(counts)
        distinct = None if tables.distinct is None else self.counts(tables.distinct)
        return LevelCounts(tables.classes, tuple(by_question), distinct, tables.are_shares)


class Asked:
    """Source of counts by questions, from counts by columns, of a tree or of a forest."""

    def __init__(self, source: Any, questions: Questions) -> None:
        """Wrap a `protocols.counts.Counts` or `protocols.counts.ForestCounts`.

        Args:
            source: The source of this party's counts by columns.
            questions: The questions of the columns; public.
        """
        self._source = source
        self._questions = questions

    def level(self, trees: Tree | tuple[Tree, ...], attributes: bool) -> LevelCounts:
        """Count this party's rows by questions; see `Counts.level` and `ForestCounts.level`.

        Args:
            trees: The tree or the forest so far, split by questions; public.
            attributes: True to count by each question's answers too.
        """
        of_columns = self._questions.of_columns
        by_columns = tuple(map(of_columns, trees)) if isinstance(trees, tuple) else of_columns(trees)
        return self._questions.counts(self._source.level(by_columns, attributes))
