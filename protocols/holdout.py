"""Reduced-error pruning (Quinlan 1987): branches of a grown tree that do no better on held-out rows become leaves.

Each party holds out a public share of its own rows, and the tree grows on the rest. Only the party learns which rows.
Pruning goes bottom-up, a level at a time. A split becomes a leaf if the leaf classifies at least as many held-out rows
correctly as the branch. Splits of the branch may already be leaves. The leaf has the class of most rows that the split
was grown on, the first among equals.

Ideal functionality. Inputs: the tree, public; each party's counts by class of both kinds of rows in its splits. Output
to both: which splits become leaves, and their classes. Leakage: nothing else, besides the tree that both know. Each
party computes locally how many held-out rows of class c a branch classifies correctly but a leaf of class c does not,
because the branch is public. So a split takes one linear threshold for each class (`protocols.threshold`). Only the
majority's result is opened.

Cost of a level of n splits, c classes, counts of N bits, held-out rows of w bits, the sign included: 2 c (N + w) input
bits, n (about 3 c N + c w) ANDs, n (1 + ceil(log2 c)) bits opened, one round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from protocols.counts import Counts, Dealt, Indices, Pieces, Rows, narrow
from protocols.draws import by_line, least
from protocols.inputs import both_inputs
from protocols.majority import count_inputs, greatest_sum
from protocols.openings import Decisions
from protocols.problem import Problem
from protocols.release.leaf_counts import own_leaf_counts
from protocols.threshold import reached, side_width
from protocols.tree import Leaf, Split, Tree
from smc.circuit import Builder, Form, Netlist, any_of
from smc.engines import Engine

MOST_ROWS = 1 << 27  # upper bound on the rows of a party: each has a random number

Verdicts = tuple[int | None, ...]  # a split's class if it becomes a leaf; splits of one depth, in reading order


@dataclass(frozen=True)
class Parts:
    """A party's rows in two parts: a tree grows on the first and is pruned by the second."""

    growing: Counts
    held_out: Counts


def parted(domains: Sequence[int], classes: int, rows: Rows, share: float, key: bytes) -> tuple[Dealt, Dealt]:
    """Divide this party's rows into rows to grow on and rows held out.

    Each row gets a 64-bit number from a PRG; the rows with the least numbers are held out. A resumed run holds out
    equal rows again.

    Args:
        domains: Number of values of each attribute; public.
        classes: Number of classes; public.
        rows: This party's rows; private.
        share: Share of the rows to hold out, from 0 to 1; their number is rounded down. Public.
        key: This party's key; private.

    Returns:
        The rows to grow on, then the rows held out.
    """
    pieces = Pieces(rows.lines)
    numbers = pieces.numbers()
    count = int(numbers.sum())
    out = by_line(least(b"holdout" + key, count, int(share * count)), numbers)
    return Dealt(domains, classes, pieces, narrow(numbers - out)), Dealt(domains, classes, pieces, out)


def pruned(tree: Tree, levels: Sequence[Verdicts]) -> Tree:
    """Return the tree in which these verdicts turn splits into leaves.

    Args:
        tree: The grown tree; it is not changed.
        levels: Class of each split that becomes a leaf, else None; the deepest depth first. Depths
            without verdicts keep their splits.

    Examples:
        >>> tree = Split(0, (Leaf(1), Split(1, (Leaf(0), Leaf(1)))))
        >>> pruned(tree, [(0,), (None,)])
        Split(attribute=0, children=(Leaf(label=1), Leaf(label=0)))
    """
    waiting = [iter(verdicts) for verdicts in levels]
    height = heights(tree)

    def at(node: Tree, depth: int) -> Tree:
        """Return the branch below and including a node, pruned.

        Args:
            node: The node.
            depth: Number of splits above it.
        """
        if not isinstance(node, Split):
            return node
        children = tuple(at(child, depth + 1) for child in node.children)
        place = height - 1 - depth
        label = next(waiting[place]) if place < len(levels) else None
        return Split(node.attribute, children) if label is None else Leaf(label)

    return at(tree, 0)


def heights(tree: Tree) -> int:
    """Return the number of levels of a tree that have splits."""
    return 1 + max(map(heights, tree.children)) if isinstance(tree, Split) else 0


# The protocol.


@dataclass(eq=False)
class _Node:
    """A node of the grown tree: own rows there by class, and the held-out rows that its branch classifies correctly."""

    growing: Indices
    held_out: Indices
    right: int
    children: Sequence[_Node] = ()


def prune(
    engine: Engine,
    problem: Problem,
    parts: Parts,
    tree: Tree,
    levels: tuple[Verdicts, ...] = (),
    progress: Callable[[tuple[Verdicts, ...], int], object] = lambda levels, splits: None,
) -> tuple[Verdicts, ...]:
    """Decide on all splits, the deepest first, which of them become leaves.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        parts: This party's rows to grow on and rows held out; private.
        tree: The grown tree; public, equal at both parties.
        levels: Verdicts of an earlier run on the deepest splits, equal at both parties. They are not opened again.
        progress: A function that is called before each level, with the verdicts so far and the number of splits.

    Returns:
        The verdicts on the splits at each depth, the deepest first; both parties learn them.

    Raises:
        InputError: This party has more rows than agreed.
        ProtocolError: The opened bits cannot come from an honest run.
    """
    for place, splits in enumerate(_splits(problem, parts, tree)):
        below = [sum(child.right for child in node.children) for node in splits]
        if place == len(levels):
            progress(levels, len(splits))
            growing, held_out = (np.array([getattr(node, name) for node in splits]) for name in ("growing", "held_out"))
            levels = (*levels, verdicts(engine, problem, growing, held_out - np.array(below)[:, None]))
        for node, right, label in zip(splits, below, levels[place], strict=True):
            node.right = right if label is None else int(node.held_out[label])
    return levels


def _splits(problem: Problem, parts: Parts, tree: Tree) -> list[list[_Node]]:
    """Return the splits of a tree by depth, the deepest first, in reading order, with the counts of their leaves."""
    leaves = zip(*(own_leaf_counts(problem, rows, tree) for rows in (parts.growing, parts.held_out)), strict=True)
    by_depth: list[list[_Node]] = [[] for _ in range(heights(tree))]

    def at(node: Tree, depth: int) -> _Node:
        if isinstance(node, Leaf):
            growing, held_out = next(leaves)
            return _Node(growing, held_out, int(held_out[node.label]))
        assert isinstance(node, Split)
        children = [at(child, depth + 1) for child in node.children]
        growing, held_out = (sum(getattr(child, name) for child in children) for name in ("growing", "held_out"))
        by_depth[depth].append(_Node(growing, held_out, 0, children))
        return by_depth[depth][-1]

    at(tree, 0)
    return by_depth[::-1]


def verdicts(engine: Engine, problem: Problem, growing: Indices, gains: Indices) -> Verdicts:
    """Open the verdicts on some splits.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        growing: This party's rows to grow on, int64[splits, classes]; private.
        gains: For each class, the held-out rows that a leaf of it classifies correctly, minus those of the branch.
            int64[splits, classes], private.

    Returns:
        The class of each split that becomes a leaf, None for the others; both parties learn it.

    Raises:
        InputError: A count or a gain of this party is beyond its public bound.
        ProtocolError: The opened bits cannot come from an honest run.
    """
    classes, width = problem.classes, problem.count_width
    sides_of = gains.T.reshape(-1)
    gain_width = side_width(engine, sides_of, problem.max_rows)
    netlist = _netlist(classes, width, gain_width, engine.form)
    with engine.session.phase("holdout"):
        counts = count_inputs(engine, growing.T, width)
        starts = range(0, gains.size, len(gains))
        sides = [
            side.take(slice(i, i + len(gains)))
            for side in both_inputs(engine, sides_of, gain_width, signed=True)
            for i in starts
        ]
        (opened,) = engine.reveal(*engine.run(netlist, *counts, *sides))
    decisions = Decisions.read(opened, classes, last=False)
    return tuple(int(c) if leaf else None for leaf, c in zip(decisions.leaves, decisions.labels, strict=True))


@lru_cache(maxsize=32)
def _netlist(classes: int, count_width: int, gain_width: int, form: Form) -> Netlist:
    """Build a circuit that returns whether a split becomes a leaf, and its class then.

    In: counts by class of party 0, of party 1, then their gains by class.
    """
    builder = Builder(form)
    left, right = ([builder.input(count_width) for _ in range(classes)] for _ in range(2))
    mine, theirs = ([builder.input(gain_width, signed=True) for _ in range(classes)] for _ in range(2))
    label = greatest_sum(left, right)
    leaf = any_of([(label == c) & reached(mine[c], theirs[c]) for c in range(classes)])
    builder.output([leaf, *(wire & leaf for wire in label)])
    return builder.build()
