"""Composition of noisy mechanisms on the same rows: pure epsilon, rho, and epsilon at a fixed delta.

Sums are exact: decimal numbers are added as decimals. So ten uses of 0.1 make 1, and the order of questions does not
change their price. OpenDP converts an exact sum of rho to epsilon, and errs upwards only. Its own composition adds
doubles and rounds every sum up, so ten uses of 0.1 would not fit into 1.

Sequential composition adds epsilon (or rho) and delta. The bounds also hold if each use is chosen by earlier answers
(Rogers, Roth, Ullman, Vadhan 2016; Whitehouse, Ramdas, Rogers, Wu 2023). A use with pure
loss epsilon is epsilon^2 / 2 in rho (Bun, Steinke 2016); for many small uses epsilon by rho is much less than the sum.

**Mixed uses.** Some pure uses are taken as rho, with all uses whose loss is in rho. The others, R, are added. Then

    epsilon = converted(rho + sum of e^2 / 2, delta) + sum over R of e.

Proof: the conversion bounds E[max(0, 1 - e^(converted - L))] by delta, with L the privacy loss of the former alone. The
latter add at most their sum to L, whatever is asked in between. The best of all 2^n splits takes the smallest epsilons
as rho. `epsilon_of` tries these n splits, and the sum of all Renyi losses at each of many orders.
Proof: each order a > 1 bounds the conversion by a rho + c(a) and the conversion is the least of these (Canonne, Kamath,
Steinke 2020), a concave and growing function of rho. So the least is at a corner of the hull of the points
(sum of e^2 / 2, sum of e) of all subsets, on the side with much e for little e^2 / 2. The corners on that side take
uses in the order of e^2 / 2 for each e, which is e / 2: the smallest first.

**The room for further questions** (`room_at`) is another matter: losses may be chosen by earlier answers, and the best
order depends on them. So the budget alone fixes the order: the best one for rho alone (`parties.jobs.spending`). At
order a, a use with rho has a Renyi loss of a rho, a pure use at most that of randomised response, `renyi_of`.
e^((a - 1) (L - the sum so far)) is a supermartingale. So a node that stops before the sum is above epsilon - c(a) keeps
(epsilon, delta) (Feldman, Zrnic 2021).

**The cost of a pure use e at an order** (Mironov 2017, Proposition 9). Let x = dP / dQ at an outcome: it is
from e^-e to e^e and has the mean 1 under Q. x^a is convex, so below its chord between the two ends, and E_Q[x^a] is at
most the chord's value at 1: with p = e^e / (1 + e^e) and q = 1 - p, the chances of an end's outcome under P and Q, that
is p^a q^(1 - a) + q^a p^(1 - a), as for randomised response. Its logarithm over a - 1 is below both a e^2 / 2 and e.

Optimal composition (Kairouz, Oh, Viswanath 2015: 200 uses of 0.05 come to 3.59 at a delta of 10^-7, by rho to 3.86) is
no bound for further questions. It holds for losses that are fixed before the first answer. Here the epsilon of each
question may depend on earlier answers. No sum at several orders, or by the exact distribution, is known to be a
supermartingale (Rogers, Roth, Ullman, Vadhan 2016). So the ledger does not use it.

A group of b rows pays b epsilon, b^2 rho, and delta (1 + e^epsilon + ... + e^((b - 1) epsilon)). The delta of a use
with loss rho is its distance from a mechanism with exactly that loss: b deltas are more than enough. One row replaced
is a group of two rows, one removed and one added. So a loss for added or removed rows counts for two rows in a budget
for replaced rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.jobs.spending import DECIMAL, Adjacency, ConcentratedLoss, Loss, PureLoss, decimal, exact, loss_of_order

_ROUNDING = Fraction(1, 10**25)  # covers what 40 digits leave open, also in a difference of nearly equal numbers
_HALVINGS = 60
_WORTH = 0.999  # a smaller improvement does not replace the sums
_ORDERS = 1 + np.geomspace(1e-4, 1e7, 4096)  # Renyi orders that are tried


@dataclass(frozen=True)
class Composition:
    """The exact sums of privacy losses: for pure ones the count of each epsilon, ascending; for the others `rho`."""

    pure: tuple[tuple[Fraction, int], ...] = ()
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """The sum of the epsilons of all pure losses."""
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
        """The sum of all losses as rho."""
        return self.rho + self.squares

    def at_order(self, order: Fraction) -> Fraction:
        """Return an upper bound of the Renyi loss at an order: the sum of each use's largest loss."""
        bounds = (times * renyi_of(epsilon, order) for epsilon, times in self.pure)
        return order * self.rho + sum(bounds, Fraction(0))

    def __add__(self, other: Composition) -> Composition:
        pure = dict(self.pure)
        for epsilon, times in other.pure:
            pure[epsilon] = pure.get(epsilon, 0) + times
        terms = tuple(sorted((epsilon, times) for epsilon, times in pure.items() if epsilon and times))
        return Composition(terms, self.rho + other.rho, self.delta + other.delta)

    def __rmul__(self, times: int) -> Composition:
        pure = tuple((epsilon, times * count) for epsilon, count in self.pure)
        return Composition(pure, times * self.rho, times * self.delta)


def composed(uses: Iterable[Loss], adjacency: Adjacency = "add-remove", group: int = 1) -> Composition:
    """Return the sequential composition of privacy losses.

    A loss for rows replaced holds for rows added or removed as well: see `Loss`. It counts once in either budget.

    Args:
        uses: The privacy losses.
        adjacency: Kind of neighbouring tables.
        group: Number of rows in which they differ.
    """
    total = Composition()
    for use, count in Counter(uses).items():  # it hashes each fraction once
        rows = group * (2 if (adjacency, use.adjacency) == ("replace", "add-remove") else 1)
        total += count * use.times * _of_group(use, rows)
    return total


def _of_group(use: Loss, rows: int) -> Composition:
    if isinstance(use, PureLoss):
        return Composition(((rows * use.epsilon, 1),), delta=use.delta * _grown(float(use.epsilon), rows))
    assert isinstance(use, ConcentratedLoss)
    return Composition(rho=rows**2 * use.rho, delta=use.delta * rows)


def epsilon_of(loss: Composition, delta: Fraction) -> float:
    """Return the least known epsilon of privacy losses at a delta.

    Either some pure uses are taken as rho and the others added, or all are summed by their Renyi losses at one order.

    Args:
        loss: The composition of the uses.
        delta: The delta.
    """
    if delta <= 0:
        return math.inf if loss.rho else float(loss.epsilon)
    splits = [(loss.rho, loss.epsilon)]
    for epsilon, times in loss.pure:
        rho, rest = splits[-1]
        splits.append((rho + times * epsilon**2 / 2, rest - times * epsilon))
    orders, least = _ORDERS, _least(_ORDERS, delta)
    near = [(float(np.min(orders * float(rho) + least)) if rho else 0.0) + float(rest) for rho, rest in splits]
    rho, rest = splits[int(np.argmin(near))]  # found with doubles, converted by OpenDP
    mixed = epsilon_at(rho, delta) + float(rest)
    by_order = _renyi_epsilon(loss, least) if loss.pure else mixed
    return by_order if by_order < _WORTH * mixed else mixed


def _renyi_epsilon(loss: Composition, least: NDArray[np.float64]) -> float:
    """Return the epsilon of all uses at the best of the orders, with a margin for the rounding of doubles."""
    total = _ORDERS * float(loss.rho) + least
    for epsilon, times in loss.pure:
        e = float(epsilon)
        extra = np.log1p(np.exp((1 - 2 * _ORDERS) * e)) - math.log1p(math.exp(-e))
        total = total + times * np.minimum(e + extra / (_ORDERS - 1), _ORDERS * e**2 / 2)
    return max(0.0, float(total.min()) * (1 + 1e-9))


@lru_cache(maxsize=4096)
def renyi_of(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return the Renyi loss of randomised response, rounded up; no use of this pure epsilon exceeds it.

    Args:
        epsilon: The pure epsilon.
        order: The order, above 1.
    """
    with localcontext(DECIMAL):
        e, a = decimal(epsilon), decimal(order)
        # p^a q^(1 - a) + q^a p^(1 - a) = e^((a - 1) e) p (1 + e^((1 - 2 a) e)), p = 1 / (1 + e^-e)
        loss = e + ((1 + ((1 - 2 * a) * e).exp()).ln() - (1 + (-e).exp()).ln()) / (a - 1)
    return min(Fraction(loss) + _ROUNDING, order * epsilon**2 / 2, epsilon)


def most_pure(room: Fraction, order: Fraction) -> Fraction:
    """Return the largest pure epsilon whose Renyi loss fits.

    Args:
        room: Renyi loss that remains.
        order: The order.
    """
    low, high = Fraction(0), room + Fraction(math.log(2)) * order / (order - 1) + 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if renyi_of(middle, order) <= room else (low, middle)
    return low


def room_at(order: Fraction, epsilon: float, delta: Fraction) -> Fraction:
    """Return the Renyi loss at an order that (epsilon, delta) allows; 0 for delta 0.

    Args:
        order: The order.
        epsilon: Epsilon of the budget.
        delta: Delta of the budget.
    """
    return max(Fraction(0), exact(epsilon) - Fraction(loss_of_order(order, delta))) if delta > 0 else Fraction(0)


def _least(orders: NDArray[np.float64], delta: Fraction) -> NDArray[np.float64]:
    """Return the epsilon of zero loss at each order: c(a) = ln(1 - 1 / a) + (ln(1 / delta) - ln a) / (a - 1)."""
    epsilons: NDArray[np.float64] = np.log1p(-1 / orders) + (-math.log(delta) - np.log(orders)) / (orders - 1)
    return epsilons


@lru_cache(maxsize=4096)
def epsilon_at(rho: Fraction, delta: Fraction) -> float:
    """Return the epsilon of a loss at a delta, by OpenDP's conversion; infinite for delta 0.

    Args:
        rho: The privacy loss rho.
        delta: Probability that epsilon fails.
    """
    if not rho:
        return 0.0
    if delta <= 0:
        return math.inf
    opendp = _opendp()
    measurement = opendp.measurement(_up(rho))
    epsilon: float = opendp.combinators.make_zCDP_to_approxDP(measurement).map(1).epsilon(_down(delta))
    return epsilon


def advanced(loss: Composition, delta: Fraction) -> float | None:
    """Return epsilon by advanced composition, for comparison; None where a use is not pure.

    sqrt(2 ln(1/delta) sum epsilon^2) + sum epsilon (e^epsilon - 1): Dwork, Rothblum, Vadhan 2010, with different
    epsilons. The conversion of rho is never worse.

    Args:
        loss: The composition of the uses.
        delta: The delta.
    """
    if not loss.is_pure or delta <= 0:
        return None
    sharp = math.fsum(times * _sharp(float(epsilon)) for epsilon, times in loss.pure)
    return math.sqrt(2 * math.log(1 / delta) * 2 * loss.squares) + sharp


def _grown(epsilon: float, rows: int) -> Fraction:
    """Return 1 + e^epsilon + ... + e^((rows - 1) epsilon); if that overflows, a factor too large for any delta."""
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
        return self.make_measurement(rho)


@cache
def _opendp() -> _OpenDP:
    """Load OpenDP at the first conversion: it takes a third of a second, and pure sums do without it."""
    from opendp import combinators, domains, measurements, measures, metrics, mod

    # Both mean that OpenDP proves nothing here: the loss of our mechanisms is proved where they are made.
    mod.enable_features("contrib", "honest-but-curious")
    space = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")

    def measurement(rho: float) -> Any:
        measure = measures.zero_concentrated_divergence()
        return measurements.make_user_measurement(*space, measure, lambda _: 0, lambda _: rho, TO="i32")

    return _OpenDP(combinators, measurement)
