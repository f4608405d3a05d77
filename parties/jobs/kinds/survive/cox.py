"""Estimate the effects of columns on the hazard of an event, with noise."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release.effects.kind import Effects
from parties.jobs.release.effects.settings import EffectsSettings
from parties.jobs.release.ordered import ordered_bins, two_values
from parties.jobs.release.survive.times import TimesSettings
from parties.jobs.settings import public
from parties.tables.schema import Schema
from protocols.arrays import Floats, Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.release.likelihoods import Likelihood

MOST_BINS = 60


class CoxSettings(TimesSettings, EffectsSettings):
    """Settings of `smc survive cox`."""

    ties: Literal["efron", "breslow"] = public("efron", "Ties", "Method for events in the same bin", advanced=True)
    limit: Annotated[float, Field(strict=True, ge=1, le=20, allow_inf_nan=False)] | None = public(
        None,
        "Limit of follow-up",
        "A row is followed until the model expects this number of events of it. More = more noise",
        none="1; 20 if exact",
        advanced=True,
    )


class CoxRegression(Effects):
    """Estimate a Cox regression on the rows of both parties. Both learn its coefficients and hazard ratios, with
    standard errors, intervals and tests that include the noise.

    Times are binned by the schema. Events of a bin are ties. A row whose follow-up ends in a bin without an event is at
    risk there.
    """

    name = "survive cox"
    about = Description("Cox regression", "effects", example="--time months --event died --columns age,arm --epsilon 1")
    Settings = CoxSettings
    ratio, outcome_columns = "hazard ratio", ("event", "time")

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        limit = settings.limit or (20.0 if settings.exact else 1.0)
        return super().canonical(settings.model_copy(update={"limit": limit}), schema)

    @cached_property
    def _events(self) -> Floats:
        """Whether each selected value of the event's column is the event, float64[values]; nan for a missing one."""
        event, domain = self.settings.event, self.where.values(self.settings.event, self.schema)
        happened = np.full(len(domain), np.nan)
        happened[list(two_values("event", event, domain, self.settings.event_value, "an event"))] = 0.0, 1.0
        return happened

    @cached_property
    def _order(self) -> tuple[int, ...]:
        time = self.settings.time
        if time in self.where.columns:
            raise InputError("where: must not restrict the column of time, since all times are needed; remove it")
        order, _, _ = ordered_bins("time", time, self.schema.attributes[time])
        if len(order) > MOST_BINS:
            raise InputError(f"time: has {len(order)} bins, at most {MOST_BINS} are used: give it edges in the schema")
        return order

    @property
    @override
    def likelihood(self) -> Likelihood:
        from protocols.release.likelihoods import Cox

        settings = self.settings
        efron = settings.ties == "efron"
        return Cox(self.design.size, self.design.square, settings.limit, len(self._order), efron)

    @override
    def outcomes(self, codes: dict[str, Numbers]) -> tuple[Floats, Floats]:
        bins = np.full(len(self.schema.attributes[self.settings.time]), np.nan)
        bins[list(self._order)] = np.arange(len(self._order))
        return self._events[codes[self.settings.event]], bins[codes[self.settings.time]]

    @property
    @override
    def learnt(self) -> str:
        return f"the hazard of {self.settings.event} over {len(self._order)} bins of {self.settings.time}"

    @override
    def details(self, found: Any) -> Document:
        values = self.schema.attributes[self.settings.time]
        left_out = [values[at] for at, used in zip(self._order, found.used, strict=False) if not used]
        return {"ties": self.settings.ties, "limit": self.settings.limit, "bins_left_out": left_out}
