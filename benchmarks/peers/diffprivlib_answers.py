"""Errors of diffprivlib's mean, median and quantile, for benchmarks.answers: run by the Python that has it.

Reads one JSON document {numbers, low, high, at, epsilons, draws}; writes {epsilon: {question: answers}}. Its mean takes
the number of rows as known, so its promise is of one row replaced.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.tools import mean, median, quantile

warnings.filterwarnings("ignore")
asked = json.load(sys.stdin)
rows, found = np.array(asked["numbers"], dtype=float), {}
for epsilon in asked["epsilons"]:
    more = {"epsilon": float(epsilon), "bounds": (asked["low"], asked["high"])}
    ways = {
        "mean": lambda seed: mean(rows, random_state=seed, **more),  # noqa: B023
        "median": lambda seed: median(rows, random_state=seed, **more),  # noqa: B023
        "quantile": lambda seed: quantile(rows, asked["at"], random_state=seed, **more),  # noqa: B023
    }
    found[epsilon] = {name: [float(way(seed)) for seed in range(asked["draws"])] for name, way in ways.items()}
json.dump(found, sys.stdout)
