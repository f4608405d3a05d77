"""What uses of noisy mechanisms on the same rows come to: pure epsilon, rho, and epsilon at a fixed delta.

Sums are exact: what is given as decimal numbers is added as such, so ten uses of 0.1 are 1, and in whichever order
questions are asked, their price is the same. OpenDP converts rho to epsilon; its own composition adds doubles and
rounds every sum up, so ten uses of 0.1 would not fit into 1: it is given what is summed exactly, and errs upwards only.

Sequential composition adds epsilon (or rho) and delta: the bounds hold for uses that are chosen one after the other,
by what was seen before, too (Rogers, Roth, Ullman, Vadhan 2016; Whitehouse, Ramdas, Rogers, Wu 2023). A use with pure
loss epsilon is epsilon^2 / 2 in rho (Bun, Steinke 2016); for many small uses epsilon by rho is much less than the sum.

**Mixed uses.** Let some pure uses be taken as rho, with all that has its loss in rho, and the rest R be added: then

    epsilon = converted(rho + sum of e^2 / 2, delta) + sum over R of e.

Proof: the conversion bounds E[max(0, 1 - e^(converted - L))] by delta, L the privacy loss of the former alone, and
whatever is asked in between, the latter add at most their sum to L. The least of all 2^n splits takes the smallest
epsilons as rho, up to some one: `epsilon_of` tries these. Proof: each order a > 1 bounds the conversion by a rho + c(a)
and the conversion is the least of these (Canonne, Kamath, Steinke 2020), a concave and growing function of rho. So the
least is at a corner of the hull of all (sum of e^2 / 2, sum of e) of subsets, and among those at one with the most e
for its e^2 / 2: the corners there take the e with the least e^2 / 2 for an e, which is e / 2.

**What may still be asked** (`room_at`) is another matter: losses may be chosen by what was seen, and the best order
with them. So the order is fixed by the budget alone. At order a, a use with rho has a Renyi loss of a rho, a pure one
of at most min(a e^2 / 2, e); e^((a - 1) (L - the sum so far)) is a supermartingale, so who stops before the sum is
above epsilon - c(a) keeps (epsilon, delta) (Feldman, Zrnic 2021). The order is the best one for rho alone
(`parties.jobs.conversion`).

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

import numpy as np
from numpy.typing import NDArray

from parties.jobs.conversion import loss_of_order
from parties.jobs.spending import Adjacency, ConcentratedLoss, Loss, PureLoss, exact

_ORDERS = 1 + np.geomspace(1e-4, 1e7, 4096)  # of Renyi losses, that are tried


@dataclass(frozen=True)
class Composition:
    """The exact sums of some uses: of the pure ones how many have which epsilon, ascending; of the others `rho`."""

    pure: tuple[tuple[Fraction, int], ...] = ()
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """The sum of pure losses."""
        return sum((times * epsilon for epsilon, times in self.pure), Fraction(0))

    @property
    def squares(self) -> Fraction:
        """Pure losses as rho: the sum of epsilon^2 / 2."""
        return sum((times * epsilon**2 for epsilon, times in self.pure), Fraction(0)) / 2

    @property
    def is_pure(self) -> bool:
        """True if no use has its loss in rho."""
        return not self.rho

    @property
    def concentrated(self) -> Fraction:
        """All of it as rho."""
        return self.rho + self.squares

    def at_order(self, order: Fraction) -> Fraction:
        """Return the Renyi loss of all of it at an order, as the sum of what each use has at most."""
        most = (times * min(order * epsilon**2 / 2, epsilon) for epsilon, times in self.pure)
        return order * self.rho + sum(most, Fraction(0))

    def __add__(self, other: Composition) -> Composition:
        pure = dict(self.pure)
        for epsilon, times in other.pure:
            pure[epsilon] = pure.get(epsilon, 0) + times
        terms = tuple(sorted((epsilon, times) for epsilon, times in pure.items() if epsilon and times))
        return Composition(terms, self.rho + other.rho, self.delta + other.delta)

    def __rmul__(self, times: int) -> Composition:
        pure = tuple((epsilon, times * many) for epsilon, many in self.pure)
        return Composition(pure, times * self.rho, times * self.delta)


def composed(uses: Iterable[Loss], adjacency: Adjacency = "add-remove", group: int = 1) -> Composition:
    """Return all uses in sequence, for neighbours of this kind and for a group of so many rows.

    Noise that hides one row replaced hides one added or removed as well: a mechanism here never has less of it.
    """
    counted: dict[Loss, int] = {}
    for use in uses:
        counted[use] = counted.get(use, 0) + use.times
    total = Composition()
    for use, times in counted.items():
        rows = group * (2 if (adjacency, use.adjacency) == ("replace", "add-remove") else 1)
        total += times * _of_group(use, rows)
    return total


def _of_group(use: Loss, rows: int) -> Composition:
    """Return what one use costs a group of so many rows."""
    if isinstance(use, PureLoss):
        return Composition(((rows * use.epsilon, 1),), delta=use.delta * _grown(float(use.epsilon), rows))
    assert isinstance(use, ConcentratedLoss)
    return Composition(rho=rows**2 * use.rho, delta=use.delta * rows)


def epsilon_of(loss: Composition, delta: Fraction) -> float:
    """Return the least epsilon that uses keep but for `delta`, some pure ones taken as rho and the others added."""
    if delta <= 0:
        return math.inf if loss.rho else float(loss.epsilon)
    splits = [(loss.rho, loss.epsilon)]
    for epsilon, times in loss.pure:
        rho, rest = splits[-1]
        splits.append((rho + times * epsilon**2 / 2, rest - times * epsilon))
    orders, least = _ORDERS, _least(_ORDERS, delta)
    near = [(float(np.min(orders * float(rho) + least)) if rho else 0.0) + float(rest) for rho, rest in splits]
    rho, rest = splits[int(np.argmin(near))]  # found by doubles, converted by OpenDP
    return epsilon_at(rho, delta) + float(rest)


def room_at(order: Fraction, epsilon: float, delta: Fraction) -> Fraction:
    """Return how much Renyi loss at an order is within (epsilon, delta); nothing for delta 0."""
    return max(Fraction(0), exact(epsilon) - Fraction(loss_of_order(order, delta))) if delta > 0 else Fraction(0)


def _least(orders: NDArray[np.float64], delta: Fraction) -> NDArray[np.float64]:
    """Return the epsilon of no loss at all, by each order: c(a) = ln(1 - 1 / a) + (ln(1 / delta) - ln a) / (a - 1)."""
    epsilons: NDArray[np.float64] = np.log1p(-1 / orders) + (-math.log(delta) - np.log(orders)) / (orders - 1)
    return epsilons


@lru_cache(maxsize=4096)
def epsilon_at(rho: Fraction, delta: Fraction) -> float:
    """Return the epsilon that a loss of `rho` keeps but for `delta`, by OpenDP's conversion; infinite for delta 0."""
    if not rho:
        return 0.0
    if delta <= 0:
        return math.inf
    opendp = _opendp()
    measurement = opendp.measurement(_up(rho))
    epsilon: float = opendp.combinators.make_zCDP_to_approxDP(measurement).map(1).epsilon(_down(delta))
    return epsilon


def advanced(loss: Composition, delta: Fraction) -> float | None:
    """Return epsilon at this delta by advanced composition; None where a use is not pure.

    sqrt(2 ln(1/delta) sum epsilon^2) + sum epsilon (e^epsilon - 1): Dwork, Rothblum, Vadhan 2010, with different
    epsilons. It stands beside the others for comparison: the conversion of rho is never worse.
    """
    if not loss.is_pure or delta <= 0:
        return None
    sharp = math.fsum(times * _sharp(float(epsilon)) for epsilon, times in loss.pure)
    return math.sqrt(2 * math.log(1 / delta) * 2 * loss.squares) + sharp


def _grown(epsilon: float, rows: int) -> Fraction:
    """Return 1 + e^epsilon + ... + e^((rows - 1) epsilon); if that is too large, more than any delta can bear."""
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
    """Return the next double that is not below."""
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
        """Return some mechanism with this loss."""
        return self.make_measurement(rho)


@cache
def _opendp() -> _OpenDP:
    """Load OpenDP when something is converted: it takes a third of a second, and pure sums do without."""
    from opendp import combinators, domains, measurements, measures, metrics, mod

    # Both mean that what follows is no proof of OpenDP's: the loss of our mechanisms is proved where they are made.
    mod.enable_features("contrib", "honest-but-curious")
    space = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")

    def measurement(rho: float) -> Any:
        measure = measures.zero_concentrated_divergence()
        return measurements.make_user_measurement(*space, measure, lambda _: 0, lambda _: rho, TO="i32")

    return _OpenDP(combinators, measurement)
