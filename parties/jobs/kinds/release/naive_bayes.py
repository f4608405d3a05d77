"""Learn a naive Bayes classifier, with noise.

Each column's table adds up to the row counts of the classes, so these are not opened separately. Their estimate is the
mean of the tables' sums, weighted by the inverse of the noise. Least squares then adjusts every table to this mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import Description, exact
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import gauss, laplace
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.question import Part, Question, own_vector, sums
from parties.jobs.release.reading import pairs
from parties.jobs.release.settings import ApartSettings, GaussianSettings, default_delta, with_features
from parties.jobs.settings import Columns, Fold, HeldOut, Name, fold, held_out, predictors, public
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from protocols.counts import Counts
from smc.errors import InputError


class NaiveBayesSettings(GaussianSettings, ApartSettings):
    """Settings of `smc release naive-bayes`."""

    delta: Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)] | None = public(
        None,
        "Delta",
        "Probability that the guarantee of epsilon fails; selects Gaussian noise. 0 = no delta, Laplace noise",
        none="the largest power of ten up to 1 / (2,000 max_rows), if Gaussian noise then has less than half the "
        "variance of Laplace noise; else none",
    )

    target: Name | None = public(None, "Target", "Class column", none="target in the schema", column=True)
    columns: Columns | None = predictors()
    held_out: HeldOut | None = held_out()
    fold: Fold | None = fold()


class NaiveBayes(Release):
    """Learn a naive Bayes classifier from the rows of both parties. Both learn noisy counts, and predict by
    themselves.

    A row counts once for each of the d columns to predict from, so the noise of each number has scale
    d / epsilon, or twice that if neighbouring tables differ by a replaced row. With --delta the noise is
    Gaussian, and grows only with the root of d; this is the default if it has less than half the variance.
    """

    name = "release naive-bayes"
    about = Description(
        "Naive Bayes classifier",
        "model",
        example="--target outcome --epsilon 1 --out model.json",
        afterwards="smc predict --model model.json --data rows.csv classifies rows with it, on this machine alone.",
    )
    Settings = NaiveBayesSettings

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> NaiveBayes:
        settings = with_features(settings, schema)
        if settings.delta is None and settings.epsilon is not None and not settings.exact:
            epsilon, many, small = exact(settings.epsilon), len(settings.columns), default_delta(settings.max_rows)
            gaussian = gauss(epsilon, exact(small), many, settings.adjacency)
            if 2 * gaussian.variance < laplace(epsilon, many, settings.adjacency).variance:
                settings = settings.model_copy(update={"delta": small})
        return super().canonical(settings, schema)

    @property
    @override
    def warnings(self) -> list[str]:
        """Warning if a count has more noise than rows, even if all columns are used together."""
        tables = [len(self.schema.attributes[name]) for name in self.settings.columns]
        counts = len(self.schema.attributes[self.target]) * sum(tables)
        rows = 2 * self.settings.max_rows * len(tables) / counts  # of an average count, at most
        if self.exact or rows * math.sqrt(len(tables)) >= (off := math.sqrt(self.query.mechanisms[0].variance)):
            return []
        fact = f"a count has noise of {off:.3g} (standard deviation) and about {rows:.3g} rows"
        return [f"{fact}: name fewer columns (--columns), or ask a tree (smc id3 --epsilon)"]

    @override
    def ask(self) -> Question:
        schema, where, most = self.schema, self.where, 2 * self.rows_each
        target, columns = self.settings.target, self.settings.columns
        self.cells()  # refused here if there are too many
        classes = where.values(target, schema)
        if len(classes) < 2:
            what = "where" if len(schema.attributes[target]) > 1 else "target"
            raise InputError(f"{what}: no two classes of {target!r} remain to compare; change where or the schema")
        values = {column: where.values(column, schema) for column in columns}
        sizes = [len(wanted) for wanted in values.values()]
        noise = self.noise(len(columns) * (2 if self.replaced else 1))

        def count(counts: Counts) -> Numbers:
            """Return the rows of each column's values by class."""
            tables = pairs(counts, schema, target, where)
            return own_vector(*(tables[column] for column in columns))

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            """Return the model. All tables share one estimate of the classes, and each table is made consistent."""
            noisy = np.split(np.array(state, dtype=np.int64).reshape(-1, len(classes)), np.cumsum(sizes)[:-1])
            shares = [1 / size for size in sizes]
            by_class = np.average([table.sum(axis=0) for table in noisy], axis=0, weights=shares)
            doubtful = {} if noise is None else {"mostly_noise": is_mostly_noise(noisy, float(noise.variance))}
            moved = [table + np.rint((by_class - table.sum(axis=0)) / len(table)).astype(np.int64) for table in noisy]
            tables = [consistent(table, most).tolist() for table in moved]
            rows = consistent(np.rint(by_class).astype(np.int64), most).tolist()
            return {
                "schema_digest": schema.digest(),
                "target": target,
                **self.split_fields,
                "classes": dict(zip(classes, rows, strict=True)),
                "columns": {
                    column: dict(zip(values[column], table, strict=True))
                    for column, table in zip(columns, tables, strict=True)
                },
                **doubtful,
            }

        return sums(
            f"how many rows of both tables each class of {target} has{where.words()} with every "
            f"value of {', '.join(columns)}: a naive Bayes classifier",
            [Part(sum(sizes) * len(classes), self.rows_each, False, noise)],
            count,
            show,
            target=target,
        )


def is_mostly_noise(tables: Sequence[Numbers], variance: float) -> bool:
    """Return True if the noisy counts of values by class vary no more than their noise.

    Subtract the means of rows and columns from each table. The mean square of the rest estimates the noise's variance
    plus the dependence of values and classes. For n numbers with Laplace noise this estimate has a relative standard
    deviation of sqrt(5 / n); less for Gaussian noise. The function reads opened numbers only.

    Args:
        tables: Noisy counts [values, classes] of each column, as opened.
        variance: Variance of the noise of a count.

    Returns:
        True if a model from these counts may be no better than a constant answer.
    """
    squares, freedom = 0.0, 0
    for table in tables:
        rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        squares += float((rest**2).sum())
        freedom += (table.shape[0] - 1) * (table.shape[1] - 1)
    return squares <= variance * (freedom + math.sqrt(5 * freedom))
