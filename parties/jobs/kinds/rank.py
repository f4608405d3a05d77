"""Rank the columns by how well they predict a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release import presenting
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.reading import pairs
from parties.jobs.release.settings import ApartSettings, DecisionSettings, with_features
from parties.jobs.settings import Columns, Name, public
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.engines import Engine

MEASURED = {"iv": "information value", "chi2": "chi-square", "mi": "mutual information", "gini": "Gini's impurity"}


class RankSettings(DecisionSettings, ApartSettings):
    """Settings of `smc rank`."""

    target: Name | None = public(
        None, "Target", "Column that the others predict", none="target in the schema", column=True
    )
    columns: Columns | None = public(
        None, "Columns", "Columns to rank, separated by commas", none="all of the schema", column=True
    )
    measure: Literal["iv", "chi2", "mi", "gini"] = public(
        "mi",
        "Measure",
        "How a column is judged: iv = information value (two classes), chi2, mi = mutual information, or gini impurity",
    )
    first: Annotated[int, Field(strict=True, ge=1, le=64)] = public(
        5, "How many", "Number of best columns to open, in their order"
    )


class Rank(Release):
    """Rank the columns by how well they predict a target, in the rows of both parties. Both learn the best ones, in
    order.

    No number is opened: neither a count of rows nor a column's measure.
    """

    name, Settings = "rank", RankSettings
    about = Description("Columns in order", "order", example="--target outcome --measure iv")

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Rank:
        return super().canonical(with_features(settings, schema), schema)

    @override
    def ask(self) -> Question:
        target, columns, measure = self.settings.target, self.settings.columns, self.settings.measure
        self.cells()
        classes = self.where.values(target, self.schema)
        if len(classes) < 2:
            raise InputError(f"target: no two values of {target!r} remain to compare; change where or the schema")
        if measure == "iv" and len(classes) > 2:
            raise InputError(f"measure: information value needs two classes, but {target!r} has {len(classes)}; use mi")
        sizes = [len(self.where.values(column, self.schema)) * len(classes) for column in columns]
        first, bound = min(self.settings.first, len(columns)), self.rows_each

        def count(counts: Counts) -> Numbers:
            tables = pairs(counts, self.schema, target, self.where)
            return own_vector(*(tables[column] for column in columns))

        def opened(engine: Engine, numbers: Numbers) -> list[int]:
            from protocols.ranking import rank

            tables = [part.reshape(-1, len(classes)) for part in np.split(numbers, np.cumsum(sizes)[:-1])]
            return rank(engine, measure, tables, first, bound)

        which = "which column tells" if first == 1 else f"which {first} columns, in their order, tell"
        return Question(
            f"{which} most of {target} in the rows of both tables{self.where.words()}, by {MEASURED[measure]}",
            sum(sizes),
            count,
            opened,
            lambda state: {
                "target": target, "measure": measure, "order": [columns[index] for index in state], "of": len(columns)
            },
            opens="place of a column",
            bits=len(columns) * first.bit_length() if len(columns) > 1 else 0,  # every rank, up to the first ones
            target=target,
        )  # fmt: skip

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        lines = [f"{place}. {presenting.shown(column)}" for place, column in enumerate(document["order"], 1)]
        measured = f"by {MEASURED[document['measure']]}, of {document['of']} columns"
        return [*lines, measured]
