"""Noisy gradient descent: public weights, secret gradients.

Ideal functionality. Public: T steps, the rate, the constants below. In each step both parties know the weights w_t.
Each party enters the sum of its own rows' gradients at w_t and its number of rows. Both learn the sums over both
tables, each number with independent discrete Gaussian noise, and compute w_(t+1) from them. Leakage: the public
settings, nothing else: no exact sum is opened, and neither party knows any part of the noise
(`protocols.release.numbers`). A curator of both tables would get weights of equal distribution. Security is that of the
engine.

A row adds its gradient, a vector of norm C at most, and `COUNTED` 2^-8 to the number of rows. Gradients are sums of
integer vectors in units of 2^-28, each of norm `norm` = C 2^28 at most. The sums are rounded to multiples of 2^-8. A
row changes all numbers together by at most D in the Euclidean norm (`Change.squared`), so each step is D^2 / (2
sigma^2)-zCDP. The theorem of docs/math/gradient-descent.md proves it. Lemma 1 there is the step with momentum. Lemma 2:
opened gradients show the directions in which steps must be `short`. The result is the mean of the last half of the
weights. All arithmetic is elementwise on doubles, and sums are rounded once (`math.fsum`), so both parties get equal
bits.

Cost: T times d + 1 noisy sums; at sigma 10^4 about 2,000 ANDs a number. Three rounds a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Floats
from protocols.release.gaussian import discrete_gaussian
from protocols.release.laws import Law, security_for
from protocols.release.numbers import MOST_BITS, noisy_sums, sum_width
from smc.engines import Engine
from smc.errors import InputError

FINE, COARSE = 28, 8  # fraction bits: of a row's vector, and of the sums
COUNTED = 32  # contribution of a row to the number of rows, in units of 2^-COARSE: K
MOMENTUM = 0.9
DIRECTIONS = 8  # most directions in which steps are short
CERTAIN = 3.0  # standard deviations
RADIUS = 2.0**20  # bound on the norm of the weights: a minimiser has norm at most sqrt(2 / lambda)

Integers = NDArray[np.int64]
Sums: TypeAlias = tuple[int, ...]  # opened numbers of a step: d sums of gradients, then the number of rows
Own: TypeAlias = "Callable[[tuple[Sums, ...]], Integers]"  # returns `own_numbers` at the weights after opened sums


@dataclass(frozen=True)
class Change:
    """Greatest change of a step's numbers by `rows` rows, which are replaced if `replaced`, else added or removed.

    `numbers` is d, the number of weights. `norm` bounds the norm of a row's gradient, in units of 2^-28.
    """

    numbers: int
    norm: int
    replaced: bool
    rows: int = 1

    @property
    def squared(self) -> int:
        """Square of the sensitivity D, rounded up, in the units of the sums."""
        norm = Fraction(self.norm, 1 << (FINE - COARSE))
        exact = max(2 * norm if self.replaced else Fraction(0), _root(norm**2 + COUNTED**2))
        return math.ceil((self.rows * exact + _root(Fraction(self.numbers))) ** 2)


@dataclass(frozen=True)
class Descent:
    """Public settings of noisy gradient descent, equal at both parties.

    Methods take `opened`: the opened sums of each step so far, with noise.

    Attributes:
        change: Greatest change of a step's numbers that the noise hides.
        steps: Number of steps, T.
        rate: Length of a step, P.
        short: Length of a step in directions in which steps of `rate` overshoot.
        regularisation: The factor lambda.
        variance: Variance of the noise on each number of a step.
        max_rows: Upper bound on the rows of either party.
        least_rows: Lower bound on the rows of either party.
        epsilon: Epsilon that all steps together guarantee at some delta.
    """

    change: Change
    steps: int
    rate: float
    short: float
    regularisation: float
    variance: Fraction
    max_rows: int
    least_rows: int
    epsilon: Fraction = Fraction(1)

    def check(self) -> None:
        """Raise InputError if the sums, or their noise, could be too large to be opened.

        Raises:
            InputError: There is no step, or a sum with its noise is too wide.
        """
        if self.steps < 1:
            raise InputError(f"steps: {self.steps} steps learn nothing; choose at least 1")
        width = sum_width(self.width, self.law)
        if width > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower max_rows")

    @property
    def numbers(self) -> int:
        """Number of weights, d."""
        return self.change.numbers

    @cached_property
    def width(self) -> int:
        """Bits of a party's number in two's complement."""
        most = max((self.change.norm >> (FINE - COARSE)) + 1, COUNTED)
        return (self.max_rows * most + 1).bit_length() + 1

    @cached_property
    def law(self) -> Law:
        """Law of the noise on each number; the samples of all steps together add at most 2^-38 to delta."""
        return discrete_gaussian(self.variance, security_for(self.epsilon, self.steps * (self.numbers + 1) + 1))

    def path(self, opened: Sequence[Sums]) -> Floats:
        """Return the weights after each step, float64[steps so far + 1, d], from w_0 = 0."""
        walk = Walk(self)
        return np.array([walk.weights, *map(walk.step, opened)])

    def rows(self, opened: Sequence[Sums]) -> float:
        """Return the estimated number of rows of both parties, within the public bounds."""
        return self.bounded(sum(sums[-1] for sums in opened), len(opened))

    def bounded(self, counted: int, steps: int) -> float:
        """Return the mean number of rows opened in some steps, moved into the public bounds.

        The result is at least the standard deviation of its noise. Otherwise a step could be arbitrarily long.

        Args:
            counted: Sum of the opened numbers of rows of these steps. A row counts `COUNTED`.
            steps: Number of these steps, 1 at least.
        """
        noise = math.sqrt(float(self.variance) / steps) / COUNTED
        return min(max(counted / (steps * COUNTED), noise, 2 * self.least_rows, 1), 2 * self.max_rows)

    def weights(self, opened: Sequence[Sums]) -> Floats:
        """Return the learnt weights, float64[d]: the mean of the weights after each step of the last half."""
        last = self.path(opened)[1:][len(opened) // 2 :]
        found = np.zeros(self.numbers)
        for weights in last:
            found = found + weights
        return found / len(last)

    def velocity(self, step: int, velocity: Floats, slope: Floats, weights: Floats, rate: float) -> Floats:
        """Return v_(t+1) for steps of a given rate, with the shape of v_t.

        Args:
            step: Number of steps before this one, t.
            velocity: Velocity v_t, float64[d].
            slope: Noisy gradient per row g_t, float64[d].
            weights: Weights w_t, float64[d].
            rate: Length of the step, P.
        """
        full = slope + self.regularisation * weights
        return (momentum(step) * velocity - rate * full) / (1 + rate * self.regularisation)

    def spread(self, opened: Sequence[Sums]) -> float:
        """Return an upper bound on the standard deviation that the noise adds to each weight.

        The noise of a step passes through all later steps. The bound counts the regularisation lambda that shrinks it,
        but neither the later gradients, which counteract it, nor short steps. With few rows the bound is nearly exact.
        """
        steps = len(opened)
        moved = np.zeros((steps + 1, steps))  # by a noise of 1 in each of the steps
        velocity = np.zeros(steps)
        for step in range(steps):
            slope = np.eye(1, steps, step)[0] / float(1 << COARSE) / self.rows(opened[: step + 1])
            velocity = self.velocity(step, velocity, slope, moved[step], self.rate)
            moved[step + 1] = moved[step] + velocity
        last = moved[1:][steps // 2 :].mean(axis=0)
        return math.sqrt(float(self.variance)) * float(np.linalg.norm(last))


def momentum(step: int) -> float:
    """Return m_t, the momentum of step t."""
    return min(step / (step + 3), MOMENTUM)


class Walk:
    """Weights that follow from the opened sums, step by step.

    `weights` are w_t, float64[d]. `directions` are orthogonal unit vectors; steps along them are short.
    """

    def __init__(self, problem: Descent) -> None:
        self.weights = np.zeros(problem.numbers)
        self._problem, self._taken, self._counted = problem, 0, 0
        self._velocity, self._slope = np.zeros(problem.numbers), np.zeros(problem.numbers)
        self.directions: list[Floats] = []

    def step(self, sums: Sums) -> Floats:
        """Take a step by the opened sums, and return w_(t+1), float64[d]."""
        problem = self._problem
        self._counted += sums[-1]
        rows = problem.bounded(self._counted, self._taken + 1)
        slope = np.array(sums[:-1], dtype=np.float64) / float(1 << COARSE) / rows
        if self._taken and len(self.directions) < DIRECTIONS:
            self._look(slope, float(problem.variance) / (rows * (1 << COARSE)) ** 2)
        long, short = (
            problem.velocity(self._taken, self._velocity, slope, self.weights, rate)
            for rate in (problem.rate, min(problem.short, problem.rate))
        )
        self._velocity = self._apart(long) + (short - self._apart(short))
        self._slope, self._taken, self.weights = slope, self._taken + 1, self.weights + self._velocity
        length = math.sqrt(_dot(self.weights, self.weights))
        if length > RADIUS:
            self.weights = self.weights * (RADIUS / length)
        return self.weights

    def _look(self, slope: Floats, variance: float) -> None:
        """Find a direction in which the last step went too far; `variance` is that of the noise in a coordinate."""
        one, other = self._apart(slope), self._apart(self._slope)
        floor = len(slope) * variance**2
        square = max(variance * (_dot(one, one) + _dot(other, other)) - floor, floor)
        if _dot(one, other) < -CERTAIN * math.sqrt(square):
            turned = one - other
            direction = turned / math.sqrt(_dot(turned, turned))
            self._velocity = self._velocity - _dot(direction, self._velocity) * direction
            self.directions.append(direction)

    def _apart(self, vector: Floats) -> Floats:
        """Return the component of a vector that is orthogonal to `directions`."""
        for direction in self.directions:
            vector = vector - _dot(direction, vector) * direction
        return vector


def _dot(one: Floats, other: Floats) -> float:
    """Return the inner product: rounded products, whose sum is rounded once; equal on every machine."""
    return math.fsum((one * other).tolist())


def own_numbers(gradients: Integers, rows: int) -> Integers:
    """Return a party's numbers for a step, int64[d + 1]: its rounded sums, and its weighted number of rows.

    Args:
        gradients: This party's sums of gradients in units of 2^-28, int64[d]; private. They are rounded to multiples of
            2^-8.
        rows: This party's number of rows; private. Each counts `COUNTED`.
    """
    shift = FINE - COARSE
    return np.append((gradients + (1 << (shift - 1))) >> shift, rows * COUNTED)


def descend(
    engine: Engine,
    problem: Descent,
    own: Own,
    on_step: Callable[[int, tuple[Sums, ...]], object],
    start: Sequence[Sums],
) -> tuple[Sums, ...]:
    """Run the remaining steps and return the opened sums of all steps.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public settings of the descent.
        own: Returns this party's numbers for the step after these opened sums; private.
        on_step: Called before each step with the number of steps done and their opened sums.
        start: Opened sums of an interrupted run, to continue from there; empty for a new run.

    Raises:
        InputError: A sum does not fit the agreed width, or is too wide with its noise.
    """
    opened = tuple(start)
    while len(opened) < problem.steps:
        on_step(len(opened), opened)
        found = noisy_sums(engine, own(opened), problem.width, problem.law, signed=True)
        opened = (*opened, tuple(found.tolist()))
    return opened


def _root(square: Fraction) -> Fraction:
    """Return the square root, rounded up to a multiple of 2^-20."""
    return Fraction(math.isqrt(math.ceil(square * (1 << 40))) + 1, 1 << 20)
