"""The exact minimiser of J, certified: J is lambda-strongly convex, so |w - w*| <= |gradient of J at w| / lambda.

Newton's method with halved steps (Huber's loss has a second derivative nearly everywhere, which is enough: a semismooth
Newton method), from what L-BFGS finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.regression.losses import Loss
from parties.regression.rows import Rows
from smc.errors import InputError

Floats = NDArray[np.float64]

TOLERANCE = 1e-9  # of the gradient's norm
NEWTON = 60  # steps, of which a few are taken
MOST_FEATURES = 2_000  # of which the second derivatives are a matrix that fits


@dataclass(frozen=True, eq=False)
class Minimum:
    """Weights, and the norm of the objective's gradient there."""

    weights: Floats
    gradient: float


def minimise(rows: Rows, loss: Loss, regularisation: float, tilt: Floats | None = None) -> Minimum:
    """The weights of least J(w) + tilt.w, to a gradient of norm `TOLERANCE`. `InputError` if it is not reached."""
    from scipy.optimize import minimize

    if rows.features.number > MOST_FEATURES:
        raise InputError(f"{rows.features.number} features, at most {MOST_FEATURES} are fitted exactly: name fewer")
    slant = np.zeros(rows.features.number) if tilt is None else tilt

    def value(weights: Floats) -> float:
        return rows.objective(loss, regularisation, weights) + float(slant @ weights)

    def gradient(weights: Floats) -> Floats:
        return rows.gradient(loss, regularisation, weights) + slant

    found = minimize(value, np.zeros(len(slant)), jac=gradient, method="L-BFGS-B", options={"maxiter": 200})
    weights: Floats = found.x
    best = gradient(weights)
    for _ in range(NEWTON):
        if np.linalg.norm(best) <= TOLERANCE:
            return Minimum(weights, float(np.linalg.norm(best)))
        move = np.linalg.solve(rows.curvature(loss, regularisation, weights), best)
        size, now = 1.0, value(weights)
        while size > 1e-6 and value(weights - size * move) > now - 1e-4 * size * float(move @ best):
            size /= 2
        weights = weights - (size if size > 1e-6 else 1.0) * move
        best = gradient(weights)
    norm = float(np.linalg.norm(best))
    raise InputError(f"lambda: the minimiser was found to a gradient of {norm:.2g} only: take a larger lambda")
