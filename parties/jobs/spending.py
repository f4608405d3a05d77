"""What a job spends of a table's privacy budget: events, not sums, so that any way of adding up can be used later."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

Adjacency: TypeAlias = Literal["add-remove", "replace"]

YOURS = "no budget is kept by this command: what it spends is yours to add up"  # of a command that needs no node
KEPT_BY_NODES = f"{YOURS}; a node keeps a budget"
EXACT = "this tells each party the other's number"  # what a joint number without noise does: each subtracts its own


def exact(value: float) -> Fraction:
    """Return the decimal number that was written, not the binary one nearest to it."""
    return Fraction(str(value))


@dataclass(frozen=True)
class Spending:
    """A noisy mechanism used `times` times in sequence on the same rows, each with this loss.

    Neighbouring tables differ by one row added or removed, or by one row replaced. The loss of one use is pure
    (`epsilon`), or zero-concentrated (`rho`, and then `epsilon` is 0); `delta` is what it fails by besides.
    """

    mechanism: str
    epsilon: float = 0.0
    rho: float = 0.0
    delta: float = 0.0
    adjacency: Adjacency = "add-remove"
    times: int = 1
