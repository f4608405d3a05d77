"""Circuit that decides leaves: one class, few rows or none, and the majority, from class counts of both parties."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from protocols.counts import Indices
from protocols.majority import greatest_sum
from protocols.openings import index_width
from smc.circuit import Builder, Form, Integer, Netlist, Wire, any_of, maximum, select, total
from smc.circuit.kept import kept

Verdict = tuple[Integer, Wire, Wire, Wire]  # the majority, and whether there is one class at most, few rows, and no row


@kept
def leaf_netlist(
    classes: int, width: int, min_rows: int, form: Form = "size", candidates: int = 0, root: bool = False
) -> Netlist:
    """Build the circuit that decides whether a node is a leaf, and its class.

    Args:
        classes: Number of classes.
        width: Bits of a count; all counts of both parties add up to less than 2^width.
        min_rows: Largest number of rows at which a node becomes a leaf.
        form: "size" for few gates, "depth" for few levels.
        candidates: Number of attributes with a verdict of the rules; 0 without rules.
        root: True for one more verdict, on the root.

    Returns:
        The circuit. Its inputs are the class counts of party 0 and of party 1, in the form "size" as `with_rows`
        completes them, the parent's majority, and the verdicts. Its outputs are the majority; then a bit, 1 for a leaf,
        followed by the leaf's class. For a split these are 0.
    """
    builder = Builder(form)
    size = form == "size"
    left, right = ([builder.input(width) for _ in range(classes + (size and classes > 2))] for _ in range(2))
    inherited = builder.input(index_width(classes))
    feasible = [builder.input(1)[0] for _ in range(candidates)]
    winner, leaf, few, silent = (_small_leaf if size else _shallow_leaf)(left, right, classes, min_rows)
    if min_rows > 1:  # a single row has one class
        leaf = leaf | (few if min_rows + 1 < 1 << width else True)
    if feasible:
        leaf = leaf | ~any_of(feasible)
    if root:
        broken = ~builder.input(1)[0]
        leaf, silent = leaf | broken, silent | broken
    label = select(silent, inherited, winner)
    builder.output(winner)
    builder.output([leaf, *(wire & leaf for wire in label)])
    return builder.build()


def with_rows(classes: Indices) -> Indices:
    """Return own counts by class, int64[nodes, classes], with their sum as a last column if there are three or more."""
    return np.column_stack([classes, classes.sum(axis=1)]) if classes.shape[1] > 2 else classes


def _small_leaf(left: list[Integer], right: list[Integer], classes: int, min_rows: int) -> Verdict:
    """Build a verdict with few gates: there is one class if the greatest count is the sum."""
    counts = [a + b for a, b in zip(left, right, strict=True)]
    rows = total(counts[classes:] or counts, len(counts[0]))
    most, winner = maximum(counts[:classes])
    return winner, most == rows, rows <= min_rows, rows == 0


def _shallow_leaf(left: list[Integer], right: list[Integer], classes: int, min_rows: int) -> Verdict:
    """Build a verdict in few levels, without sums of counts: there is one class if no two of them have a row."""
    limit = Integer.constant(left[0].graph, min_rows + 1)
    few = total([*left, *right], len(left[0]) + 1, minus=[limit])[-1]
    present = [any_of([*a, *b]) for a, b in zip(left, right, strict=True)]
    mixed = any_of([present[i] & present[j] for i, j in combinations(range(classes), 2)])
    return greatest_sum(left, right), ~mixed, few, ~any_of(present)
