"""Whether a mechanism keeps its promise of privacy: what samples of its output show, and what exact laws prove.

A mechanism M is (epsilon, delta)-differentially private if P[M(x) in E] <= e^epsilon P[M(x') in E] + delta for every
event E and all neighbouring tables x, x' (Dwork, Roth 2014, definition 2.4). Samples can refute that, never prove it:

* `examine` looks for the event that tells two given neighbours apart best, on one half of the samples, and bounds its
  probabilities on the other half, which had no part in the choice. Hence the stated probability of a false alarm,
  whatever the mechanism. It also plays the attacker who knows x and x', sees an output and guesses which it was: right
  with probability p on x and q on x'. If the promise is kept, p + q <= 2 (e^epsilon + delta) / (1 + e^epsilon).
* `excess` is exact: the least delta that goes with an epsilon for two laws that are known in full.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from parties.analysis.binomial import lower_limit, upper_limit

Outcomes = NDArray[np.int64]  # one outcome a row: [samples], or [samples, numbers that are published together]
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
    if first.shape != second.shape or len(first) < 2:
        raise ValueError(f"as many outcomes of each are needed, two at least: got shapes {first.shape}, {second.shape}")
    labels = _labels(np.concatenate([first, second]))
    size = int(labels.max()) + 1
    mine, other = labels[: len(first)], labels[len(first) :]
    seen = [np.bincount(part[::2], minlength=size) for part in (mine, other)]
    kept = [np.bincount(part[1::2], minlength=size) for part in (mine, other)]
    trials, each = len(first) // 2, error / _LIMITS
    loss = 0.0
    for one, two in ((0, 1), (1, 0)):
        event = _event(seen[one], seen[two], delta, each)
        least = lower_limit(int(kept[one][event].sum()), trials, each) - delta
        most = upper_limit(int(kept[two][event].sum()), trials, each)
        if least > most:
            loss = max(loss, math.log(least / most))
    says_first = seen[0] > seen[1]
    right = int(kept[0][says_first].sum()), int(kept[1][~says_first].sum())
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


def _labels(outcomes: Outcomes) -> NDArray[np.int64]:
    """A number from 0 for each different outcome."""
    columns = outcomes.reshape(len(outcomes), -1).T
    labels = np.zeros(len(outcomes), dtype=np.int64)
    for column in columns:
        values, found = np.unique(column, return_inverse=True)
        labels = np.unique(labels * len(values) + found, return_inverse=True)[1]
    return labels


def _event(often: NDArray[np.int64], seldom: NDArray[np.int64], delta: float, error: float) -> NDArray[np.int64]:
    """The outcomes whose probabilities would show the greatest loss, as far as these counts tell.

    Outcomes are taken in order of their ratio, and as many of them as make Wilson's limits of the two probabilities
    differ most: a short event has the greater ratio, a long one the narrower limits.
    """
    order = np.argsort((seldom + 0.5) / (often + 0.5), kind="stable")
    trials = int(often.sum())
    least, _ = _wilson(np.cumsum(often[order]), trials, error)
    _, most = _wilson(np.cumsum(seldom[order]), trials, error)
    shown = np.maximum(least - delta, 1e-300) / most
    return order[: int(np.argmax(shown)) + 1]


def _wilson(successes: NDArray[np.int64], trials: int, error: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """About what `lower_limit` and `upper_limit` are, for many counts at once."""
    squared = -2 * math.log(2 * error)  # a little more than the square of the normal law's quantile
    share = successes / trials
    middle = (share + squared / (2 * trials)) / (1 + squared / trials)
    half = np.sqrt(share * (1 - share) * squared / trials + (squared / (2 * trials)) ** 2) / (1 + squared / trials)
    return np.maximum(middle - half, 0.0), middle + half
