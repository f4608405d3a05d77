"""Compare incidence rates between two groups, with noise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release.comparison import Comparison, StratifiedSettings, Sums
from parties.jobs.release.question import Part
from parties.jobs.release.values import Values, read
from parties.jobs.settings import Name, public
from protocols.arrays import Floats, Numbers
from smc.errors import InputError


class RatesSettings(StratifiedSettings):
    """Settings of `smc release rates`."""

    target: Name | None = public(
        None, "Target", "Column of the number of events; its greatest value in the schema bounds a row", column=True
    )
    exposure: Name | None = public(
        None,
        "Exposure",
        "Column of the time at risk, such as person-years; its greatest value bounds a row",
        none="1 for each row",
        column=True,
    )


class Rates(Comparison):
    """Compare the incidence rate of events between two groups of the rows of both parties. Both learn the rates, their
    difference and ratio, with noise.

    A rate is the number of events per unit of time at risk. Events and times are summed with half of epsilon each. With
    strata, the rate ratio common to all of them follows too (Mantel and Haenszel). Intervals include the noise.
    """

    name = "release rates"
    about = Description("Compared rates", "comparison", example="--target visits --by arm --epsilon 1")
    Settings = RatesSettings
    measures = 2  # events, and times at risk in units
    model = "; the variance of events is assumed to be their mean"

    @classmethod
    @override
    def numbered(cls, settings: Any) -> tuple[str, ...]:
        return (*filter(None, (settings.target, settings.exposure)),)

    def _values(self, key: str) -> Values:
        if (name := getattr(self.settings, key)) is None:
            return Values((Fraction(1),))
        return read(name, self.where.values(name, self.schema), "a rate", key)

    @cached_property
    def _read(self) -> tuple[Values, Values]:
        """Events and times at risk. Raise InputError if one is below its least possible number."""
        events, times = self._values("target"), self._values("exposure")
        if events.least < 0 or any(number % 1 for number in events.present):
            raise InputError("target: numbers of events are 0, 1, 2, ...: choose a column that counts events")
        if times.least < 0:
            raise InputError("exposure: a time at risk is 0 or more: give the column a lower bound of 0, or use where")
        return events, times

    @override
    def parts(self, cells: int) -> list[Part]:
        parts = []
        for values in self._read:
            change = max(1, values.change(self.replaced, cells))
            bound = self.rows_each * max(values.whole)
            parts.append(Part(cells, bound, False, self.noise(change, Fraction(1, 2))))
        return parts

    @override
    def of_rows(self, codes: Mapping[str, Numbers]) -> tuple[Numbers, NDArray[np.bool_]]:
        events = codes[self.settings.target]
        times = np.zeros_like(events) if self.settings.exposure is None else codes[self.settings.exposure]
        pairs = list(zip(self._read, (events, times), strict=True))
        whole = np.all([values.ones[place] for values, place in pairs], axis=0)
        return np.array([values.vector[place] for values, place in pairs]), whole

    @property
    def _per(self) -> str:
        return "row" if self.settings.exposure is None else f"unit of {self.settings.exposure}"

    @property
    @override
    def unit(self) -> Fraction:
        return self._read[0].unit

    @property
    @override
    def learnt(self) -> str:
        return f"the rate of {self.settings.target} per {self._per}"

    @override
    def estimates(self, known: Sums) -> Document:
        known = known.times(np.array([float(values.unit) for values in self._read])[:, None, None])
        whole = known.over_strata()

        def chance(gradient: Floats) -> float:
            return float((np.maximum(whole.x[0], 0) * gradient[0] ** 2).sum())

        def events(group: int) -> Any:
            return lambda x: x[0, 0, group]

        def time(group: int) -> Any:
            return lambda x: x[1, 0, group]

        def rate(x: Any, group: int) -> Any:
            return x[0, 0, group] / x[1, 0, group]

        def log_rate(group: int) -> Any:
            return lambda x: np.log(rate(x, group))

        of, times, every = self.groups, [time(0), time(1)], [events(0), events(1), time(0), time(1)]
        numbers = [
            *(
                whole.estimate(
                    f"rate in {of[g]}", log_rate(g), chance, [events(g), time(g)], is_ratio=True, tests=False
                )
                for g in (0, 1)
            ),
            whole.estimate("rate difference", lambda x: rate(x, 1) - rate(x, 0), chance, times),
            whole.estimate("rate ratio", lambda x: log_rate(1)(x) - log_rate(0)(x), chance, every, is_ratio=True),
        ]
        about = {"target": self.settings.target, "per": self._per}
        if not self.strata:
            return {**about, "numbers": numbers}
        used, left_out = self.stratified(known, lambda x: x[1].sum())
        adjusted = used.common_ratio("common rate ratio", _products, _greenland(used.x))
        return {**about, "numbers": [*numbers, adjusted], **left_out}


def _products(x: Any) -> tuple[Any, Any]:
    time = x[1].sum(axis=1)
    return x[0, :, 1] * x[1, :, 0] / time, x[0, :, 0] * x[1, :, 1] / time


def _greenland(x: Floats) -> float:
    """Return the variance of the logarithm of the common rate ratio (Greenland and Robins 1985)."""
    (r, s), time = _products(x), x[1].sum(axis=1)
    whole = float(r.sum()) * float(s.sum())
    return max(float((x[0].sum(axis=1) * x[1].prod(axis=1) / time**2).sum()) / whole, 0.0) if whole > 0 else 0.0
