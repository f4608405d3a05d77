"""What a class of rows must be like before it may be published: a model is a pure function of classes and the table.

A model is one class, in a file of this folder or of another package (entry point `smc.publishing-models`).

Two things make searching quick. Without suppression every model here is monotone: if all classes fit, so do all classes
of any coarser table, for each is a union of such. With suppression, when classes that do not fit are left out, that
holds only of models that `lift`: a class that fits goes on fitting whatever joins it.
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

Measure: TypeAlias = NDArray[np.float64]
Fits: TypeAlias = NDArray[np.bool_]

ROUNDING = 1e-9  # logarithms and quotients of counts are known this well


class PrivacyModel(Declared, ABC):
    """A requirement on every class. `column` is the sensitive column that it is about, if it is about one."""

    lifts: ClassVar[bool] = False
    keeps_all: bool = False  # whether it breaks as soon as a row is suppressed
    larger: ClassVar[bool] = True  # whether larger measures are better
    needs_public: ClassVar[bool] = False  # whether it counts a public table of all who could be in this one
    column: str | None

    @abstractmethod
    def measure(self, classes: Classes) -> Measure:
        """Return what each class with rows reaches, float64[classes]."""

    @abstractmethod
    def enough(self, measure: Measure) -> Fits:
        """Return whether what is reached suffices."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The model in words, for messages."""

    def fits(self, classes: Classes) -> Fits:
        """Return whether each class satisfies the model, bool[classes]; a class without rows does."""
        fits = np.ones(len(classes), dtype=bool)
        present = classes.sizes > 0
        if present.all():
            return self.enough(self.measure(classes))
        fits[present] = self.enough(self.measure(Classes(classes.counts[present], classes.layout)))
        return fits

    def reached(self, classes: Classes) -> Any:
        """Return what the worst class with rows reaches."""
        measure = self.measure(Classes(classes.counts[classes.sizes > 0], classes.layout))
        if not len(measure):
            return None
        return float(measure.min() if self.larger else measure.max())


Column: TypeAlias = Annotated[str, Field(description="a sensitive column")]


@dataclass(frozen=True)
class KAnonymity(PrivacyModel):
    """Every class has at least k rows (L. Sweeney, "k-anonymity", 2002)."""

    k: Annotated[int, Field(strict=True, ge=1, description="rows of a class, at least")]
    name: ClassVar[str] = "k-anonymity"
    lifts: ClassVar[bool] = True
    column = None

    def measure(self, classes: Classes) -> Measure:
        """Count the rows."""
        return classes.sizes.astype(np.float64)

    def enough(self, measure: Measure) -> Fits:
        """Return whether it is at least k."""
        return measure >= self.k

    @property
    def words(self) -> str:
        """5-anonymity."""
        return f"{self.k}-anonymity"


def fitting(classes: Classes, models: Sequence[PrivacyModel]) -> Fits:
    """Return whether each class fits all models, bool[classes]."""
    fits = np.ones(len(classes), dtype=bool)
    for model in models:
        fits &= model.fits(classes)
    return fits


def suppressed(classes: Classes, models: Sequence[PrivacyModel]) -> int:
    """Return the rows in classes that do not fit, which would be left out.

    It is one more than there are rows if leaving out would not help, because a model counts who is missing.
    """
    fits = fitting(classes, models)
    if any(model.keeps_all for model in models) and not fits.all():
        return int(classes.layout.whole[0]) + 1
    return int(classes.sizes[~fits].sum())


def monotone(models: Sequence[PrivacyModel], most: int) -> list[PrivacyModel]:
    """Return the models whose suppressed rows only get fewer as classes are joined, `most` being suppressed."""
    if most == 0 or any(model.keeps_all for model in models):
        return list(models)
    return [model for model in models if model.lifts]


def shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return histograms int64[classes, values] as distributions."""
    return counts / counts.sum(axis=1, keepdims=True)


MODELS: Family[PrivacyModel] = Family(
    PrivacyModel,  # type: ignore[type-abstract]
    "publishing model",
    __package__,
    "smc.publishing-models",
)
