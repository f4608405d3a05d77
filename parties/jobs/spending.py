"""Privacy losses of jobs, as separate events rather than sums, so that any composition rule can be applied later.

Losses are fractions. Settings, results and the ledger hold doubles; `exact` and `Loss.entry` convert them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

Adjacency: TypeAlias = Literal["add-remove", "replace"]

YOURS = "no budget is kept by this command: what it spends is yours to add up"  # for a command that needs no node
KEPT_BY_NODES = f"{YOURS}; a node keeps a budget"
# each party subtracts its own number from a joint number without noise
EXACT = "this tells each party the other's number"


def exact(value: float) -> Fraction:
    """Return the decimal number as written, not its nearest binary one."""
    return Fraction(str(value))


@dataclass(frozen=True)
class Loss:
    """Privacy loss of a noisy mechanism used `times` times in sequence on the same rows.

    Each use is pure (`PureLoss`) or zero-concentrated (`ConcentratedLoss`), except with probability `delta`.
    Neighbouring
    tables differ by one row added or removed. With adjacency "replace" they may also differ by one row replaced, and
    the
    loss bounds both: the noise covers the larger change. All numbers are rounded to those of a double, as the ledger
    writes them: a loss read back is equal.
    """

    mechanism: str
    _: KW_ONLY
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = "add-remove"
    times: int = 1
    measure: ClassVar[str]  # name of the field with the loss of one use

    def __post_init__(self) -> None:
        for name in (self.measure, "delta"):
            object.__setattr__(self, name, exact(float(getattr(self, name))))

    @property
    def amount(self) -> Fraction:
        """Epsilon or rho of one use."""
        value: Fraction = getattr(self, self.measure)
        return value

    def entry(self) -> dict[str, Any]:
        """Return the loss as plain JSON; `read` is the inverse."""
        return {name: float(value) if isinstance(value, Fraction) else value for name, value in asdict(self).items()}

    @staticmethod
    def read(entry: Mapping[str, Any]) -> Loss:
        """Return the loss in a ledger entry."""
        return PureLoss(**entry) if PureLoss.measure in entry else ConcentratedLoss(**entry)


@dataclass(frozen=True)
class PureLoss(Loss):
    """Epsilon-differential privacy, or (epsilon, delta)-differential privacy if delta is above 0."""

    epsilon: Fraction
    measure = "epsilon"


@dataclass(frozen=True)
class ConcentratedLoss(Loss):
    """Zero-concentrated differential privacy, rho-zCDP (Bun, Steinke 2016), delta-approximate if delta is above 0."""

    rho: Fraction
    measure = "rho"
