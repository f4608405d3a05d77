"""Presence: certainty that a person of a public table is in the published one (M. E. Nergiz et al., 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.model import ROUNDING, Fits, Measure, PrivacyModel
from parties.base.settings import Finite
from smc.errors import InputError


@dataclass(frozen=True)
class Presence(PrivacyModel):
    """(least, most)-presence: in each class of the public table, the share of people in the published one is bounded.

    If `least` is positive, no row can be suppressed: it would disclose that people of its class are absent.
    """

    least: Annotated[Finite, Field(ge=0, le=1, description="least share of a class's people that is published")]
    most: Annotated[Finite, Field(ge=0, le=1, description="greatest share of a class's people that is published")]
    name: ClassVar[str] = "presence"
    larger: ClassVar[bool] = False
    needs_public: ClassVar[bool] = True
    column = None

    @override
    def check(self) -> None:
        if self.least > self.most:
            raise InputError(f"needs least <= most, not {self.least:g} and {self.most:g}")

    @property
    def keeps_all(self) -> bool:  # type: ignore[override]
        """Whether a suppressed row breaks the model."""
        return self.least > 0

    def fits(self, classes: Classes) -> Fits:
        """Return whether classes fit, including those without rows: their people are known to be absent."""
        return self.enough(self.measure(classes))

    def measure(self, classes: Classes) -> Measure:
        """Return the published share of each class's people: its rows / its public rows; infinite without these."""
        public = classes.public
        return np.where(public > 0, classes.sizes / np.maximum(public, 1), np.inf)

    def enough(self, measure: Measure) -> Fits:
        """Return whether the share is between least and most."""
        return (measure >= self.least - ROUNDING) & (measure <= self.most + ROUNDING)

    def reached(self, classes: Classes) -> Any:
        """Return the least and the greatest published share of a class's people; None without classes."""
        measure = self.measure(classes)
        return [float(measure.min()), float(measure.max())] if len(measure) else None

    @property
    def words(self) -> str:
        """Description, such as "(0.02, 0.05)-presence"."""
        return f"({self.least:g}, {self.most:g})-presence"
