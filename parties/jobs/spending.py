"""Privacy losses of jobs, as separate events rather than sums, so that any composition rule can be applied later.

Losses are fractions. Settings, results and the ledger hold doubles; `exact` and `Loss.entry` convert them.

Conversion of (epsilon, delta) into rho of zero-concentrated privacy, with equal digits on every machine.

rho-zCDP has a Renyi loss of a rho at each order a > 1, and so is (a rho + c(a), delta)-private with

    c(a) = ln(1 - 1 / a) + (ln(1 / delta) - ln a) / (a - 1)

(Canonne, Kamath, Steinke 2020, Proposition 12). Each order allows (epsilon - c(a)) / a of rho; the best order is taken.
The orders that allow a given rho or more are an interval: (a - 1) (a rho - epsilon) + a ln(1 - 1 / a) - ln(a - 1),
which must be ln(delta) at most, is convex in a. The bound holds for every order, so wherever the search ends, the
result is valid.

Both parties of a job compute this and must agree on the last digit: decimal arithmetic rounds alike everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias

Adjacency: TypeAlias = Literal["add-remove", "replace"]

YOURS = "no budget is kept by this command: what it spends is yours to add up"  # for a command that needs no node
KEPT_BY_NODES = f"{YOURS}; a node keeps a budget"
# each party subtracts its own number from a joint number without noise
EXACT = "this tells each party the other's number"


def exact(value: float) -> Fraction:
    """Return a float as the decimal number that was written, such as 1/10 for 0.1."""
    return Fraction(str(value))


class Noised:
    """Base class of a task or method whose settings have epsilon and an adjacency."""

    settings: Any

    @property
    def epsilon(self) -> Fraction:
        """Epsilon, exactly as written."""
        return exact(self.settings.epsilon)

    @property
    def replaced(self) -> bool:
        """Whether neighbouring tables may differ by a replaced row."""
        return bool(self.settings.adjacency == "replace")


@dataclass(frozen=True)
class Loss:
    """Privacy loss of a noisy mechanism used `times` times in sequence on the same rows.

    Each use is pure (`PureLoss`) or zero-concentrated (`ConcentratedLoss`), except with probability `delta`.
    Neighbouring tables differ by one row added or removed. With adjacency "replace" they may also differ by one row
    replaced, and the loss bounds both: the noise covers the larger change. All numbers are rounded to doubles, as in
    the ledger, so a loss read back is equal.
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


DECIMAL = Context(prec=40)
_STEPS = 64  # ternary search steps: ln(a - 1) is then exact to 10^-9; rho is stationary there, so exact to 10^-17
_ORDERS = Decimal("1e-6"), Decimal("1e9")  # bounds of the order, less 1


def decimal(value: Fraction) -> Decimal:
    """Return a fraction as a decimal number of 40 significant digits."""
    return DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))


def loss_of_order(order: Fraction, delta: Fraction) -> Decimal:
    """Return c(a): the epsilon at Renyi order a of a mechanism without any loss. c(a) is negative for large orders.

    Args:
        order: Renyi order a, above 1.
        delta: Probability that epsilon fails.
    """
    with localcontext(DECIMAL):
        a = decimal(order)
        return (1 - 1 / a).ln() - (decimal(delta).ln() + a.ln()) / (a - 1)


@lru_cache(maxsize=1024)
def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the Renyi order that permits the largest rho within (epsilon, delta).

    Args:
        epsilon: Privacy loss, above 0.
        delta: Probability that epsilon fails, between 0 and 1.
    """
    with localcontext(DECIMAL):
        low, high = (beyond.ln() for beyond in _ORDERS)
        for _ in range(_STEPS):
            third = (high - low) / 3
            nearer, farther = _order(low + third), _order(high - third)
            if _allowed(nearer, epsilon, delta) < _allowed(farther, epsilon, delta):
                low += third
            else:
                high -= third
        return _order(low)


@lru_cache(maxsize=1024)
def rho_within(epsilon: Fraction, delta: Fraction) -> Decimal:
    """Return the largest rho whose epsilon at this delta is at most `epsilon`; 0 for delta 0.

    Args:
        epsilon: Privacy loss, above 0.
        delta: Probability that epsilon fails.
    """
    return max(Decimal(0), _allowed(best_order(epsilon, delta), epsilon, delta)) if delta > 0 else Decimal(0)


def _order(logarithm: Decimal) -> Fraction:
    return 1 + Fraction(logarithm.exp().quantize(Decimal("1e-9")))


def _allowed(order: Fraction, epsilon: Fraction, delta: Fraction) -> Decimal:
    with localcontext(DECIMAL):
        return (decimal(epsilon) - loss_of_order(order, delta)) / decimal(order)
