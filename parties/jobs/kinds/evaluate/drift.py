"""Test whether the two tables differ, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.text import listed, quoted
from parties.jobs.kind import Description, Document
from parties.jobs.release.kind import Release
from parties.jobs.release.presenting import aligned, shown
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.reading import marginals
from parties.jobs.release.settings import DecisionSettings
from parties.jobs.settings import Columns, public
from protocols import drift
from protocols.arrays import Numbers
from smc.engines import Engine
from smc.errors import InputError

MOST_VALUES = 4096  # of all columns


class DriftSettings(DecisionSettings):
    """Settings of `smc evaluate drift`."""

    columns: Columns | None = public(None, "Columns", "Columns to compare, separated by commas", column=True)
    level: Annotated[float, Field(strict=True, ge=1e-6, le=0.5)] = public(
        0.05, "Level", "Significance level of each column: probability of a difference reported where there is none"
    )


class Drift(Release):
    """Test whether the tables of the two parties differ, column by column. Both learn yes or no for each, exactly.

    For each column, a chi-square test of homogeneity compares the distributions of its values in the two tables.
    A column of scores is compared in the same way. Only one bit for each column is opened.
    """

    name = "evaluate drift"
    about = Description("Drift between tables", "answer", example="--columns age,score")
    Settings = DriftSettings
    streamed = True

    @property
    @override
    def without_holders(self) -> str | None:
        return "evaluate drift compares the tables of two parties"

    @override
    def ask(self) -> Question:
        columns, rows = self.named(self.settings), self.settings.max_rows
        drift.check_rows(rows)
        sizes = [len(self.where.values(column, self.schema)) for column in columns]
        for column, size in zip(columns, sizes, strict=True):
            if size < 2:
                raise InputError(
                    f"columns: {quoted(column)} has only one value, so the tables cannot differ; leave the column out"
                )
        if sum(sizes) > MOST_VALUES:
            raise InputError(
                f"columns: they have {sum(sizes):,} values, at most {MOST_VALUES:,} are compared; name fewer columns"
            )
        ends = np.cumsum(sizes)[:-1]

        def decide(engine: Engine, numbers: Numbers) -> list[int]:
            return [int(bit) for bit in drift.differ(engine, np.split(numbers, ends), self.settings.level, rows)]

        def show(state: Any) -> Mapping[str, Any]:
            return {"level": self.settings.level, "differ": dict(zip(columns, map(bool, state), strict=True))}

        sets = [(column,) for column in columns]
        return Question(
            f"whether the tables of both differ in {listed(columns)}{self.where.words()}: a chi-square test of each, "
            f"at the level {self.settings.level:g}",
            sum(sizes), lambda counts: own_vector(*marginals(counts, self.schema, columns[0], self.where, sets)),
            decide, show, opens="decision", bits=len(columns), subject=listed(columns), target=columns[0],
        )  # fmt: skip

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        lines = aligned([[shown(name), "differs" if bit else "alike"] for name, bit in document["differ"].items()], 2)
        return [*lines, f"chi-square tests, level {document['level']:g}"]
