"""What reports would give away if a shuffler stood between devices and the collector: a figure, and no promise.

    ln(1 + (e^eps - 1) / (e^eps + 1) (8 sqrt(e^eps ln(4 / delta) / n) + 8 e^eps / n))

for n reports of epsilon eps each, if eps <= ln(n / (16 ln(2 / delta))): V. Feldman, A. McMillan, K. Talwar, FOCS 2021,
theorem 3.1. It assumes that somebody whom the collector does not control takes from all reports whose they are, where
they came from and in which order; that each person sends one; and that the others do as they should. Nothing here
shuffles.
"""

from __future__ import annotations

import math


def shuffled_epsilon(epsilon: float, reports: int, delta: float) -> float | None:
    """Return the epsilon of so many shuffled reports, at this delta; None if the theorem says nothing of so few."""
    if not reports or epsilon > math.log(reports / (16 * math.log(2 / delta))):
        return None
    grown = math.exp(epsilon)
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / reports) + 8 * grown / reports
    return min(epsilon, math.log1p((grown - 1) / (grown + 1) * spread))
