"""What a job spends of a table's privacy budget: events, not sums, so that any way of adding up can be used later.

Losses are fractions. Doubles stand in settings and results, and in the ledger; `exact` and `Loss.entry` convert them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

Adjacency: TypeAlias = Literal["add-remove", "replace"]

YOURS = "no budget is kept by this command: what it spends is yours to add up"  # of a command that needs no node
KEPT_BY_NODES = f"{YOURS}; a node keeps a budget"
EXACT = "this tells each party the other's number"  # what a joint number without noise does: each subtracts its own


def exact(value: float) -> Fraction:
    """Return the decimal number that was written, not the binary one nearest to it."""
    return Fraction(str(value))


@dataclass(frozen=True)
class Loss:
    """The privacy loss of a noisy mechanism that is used `times` times in sequence on the same rows.

    Each use is pure (`PureLoss`) or zero-concentrated (`ConcentratedLoss`); `delta` is what it fails by besides.
    Neighbouring tables differ by one row added or removed. With adjacency "replace" they may also differ by one row
    replaced, and the loss bounds both: noise is made for the greater change. All numbers are rounded to those
    that a double has, as the ledger writes them: what is read back is equal.
    """

    mechanism: str
    _: KW_ONLY
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = "add-remove"
    times: int = 1
    measure: ClassVar[str]  # the field that holds the loss of one use

    def __post_init__(self) -> None:
        for name in (self.measure, "delta"):
            object.__setattr__(self, name, exact(float(getattr(self, name))))

    @property
    def amount(self) -> Fraction:
        """The epsilon or the rho of one use."""
        value: Fraction = getattr(self, self.measure)
        return value

    def entry(self) -> dict[str, Any]:
        """Return the loss as plain JSON; `read` is the inverse."""
        return {name: float(value) if isinstance(value, Fraction) else value for name, value in asdict(self).items()}

    @staticmethod
    def read(entry: Mapping[str, Any]) -> Loss:
        """Return the loss that an entry of the ledger tells of."""
        return PureLoss(**entry) if PureLoss.measure in entry else ConcentratedLoss(**entry)


@dataclass(frozen=True)
class PureLoss(Loss):
    """Epsilon-differential privacy, but for delta."""

    epsilon: Fraction
    measure = "epsilon"


@dataclass(frozen=True)
class ConcentratedLoss(Loss):
    """Zero-concentrated differential privacy, rho-zCDP (Bun, Steinke 2016), but for delta."""

    rho: Fraction
    measure = "rho"
