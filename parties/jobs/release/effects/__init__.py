"""Regressions with intervals: effects of columns on an outcome, from noisy sums; settings, coordinates and result."""
