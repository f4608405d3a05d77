"""Five mechanisms for the median of one party's numbers, with proofs of their total cost.

Notation: x ~ x' are tables that differ by one number replaced. q is the median, LS and GS its local and global
sensitivity. X is noise of the discrete Laplace law of a scale. t(scale, delta) is the least integer with P(X >= t) <=
delta (`protocols.release.tails`). Noise with |q(x) - q(x')| <= scale epsilon costs epsilon
(`protocols.release.laplace`).

**global**: q + X(GS / epsilon). (epsilon, 0).

**propose** (propose-test-release; Dwork, Lei, "Differential privacy and robust statistics", STOC 2009): a bound b is
proposed without a look at the numbers; d is the distance of x to the nearest table with LS > b. The test is d + X(2 /
epsilon) >= t(2 / epsilon, delta). If it passes, q + X(2 b / epsilon) is published, otherwise only its failure.
(epsilon, delta), half of epsilon for the test and half for the answer, as *both* are published. Proof. d differs by 1
at most, so the test costs epsilon / 2. If d(x) > 0, LS(x) <= b, so |q(x) - q(x')| <= b: the answer costs epsilon / 2
more, and both together epsilon. If d(x) = 0, an answer is published with a probability of at most delta, and "not
passed" is at most e^(epsilon / 2) times as likely as for x'. Some lecture notes charge epsilon for only one of the two:
their mechanism costs 2 epsilon.

**bound** (private bound of LS): v = LS + X(GS_LS / (epsilon / 2)) + t - 1, clipped to 1..GS; then q + X(2 v / epsilon).
(epsilon, delta), both published. Proof. v costs epsilon / 2, as LS differs by GS_LS at most. v < LS(x) requires X <=
-t, and has a probability of at most delta; otherwise |q(x) - q(x')| <= LS(x) <= v, and the answer costs epsilon / 2
more. For the median GS_LS = GS, so this is worse than `global`; for triangles in a graph GS_LS is 1
(`protocols.release.triangles`).

**smooth**: q + X(2 SS / epsilon) with SS = max_k e^(-beta k) A_k, beta = ln(1 + epsilon / (2 ln(2 / delta))). (epsilon,
delta). Proof. Let s, s' be the scales of x ~ x', z the noise of x, z + D with |D| = |q(x) - q(x')| that of x' for the
same answer. The law is tanh(1 / (2 s)) e^(-|z| / s), and |D| <= LS <= SS of either table, so |D| <= epsilon s' / 2. If
s <= s', the first factor is at most s' / s <= e^beta times that of s', and the second e^(epsilon / 2) times: together
epsilon, as beta <= epsilon / 2 for delta < 2 / e. If s > s', the first factor is smaller, and the exponents differ by

    |z + D| / s' - |z| / s <= epsilon / 2 + (|z| / s) (e^beta - 1),

at most epsilon unless |z| > s ln(2 / delta), which has a probability below 2 e^(-ln(2 / delta)) = delta. The notes have
beta = epsilon / (2 ln(2 / delta)), a little more. That is right for real noise, whose density makes up for e^beta > 1 +
beta, but not for integer noise of a small scale. (Nissim, Raskhodnikova, Smith 2007.) SS is computed in doubles: beta
is reduced by `SLACK` and SS increased by that part, more than their rounding errors.

**blocks** (sample and aggregate): rows are dealt to m blocks without a look at them; any function of a block's rows
gives a number; the median of the m numbers is published by any of these ways. One row is in one block, so one number
changes, and the cost is that of the way. See `parties.alone.sensitivity.blocks`.

**choice** (exponential mechanism): each value v of the bounds has the score -max(numbers below v, numbers above v). The
value with the greatest score plus one-sided geometric noise is published. A replaced number changes a score by 1 at
most: (epsilon, 0) by `protocols.release.choice`. It needs no sensitivity of the median, no delta and no b: this is the
recommended mechanism.

All noise is integers from the circuits of the laws, which add 2^-38 to delta at most (`protocols.release.laws`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from parties.alone.sensitivity.median import Table
from protocols.arrays import Numbers
from protocols.release.choice import choice_law
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, security_for
from protocols.release.tails import tail

Draw = Callable[[Law, int], Numbers]  # returns a number of independent samples of a law
SLACK = 1e-10
LEAST_SMOOTH = 1 / 16  # the maximum of a smooth sensitivity and a constant is as smooth


def by_global(table: Table, epsilon: Fraction, draw: Draw, copies: int = 1) -> Numbers:
    """Return answers with noise of the global sensitivity, int64[copies].

    Args:
        table: the numbers
        epsilon: cost of an answer
        draw: source of noise
        copies: number of independent answers
    """
    return table.median + draw(DiscreteLaplace(table.most / epsilon, security_for(epsilon)), copies)


def by_propose(
    table: Table, bound: int, epsilon: Fraction, delta: Fraction, draw: Draw, copies: int = 1
) -> tuple[NDArray[np.bool_], Numbers]:
    """Return whether the test of a bound passed, bool[copies], and the answers, 0 where it failed.

    Args:
        table: the numbers
        bound: proposed bound of the local sensitivity, at least 1
        epsilon: cost of a test with its answer
        delta: delta of a test with its answer
        draw: source of noise
        copies: number of independent tests
    """
    half = epsilon / 2
    distances = table.distance(bound) + draw(DiscreteLaplace(1 / half, security_for(half, 2)), copies)
    passed = distances >= tail(1 / half, delta)
    noise = draw(DiscreteLaplace(bound / half, security_for(half, 2)), copies)
    return passed, np.where(passed, table.median + noise, 0)


def by_bound(table: Table, epsilon: Fraction, delta: Fraction, draw: Draw, copies: int = 1) -> tuple[Numbers, Numbers]:
    """Return private bounds of the local sensitivity, and answers with noise of these bounds, int64[copies] each.

    Args:
        table: the numbers
        epsilon: cost of a bound with its answer
        delta: delta of a bound with its answer
        draw: source of noise
        copies: number of independent answers
    """
    return bounded(table.median, table.local, table.most, table.most, epsilon, delta, draw, copies)


def bounded(
    value: int, local: int, change: int, most: int, epsilon: Fraction, delta: Fraction, draw: Draw, copies: int
) -> tuple[Numbers, Numbers]:
    """Return private bounds of a local sensitivity, and answers with noise of these bounds, int64[copies] each.

    Args:
        value: the exact answer
        local: its local sensitivity
        change: global sensitivity of the local sensitivity
        most: global sensitivity of the answer
        epsilon: cost of a bound with its answer
        delta: delta of a bound with its answer
        draw: source of noise
        copies: number of independent answers
    """
    half = epsilon / 2
    law = DiscreteLaplace(change / half, security_for(half, 2))
    bounds = np.clip(local + draw(law, copies) + tail(law.scale, delta) - 1, 1, most)
    answers = np.full(copies, value, dtype=np.int64)
    for bound in np.unique(bounds).tolist():
        these = np.flatnonzero(bounds == bound)
        answers[these] += draw(DiscreteLaplace(bound / half, security_for(half, 2)), len(these))
    return bounds, answers


def by_smooth(table: Table, epsilon: Fraction, delta: Fraction, draw: Draw, copies: int = 1) -> Numbers:
    """Return answers: the median with noise of the smooth sensitivity, int64[copies].

    Args:
        table: the numbers
        epsilon: cost of an answer
        delta: delta of an answer
        draw: source of noise
        copies: number of independent answers
    """
    return table.median + draw(DiscreteLaplace(smooth_scale(table, epsilon, delta), security_for(epsilon)), copies)


def smooth_scale(table: Table, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the scale of the smooth noise: 2 SS / epsilon, where SS is the smooth sensitivity of the median.

    Args:
        table: The numbers and their bounds.
        epsilon: Privacy loss.
        delta: Probability that epsilon fails.
    """
    beta = math.log1p(float(epsilon) / (2 * math.log(2 / float(delta)))) - SLACK
    return 2 * Fraction(max(table.smooth(beta) * (1 + SLACK), LEAST_SMOOTH)) / epsilon


def by_choice(table: Table, epsilon: Fraction, draw: Draw, copies: int = 1) -> Numbers:
    """Return values chosen by the exponential mechanism with one-sided geometric noise, int64[copies].

    Args:
        table: the numbers
        epsilon: cost of an answer
        draw: source of noise
        copies: number of independent answers
    """
    values = np.arange(table.low, table.high + 1)
    below = np.searchsorted(table.numbers, values, side="left")
    above = len(table) - np.searchsorted(table.numbers, values, side="right")
    law = choice_law(epsilon, 1, monotone=False, candidates=len(values))
    noise = draw(law, copies * len(values)).reshape(copies, -1)
    return values[np.argmax(noise - np.maximum(below, above), axis=1)]
