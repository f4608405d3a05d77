"""How wide an interval of a normal variable is."""

from __future__ import annotations

from statistics import NormalDist

from parties.jobs.release.noise import CONFIDENCE

WIDE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)  # standard deviations of an interval, to either side
