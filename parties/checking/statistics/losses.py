"""Whether a mechanism keeps its promise of privacy: what samples of its output show, and what exact laws prove.

A mechanism M is (epsilon, delta)-differentially private if P[M(x) in E] <= e^epsilon P[M(x') in E] + delta for every
event E and all neighbouring tables x, x' (Dwork, Roth 2014, definition 2.4). Samples can refute that, never prove it:

* `examine` looks for events that tell two given neighbours apart best, on a quarter of the samples, and bets on them
  with the others, which had no part in the choice (`parties.checking.statistics.events`). Hence the stated probability
  of a false alarm, whatever the mechanism. It also plays the attacker who knows x and x', sees an output and guesses
  which it was: right with probability p on x and q on x'. If the promise is kept, p + q <= 2 (e^epsilon + delta) / (1
  + e^epsilon). (Ding, Wang, Wang, Zhang, Kifer, "Detecting violations of differential privacy", CCS 2018; Bichsel,
  Steffen, Bogunovic, Vechev, "DP-Sniper", S&P 2021.)
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

from parties.base.binomial import lower_limit
from parties.checking.statistics import events

Outcomes = NDArray[np.int64]  # one outcome a row: [samples], or [samples, numbers that are published together]
Counts = NDArray[np.int64]  # how often each outcome occurs
Said = NDArray[np.bool_]
LEAST_SAMPLES = 8
SPREAD = 3.0  # standard deviations by which the samples that choose an event may mislead


@dataclass(frozen=True)
class Guess:
    """The success of an attacker who knows two neighbouring tables, sees an outcome and says which one it is from."""

    recognised: float  # p, as measured: the attacker says x and it was x
    rejected: float  # q, as measured: it says x' and it was x'
    least: float  # lower limit of p + q
    allowed: float  # what p + q may be at most


@dataclass(frozen=True)
class Finding:
    """Evidence of two neighbours' samples under a promise. Limits hold together, except with probability `error`."""

    epsilon: float
    delta: float
    samples: int  # from each neighbour
    error: float
    loss: float  # lower limit of the privacy loss at this delta; 0 if nothing was found
    guess: Guess

    @property
    def holds(self) -> bool:
        """True if nothing contradicts the promise."""
        return self.loss <= self.epsilon and self.guess.least <= self.guess.allowed


def guess(says_first: Said, says_first_too: Said, allowed: float, error: float) -> Guess:
    """Judge what the attacker says of outcomes of the first table, and of the second."""
    right = int(says_first.sum()), len(says_first_too) - int(says_first_too.sum())
    trials = len(says_first)
    least = sum(lower_limit(count, trials, error / 2) for count in right)
    return Guess(right[0] / trials, right[1] / trials, least, allowed)


def guessing_limit(epsilon: float, delta: float = 0.0) -> float:
    """Return the most that p + q can be, by p <= e^epsilon (1 - q) + delta and the same with both swapped."""
    return 2 * (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def examine(first: Outcomes, second: Outcomes, epsilon: float, delta: float = 0.0, error: float = 1e-9) -> Finding:
    """Test the promise on outcomes for one table (`first`) and for its neighbour (`second`), as many of each."""
    if first.shape != second.shape or len(first) < LEAST_SAMPLES:
        raise ValueError(f"as many outcomes of each, {LEAST_SAMPLES} or more: got shapes {first.shape}, {second.shape}")
    labels, values = _labelled(np.concatenate([first, second]))
    both = labels[: len(first)], labels[len(first) :]
    ordering, choosing = (
        (_counted(both[0][part], len(values)), _counted(both[1][part], len(values)))
        for part in (slice(0, None, 8), slice(4, None, 8))
    )
    testing = [outcomes[np.arange(len(outcomes)) % 4 != 0] for outcomes in both]
    orders = _orders(*ordering, values)
    squared = SPREAD**2 - math.log(error) * len(first) / 8 / len(testing[0])
    cells = np.zeros(len(values), dtype=np.int64)
    for table, neighbour, side, towards in (
        (0, 1, events.FOR_FIRST, orders),
        (1, 0, events.FOR_SECOND, [order[::-1] for order in orders]),
    ):
        cells[
            _best_prefix(towards, choosing[table], choosing[neighbour], lambda p, q: _shown(p, q, delta, squared))
        ] |= side
    chosen = [np.bincount(cells, counts, events.CELLS) for counts in choosing]
    says_first = np.zeros(len(values), dtype=np.bool_)
    says_first[_best_prefix(orders, choosing[0], choosing[1], lambda p, q: p / p[-1] - q / q[-1])] = True
    return Finding(
        epsilon,
        delta,
        samples=len(first),
        error=error,
        loss=events.loss_shown(chosen, [cells[part] for part in testing], delta, error / 2),
        guess=guess(says_first[testing[0]], says_first[testing[1]], guessing_limit(epsilon, delta), error / 2),
    )


def excess(first: Mapping[int, Fraction], second: Mapping[int, Fraction], epsilon: float) -> float:
    """Return the least delta of (epsilon, delta) for both laws, either way: the hockey-stick divergence."""
    factor = Fraction(math.exp(epsilon))
    nothing = Fraction(0)

    def one_way(law: Mapping[int, Fraction], other: Mapping[int, Fraction]) -> Fraction:
        gaps = (chance - factor * other.get(outcome, nothing) for outcome, chance in law.items())
        return sum((gap for gap in gaps if gap > 0), nothing)

    return float(max(one_way(first, second), one_way(second, first)))


def _labelled(outcomes: Outcomes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return a number from 0 for each different outcome, and the numbers that it is made of, [outcomes, numbers]."""
    rows = outcomes.reshape(len(outcomes), -1)
    labels = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, places = np.unique(column, return_inverse=True)
        labels = np.unique(labels * len(values) + places, return_inverse=True)[1]
    return labels, rows[np.unique(labels, return_index=True)[1]].astype(np.float64)


def _counted(labels: NDArray[np.int64], size: int) -> Counts:
    return np.bincount(labels, minlength=size)


def _orders(first: Counts, second: Counts, values: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return outcomes from those that speak for the first table to those that speak for the second, in two ways.

    By how often each occurs under both, which needs no idea of what the numbers mean; and by how far they lie in the
    direction of the difference of the means, each number in units of its variance, which does where no outcome occurs
    often (Fisher's discriminant, of numbers taken as independent).
    """
    often = (second + 0.5) / (first + 0.5)
    means = [counts @ values / max(1, counts.sum()) for counts in (first, second)]
    spread = first @ (values - means[0]) ** 2 + second @ (values - means[1]) ** 2
    direction = np.divide(means[0] - means[1], spread, out=np.zeros(len(spread)), where=spread > 0)
    direction = np.where(spread > 0, direction, 1e9 * (means[0] - means[1]))  # a number that never varies tells all
    return [np.argsort(often, kind="stable"), np.argsort(-(values @ direction), kind="stable")]


def _best_prefix(
    orders: Sequence[NDArray[np.int64]], first: Counts, second: Counts, merit: Callable[[Counts, Counts], Any]
) -> NDArray[np.int64]:
    """Take as many outcomes of an order as have the greatest merit, by how often they occur under both."""
    merits = [merit(np.cumsum(first[order]), np.cumsum(second[order])) for order in orders]
    order, gains = max(zip(orders, merits, strict=True), key=lambda pair: float(pair[1].max()))
    return order[: int(np.argmax(gains)) + 1]


def _shown(often: Counts, seldom: Counts, delta: float, squared: float) -> NDArray[np.float64]:
    """Return the ratio of probabilities that so many successes would show, by Wilson's limits.

    A short event has the greater ratio, a long one the narrower limits: so many deviations wide, `squared`.
    """
    least, _ = _wilson(often, int(often[-1]), squared)
    _, most = _wilson(seldom, int(seldom[-1]), squared)
    return np.maximum(least - delta, 1e-300) / most


def _wilson(successes: Counts, trials: int, squared: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about what exact limits of a probability are, for many counts at once."""
    share = successes / trials
    middle = (share + squared / (2 * trials)) / (1 + squared / trials)
    half = np.sqrt(share * (1 - share) * squared / trials + (squared / (2 * trials)) ** 2) / (1 + squared / trials)
    return np.maximum(middle - half, 0.0), middle + half
