"""Test of a differential privacy promise from samples of a mechanism's output, and exact divergence of known laws.

A mechanism M is (epsilon, delta)-differentially private if P[M(x) in E] <= e^epsilon P[M(x') in E] + delta for every
event E and all neighbouring tables x, x' (Dwork, Roth 2014, definition 2.4). Samples can refute that, never prove it:

* `examine` looks for the events that distinguish two given neighbours best, on a quarter of the samples, and bets on
  them with the others, which had no part in the choice (`parties.checking.statistics.events`). Hence the stated
  probability of a false alarm, for any mechanism. It also plays the attacker who knows x and x', sees an output and
  guesses its table: right with probability p on x and q on x'. If the promise is kept, p + q <=
  2 (e^epsilon + delta) / (1 + e^epsilon). (Ding, Wang, Wang, Zhang, Kifer, "Detecting violations of differential
  privacy", CCS 2018; Bichsel, Steffen, Bogunovic, Vechev, "DP-Sniper", S&P 2021.)
* `excess` is exact: the smallest delta for an epsilon and two completely known laws.
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

Outcomes = NDArray[np.int64]  # one outcome a row: [samples], or [samples, numbers published together]
Counts = NDArray[np.int64]  # frequency of each outcome
Said = NDArray[np.bool_]
LEAST_SAMPLES = 8
SPREAD = 3.0  # standard deviations by which the choosing samples may mislead


@dataclass(frozen=True)
class Guess:
    """Success of an attacker who knows two neighbouring tables, sees an outcome and guesses its table."""

    recognised: float  # p, as measured: guess x on x
    rejected: float  # q, as measured: guess x' on x'
    least: float  # lower limit of p + q
    allowed: float  # upper bound of p + q under the promise


@dataclass(frozen=True)
class Finding:
    """Evidence from samples of two neighbours under a promise. All limits hold together, except with probability
    `error`."""

    epsilon: float
    delta: float
    samples: int  # samples from each neighbour
    error: float
    loss: float  # lower limit of the privacy loss at this delta; 0 if nothing was found
    guess: Guess

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the promise."""
        return self.loss <= self.epsilon and self.guess.least <= self.guess.allowed


def guess(says_first: Said, says_first_too: Said, allowed: float, error: float) -> Guess:
    """Return the success of an attacker.

    Args:
        says_first: Whether the attacker guesses the first table, for outcomes of the first table.
        says_first_too: Whether the attacker guesses the first table, for outcomes of the second table.
        allowed: Upper bound of p + q under the promise.
        error: Probability that the lower limit is wrong.
    """
    right = int(says_first.sum()), len(says_first_too) - int(says_first_too.sum())
    trials = len(says_first)
    least = sum(lower_limit(count, trials, error / 2) for count in right)
    return Guess(right[0] / trials, right[1] / trials, least, allowed)


def guessing_limit(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest p + q of an attacker that (epsilon, delta)-privacy permits.

    It follows from p <= e^epsilon (1 - q) + delta and the same with p and q exchanged.

    Args:
        epsilon: Privacy loss.
        delta: Probability that epsilon fails.
    """
    return 2 * (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def examine(first: Outcomes, second: Outcomes, epsilon: float, delta: float = 0.0, error: float = 1e-9) -> Finding:
    """Test a promise on equally many outcomes of two neighbouring tables.

    Args:
        first: Outcomes of one table.
        second: Outcomes of its neighbour.
        epsilon: Promised epsilon.
        delta: Promised delta.
        error: Probability that a kept promise is called broken.
    """
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
    """Return the smallest delta of (epsilon, delta) for both laws, in both directions: the hockey-stick divergence.

    Args:
        first: Probability of each outcome under the first law.
        second: Probability of each outcome under the second law.
        epsilon: The epsilon.
    """
    factor = Fraction(math.exp(epsilon))
    zero = Fraction(0)

    def one_way(law: Mapping[int, Fraction], other: Mapping[int, Fraction]) -> Fraction:
        gaps = (chance - factor * other.get(outcome, zero) for outcome, chance in law.items())
        return sum((gap for gap in gaps if gap > 0), zero)

    return float(max(one_way(first, second), one_way(second, first)))


def _labelled(outcomes: Outcomes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return an index from 0 for each distinct outcome, and the numbers of each distinct outcome, [outcomes,
    numbers]."""
    rows = outcomes.reshape(len(outcomes), -1)
    labels = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, indices = np.unique(column, return_inverse=True)
        labels = np.unique(labels * len(values) + indices, return_inverse=True)[1]
    return labels, rows[np.unique(labels, return_index=True)[1]].astype(np.float64)


def _counted(labels: NDArray[np.int64], size: int) -> Counts:
    return np.bincount(labels, minlength=size)


def _orders(first: Counts, second: Counts, values: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return two orders of the outcomes, from those that favour the first table to those that favour the second.

    The first order is by frequency under both tables, which needs no meaning of the numbers. The second is by position
    in the direction of the difference of the means, each number in units of its variance; it also works if no outcome
    is frequent (Fisher's discriminant, for numbers taken as independent).
    """
    often = (second + 0.5) / (first + 0.5)
    means = [counts @ values / max(1, counts.sum()) for counts in (first, second)]
    spread = first @ (values - means[0]) ** 2 + second @ (values - means[1]) ** 2
    direction = np.divide(means[0] - means[1], spread, out=np.zeros(len(spread)), where=spread > 0)
    direction = np.where(spread > 0, direction, 1e9 * (means[0] - means[1]))  # a number that never varies decides alone
    return [np.argsort(often, kind="stable"), np.argsort(-(values @ direction), kind="stable")]


def _best_prefix(
    orders: Sequence[NDArray[np.int64]], first: Counts, second: Counts, merit: Callable[[Counts, Counts], Any]
) -> NDArray[np.int64]:
    """Return the outcomes at the start of an order, up to the largest merit by their frequencies under both tables."""
    merits = [merit(np.cumsum(first[order]), np.cumsum(second[order])) for order in orders]
    order, gains = max(zip(orders, merits, strict=True), key=lambda pair: float(pair[1].max()))
    return order[: int(np.argmax(gains)) + 1]


def _shown(often: Counts, seldom: Counts, delta: float, squared: float) -> NDArray[np.float64]:
    """Return the ratio of probabilities, the larger one less delta, that each event shows by Wilson's limits.

    The events are the first 1, 2, ... outcomes of an order; `often` and `seldom` are their numbers of trials under both
    tables. A short event has a larger ratio, a long one narrower limits. `squared` is the square of their width in
    deviations.
    """
    least, _ = _wilson(often, int(often[-1]), squared)
    _, most = _wilson(seldom, int(seldom[-1]), squared)
    return np.maximum(least - delta, 1e-300) / most


def _wilson(successes: Counts, trials: int, squared: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's limits of a probability, lower and upper, for each count of successes in this number of trials.

    `squared` is the square of their width in deviations.
    """
    share = successes / trials
    middle = (share + squared / (2 * trials)) / (1 + squared / trials)
    half = np.sqrt(share * (1 - share) * squared / trials + (squared / (2 * trials)) ** 2) / (1 + squared / trials)
    return np.maximum(middle - half, 0.0), middle + half
