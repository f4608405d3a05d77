"""Level of detail: a category, or an area, is published only if it is large enough.

Rules as of the census bureau's public use files, which have no area of fewer than 100,000 people and no category of
fewer than 10,000 (Hundepool et al., "Statistical Disclosure Control", 2012, section 3.2). Categories that are too small
are merged into one, together with the next smallest ones until that one is large enough.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows
from parties.base.arrays import Floats
from parties.base.text import quoted
from parties.tables.delimited import MISSING
from smc.errors import InputError


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
                raise InputError(f"{rows.place}, column {quoted(name)}: population has no number for {quoted(value)}")
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
