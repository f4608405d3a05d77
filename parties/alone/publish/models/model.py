"""Base class of privacy models: requirements on classes of rows, as pure functions of classes and the table.

A model is one class, in a file of this folder or of another package (entry point `smc.publishing-models`).

Two properties make searches fast. Without suppression, every model here is monotone: if all classes fit, so do all
classes of any coarser table, whose classes are unions. With suppression of classes that do not fit, monotony holds only
for models with `lifts`: a class that fits still fits after any other class is joined to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parties.alone.publish.models.classes import Classes
from parties.base.declared import Declared
from parties.base.plugins import Family
from parties.base.text import listed

Measure: TypeAlias = NDArray[np.float64]
Fits: TypeAlias = NDArray[np.bool_]

ROUNDING = 1e-9  # rounding error of logarithms and quotients of counts


class PrivacyModel(Declared, ABC):
    """Requirement on every class of a published table, such as k-anonymity.

    `column` is its sensitive column, or None.
    """

    lifts: ClassVar[bool] = False
    keeps_all: bool = False  # whether any suppressed row breaks the model
    larger: ClassVar[bool] = True  # whether larger measures are better
    needs_public: ClassVar[bool] = False  # whether it counts a public table of all people who could be in this one
    column: str | None

    @abstractmethod
    def measure(self, classes: Classes) -> Measure:
        """Return the measure of each class with rows, float64[classes]."""

    @abstractmethod
    def enough(self, measure: Measure) -> Fits:
        """Return whether each measure suffices, bool[classes]."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Description of the model, for messages."""

    def fits(self, classes: Classes) -> Fits:
        """Return whether each class satisfies the model, bool[classes]; a class without rows does."""
        fits = np.ones(len(classes), dtype=bool)
        present = classes.sizes > 0
        if present.all():
            return self.enough(self.measure(classes))
        fits[present] = self.enough(self.measure(Classes(classes.counts[present], classes.layout)))
        return fits

    def reached(self, classes: Classes) -> Any:
        """Return the measure of the worst class with rows; None without classes."""
        measure = self.measure(Classes(classes.counts[classes.sizes > 0], classes.layout))
        if not len(measure):
            return None
        return float(measure.min() if self.larger else measure.max())


Column: TypeAlias = Annotated[str, Field(description="a sensitive column")]


@dataclass(frozen=True)
class KAnonymity(PrivacyModel):
    """k-anonymity: every class has at least k rows (L. Sweeney, "k-anonymity", 2002)."""

    k: Annotated[int, Field(strict=True, ge=1, description="least rows of a class")]
    name: ClassVar[str] = "k-anonymity"
    lifts: ClassVar[bool] = True
    column = None

    def measure(self, classes: Classes) -> Measure:
        """Return the number of rows."""
        return classes.sizes.astype(np.float64)

    def enough(self, measure: Measure) -> Fits:
        """Return whether the number is at least k."""
        return measure >= self.k

    @property
    def words(self) -> str:
        """Description, such as "5-anonymity"."""
        return f"{self.k}-anonymity"


def fitting(classes: Classes, models: Sequence[PrivacyModel]) -> Fits:
    """Return whether each class fits all models, bool[classes].

    Args:
        classes: Counts of each class.
        models: Privacy models of the plan.
    """
    fits = np.ones(len(classes), dtype=bool)
    for model in models:
        fits &= model.fits(classes)
    return fits


def suppressed(classes: Classes, models: Sequence[PrivacyModel]) -> int:
    """Return the number of rows in classes that do not fit, which would be suppressed.

    If suppression cannot help, because a model counts missing people, return the number of all rows plus one.

    Args:
        classes: the classes
        models: the models
    """
    fits = fitting(classes, models)
    if any(model.keeps_all for model in models) and not fits.all():
        return int(classes.layout.whole[0]) + 1
    return int(classes.sizes[~fits].sum())


def monotone(models: Sequence[PrivacyModel], most: int) -> list[PrivacyModel]:
    """Return the models whose suppressed rows never increase as classes are joined.

    Args:
        models: the models
        most: most suppressed rows; 0 makes every model monotone
    """
    if most == 0 or any(model.keeps_all for model in models):
        return list(models)
    return [model for model in models if model.lifts]


def shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return histograms int64[classes, values] as distributions; 0 everywhere in one without rows."""
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def missing_rule(columns: Sequence[str]) -> str:
    """Return the rule for missing values of some sensitive columns as a clause; for consent and reports."""
    return f"missing values of {listed(columns)} count for k only; a class without a known value is not made"


MODELS: Family[PrivacyModel] = Family(
    PrivacyModel,  # type: ignore[type-abstract]
    "publishing model",
    __package__,
    "smc.publishing-models",
)
