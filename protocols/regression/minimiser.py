"""Exact, certified minimiser of J: J is lambda-strongly convex, so |w - w*| <= |gradient of J at w| / lambda.

Newton's method starts from 0; its steps are halved until J falls enough (Armijo). Where Huber's loss has no second
derivative, it takes that of one side, a semismooth Newton method. The matrix is at least lambda times the identity, so
each step leads downhill, and near the minimum a few whole ones do.

With a peer, success must not depend on the rows. So lambda and Huber's h have lower limits there, `LEAST_LAMBDA` and
`LEAST_HUBER`. Rounding: w has a norm of R = sqrt(2 L(0) / lambda) = 447 at most. Margins are exact to about 2^-53 R,
their slopes to 1 / (2 h) times that, 50 at most: 2.5e-12, 400 times less than `TOLERANCE`. Search: where no row has
curvature, a whole step is 1 / lambda long, and `LEAST_SIZE` of it, 0.001, is still shorter than a margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Floats
from protocols.regression.losses import Loss
from protocols.regression.rows import TrainingRows
from smc.errors import InputError

TOLERANCE = 1e-9  # of the gradient's norm
MOST_STEPS = 200  # usually a few suffice
LEAST_SIZE = 1e-8  # of a step; below it, doubles cannot show a decrease of J
MOST_FEATURES = 2_000  # so that the matrix of second derivatives fits into memory
LEAST_LAMBDA = 1e-5
LEAST_HUBER = 0.01


@dataclass(frozen=True, eq=False)
class Minimum:
    """Weights, and the norm of the objective's gradient there."""

    weights: Floats
    gradient: float


def minimise(rows: TrainingRows, loss: Loss, regularisation: float, tilt: Floats | None = None) -> Minimum:
    """Return the weights of least J(w) + tilt.w, to a gradient of norm `TOLERANCE`.

    Args:
        rows: the rows
        loss: the loss
        regularisation: lambda
        tilt: linear term, float64[features]; None: 0

    Raises:
        InputError: there are too many features, or the tolerance was not reached
    """
    number = rows.features.number
    check_features(number)
    slant = np.zeros(number) if tilt is None else tilt

    def value(weights: Floats) -> float:
        return rows.objective(loss, regularisation, weights) + float(slant @ weights)

    weights: Floats = np.zeros(number)
    for _ in range(MOST_STEPS):
        gradient = rows.gradient(loss, regularisation, weights) + slant
        norm = float(np.linalg.norm(gradient))
        if norm <= TOLERANCE:
            return Minimum(weights, norm)
        move: NDArray[Any] = np.linalg.solve(rows.curvature(loss, regularisation, weights), gradient)
        size, now, fall = 1.0, value(weights), float(move @ gradient)
        while size > LEAST_SIZE and value(weights - size * move) > now - 1e-4 * size * fall:
            size /= 2
        weights = weights - (size if size > LEAST_SIZE else 1.0) * move
    raise InputError(
        f"lambda: the search for the minimum ended with a gradient of {norm:.2g}, which is not exact "
        f"enough; choose a larger lambda"
    )


def check_features(number: int) -> None:
    """Raise InputError if there are too many features to fit."""
    if number > MOST_FEATURES:
        raise InputError(f"{number} features, at most {MOST_FEATURES} are fitted exactly: name fewer columns")
