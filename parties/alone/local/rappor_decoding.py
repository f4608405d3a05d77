"""Which candidates are behind the bits that cohorts of people set: lasso, then least squares.

The share of each bit of each cohort is the sum of the shares of the candidates that set it. There are more candidates
than the noise can bear, so a lasso with non-negative coefficients chooses first (its penalty is what the largest of as
many noises reaches: universal threshold), least squares then estimates those, and what a t-test at 5%, divided by the
number of candidates (Bonferroni), does not prove to be above zero is left out. Texts that are no candidates set bits,
too: the intercept takes their even part, the residual variance the rest. Source: Erlingsson, Pihur, Korolova, CCS 2014,
section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.mechanism import Estimates
from parties.base.arrays import Floats

LEVEL = 0.05  # the chance that any candidate is reported that nobody holds


def decode(candidates: Sequence[str], design: NDArray[np.float64], shares: Floats, deviations: Floats) -> Estimates:
    """Return the candidates proved to be there, most frequent first.

    `design` [observations, candidates]: 1 where a candidate sets a bit; `shares`, `deviations` [observations].
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
    if len(chosen) >= observations - 1:  # more than can be told apart: the strongest
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
