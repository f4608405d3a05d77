"""Plan of a blurred table, `blur.toml`: public, and needed by those who blur and by those who mine.

    [columns.salary]
    noise = "gaussian"       # uniform, gaussian, cells; none: published as it is
    low = 20000
    high = 150000
    privacy = 0.5            # width of the interval that holds the true value, as a share of the range
    confidence = 0.95        # with this confidence
    [columns.age]
    noise = "uniform"
    low = 20
    high = 80
    privacy = 1.0
    whole = true             # the true values are integers
    [columns.city]
    noise = "response"       # the truth with probability keep, otherwise any of the values
    values = ["Padua", "Trent", "Verona"]
    keep = 0.6
    [columns.disease]
    noise = "none"

A column that is not named is dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from parties.alone.blurring.domain import Domain, Observation
from parties.alone.blurring.noise import Noise, at_privacy
from parties.alone.blurring.response import Response
from parties.alone.blurring.strategies import Number
from parties.base import files
from parties.base.settings import Settings, at_key, validated
from parties.base.text import quoted
from smc.errors import InputError

Real = Annotated[float, Field(allow_inf_nan=False)]
MOST_POINTS = 1000  # most integers that are reconstructed one by one


class ColumnBlur(Settings):
    """Settings of one column's blurring: the kind and size of the noise, and the range or list of true values."""

    noise: Literal["uniform", "gaussian", "cells", "response", "none"]
    low: Real | None = None
    high: Real | None = None
    privacy: Real | None = None
    confidence: Real = 0.95
    whole: bool = False
    values: tuple[str, ...] | None = None
    keep: Real | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers that are blurred."""
        return self.noise in ("uniform", "gaussian", "cells")

    @property
    def made(self) -> Noise:
        """Noise of the column if it is numeric; InputError if its settings are missing or impossible."""
        if self.noise == "response" or self.noise == "none":
            raise InputError(f"noise {self.noise} is not for numbers; choose uniform, gaussian or cells")
        if self.privacy is None:
            raise InputError(f"noise {self.noise}: set low, high and privacy for this column")
        return at_privacy(self.noise, self.privacy, *self.range, self.confidence)

    @property
    def range(self) -> tuple[float, float]:
        """Range of the true values; InputError if the plan has none."""
        if self.low is None or self.high is None:
            raise InputError(f"noise {self.noise}: set low, high and privacy for this column")
        return self.low, self.high

    @property
    def response(self) -> Response:
        """Randomised response of a categorical column; InputError if its settings are missing or impossible."""
        if self.values is None or self.keep is None:
            raise InputError("noise response needs values and keep")
        if len(set(self.values)) < len(self.values):
            raise InputError("values: one value is listed twice; remove it")
        return Response(len(self.values), self.keep)

    def number(self, rows: int) -> Number:
        """Return the numeric column with its intervals or points, whose number depends on the number of rows."""
        noise = self.made
        low, high = self.range
        if self.whole and high - low < MOST_POINTS:
            domain = Domain.points(np.arange(np.ceil(low), np.floor(high) + 1))
        else:
            domain = Domain.intervals(low, high, rows)
        return Number(domain, Observation.of(domain, noise))


class BlurPlan(Settings):
    """The columns of a blurred table, in the order of publication."""

    columns: dict[str, ColumnBlur]

    def check(self) -> None:
        """Raise an InputError that names the column whose settings are missing or impossible."""
        if not self.columns:
            raise InputError("columns: the plan has none; add at least one, since other columns are dropped")
        for name, column in self.columns.items():
            with at_key(f"column {quoted(name)}"):
                if column.numeric:
                    _ = column.made
                elif column.noise == "response":
                    _ = column.response


def load(path: Path) -> BlurPlan:
    """Read and check a plan; the InputError names the file and the key."""
    content = files.read_toml(path)
    with at_key(str(path)):
        plan = validated(BlurPlan, content)
        plan.check()
    return plan
