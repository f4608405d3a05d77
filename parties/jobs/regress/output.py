"""Noise on the mean of two minimisers, each of a party's own rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.regress.method import Opened, OpenedOnce
from protocols.arrays import Floats
from protocols.regression.features import ONE
from protocols.regression.losses import radius
from protocols.regression.minimiser import TOLERANCE, check_features, minimise
from protocols.regression.rows import TrainingRows


class Output(OpenedOnce):
    """Output perturbation: each party finds its own minimiser, and the mean of the two is opened with noise.

    Jayaraman, Wang, Evans, Gu, "Distributed learning without distress" (NeurIPS 2018): one noise for both parties, with
    the scale for one of them, halved by the mean. A row of a party, added, removed or replaced, changes the gradient of
    its J by at most 2 / n, with n the rows of the larger of the two tables, so its minimiser by 2 / (n lambda). m rows
    of a person change it by m times that (m / n of the mean are theirs, and the others' part grows by as much). The
    minimiser's `TOLERANCE` adds 2 TOLERANCE / lambda. In units of a 2^10th of that, rounded to integers, the sum of the
    two vectors changes by at most 2^10 + sqrt(d) in the Euclidean norm; 1 more covers all rounding of doubles.
    """

    POINT = 10

    @property
    def moved(self) -> float:
        """Largest distance by which a row, or all rows of a person, move a minimiser."""
        assert self.settings.least_rows is not None
        return (2 * self.settings.together / self.settings.least_rows + 2 * TOLERANCE) / self.regularisation

    @property
    def unit(self) -> float:
        """Unit of the weights, before the mean of two is taken."""
        return self.moved / (1 << self.POINT)

    @property
    @override
    def squared(self) -> int:
        change = (1 << self.POINT) + 2 + math.isqrt(self.features.number)
        return change**2

    @property
    @override
    def bound(self) -> int:
        return int(radius(self.settings.objective, self.regularisation) / self.unit + 2)

    @override
    def check(self) -> None:
        check_features(self.features.number)
        self.part.check("least_rows")

    @override
    def own(self, rows: TrainingRows | None) -> Any:
        """Return the weights that minimise the loss on this party's rows, in integer units, int64[numbers]."""
        if rows is None:
            return np.zeros(self.numbers, dtype=np.int64)
        minimum = minimise(rows, self.settings.objective, self.regularisation)
        return np.rint(minimum.weights / self.unit).astype(np.int64)

    @override
    def weights(self, opened: Opened) -> Floats:
        weights: Floats = np.array(opened[0], dtype=np.float64) * (self.unit / 2)
        return weights

    @override
    def fields(self, opened: Opened) -> Document:
        """Return the fields of a result on its noise; their sigma is that of the noise in a category's weight."""
        noise = self.noise.fields(Fraction(self.unit) / 2 * Fraction(self.features.unit, ONE))
        return {"delta": self.settings.delta, "least_rows": self.settings.least_rows, **noise}

    @override
    def spread(self, opened: Opened) -> float:
        return float(self.noise.scale) * self.unit / 2
