"""Circuit that decides leaves: one class, few rows or none, and the majority, from class counts of both parties."""

from __future__ import annotations

from itertools import combinations

from protocols.majority import greatest_sum
from protocols.openings import index_width
from smc.circuit import Builder, Form, Integer, Netlist, Wire, any_of, maximum, select, total
from smc.circuit.kept import kept


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
        The circuit. Its inputs are the class counts of party 0 and of party 1, the parent's majority, and the verdicts.
        Its outputs are the majority; then a bit, 1 for a leaf, followed by the leaf's class. For a split these are 0.
    """
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    inherited = builder.input(index_width(classes))
    feasible = [builder.input(1)[0] for _ in range(candidates)]
    winner, leaf, silent = (_small_leaf if form == "size" else _shallow_leaf)(left, right, min_rows)
    if feasible:
        leaf = leaf | ~any_of(feasible)
    if root:
        broken = ~builder.input(1)[0]
        leaf, silent = leaf | broken, silent | broken
    label = select(silent, inherited, winner)
    builder.output(winner)
    builder.output([leaf, *(wire & leaf for wire in label)])
    return builder.build()


def _small_leaf(left: list[Integer], right: list[Integer], min_rows: int) -> tuple[Integer, Wire, Wire]:
    """Build the majority and the bits "leaf" and "empty" with few gates: one class if the greatest count is the sum."""
    counts = [a + b for a, b in zip(left, right, strict=True)]
    rows = total(counts, len(counts[0]))
    most, winner = maximum(counts)
    return winner, (most == rows) | (rows <= min_rows), rows == 0


def _shallow_leaf(left: list[Integer], right: list[Integer], min_rows: int) -> tuple[Integer, Wire, Wire]:
    """Build the majority and the bits "leaf" and "empty" in few levels.

    Counts are compared without adding them first. There is one class if no two classes have a row.
    """
    limit = Integer.constant(left[0].graph, min_rows + 1)
    few = total([*left, *right], len(left[0]) + 1, minus=[limit])[-1]
    present = [any_of([*a, *b]) for a, b in zip(left, right, strict=True)]
    mixed = any_of([a & b for a, b in combinations(present, 2)])
    return greatest_sum(left, right), ~mixed | few, ~any_of(present)
