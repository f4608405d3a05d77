"""A naive Bayes classifier from the rows of both parties: noisy counts of classes, and of all values in each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.base.arrays import Numbers
from parties.jobs.release.kind import Release
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.question import Part, Question, own_vector, sums
from parties.jobs.release.reading import pairs
from parties.jobs.release.settings import GaussianSettings, with_features
from parties.jobs.settings import public
from parties.jobs.tabular_settings import Columns, Name
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts


class NaiveBayesSettings(GaussianSettings):
    """`smc release naive-bayes`."""

    target: Name | None = public(None, "Target", "The class column", none="target in the schema", column=True)
    columns: Columns | None = public(
        None, "Columns", "The columns to predict from, with commas between them", none="all of the schema", column=True
    )


class NaiveBayes(Release):
    """Learn a naive Bayes classifier from the rows of both parties. Both learn noisy counts, and predict by themselves.

    A row counts once for its class and once for each of the d columns, so the noise of every number has the scale
    (d + 1) / epsilon; with --delta, it is Gaussian and grows with the root of d + 1 only.
    """

    name = "release naive-bayes"
    title = "Naive Bayes classifier"
    Settings = NaiveBayesSettings
    example = "--data mine.csv --schema schema.toml --target outcome --epsilon 1 --out model.json --config party.toml"
    estimate_example = "--schema schema.toml --epsilon 1 "
    noun = "model"
    afterwards = "smc predict --model model.json --data rows.csv classifies rows with it, on this machine alone."

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> NaiveBayes:
        """See `Release.canonical`: target and columns by their names, in the schema's order."""
        return super().canonical(with_features(settings, schema), schema)

    @override
    def ask(self) -> Question:
        schema, where, most = self.schema, self.where, 2 * self.settings.max_rows
        target, columns = self.settings.target, self.settings.columns
        self.cells()  # refused here if there are too many
        classes = where.values(target, schema)
        if len(classes) < 2:
            what = "where" if len(schema.attributes[target]) > 1 else "target"
            raise InputError(f"{what}: no two classes of {target!r} are left to tell apart")
        values = {column: where.values(column, schema) for column in columns}
        lines = 1 + sum(map(len, values.values()))
        noise = self.noise((1 + len(columns)) * (2 if self.replaced else 1))

        def count(counts: Counts) -> Numbers:
            """Return the rows of each class, then each column's values by class."""
            tables = pairs(counts, schema, target, where)
            return own_vector(next(iter(tables.values())).sum(axis=0), *(tables[column] for column in columns))

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            """Return the model; each table by itself is made consistent."""
            by_class, *by_value = np.split(
                np.array(state, dtype=np.int64).reshape(-1, len(classes)),
                np.cumsum([1, *map(len, values.values())])[:-1],
            )
            tables = [consistent(table, most).tolist() for table in by_value]
            return {
                "schema_digest": schema.digest(),
                "target": target,
                "classes": dict(zip(classes, consistent(by_class[0], most).tolist(), strict=True)),
                "columns": {
                    column: dict(zip(values[column], table, strict=True))
                    for column, table in zip(columns, tables, strict=True)
                },
            }

        return sums(
            f"how many rows of both tables each class of {target} has{where.words()}, and in it every "
            f"value of {', '.join(columns)}: a naive Bayes classifier",
            [Part(lines * len(classes), self.settings.max_rows, False, noise)],
            count,
            show,
            subject=target,
            target=target,
        )
