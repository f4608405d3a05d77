"""Anonymiser with scikit-learn's transformer interface: returns the data frame with recoded rows.

Anonymiser(models=[KAnonymity(5), LDiversity("disease", 2)], quasi=["age", "zip"],
           rules={"zip": Rule(prefixes=(4, 3))}).fit_transform(frame)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from parties.alone.attacks.recoded import add_attacks
from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.reading import in_order, with_public
from parties.alone.publish.recoding.anonymising import Outcome, anonymised
from parties.alone.publish.recoding.partition import SUPPRESSED, Partition
from parties.alone.publish.recoding.recoding import Recoding, broken
from parties.alone.publish.rules import Rule
from parties.alone.publish.settings import ColumnPlan, ModelPlan, PublishPlan
from parties.base.settings import validated
from parties.base.text import instead, quoted
from parties.notebook.parameters import parameters
from parties.sources.column_formats import read_text
from parties.sources.settings import SourceSettings
from parties.tables import categories
from parties.tables.categories import Column
from smc.errors import InputError


@parameters(
    PublishPlan, "models",
    then=(
        "quasi", "rules", "formats", "numeric", "algorithm", "utility", "max_suppressed", "local", "drop", "keep",
        "public",
    ),
    fixed={"formats": None, "numeric": (), "algorithm": "flash", "drop": (), "keep": (), "public": None},
    defaults=True,
    described={
        "models": "what every class has to satisfy, from `parties.alone.publish`.",
        "quasi": "the columns to recode; None means all but the sensitive ones, which the models name, and `keep`.",
        "rules": "how columns are generalised, a `Rule` by column; without one a value becomes `*`.",
        "formats": "how columns are spelled, by column, as in publish.toml: `{\"x\": {\"missing\": [\"99\"]}}`.",
        "numeric": "columns that mondrian and top-down cut as numbers.",
        **dict.fromkeys(("algorithm", "utility", "max_suppressed", "local"), "as in publish.toml."),
        "drop": "identifiers, which do not come out.",
        "keep": "columns that come out as they are.",
        "public": "for presence, a frame of all who could be in those that are recoded.",
    },
    joint=False,
)  # fmt: skip
class Anonymiser(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Recodes the quasi-identifiers of a frame so that every class of its rows satisfies all models.

    After `fit` there are `recoding_` and `report_`. `transform` applies `recoding_` to any rows; `smc publish apply`
    reads the text `recoding_.text()`. `report_` lists losses and remaining risks.
    """

    recoding_: Recoding
    report_: dict[str, Any]

    def fit(self, X: Any, y: Any = None) -> Anonymiser:
        """Find the recoding of a frame, and return the anonymiser itself.

        Args:
            X: Data frame (pandas, Polars, Arrow) with all columns that the parameters name.
            y: Ignored; scikit-learn passes it.

        Raises:
            InputError: The models cannot be reached, or a parameter or column is wrong.
        """
        self._fit(self._frame(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Recode the frame, to a frame of its kind without suppressed rows.

        Args:
            X: Data frame (pandas, Polars, Arrow) with all columns that the parameters name.
            y: Ignored; scikit-learn passes it.

        Raises:
            InputError: The models cannot be reached, or a parameter or column is wrong.
        """
        frame = self._frame(X)
        cells, places, outcome = self._fit(frame)
        return self._recoded(frame, cells, places, outcome.partition)

    def transform(self, X: Any) -> Any:
        """Recode other rows by the fitted recoding.

        Rows without a class, and rows of a class that breaks a model, are left out.

        Raises:
            InputError: A larger share of the rows than `max_suppressed` is left out, or the result breaks a model.
        """
        check_is_fitted(self)
        frame = self._frame(X)
        recoding = self.recoding_
        names = [*recoding.named("quasi-identifier"), *recoding.named("sensitive")]
        cells, places = _cells(frame, names, len(recoding.named("quasi-identifier")), recoding, self._public())
        models = recoding.made()
        partition = recoding.partition(cells, models)
        if lost := broken(cells, partition, models):
            raise InputError(f"the recoded rows do not satisfy {', '.join(lost)}; give more rows, or fit anew")
        if partition.suppressed > recoding.max_suppressed * cells.rows + 1e-9:
            raise InputError(
                f"{partition.suppressed} of {cells.rows} rows do not fit the recoding and its models, "
                f"and a share of at most {recoding.max_suppressed:g} may be left out"
            )
        return self._recoded(frame, cells, places, partition)

    def _frame(self, X: Any) -> categories.Frame:
        frame = categories.named_frame(X)
        for name, given in (self.formats or {}).items():
            if name in frame.columns:
                own = validated(SourceSettings, given)
                cells = [_read(cell, own) for cell in frame[name].to_list()]
                frame = frame.with_columns(nw.new_series(name, cells, backend=frame.implementation))
        return frame

    def _public(self) -> categories.Frame | None:
        return None if self.public is None else self._frame(self.public)

    def _fit(self, frame: categories.Frame) -> tuple[Cells, Any, Outcome]:
        plan = self._plan(list(frame.columns))
        names = [*plan.named("quasi-identifier"), *plan.named("sensitive")]
        categories.select(frame, names)
        number = len(plan.named("quasi-identifier"))
        cells, places = _cells(frame, names, number, Recoding.of(plan, None, []), self._public())
        outcome = anonymised(cells, plan, plan.check())
        add_attacks(outcome.report, cells, outcome.partition.published(cells))
        self.recoding_, self.report_ = outcome.recoding(plan), outcome.report
        return cells, places, outcome

    def _plan(self, columns: Sequence[str]) -> PublishPlan:
        sensitive = list(dict.fromkeys(model.column for model in self.models if model.column is not None))
        apart = {*sensitive, *self.drop, *self.keep}
        quasi = [name for name in columns if name not in apart] if self.quasi is None else list(self.quasi)
        for name in quasi:
            if name in apart:
                raise InputError(
                    f"column {quoted(name)} is a quasi-identifier, and cannot be sensitive, dropped or kept"
                )
        rules = dict(self.rules or {})
        formats = {name: validated(SourceSettings, own) for name, own in (self.formats or {}).items()}
        for name in formats:
            if name not in columns:
                raise InputError(f"formats: there is no column {quoted(name)}{instead(name, columns)}")
        plans = {
            name: ColumnPlan(role="sensitive", format=formats.get(name), **_given(rules.get(name)))
            for name in sensitive
        }
        for name in quasi:
            plans[name] = ColumnPlan(
                role="quasi-identifier",
                numeric=name in self.numeric,
                format=formats.get(name),
                **_given(rules.get(name)),
            )
        models = [{"model": model.name, **model.settings()} for model in self.models]
        fields = {
            "source": "the frame",
            "columns": {name: plan.model_dump(exclude_defaults=True) for name, plan in plans.items()},
            "public": None if self.public is None else {"source": "the public frame"},
            "models": [validated(ModelPlan, model).model_dump(exclude_none=True) for model in models],
        }
        names = ("algorithm", "utility", "max_suppressed", "local")
        return validated(PublishPlan, fields | {name: getattr(self, name) for name in names})

    def _recoded(self, frame: categories.Frame, cells: Cells, places: Any, partition: Partition) -> Any:
        classes = _spread(places, partition)
        rows = np.flatnonzero(classes != SUPPRESSED)
        shown = {*self.recoding_.columns, *self.keep} - {*self.drop}
        names = [name for name in frame.columns if name in shown]
        published = nw.maybe_reset_index(frame[rows.tolist(), names])
        columns = []
        for i, h in enumerate(cells.hierarchies):
            labels = [partition.boxes[place][i].label for place in classes[rows].tolist()]
            columns.append(nw.new_series(h.column, labels, nw.String(), backend=frame.implementation))
        return published.with_columns(*columns).to_native()


def _read(cell: Any, own: SourceSettings) -> Any:
    value = read_text(categories.spell(cell), own)
    return value if value is None or isinstance(cell, str) else cell


def _given(rule: Rule | None) -> dict[str, Any]:
    return {} if rule is None else rule.model_dump(exclude_none=True)


def _cells(
    frame: categories.Frame, names: Sequence[str], quasi: int, recoding: Recoding, public: categories.Frame | None
) -> tuple[Cells, Any]:
    """Return a frame's distinct rows (cells), with the public frame's, and each row's cell index, int64[rows]."""
    spelled = _spelled(frame, names)
    others = [] if public is None else _spelled(public, names[:quasi])
    values = [[*texts, *(others[i] if i < len(others) else [])] for i, texts in enumerate(spelled)]
    hierarchies = [recoding.hierarchy(name, in_order(texts)) for name, texts in zip(names, values, strict=True)]
    coded = _coded(hierarchies, spelled)
    distinct, counts = reduced(coded)
    order = np.lexsort(coded[::-1])
    places = np.empty(coded.shape[1], dtype=np.int64)
    places[order] = np.repeat(np.arange(len(counts)), counts)
    cells = Cells(tuple(hierarchies[:quasi]), tuple(hierarchies[quasi:]), distinct[:quasi], distinct[quasi:], counts)
    if others:
        cells = with_public(cells, *reduced(_coded(hierarchies[:quasi], others)), "the public frame")
    return cells, places


def _spelled(frame: categories.Frame, names: Sequence[str]) -> list[list[str]]:
    columns: dict[str, Column] = {
        column.name: column for column in categories.frame_columns(categories.select(frame, names), names, names)
    }
    return [[categories.spell(cell) for cell in columns[name].cells] for name in names]


def _coded(hierarchies: Sequence[Hierarchy], texts: Sequence[Sequence[str]]) -> ValueCodes:
    codes = [[h.index[text] for text in column] for h, column in zip(hierarchies, texts, strict=True)]
    return np.array(codes, dtype=np.int32).reshape(len(hierarchies), -1)


def _spread(places: Any, partition: Partition) -> Any:
    """Return the class of each row, int64[rows]; if a cell has several classes, its first rows get the first class."""
    order = np.argsort(places, kind="stable")
    classes = np.empty(len(places), dtype=np.int64)
    classes[order] = np.repeat(partition.classes, partition.counts)
    return classes
