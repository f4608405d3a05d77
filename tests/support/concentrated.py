"""The epsilon of a rho at a delta by Canonne, Kamath, Steinke 2020, Proposition 12, in doubles over many orders."""

from __future__ import annotations

import numpy as np

_ORDERS = 1 + np.geomspace(1e-5, 1e9, 300_001)


def epsilon_of_rho(rho: float, delta: float) -> float:
    """The least over the orders: at most 10^-8 above that over all of them."""
    a = _ORDERS
    return float(np.min(a * rho + np.log1p(-1 / a) - (np.log(delta) + np.log(a)) / (a - 1)))
