"""A naive Bayes classifier from the rows of both parties: noisy counts of classes, and of all values in each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Document
from parties.jobs.release.count import GaussianSettings, check_delta, vector_noise
from parties.jobs.release.kind import Numbers
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.reading import Question, pairs
from parties.jobs.release.sums import Part, Sums, own_vector
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


class NaiveBayes(Sums):
    """Learn a naive Bayes classifier from the rows of both parties. Both learn noisy counts, and predict by themselves.

    A row counts once for its class and once for each of the d columns, so the noise of every number has the scale
    (d + 1) / epsilon; with --delta, it is Gaussian and grows with the root of d + 1 only.
    """

    name = "release-naive-bayes"
    title = "Naive Bayes classifier"
    Settings = NaiveBayesSettings
    example = "--data mine.csv --schema schema.toml --target outcome --epsilon 1 --out model.json --config party.toml"
    estimate_example = "--schema schema.toml --epsilon 1 "
    noun = "model"
    afterwards = "smc predict --model model.json --data rows.csv classifies rows with it, on this machine alone."
    settings: NaiveBayesSettings

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> NaiveBayes:
        """See `Release.canonical`: target and columns by their names, in the schema's order."""
        target = schema.choose_target(settings.target)
        named = schema.features(target) if settings.columns is None else settings.columns
        if target in named or not named:
            raise InputError("columns: name one at least, and not the target")
        order = list(schema.attributes)
        ordered = sorted(named, key=lambda name: order.index(name) if name in order else -1)
        return super().canonical(settings.model_copy(update={"target": target, "columns": tuple(ordered)}), schema)

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        return (*required(settings.columns, f"{cls.name}.columns"), required(settings.target, f"{cls.name}.target"))

    @override
    def check(self) -> None:
        Question(self.where).check(self.schema)
        check_delta(self.settings)
        if len(self.classes) < 2:
            raise InputError(f"where: no two classes of {self.target!r} are left to tell apart")
        self.check_sizes()

    @property
    @override
    def subject(self) -> str:
        return self.target

    @property
    @override
    def target(self) -> str:
        assert self.settings.target is not None
        return self.settings.target

    @property
    def using(self) -> tuple[str, ...]:
        """The columns to predict from, in the schema's order."""
        return self.settings.columns or ()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes."""
        return self.where.values(self.target, self.schema)

    @property
    @override
    def parts(self) -> tuple[Part, ...]:
        """See `Sums.parts`: the classes, then each column's values by class."""
        lines = 1 + sum(len(self.where.values(column, self.schema)) for column in self.using)
        changed = (1 + len(self.using)) * (2 if self.replaced else 1)
        noise = None if self.exact else vector_noise(self.settings, changed)
        return (Part(lines * len(self.classes), self.settings.max_rows, False, noise),)

    @property
    @override
    def learnt(self) -> str:
        return (
            f"how many rows of both tables each class of {self.target} has{self.where.words()}, and in it every "
            f"value of {', '.join(self.using)}: a naive Bayes classifier"
        )

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        tables = pairs(counts, self.schema, self.target, self.where)
        by_class = next(iter(tables.values())).sum(axis=0)
        return own_vector(by_class, *(tables[column] for column in self.using))

    @override
    def found(self, state: Sequence[int]) -> Document:
        """See `Release.found`: the model; each table by itself is made consistent."""
        noisy = np.array(state, dtype=np.int64).reshape(-1, len(self.classes))
        most = 2 * self.settings.max_rows
        tables: dict[str, Any] = {}
        start = 1
        for column in self.using:
            values = self.where.values(column, self.schema)
            counts = consistent(noisy[start : start + len(values)], most)
            tables[column] = dict(zip(values, counts.tolist(), strict=True))
            start += len(values)
        by_class = consistent(noisy[0], most).tolist()
        return {
            "schema_digest": self.schema.digest(),
            "target": self.target,
            "classes": dict(zip(self.classes, by_class, strict=True)),
            "columns": tables,
        }
