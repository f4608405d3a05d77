"""l-diversity: a class holds l well-represented values of a sensitive column (A. Machanavajjhala et al., 2007).

A missing value is no value: it is not counted, and a class without a known value fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.model import ROUNDING, Column, Fits, Measure, PrivacyModel
from parties.base.settings import Finite


@dataclass(frozen=True)
class LDiversity(PrivacyModel):
    """Distinct l-diversity: every class has at least l values of the column."""

    column: Column
    l: Annotated[int, Field(strict=True, ge=1, description="least number of values in a class")]  # noqa: E741 (its name)
    name: ClassVar[str] = "l-diversity"
    lifts: ClassVar[bool] = True

    def measure(self, classes: Classes) -> Measure:
        """Return the number of values of the column that occur in each class."""
        return np.count_nonzero(classes.known(self.column), axis=1).astype(np.float64)

    def enough(self, measure: Measure) -> Fits:
        """Return whether the number is at least l."""
        return measure >= self.l

    @property
    def words(self) -> str:
        """Description, such as "distinct 3-diversity of disease"."""
        return f"distinct {self.l}-diversity of {self.column}"


@dataclass(frozen=True)
class EntropyLDiversity(PrivacyModel):
    """Entropy l-diversity: the entropy of the column in every class is at least log l."""

    column: Column
    l: Annotated[Finite, Field(ge=1, description="least effective number of values: e to the power of the entropy")]  # noqa: E741
    name: ClassVar[str] = "entropy-l-diversity"

    def measure(self, classes: Classes) -> Measure:
        """Return e to the power of the entropy: l if l values are equally frequent."""
        rows = classes.known(self.column)
        total = rows.sum(axis=1, keepdims=True)
        p = rows / np.maximum(total, 1)
        entropy: Measure = np.exp(-np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0).sum(axis=1))
        return np.where(total[:, 0] > 0, entropy, 0.0)

    def enough(self, measure: Measure) -> Fits:
        """Return whether the measure is at least l."""
        return measure >= self.l * (1 - ROUNDING)

    @property
    def words(self) -> str:
        """Description, such as "entropy 3-diversity of disease"."""
        return f"entropy {self.l:g}-diversity of {self.column}"


@dataclass(frozen=True)
class RecursiveLDiversity(PrivacyModel):
    """Recursive (c, l)-diversity: r_1 < c (r_l + r_(l+1) + ...) for the rows by value r_1 >= r_2 >= ..."""

    column: Column
    c: Annotated[
        Finite, Field(gt=0, description="bound of the most frequent value's rows over those of the l-th and rarer")
    ]
    l: Annotated[int, Field(strict=True, ge=1, description="rank of the first rare value")]  # noqa: E741
    name: ClassVar[str] = "recursive-l-diversity"
    larger: ClassVar[bool] = False

    def measure(self, classes: Classes) -> Measure:
        """Return the most frequent value's rows divided by those of the l-th and rarer; infinite for fewer than l."""
        rows = -np.sort(-classes.known(self.column), axis=1)
        rest = rows[:, self.l - 1 :].sum(axis=1)
        return np.where(rest > 0, rows[:, 0] / np.maximum(rest, 1), np.inf)

    def enough(self, measure: Measure) -> Fits:
        """Return whether the ratio is below c."""
        return measure < self.c

    @property
    def words(self) -> str:
        """Description, such as "recursive (2, 3)-diversity of disease"."""
        return f"recursive ({self.c:g}, {self.l})-diversity of {self.column}"
