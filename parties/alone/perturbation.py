"""Differentially private linear classifier of one party's table, by output or objective perturbation.

Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization" (JMLR 2011), algorithms 1 and 2. n
is the number of rows, which is published; neighbours differ by one row replaced.

**Output perturbation.** One row replaced moves the gradient of J by 2/n at most, so the minimiser by 2 / (n lambda) =:
D. The mechanism publishes w* + b with b of density proportional to e^(-epsilon |b| / D): a norm of law Gamma(d, D /
epsilon) in a uniform direction. The minimiser is exact up to a gradient of `TOLERANCE`, which adds 2 TOLERANCE / lambda
to D.

**Objective perturbation.** The mechanism publishes the minimiser of J(w) + b.w / n with b of density proportional to
e^(-epsilon' |b| / 2), where c bounds L'' and

    epsilon' = epsilon - ln(1 + 2 c / (n lambda) + c^2 / (n lambda)^2) = epsilon - 2 ln(1 + c / (n lambda)).

It must be positive, which requires lambda > c / (n (e^(epsilon / 2) - 1)). The paper increases lambda otherwise; here
it is rejected, and the error states the least lambda. The noise does not grow as lambda falls, so this is the better
mechanism. The proof assumes the exact minimiser; the published one is within TOLERANCE / lambda of it.

The noise is real numbers, drawn as doubles, unlike that of the protocols. Weights are published as multiples of `GRID`,
so that their last digits reveal nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from protocols.arrays import Floats
from protocols.regression.losses import Loss
from protocols.regression.minimiser import TOLERANCE, minimise
from protocols.regression.rows import TrainingRows
from smc.errors import InputError

Way: TypeAlias = Literal["objective", "output"]
GRID = 1e-6


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Private weights and their accuracy.

    Attributes:
        weights: the published weights, float64[features]
        rows: number of rows
        gradient: norm of the objective's gradient at the minimiser found
        epsilon: epsilon of the noise
        spread: standard deviation of the noise in each weight; for the objective, a bound from lambda alone
    """

    weights: Floats
    rows: int
    gradient: float
    epsilon: float
    spread: float


def least_lambda(epsilon: float, loss: Loss, rows: int) -> float:
    """Return the lambda above which objective perturbation has a positive epsilon'.

    Args:
        epsilon: epsilon of the classifier
        loss: the loss
        rows: number of rows
    """
    return loss.smoothness / (rows * math.expm1(epsilon / 2))


def left_epsilon(epsilon: float, loss: Loss, rows: int, regularisation: float) -> float:
    """Return epsilon', the part of epsilon that the noise of objective perturbation may spend.

    Args:
        epsilon: epsilon of the classifier
        loss: the loss
        rows: number of rows
        regularisation: lambda

    Raises:
        InputError: epsilon' is not positive; the message has the least lambda
    """
    remaining = epsilon - 2 * math.log1p(loss.smoothness / (rows * regularisation))
    if remaining <= 0:
        least = least_lambda(epsilon, loss, rows)
        half = least_lambda(epsilon / 2, loss, rows)
        raise InputError(
            f"lambda: {regularisation:g} is too small for objective perturbation of {rows:,} rows at epsilon "
            f"{epsilon:g}: it must be more than {least:.3g}; at {half:.3g} half of epsilon is left for the noise"
        )
    return remaining


def perturbed(
    rows: TrainingRows, loss: Loss, regularisation: float, epsilon: float, way: Way, rng: np.random.Generator
) -> Perturbed:
    """Return private weights learnt from a party's rows.

    Args:
        rows: the rows
        loss: the loss
        regularisation: lambda
        epsilon: epsilon of the classifier
        way: objective or output perturbation
        rng: source of randomness

    Raises:
        InputError: there are no rows, or lambda is too small for objective perturbation
    """
    total, number = rows.total, rows.features.number
    if not total:
        raise InputError("there are no rows to learn from; give a table with rows")
    if way == "objective":
        remaining = left_epsilon(epsilon, loss, total, regularisation)
        minimum = minimise(rows, loss, regularisation, noises(1, number, 2 / remaining, rng)[0] / total)
        weights, scale = minimum.weights, 2 / remaining / (total * regularisation)
    else:
        remaining = epsilon
        minimum, scale = minimise(rows, loss, regularisation), sensitivity(total, regularisation) / epsilon
        weights = minimum.weights + noises(1, number, scale, rng)[0]
    return Perturbed(np.round(weights / GRID) * GRID, total, minimum.gradient, remaining, scale * math.sqrt(number + 1))


def sensitivity(rows: int, regularisation: float) -> float:
    """Return the sensitivity of the computed minimiser: 2 / (n lambda), plus the error that its certificate allows.

    Args:
        rows: number of rows, n
        regularisation: lambda
    """
    return (2 / rows + 2 * TOLERANCE) / regularisation


def noises(copies: int, number: int, scale: float, rng: np.random.Generator) -> Floats:
    """Draw independent vectors of density proportional to e^(-|b| / scale), float64[copies, number].

    Each component has variance (number + 1) scale^2.

    Args:
        copies: number of vectors
        number: components of a vector
        scale: scale of the norm
        rng: source of randomness
    """
    direction = rng.normal(size=(copies, number))
    lengths = rng.gamma(number, scale, size=copies)
    vectors: Floats = direction * (lengths / np.linalg.norm(direction, axis=1))[:, None]
    return vectors
