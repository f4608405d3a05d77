"""Decoding of RAPPOR's bits into shares of candidates: lasso, then least squares.

The share of each bit of each cohort is the sum of the shares of the candidates that set it. There are more candidates
than the noise allows to estimate. So a lasso with non-negative coefficients selects candidates first; its penalty is
the expected maximum of that many noise terms (universal threshold). Least squares then estimates the selected ones. A
t-test at 5%, divided by the number of candidates (Bonferroni), drops those not proved to be above zero. Texts outside
the candidates set bits, too: the intercept absorbs their even part, and the residual variance includes the rest.
Source: Erlingsson, Pihur, Korolova, CCS 2014, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.mechanism import Estimates
from protocols.arrays import Floats

LEVEL = 0.05  # probability of reporting any candidate that nobody holds


def decode(candidates: Sequence[str], design: NDArray[np.float64], shares: Floats, deviations: Floats) -> Estimates:
    """Return the candidates proved to be present, the most frequent first.

    Args:
        candidates: the texts
        design: 1 where a candidate sets a bit, float64[observations, candidates]
        shares: estimated share of each bit of each cohort, float64[observations]
        deviations: standard deviation of each share, float64[observations]
    """
    from scipy import stats
    from sklearn.linear_model import Lasso

    nobody = Estimates((), np.zeros(0), np.zeros(0))
    observations, count = design.shape
    if not count or not observations:
        return nobody
    noise = float(np.sqrt(np.mean(deviations**2)))
    marks = float(design.sum(axis=0).max())
    penalty = noise * math.sqrt(2 * math.log(max(count, 2)) * marks) / observations / 2
    lasso = Lasso(alpha=penalty, positive=True, max_iter=20_000).fit(design, shares)
    chosen = np.flatnonzero(lasso.coef_ > 0)
    if len(chosen) >= observations - 1:  # more than least squares can separate: keep the strongest
        chosen = np.sort(np.argsort(-lasso.coef_)[: observations // 2])
    if not len(chosen):
        return nobody
    system = np.column_stack([np.ones(observations), design[:, chosen]])
    inverse = np.linalg.pinv(system.T @ system)
    solution = inverse @ (system.T @ shares)
    freedom = max(observations - np.linalg.matrix_rank(system), 1)
    variance = max(float(((shares - system @ solution) ** 2).sum()) / freedom, noise**2)
    values, errors = solution[1:], np.sqrt(variance * np.diag(inverse)[1:])
    proved = values > errors * stats.t.isf(LEVEL / count, freedom)
    order = np.flatnonzero(proved)[np.argsort(-values[proved])]
    return Estimates(tuple(candidates[chosen[i]] for i in order), values[order], errors[order])
