"""t-closeness: the distribution of a sensitive column in each class is within t of that in the whole table.

N. Li, T. Li, S. Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", 2007. The whole table is
all given rows, including those that are suppressed. Both distributions are of the rows with a known value; a class
without any fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from pydantic import Field

from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.model import ROUNDING, Column, Fits, Measure, PrivacyModel, shares
from parties.base.settings import Finite
from protocols.arrays import Floats


def variational(p: Floats, q: Floats) -> Measure:
    """Return half the sum of |p - q|, float64[classes]: the earth mover's distance if values are equally far apart.

    Args:
        p: distributions, float64[classes, values]
        q: distribution of the whole table, float64[1, values]
    """
    distance: Measure = 0.5 * np.abs(p - q).sum(axis=1)
    return distance


def kullback_leibler(p: Floats, q: Floats) -> Measure:
    """Return the sum of p ln(p / q) in nats, float64[classes].

    Args:
        p: distributions, float64[classes, values]
        q: distribution of the whole table, float64[1, values]
    """
    ratio = np.where(p > 0, p / np.where(q > 0, q, 1.0), 1.0)
    distance: Measure = (p * np.log(ratio)).sum(axis=1)
    return distance


def ordered(p: Floats, q: Floats) -> Measure:
    """Return the earth mover's distance for ordered values, with m - 1 steps of 1 / (m - 1) from end to end.

    Args:
        p: distributions, float64[classes, values]
        q: distribution of the whole table, float64[1, values]
    """
    if p.shape[1] < 2:
        return np.zeros(len(p))
    distance: Measure = np.abs(np.cumsum(p - q, axis=1)[:, :-1]).sum(axis=1) / (p.shape[1] - 1)
    return distance


def hierarchical(p: Floats, q: Floats, hierarchy: Hierarchy) -> Measure:
    """Return the earth mover's distance; two values are as far apart as the level of their lowest common group.

    That level is divided by the height of the hierarchy.

    Args:
        p: distributions, float64[classes, values]
        q: distribution of the whole table, float64[1, values]
        hierarchy: hierarchy of the values
    """
    distance = np.zeros(len(p))
    for level in range(1, hierarchy.height + 1):
        number = len(hierarchy.labels[level - 1])
        extra = np.zeros((len(p), number))
        np.add.at(extra.T, hierarchy.groups[level - 1], (p - q).T)
        parents = hierarchy.parents(level - 1, level)
        sent, taken = (np.zeros((len(hierarchy.labels[level]), len(p))) for _ in range(2))
        np.add.at(sent, parents, np.maximum(extra, 0).T)
        np.add.at(taken, parents, np.maximum(-extra, 0).T)
        distance += level / hierarchy.height * np.minimum(sent, taken).sum(axis=0)
    return distance


DISTANCES: dict[str, Callable[[Floats, Floats], Measure]] = {
    "equal": variational,
    "variational": variational,
    "kullback-leibler": kullback_leibler,
    "ordered": ordered,
}
Distance: TypeAlias = Literal["equal", "variational", "kullback-leibler", "ordered", "hierarchical"]
NAMES: tuple[Distance, ...] = get_args(Distance)


@dataclass(frozen=True)
class TCloseness(PrivacyModel):
    """t-closeness by a distance; `ordered` uses the hierarchy's order of values."""

    column: Column
    t: Annotated[Finite, Field(ge=0, description="greatest distance of a class from the whole table")]
    distance: Annotated[Distance, Field(description="distance between distributions")] = "equal"
    name: ClassVar[str] = "t-closeness"
    larger: ClassVar[bool] = False

    def measure(self, classes: Classes) -> Measure:
        """Return the distance of each class to the whole table; infinity for a class without a known value."""
        known = classes.known(self.column)
        p, q = shares(known), shares(classes.known_whole(self.column)[None])
        if self.distance == "hierarchical":
            distance = hierarchical(p, q, classes.known_hierarchy(self.column))
        else:
            distance = DISTANCES[self.distance](p, q)
        return np.where(known.any(axis=1), distance, np.inf)

    def enough(self, measure: Measure) -> Fits:
        """Return whether the distance is at most t."""
        return measure <= self.t + ROUNDING

    @property
    def words(self) -> str:
        """Description, such as "0.2-closeness of disease (ordered)"."""
        return f"{self.t:g}-closeness of {self.column} ({self.distance})"
