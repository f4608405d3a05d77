"""Positive and negative disclosure: a class makes a sensitive value nearly certain, or rules it out.

A. Machanavajjhala et al., "l-Diversity: Privacy Beyond k-Anonymity", 2007, section 3. The bound of positive disclosure
is the alpha of (alpha, k)-anonymity. Shares are of the rows with a known value; a class without any fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.model import ROUNDING, Column, Fits, Measure, PrivacyModel, shares
from parties.base.settings import Finite


@dataclass(frozen=True)
class PositiveDisclosure(PrivacyModel):
    """Bound on positive disclosure: no value of the column has more than this share of any class."""

    column: Column
    most: Annotated[Finite, Field(gt=0, le=1, description="greatest share of a class that a value may have")]
    name: ClassVar[str] = "positive-disclosure"
    larger: ClassVar[bool] = False

    def measure(self, classes: Classes) -> Measure:
        """Return the share of the most frequent value."""
        known = classes.known(self.column)
        return np.where(known.any(axis=1), shares(known).max(axis=1, initial=0.0), np.inf)

    def enough(self, measure: Measure) -> Fits:
        """Return for each class whether the share of the most frequent value is at most `most`."""
        return measure <= self.most + ROUNDING

    @property
    def words(self) -> str:
        """Description, such as "positive disclosure of disease <= 0.8"."""
        return f"positive disclosure of {self.column} <= {self.most:g}"


@dataclass(frozen=True)
class NegativeDisclosure(PrivacyModel):
    """Bound on negative disclosure: every value that occurs in the table has at least this share of every class."""

    column: Column
    least: Annotated[Finite, Field(gt=0, le=1, description="least share of a class that each value must have")]
    name: ClassVar[str] = "negative-disclosure"

    def measure(self, classes: Classes) -> Measure:
        """Return the share of the rarest value."""
        present, known = classes.known_whole(self.column) > 0, classes.known(self.column)
        return np.where(known.any(axis=1), shares(known)[:, present].min(axis=1, initial=1.0), 0.0)

    def enough(self, measure: Measure) -> Fits:
        """Return for each class whether the share of the rarest value is at least `least`."""
        return measure >= self.least - ROUNDING

    @property
    def words(self) -> str:
        """Description, such as "negative disclosure of disease >= 0.01"."""
        return f"negative disclosure of {self.column} >= {self.least:g}"
