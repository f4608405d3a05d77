"""What uses of noisy mechanisms on the same rows come to: pure epsilon, rho, and epsilon at a fixed delta.

Sums are exact: what is given as decimal numbers is added as such, so ten uses of 0.1 are 1, and in whichever order
questions are asked, their price is the same. OpenDP converts rho to epsilon; its own composition adds doubles and
rounds every sum up, so ten uses of 0.1 would not fit into 1: it is given what is summed exactly, and errs upwards only.

Sequential composition adds epsilon (or rho) and delta: the bounds hold for uses that are chosen one after the other,
by what was seen before, too (Rogers, Roth, Ullman, Vadhan 2016; Whitehouse, Ramdas, Rogers, Wu 2023). A use with pure
loss epsilon is epsilon^2 / 2 in rho (Bun, Steinke 2016); for many small uses epsilon by rho is much less than the sum.

A group of b rows pays b epsilon, b^2 rho, and delta (1 + e^epsilon + ... + e^((b - 1) epsilon)). The delta of a use
with loss rho is its distance from a mechanism with exactly that loss: b deltas are more than enough. One row replaced
is a group of two rows added and removed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from parties.jobs.spending import Adjacency, Spending, exact


@dataclass(frozen=True)
class Loss:
    """The exact sums of some uses: of pure ones `epsilon` and `squares`, epsilon^2 / 2; of the others `rho`.

    `sharp` is the sum of epsilon (e^epsilon - 1), which advanced composition needs besides.
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    sharp: float = 0.0

    @property
    def is_pure(self) -> bool:
        """Whether no use has its loss in rho."""
        return not self.rho

    @property
    def concentrated(self) -> Fraction:
        """All of it as rho."""
        return self.rho + self.squares

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.epsilon + other.epsilon,
            self.rho + other.rho,
            self.squares + other.squares,
            self.delta + other.delta,
            self.sharp + other.sharp,
        )

    def __rmul__(self, times: int) -> Loss:
        return Loss(
            times * self.epsilon, times * self.rho, times * self.squares, times * self.delta, times * self.sharp
        )


def composed(uses: Iterable[Spending], adjacency: Adjacency = "add-remove", group: int = 1) -> Loss:
    """All uses in sequence, for neighbours of this kind and for a group of so many rows.

    Noise that hides one row replaced hides one added or removed as well: a mechanism here never has less of it.
    """
    counted: dict[Spending, int] = {}
    for use in uses:
        counted[use] = counted.get(use, 0) + use.times
    total = Loss()
    for use, times in counted.items():
        rows = group * (2 if (adjacency, use.adjacency) == ("replace", "add-remove") else 1)
        epsilon, rho, delta = (exact(value) for value in (use.epsilon, use.rho, use.delta))
        grown = delta * (rows if rho else _grown(float(epsilon), rows))
        pure = rows * epsilon
        each = Loss(pure, rows**2 * rho, pure**2 / 2, grown, _sharp(float(pure)))
        total += Loss(
            times * each.epsilon, times * each.rho, times * each.squares, times * each.delta, times * each.sharp
        )
    return total


@lru_cache(maxsize=4096)
def epsilon_at(rho: Fraction, delta: Fraction) -> float:
    """The epsilon that a loss of `rho` keeps but for `delta`, by OpenDP's conversion; infinite for delta 0."""
    if not rho:
        return 0.0
    if delta <= 0:
        return math.inf
    opendp = _opendp()
    measurement = opendp.measurement(_up(rho))
    found: float = opendp.combinators.make_zCDP_to_approxDP(measurement).map(1).epsilon(_down(delta))
    return found


@lru_cache(maxsize=256)
def rho_within(epsilon: float, delta: Fraction) -> float:
    """The most rho of which the epsilon at this delta is at most `epsilon`; 0 for delta 0."""
    if delta <= 0:
        return 0.0
    low, high = 0.0, epsilon  # more rho than epsilon never keeps it at a delta that is worth having
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_at(exact(middle), delta) <= epsilon else (low, middle)
    return low


def advanced(loss: Loss, delta: Fraction) -> float | None:
    """Epsilon at this delta by advanced composition; None where a use is not pure.

    sqrt(2 ln(1/delta) sum epsilon^2) + sum epsilon (e^epsilon - 1): Dwork, Rothblum, Vadhan 2010, with different
    epsilons. It stands beside the others for comparison: the conversion of rho is never worse.
    """
    if not loss.is_pure or delta <= 0:
        return None
    return math.sqrt(2 * math.log(1 / delta) * 2 * loss.squares) + loss.sharp


def _grown(epsilon: float, rows: int) -> Fraction:
    """1 + e^epsilon + ... + e^((rows - 1) epsilon); more than any delta can bear where that is too large a number."""
    try:
        return Fraction(math.fsum(math.exp(i * epsilon) for i in range(rows)))
    except OverflowError:
        return Fraction(10) ** 400


def _sharp(epsilon: float) -> float:
    try:
        return epsilon * math.expm1(epsilon)
    except OverflowError:
        return math.inf


def _up(value: Fraction) -> float:
    """The next double that is not below."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _down(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, 0.0)


@dataclass(frozen=True)
class _OpenDP:
    """The parts of the library that are used."""

    combinators: Any
    make_measurement: Any

    def measurement(self, rho: float) -> Any:
        """Some mechanism with this loss."""
        return self.make_measurement(rho)


@cache
def _opendp() -> _OpenDP:
    """OpenDP, loaded when something is converted: it takes a third of a second, and pure sums do without."""
    from opendp import combinators, domains, measurements, measures, metrics, mod

    # Both mean that what follows is no proof of OpenDP's: the loss of our mechanisms is proved where they are made.
    mod.enable_features("contrib", "honest-but-curious")
    space = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")

    def measurement(rho: float) -> Any:
        measure = measures.zero_concentrated_divergence()
        return measurements.make_user_measurement(*space, measure, lambda _: 0, lambda _: rho, TO="i32")

    return _OpenDP(combinators, measurement)
