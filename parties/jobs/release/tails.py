"""Width of the interval of a normal variable."""

from __future__ import annotations

from statistics import NormalDist

from parties.jobs.release.noise import CONFIDENCE

WIDE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)  # half the interval's length, in standard deviations
