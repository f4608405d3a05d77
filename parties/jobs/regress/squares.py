"""Least squares, with or without regularisation, from second moments that are opened once with noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.regress.method import Opened, OpenedOnce
from parties.jobs.regress.result import noises
from protocols.arrays import Floats
from protocols.regression.features import BITS
from protocols.regression.moments import Moments
from smc.errors import InputError

MOST_FEATURES = 300  # which make 45,000 moments


class Squares(OpenedOnce):
    """Noisy second moments, `protocols.regression.moments`.

    With k columns a row z = (x, y) has |x|^2 <= 1 and y^2 <= 1, and each entry of x is at most 1 / sqrt(k + 1). So its
    moments, each counted once, have the squared Euclidean norm (|z|^4 + sum z_i^4) / 2 <= (5 + 1 / (k + 1)) / 2. Each
    party rounds its sums to multiples of 2^-10. So an added or removed row changes all numbers together by the root of
    that norm plus sqrt(numbers) 2^-10, and a replaced row by twice the root. m rows of a person change them by m times
    the root, rounded once.
    """

    streamed = True
    POINT = 10

    @property
    def moments(self) -> Moments:
        """Moments of the features and the target."""
        assert self.target is not None
        assert self.present is not None
        return Moments(self.features, self.target, np.array(self.present))

    @property
    @override
    def numbers(self) -> int:
        return self.moments.numbers

    @property
    @override
    def squared(self) -> int:
        norm = (5 + Fraction(1, len(self.features.columns) + 1)) / 2 * (1 << 2 * self.POINT)
        rows = self.settings.together * (2 if self.replaced else 1)
        change = rows * (math.isqrt(math.ceil(norm)) + 1) + math.isqrt(self.numbers) + 1
        return change**2

    @property
    @override
    def bound(self) -> int:
        return (self.settings.max_rows << self.POINT) + 1

    @override
    def check(self) -> None:
        if self.features.number > MOST_FEATURES:
            raise InputError(
                f"columns: they make {self.features.number:,} features, of which {self.numbers:,} moments would be "
                f"opened: {self.settings.method} takes {MOST_FEATURES} at most; name fewer columns (--columns)"
            )
        self.part.check()

    @override
    def own(self, rows: Any) -> Any:
        """Return the rounded moments, int64[numbers]; `rows` are the `OwnMoments` to round."""
        if rows is None:
            return np.zeros(self.numbers, dtype=np.int64)
        shift = 2 * BITS - self.POINT
        return (rows.sums + (1 << (shift - 1))) >> shift

    @override
    def weights(self, opened: Opened) -> Floats:
        return self.moments.weights(self._opened(opened), self.settings.regularisation or 0.0, self._sigma)

    @override
    def fields(self, opened: Opened) -> Document:
        """Return the fields of a result on its noise: sigma for a moment, and the noise of each weight."""
        assert self.target is not None
        moments, opened_moments = self.moments, self._opened(opened)
        rows = min(max(round(moments.rows(opened_moments)), 0), 2 * self.settings.max_rows)
        regularisation = self.settings.regularisation or 0.0
        weights = self.weights(opened)
        error, interval = moments.error(opened_moments, weights, regularisation, self._sigma)
        deviations = moments.deviations(opened_moments, weights, regularisation, self._sigma)
        half = float(self.target.half)
        fields = {"delta": self.settings.delta, **self.noise.fields(Fraction(1, 1 << self.POINT))}
        within = [float(f"{end * half:.6g}") for end in interval]
        fields |= noises(self.target, self.features, deviations)
        return {**fields, "rows": rows, "rmse": float(f"{error * half:.6g}"), "rmse_interval": within}

    @property
    def _sigma(self) -> float:
        return (float(self.noise.scale) + 1) / (1 << self.POINT)

    def _opened(self, opened: Opened) -> Floats:
        moments: Floats = np.array(opened[0], dtype=np.float64) / (1 << self.POINT)
        return moments
