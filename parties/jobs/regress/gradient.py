"""Noisy gradient descent on rows as contrasts."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document, Loss, exact
from parties.jobs.regress.method import OnRound, Opened, Stepwise
from parties.jobs.regress.settings import safe_rate
from parties.jobs.release.noise import Noise
from protocols.arrays import Floats, Numbers
from protocols.regression.features import BITS, Contrasts
from protocols.regression.rows import SLOPE_BITS, OwnRows
from protocols.release.descent import COARSE, Change, Descent, Walk, descend, own_numbers
from protocols.shares import Following
from smc.engines import Engine


class Gradient(Stepwise):
    """Noisy gradient descent, `protocols.release.descent`; T is `steps`."""

    @property
    @override
    def numbers(self) -> int:
        """Number of weights, and one more for the number of rows."""
        return self.space.number + 1

    @cached_property
    @override
    def space(self) -> Contrasts:
        return Contrasts(self.features.columns)

    @property
    def clip(self) -> int:
        """Bound on a row's slope, in units of 2^-14."""
        assert self.settings.clip is not None
        return int(exact(self.settings.clip) * (1 << SLOPE_BITS))

    @property
    def change(self) -> Change:
        """Change of the sums by one row, or by all rows of a person."""
        return Change(self.space.number, self.clip << BITS, self.replaced, self.settings.together)

    @cached_property
    def noise(self) -> Noise:
        """Noise of each step, with the loss of all steps."""
        return self._gauss(self.steps, self.change.squared)

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        return (self.noise.loss,)

    @cached_property
    def problem(self) -> Descent:
        """Public parameters of the descent, on which both parties must agree."""
        assert self.settings.rate is not None
        return Descent(
            change=self.change,
            steps=self.steps,
            rate=self.settings.rate,
            short=safe_rate(self.settings),
            regularisation=self.regularisation,
            variance=self.noise.scale**2,
            max_rows=self.settings.max_rows,
            least_rows=self.settings.least_rows or 0,
            epsilon=self.epsilon,
        )

    @override
    def check(self) -> None:
        self.problem.check()

    @override
    def own(self, rows: OwnRows | None) -> Any:
        """Return the source of own sums for each step: of slopes, and the number of rows."""
        return OwnGradients(self, rows)

    @override
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        return descend(engine, self.problem, lambda opened: data.sums([*opened]), on_step, start)

    @override
    def weights(self, opened: Opened) -> Floats:
        return self.space.plain(self.problem.weights(opened))

    @override
    def fields(self, opened: Opened) -> Document:
        """Return the fields of a result on its noise; their sigma is that of the noise in a sum of gradients."""
        settings = self.settings
        fields = {"steps": self.steps, "rate": settings.rate, "clip": settings.clip, "delta": settings.delta}
        rows = round(self.problem.rows(opened))
        return {**fields, **self.noise.fields(Fraction(1, 1 << COARSE)), "rows": rows}

    @override
    def spread(self, opened: Opened) -> float:
        """Return an upper bound on the standard deviation of the noise in a weight."""
        return self.problem.spread(opened) * self.space.unit / self.features.unit


class OwnGradients(Following):
    """Source of own sums for each step: sums of slopes at the weights so far, and the scaled number of own rows.

    Without rows all are zeros. Each party rounds its own sums, so a row changes the rounded sums of one party only.
    """

    def __init__(self, method: Gradient, rows: OwnRows | None) -> None:
        super().__init__()
        self._method, self._rows = method, rows

    @override
    def begin(self) -> None:
        self._walk, self._steps = Walk(self._method.problem), 0

    @override
    def take(self, step: tuple[int, ...]) -> None:
        if len(step) != self._method.numbers or self._steps == self._method.steps:
            raise ValueError("the opened values are not those of a step")
        self._walk.step(step)
        self._steps += 1

    @override
    def own(self) -> Numbers:
        method = self._method
        if self._rows is None:
            return np.zeros(method.numbers, dtype=np.int64)
        slopes = self._rows.slopes(method.settings.objective, self._walk.weights, method.clip)
        return own_numbers(slopes, self._rows.total)
