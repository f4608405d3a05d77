"""Privacy promise of a checked mechanism: epsilon, delta and adjacency, read from decimal numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from parties.base.text import quoted
from parties.checking.mechanism import Mechanism
from parties.checking.statistics.losses import Outcomes
from parties.jobs.spending import Adjacency, ConcentratedLoss, Loss, exact, rho_within
from parties.node.budget.composition import epsilon_at
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON
from smc.engines import Engine
from smc.errors import InputError

SEEN = 0.01  # a delta that samples can show
_DECIMAL = re.compile(r"[0-9]{0,9}\.?[0-9]{1,30}(e-?[0-9]{1,2})?")


@dataclass(frozen=True)
class Promise:
    """What a checked mechanism promises: (epsilon, delta)-differential privacy for neighbours by `adjacency`."""

    epsilon: Fraction
    delta: float = 1e-5  # for mechanisms that need one
    adjacency: Adjacency = "add-remove"

    @classmethod
    def read(cls, epsilon: str, delta: str, adjacency: Adjacency) -> Promise:
        """Return the promise given by decimal texts.

        Args:
            epsilon: Decimal text of epsilon.
            delta: Decimal text of delta.
            adjacency: Definition of neighbouring tables.

        Raises:
            InputError: A number is invalid.
        """
        numbers = {"epsilon": epsilon, "delta": delta}
        for name, text in numbers.items():
            if not _DECIMAL.fullmatch(text):
                raise InputError(f"{name} is {quoted(text)}, must be a decimal number")
        if not LEAST_EPSILON <= Fraction(epsilon) <= MOST_EPSILON:
            raise InputError(f"epsilon is {epsilon}, must be from 2^-20 to {MOST_EPSILON:g}")
        if not 0 < Fraction(delta) < 1:
            raise InputError(f"delta is {delta}, must be above 0 and below 1")
        return cls(Fraction(epsilon), float(delta), adjacency)

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by a replaced row, not by an added one."""
        return self.adjacency == "replace"

    @property
    def rows(self) -> int:
        """Rows in which neighbours differ: a replacement is one removed and one added."""
        return 1 + self.replaced

    @property
    def rho(self) -> float:
        """Rho, in zero-concentrated differential privacy, that the budget allows for epsilon at this delta."""
        return float(rho_within(self.epsilon, exact(self.delta)))


Draw = Callable[[Engine, int, int], Outcomes]  # see `Mechanism.draw`


def pure(name: str, tables: str, promise: Promise, draw: Draw, delta: float = 0.0) -> Mechanism:
    """Return a mechanism that promises epsilon.

    Args:
        name: Name of the mechanism.
        tables: Description of the two neighbours.
        promise: The promise.
        draw: Sampler of the outcomes.
        delta: Probability that epsilon fails.
    """
    return Mechanism(name, tables, float(promise.epsilon), delta, draw)


def concentrated(
    name: str, tables: str, promise: Promise, draw: Draw, losses: Sequence[Loss] | None = None
) -> Mechanism:
    """Return a mechanism that promises a rho: that of epsilon at its delta, or the budgeted one if smaller.

    Args:
        name: Name of the mechanism.
        tables: Description of the two neighbours.
        promise: The promise.
        draw: Sampler of the outcomes.
        losses: Losses that the job charges, if any.
    """
    rho = promise.rho
    if losses is not None:
        rho = min(rho, float(sum(loss.times * loss.rho for loss in losses if isinstance(loss, ConcentratedLoss))))
    delta = promise.delta
    return Mechanism(name, tables, epsilon_at(exact(rho), exact(delta)), delta, draw, rho=rho)
