"""Coordinates of rows for a regression with intervals, by the schema alone, and effects in the units of the columns.

A number becomes (x - middle) / half, by its public bounds. A column of m values becomes m - 1 coordinates, 1 minus
1 / m for the row's value and -1 / m for the others; the first value is the reference. So all coordinates are within 1,
and an effect is a coordinate's coefficient, for a number divided by half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parties.jobs.release import values
from parties.tables.delimited import MISSING
from protocols.arrays import Floats, Numbers
from smc.errors import InputError

MOST_COORDINATES = 30
DIGITS = 9  # decimal places of a model's weights


@dataclass(frozen=True)
class Column:
    """A column: the coordinates of each selected value (nan if missing), and its effects with the reference."""

    name: str
    table: Floats  # float64[values, coordinates]
    effects: tuple[tuple[str, float], ...]  # value, or empty for a number; factor from coefficient to effect
    reference: str  # the value that the others are compared with; empty for a number
    origin: Floats  # coordinates of the reference, or of the number 0


def column(name: str, domain: Sequence[str], is_number: bool) -> Column:
    """Return the coordinates of a column. Raise InputError if it has fewer than two values.

    Args:
        name: Name of the column.
        domain: Selected values.
        is_number: Whether the values are read as numbers.
    """
    if is_number:
        numbers = values.read(name, tuple(domain), "a number", "numeric")
        half = (numbers.greatest - numbers.least) / 2
        if not half:
            raise InputError(f"columns: {name!r} has a single number: leave it out")
        scaled = [np.nan if x is None else float((x - numbers.middle) / half) for x in numbers.numbers]
        origin = np.array([float(-numbers.middle / half)])
        return Column(name, np.array(scaled)[:, None], (("", 1 / float(half)),), "", origin)
    present = [value for value in domain if value != MISSING]
    if len(present) < 2:
        raise InputError(f"columns: {name!r} has a single value in the schema or in where: leave it out")
    coordinates = np.eye(len(present))[:, 1:] - 1 / len(present)
    table = np.full((len(domain), len(present) - 1), np.nan)
    table[[domain.index(value) for value in present]] = coordinates
    return Column(name, table, tuple((value, 1.0) for value in present[1:]), present[0], coordinates[0])


@dataclass(frozen=True)
class Design:
    """The coordinates of all columns, one after the other."""

    columns: tuple[Column, ...]

    def check(self) -> None:
        """Raise InputError if there are too many coordinates."""
        if self.size > MOST_COORDINATES:
            raise InputError(
                f"columns: they have {self.size} coefficients, at most {MOST_COORDINATES} are estimated: name fewer "
                "columns, or group values in the schema"
            )

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(column.table.shape[1] for column in self.columns)

    @property
    def square(self) -> float:
        """Greatest squared norm of a row."""
        return sum(float(np.nanmax((column.table**2).sum(axis=1))) for column in self.columns)

    @cached_property
    def factors(self) -> Floats:
        """Factor from a coefficient to an effect, float64[size]."""
        return np.array([factor for column in self.columns for _, factor in column.effects])

    @cached_property
    def origin(self) -> Floats:
        """Coordinates of a row with the number 0 and the reference in each column, float64[size]."""
        return np.concatenate([column.origin for column in self.columns])

    def coordinates(self, codes: Mapping[str, Numbers]) -> Floats:
        """Return the coordinates of rows, float64[lines, size]; nan for a missing value.

        Args:
            codes: Indices of each column's selected values.
        """
        return np.hstack([column.table[codes[column.name]] for column in self.columns])

    def terms(self, domains: Mapping[str, Sequence[str]], coefficients: Floats) -> dict[str, Any]:
        """Return the columns of a linear model (`parties.models.linear`). A missing value adds nothing.

        Args:
            domains: Selected values of each column.
            coefficients: Coefficients of the coordinates.
        """
        columns: dict[str, Any] = {}
        start = 0
        for column in self.columns:
            part = coefficients[start : (start := start + column.table.shape[1])]
            added = np.nan_to_num((column.table * part).sum(axis=1))
            if column.reference:
                rounded = [round(weight, DIGITS) for weight in added.tolist()]
                columns[column.name] = {"weights": dict(zip(domains[column.name], rounded, strict=True))}
                continue
            weight, half = float(part[0]) * column.effects[0][1], 1 / column.effects[0][1]
            middle = round(-float(column.origin[0]) * half, DIGITS)
            ends = {"least": np.nanmin(column.table), "greatest": np.nanmax(column.table)}
            bounds = {name: round(middle + float(end) * half, DIGITS) for name, end in ends.items()}
            columns[column.name] = {"weight": round(weight, DIGITS), "middle": middle, **bounds}
        return columns

    @property
    def labels(self) -> list[dict[str, str]]:
        """For each effect: its column, and its value and reference unless it is that of a number."""
        return [
            {"column": column.name, **({"value": value, "reference": column.reference} if value else {})}
            for column in self.columns
            for value, _ in column.effects
        ]
