"""Whether a mechanism keeps its promise of privacy: what samples of its output show, and what exact laws prove.

A mechanism M is (epsilon, delta)-differentially private if P[M(x) in E] <= e^epsilon P[M(x') in E] + delta for every
event E and all neighbouring tables x, x' (Dwork, Roth 2014, definition 2.4). Samples can refute that, never prove it:

* `examine` looks for the event that tells two given neighbours apart best, on one half of the samples, and bounds its
  probabilities on the other half, which had no part in the choice. Hence the stated probability of a false alarm,
  whatever the mechanism. It also plays the attacker who knows x and x', sees an output and guesses which it was: right
  with probability p on x and q on x'. If the promise is kept, p + q <= 2 (e^epsilon + delta) / (1 + e^epsilon).
  (Ding, Wang, Wang, Zhang, Kifer, "Detecting violations of differential privacy", CCS 2018; Bichsel, Steffen,
  Bogunovic, Vechev, "DP-Sniper", S&P 2021.)
* `excess` is exact: the least delta that goes with an epsilon for two laws that are known in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.analysis.binomial import lower_limit, upper_limit

Outcomes = NDArray[np.int64]  # one outcome a row: [samples], or [samples, numbers that are published together]
Counts = NDArray[np.int64]  # how often each outcome occurs
LEAST_SAMPLES = 4
_LIMITS = 6  # limits that a finding rests on: two probabilities for each of two directions, and p and q


@dataclass(frozen=True)
class Finding:
    """What samples from two neighbours show, under a promise. Limits hold together, except with probability `error`."""

    epsilon: float
    delta: float
    samples: int  # from each neighbour
    error: float
    loss: float  # lower limit of the privacy loss at this delta; 0 if nothing was found
    recognised: float  # p, as measured: the attacker says x and it was x
    rejected: float  # q, as measured: it says x' and it was x'
    guessing: float  # lower limit of p + q

    @property
    def guessing_allowed(self) -> float:
        """What p + q may be at most."""
        return guessing_limit(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the promise."""
        return self.loss <= self.epsilon and self.guessing <= self.guessing_allowed


def guessing_limit(epsilon: float, delta: float = 0.0) -> float:
    """The most that p + q can be: from p <= e^epsilon (1 - q) + delta and the same with p and q changed about."""
    return 2 * (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def examine(first: Outcomes, second: Outcomes, epsilon: float, delta: float = 0.0, error: float = 1e-9) -> Finding:
    """Test the promise on outcomes for one table (`first`) and for its neighbour (`second`), as many of each."""
    if first.shape != second.shape or len(first) < LEAST_SAMPLES:
        raise ValueError(f"as many outcomes of each, {LEAST_SAMPLES} or more: got shapes {first.shape}, {second.shape}")
    labels, values = _labelled(np.concatenate([first, second]))
    both = labels[: len(first)], labels[len(first) :]
    ordering, choosing, testing = (
        (_counted(both[0][part], len(values)), _counted(both[1][part], len(values)))
        for part in (slice(0, None, 4), slice(2, None, 4), slice(1, None, 2))
    )
    orders = _orders(*ordering, values)
    trials, each = len(first) // 2, error / _LIMITS
    loss = 0.0
    for one, two, towards in ((0, 1, orders), (1, 0, [order[::-1] for order in orders])):
        event = _best_prefix(towards, choosing[one], choosing[two], lambda p, q: _shown(p, q, delta, each))
        least = lower_limit(int(testing[one][event].sum()), trials, each) - delta
        most = upper_limit(int(testing[two][event].sum()), trials, each)
        if least > most:
            loss = max(loss, math.log(least / most))
    says_first = _best_prefix(orders, choosing[0], choosing[1], lambda p, q: p / p[-1] - q / q[-1])
    right = int(testing[0][says_first].sum()), trials - int(testing[1][says_first].sum())
    return Finding(
        epsilon,
        delta,
        samples=len(first),
        error=error,
        loss=loss,
        recognised=right[0] / trials,
        rejected=right[1] / trials,
        guessing=sum(lower_limit(count, trials, each) for count in right),
    )


def excess(first: Mapping[int, Fraction], second: Mapping[int, Fraction], epsilon: float) -> float:
    """The least delta for which both laws keep (epsilon, delta), in either direction: the hockey-stick divergence."""
    factor = Fraction(math.exp(epsilon))
    nothing = Fraction(0)

    def one_way(law: Mapping[int, Fraction], other: Mapping[int, Fraction]) -> Fraction:
        gaps = (chance - factor * other.get(outcome, nothing) for outcome, chance in law.items())
        return sum((gap for gap in gaps if gap > 0), nothing)

    return float(max(one_way(first, second), one_way(second, first)))


def _labelled(outcomes: Outcomes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A number from 0 for each different outcome, and the numbers that it is made of, [outcomes, numbers]."""
    rows = outcomes.reshape(len(outcomes), -1)
    labels = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, found = np.unique(column, return_inverse=True)
        labels = np.unique(labels * len(values) + found, return_inverse=True)[1]
    return labels, rows[np.unique(labels, return_index=True)[1]].astype(np.float64)


def _counted(labels: NDArray[np.int64], size: int) -> Counts:
    return np.bincount(labels, minlength=size)


def _orders(first: Counts, second: Counts, values: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Outcomes from those that speak for the first table to those that speak for the second, in two ways.

    By how often each occurs under both, which needs no idea of what the numbers mean; and by how far they lie in the
    direction of the difference of the means, which does where no outcome occurs often.
    """
    often = (second + 0.5) / (first + 0.5)
    direction = first @ values / max(1, first.sum()) - second @ values / max(1, second.sum())
    return [np.argsort(often, kind="stable"), np.argsort(-(values @ direction), kind="stable")]


def _best_prefix(
    orders: Sequence[NDArray[np.int64]], first: Counts, second: Counts, merit: Callable[[Counts, Counts], Any]
) -> NDArray[np.int64]:
    """As many outcomes of an order as have the greatest merit, by how often they occur under both."""
    merits = [merit(np.cumsum(first[order]), np.cumsum(second[order])) for order in orders]
    order, found = max(zip(orders, merits, strict=True), key=lambda pair: float(pair[1].max()))
    return order[: int(np.argmax(found)) + 1]


def _shown(often: Counts, seldom: Counts, delta: float, error: float) -> NDArray[np.float64]:
    """The ratio of probabilities that so many successes would show, by Wilson's limits.

    A short event has the greater ratio, a long one the narrower limits.
    """
    least, _ = _wilson(often, int(often[-1]), error)
    _, most = _wilson(seldom, int(seldom[-1]), error)
    return np.maximum(least - delta, 1e-300) / most


def _wilson(successes: NDArray[np.int64], trials: int, error: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """About what `lower_limit` and `upper_limit` are, for many counts at once."""
    squared = -2 * math.log(2 * error)  # a little more than the square of the normal law's quantile
    share = successes / trials
    middle = (share + squared / (2 * trials)) / (1 + squared / trials)
    half = np.sqrt(share * (1 - share) * squared / trials + (squared / (2 * trials)) ** 2) / (1 + squared / trials)
    return np.maximum(middle - half, 0.0), middle + half
