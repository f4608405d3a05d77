"""Estimate of the privacy of reports if a shuffler stood between devices and the collector; not a guarantee.

    ln(1 + (e^eps - 1) / (e^eps + 1) (8 sqrt(e^eps ln(4 / delta) / n) + 8 e^eps / n))

for n reports of epsilon eps each, if eps <= ln(n / (16 ln(2 / delta))): V. Feldman, A. McMillan, K. Talwar, FOCS 2021,
theorem 3.1. Assumptions: a party that the collector does not control removes sender, origin and order from all reports;
each person sends one; the other persons follow the protocol. Nothing here shuffles.
"""

from __future__ import annotations

import math


def shuffled_epsilon(epsilon: float, reports: int, delta: float) -> float | None:
    """Return the epsilon of shuffled reports at a delta; None if the theorem needs more reports.

    Args:
        epsilon: epsilon of one report
        reports: number of reports
        delta: delta of the result
    """
    if not reports or epsilon > math.log(reports / (16 * math.log(2 / delta))):
        return None
    grown = math.exp(epsilon)
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / reports) + 8 * grown / reports
    return min(epsilon, math.log1p((grown - 1) / (grown + 1) * spread))
