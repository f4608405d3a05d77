"""Estimate the effects of columns on the rate of events, with noise."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release.effects.kind import Effects
from parties.jobs.release.effects.settings import ModelSettings, target
from parties.jobs.release.values import read
from parties.jobs.settings import Name, public
from protocols.arrays import Floats, Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.release.likelihoods import Likelihood


class PoissonSettings(ModelSettings):
    """Settings of `smc regress poisson`."""

    target: Name | None = target("Column of the number of events; its greatest value in the schema bounds a row")
    exposure: Name | None = public(
        None, "Exposure", "Column of the time at risk, such as person-years", none="1 for each row", column=True
    )


class PoissonRegression(Effects):
    """Estimate a Poisson regression on the rows of both parties. Both learn its coefficients and the ratios of
    incidence rates, with standard errors, intervals and tests that include the noise.

    The intercept is the logarithm of the rate of events per unit of exposure in a row with the reference value of
    each column, and 0 in each column of numbers.
    """

    name = "regress poisson"
    about = Description("Poisson regression", "effects", example="--target visits --columns age,arm --epsilon 1")
    Settings = PoissonSettings
    ratio, outcome_columns = "rate ratio", ("target", "exposure")

    @property
    def counted(self) -> str:  # type: ignore[override]
        """Name of the field of a result that has the number of rows, or with an exposure the sum of exposures."""
        return "total_exposure" if self.settings.exposure else "rows"

    @classmethod
    @override
    def numbers_of(cls, settings: Any) -> tuple[str, ...]:
        return tuple(cls.outcome(settings))

    def _numbers(self, key: str) -> Floats:
        """Return the number of each selected value of a column, float64[values]; nan for a missing one."""
        name = getattr(self.settings, key)
        found = read(name, self.where.values(name, self.schema), "a rate", key).numbers
        return np.array([np.nan if number is None else float(number) for number in found])

    @cached_property
    def _events(self) -> Floats:
        events = self._numbers("target")
        if np.nanmin(events) < 0 or (np.nan_to_num(events) % 1).any():
            raise InputError("target: numbers of events are 0, 1, 2, ...: choose a column that counts events")
        return events

    @cached_property
    def _exposures(self) -> Floats:
        if self.settings.exposure is None:
            return np.ones(1)
        exposures = self._numbers("exposure")
        if np.nanmin(exposures) <= 0:
            raise InputError("exposure: a time at risk is above 0: give the column a lower bound above 0, or use where")
        return exposures

    @property
    @override
    def likelihood(self) -> Likelihood:
        from protocols.release.likelihoods import Poisson

        limit, longest = max(1.0, float(np.nanmax(self._events))), float(np.nanmax(self._exposures))
        return Poisson(self.design.size, self.design.square, limit, longest)

    @override
    def outcomes(self, codes: dict[str, Numbers]) -> tuple[Floats, Floats]:
        events = self._events[codes[self.settings.target]]
        if self.settings.exposure is None:
            return events, np.ones(len(events))
        return events, self._exposures[codes[self.settings.exposure]]

    @property
    @override
    def learnt(self) -> str:
        per = f" per unit of {self.settings.exposure}" if self.settings.exposure else ""
        return f"the rate of {self.settings.target}{per}"

    @override
    def details(self, found: Any) -> Document:
        return {"most_events": int(np.nanmax(self._events))}

    @override
    def predicts(self) -> Document:
        return {"log": True, "least": 0.0, "greatest": float(np.nanmax(self._events))}

    @override
    def model_columns(self, coefficients: Floats) -> Document:
        if self.settings.exposure is None:
            return super().model_columns(coefficients)
        bounds = {"least": float(np.nanmin(self._exposures)), "greatest": float(np.nanmax(self._exposures))}
        return {**super().model_columns(coefficients), self.settings.exposure: {"exposure": True, **bounds}}
