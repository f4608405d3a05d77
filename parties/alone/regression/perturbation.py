"""A linear classifier of one's own table with epsilon-differential privacy: noise on the minimiser, or on the
objective.

Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization" (JMLR 2011), algorithms 1 and 2; n
is the number of rows, which is told, and neighbours differ by one row replaced.

**Output perturbation.** One row replaced moves the gradient of J by 2/n at most, so the minimiser by 2 / (n lambda) =:
D. Published is w* + b with b of density proportional to e^(-epsilon |b| / D): a norm of law Gamma(d, D / epsilon) in an
even direction. The minimiser is known up to a gradient of `TOLERANCE`, which adds 2 TOLERANCE / lambda to D.

**Objective perturbation.** Published is the minimiser of J(w) + b.w / n with b of density proportional to
e^(-epsilon' |b| / 2), where c bounds L'' and

    epsilon' = epsilon - ln(1 + 2 c / (n lambda) + c^2 / (n lambda)^2) = epsilon - 2 ln(1 + c / (n lambda)).

It must be positive, which asks for lambda > c / (n (e^(epsilon / 2) - 1)); the paper adds to lambda where it is not.
Here it is refused, and the least lambda said. The noise does not grow as lambda falls, which is why this is the better
of the two. The proof is of the exact minimiser: what is published is within TOLERANCE / lambda of it.

The noise is real numbers, drawn as doubles, unlike that of the protocols; weights are published as multiples of
`GRID`, so that their last digits tell nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from parties.alone.regression.losses import Loss
from parties.alone.regression.minimiser import TOLERANCE, minimise
from parties.alone.regression.rows import TrainingRows
from parties.base.arrays import Floats
from smc.errors import InputError

Way: TypeAlias = Literal["objective", "output"]
GRID = 1e-6


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Private weights, of how many rows, the norm of the gradient where they were found, epsilon of the noise.

    `spread` is the standard deviation of the noise in each weight; with the objective a bound, by lambda alone.
    """

    weights: Floats
    rows: int
    gradient: float
    epsilon: float
    spread: float


def least_lambda(epsilon: float, loss: Loss, rows: int) -> float:
    """Return the lambda above which the noise of objective perturbation is left any of epsilon."""
    return loss.smoothness / (rows * math.expm1(epsilon / 2))


def left_epsilon(epsilon: float, loss: Loss, rows: int, regularisation: float) -> float:
    """Return epsilon'. `InputError` says the least lambda if none is left."""
    left = epsilon - 2 * math.log1p(loss.smoothness / (rows * regularisation))
    if left <= 0:
        least = least_lambda(epsilon, loss, rows)
        half = least_lambda(epsilon / 2, loss, rows)
        raise InputError(
            f"lambda: {regularisation:g} is too small for objective perturbation of {rows:,} rows at epsilon "
            f"{epsilon:g}: it must be more than {least:.3g}; at {half:.3g} half of epsilon is left for the noise"
        )
    return left


def perturbed(
    rows: TrainingRows, loss: Loss, regularisation: float, epsilon: float, way: Way, rng: np.random.Generator
) -> Perturbed:
    """Learn private weights of one's own rows. `InputError` without rows, or if lambda is too small."""
    total, number = rows.total, rows.features.number
    if not total:
        raise InputError("there are no rows to learn from")
    if way == "objective":
        left = left_epsilon(epsilon, loss, total, regularisation)
        minimum = minimise(rows, loss, regularisation, noises(1, number, 2 / left, rng)[0] / total)
        weights, scale = minimum.weights, 2 / left / (total * regularisation)
    else:
        left = epsilon
        minimum, scale = minimise(rows, loss, regularisation), sensitivity(total, regularisation) / epsilon
        weights = minimum.weights + noises(1, number, scale, rng)[0]
    return Perturbed(np.round(weights / GRID) * GRID, total, minimum.gradient, left, scale * math.sqrt(number + 1))


def sensitivity(rows: int, regularisation: float) -> float:
    """Return how far one row moves the minimiser, as it is known: 2 / (n lambda) and what the certificate leaves
    open."""
    return (2 / rows + 2 * TOLERANCE) / regularisation


def noises(copies: int, number: int, scale: float, rng: np.random.Generator) -> Floats:
    """Draw independent vectors of density proportional to e^(-|b| / scale), float64[copies, number].

    Each number of them has variance (number + 1) scale^2.
    """
    direction = rng.normal(size=(copies, number))
    lengths = rng.gamma(number, scale, size=copies)
    vectors: Floats = direction * (lengths / np.linalg.norm(direction, axis=1))[:, None]
    return vectors
