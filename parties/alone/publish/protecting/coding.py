"""Coding of values: top and bottom coding, and level of detail.

Top and bottom coding: values beyond a bound are published as the bound, or as the mean of those values.

topBotCoding of sdcMicro; Hundepool et al., "Statistical Disclosure Control" (2012), section 3.3.3.

Level of detail: a category, or an area, is published only if it is large enough.

Rules as of the census bureau's public use files, which have no area of fewer than 100,000 people and no category of
fewer than 10,000 (Hundepool et al., "Statistical Disclosure Control", 2012, section 3.2). Categories that are too small
are merged into one, together with the next smallest ones until that one is large enough.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows, spelled
from parties.base.settings import Finite
from parties.base.text import quoted
from parties.tables.delimited import MISSING
from protocols.arrays import Floats
from smc.errors import InputError

FEWEST = 3  # least number of values in a published mean
Tail = Annotated[float, Field(strict=True, gt=0, lt=0.5)]


class TopBottomCoding(Method):
    """Method that replaces values beyond the bounds `top` and `bottom`: by the bound, or by the mean of these values.

    With a `share` instead, the bounds follow from the rows: at most this share of them lies beyond either bound.
    """

    columns: Columns
    top: Finite | None = None
    bottom: Finite | None = None
    share: Tail | None = None
    replacement: Literal["bound", "mean"] = "bound"

    @model_validator(mode="after")
    def _has_bounds(self) -> TopBottomCoding:
        if (self.share is None) == (self.top is None and self.bottom is None):
            raise ValueError("top-bottom-coding needs top, bottom or both, or share; give one of these")
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise ValueError(f"bottom must be below top, and {self.bottom:g} is not below {self.top:g}")
        return self

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with replaced values beyond the bounds; raise InputError for a mean of fewer than three."""
        del random
        changed, figures = {}, {}
        for name in self.columns:
            numbers = rows.numbers(name)
            bottom, top = self._bounds(numbers)
            column, counts = rows.column(name).copy(), {}
            for tail, beyond, bound in (("top", numbers > top, top), ("bottom", numbers < bottom, bottom)):
                counts[tail] = int(beyond.sum())
                if not beyond.any():
                    continue
                value = bound
                if self.replacement == "mean":
                    if counts[tail] < FEWEST:
                        raise InputError(
                            f"column {name}: {counts[tail]} value(s) lie beyond the {tail}, so their mean would "
                            f'disclose them; {FEWEST} are required, or set replacement = "bound"'
                        )
                    value = float(numbers[beyond].mean())
                column[beyond] = spelled(np.array([value]))[0]
            changed[name] = column
            figures[name] = counts
        return rows.replaced(changed), figures

    def _bounds(self, numbers: Floats) -> tuple[float, float]:
        """Return the least and the greatest value that stay."""
        if self.share is None:
            return -np.inf if self.bottom is None else self.bottom, np.inf if self.top is None else self.top
        ranked = np.sort(numbers[~np.isnan(numbers)])
        if not len(ranked):
            return -np.inf, np.inf
        beyond = int(len(ranked) * self.share)
        return float(ranked[beyond]), float(ranked[-1 - beyond])


class LevelOfDetail(Method):
    """Method that merges categories with fewer than `least` people into one.

    The people of a category are the sum of its rows' weights, or the `population` of its value.
    """

    columns: Columns
    least: Annotated[int, Field(strict=True, ge=2)]
    population: dict[str, Annotated[int, Field(strict=True, ge=0)]] | None = None
    other: str = "other"

    @model_validator(mode="after")
    def _has_a_name(self) -> LevelOfDetail:
        if not self.other.strip():
            raise ValueError("other: must not be empty")
        return self

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with small categories merged; raise InputError if the population lacks a value."""
        del random
        changed, figures = {}, {}
        for name in self.columns:
            column = rows.column(name).copy()
            present = column != MISSING
            values, codes = np.unique(column[present].astype(str), return_inverse=True)
            sizes = self._sizes(
                values.tolist(), np.bincount(codes, rows.weights[present], len(values)).astype(np.float64), rows, name
            )
            joined = too_small(sizes, self.least)
            if joined.any() and self.other in values[~joined]:
                raise InputError(
                    f"column {quoted(name)}: {quoted(self.other)} is already a category; set other to another name"
                )
            column[present] = np.where(joined[codes], self.other, values[codes]).astype(object)
            changed[name] = column
            figures[name] = {"categories": len(values), "joined": int(joined.sum())}
        return rows.replaced(changed), figures

    def _sizes(self, values: list[str], counted: Floats, rows: Rows, name: str) -> Floats:
        if self.population is None:
            return counted
        for value in values:
            if value not in self.population:
                raise InputError(
                    f"{rows.place}, column {quoted(name)}: population lacks {quoted(value)}; add its number"
                )
        return np.array([self.population[value] for value in values], dtype=np.float64)


def too_small(sizes: Floats, least: float) -> Any:
    """Return the categories to merge, bool[categories]; none if no category is below the minimum.

    Else these are all below it, and the next smallest ones until together they reach it. If all people are too few,
    these are all categories.

    Args:
        sizes: people in each category
        least: least number of people in a published category
    """
    order = np.argsort(sizes, kind="stable")
    joined = sizes < least
    if joined.any():
        enough = int(np.argmax(sizes[order].cumsum() >= least)) if sizes.sum() >= least else len(sizes) - 1
        joined[order[: enough + 1]] = True
    return joined
