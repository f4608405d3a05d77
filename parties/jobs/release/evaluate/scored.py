"""Counts of rows by score bin and label; the scores are a column of the schema, or come from a public model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.base import files
from parties.base.settings import LocalPath
from parties.base.text import listed, quoted
from parties.jobs.kind import Document
from parties.jobs.release import reading
from parties.jobs.release.evaluate import models
from parties.jobs.release.kind import Release
from parties.jobs.release.ordered import MOST_BINS, ordered_bins, two_values
from parties.jobs.release.question import Question
from parties.jobs.release.reading import MAX_CELLS, Cells
from parties.jobs.release.settings import ApartSettings
from parties.jobs.settings import BooleanSettings, Name, own_file, public
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel
from parties.models.load import columns_of, numbers_of
from parties.models.trees.tree import Node, TreeFile
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.split import Part, Split
from protocols.arrays import Codes, Counts
from smc.errors import InputError

MOST_MODEL = 200_000  # characters of a model in a job
ANY = np.ones(1, dtype=np.bool_)  # any value
TOO_GOOD = {  # remarks on the rows that judge a model, by the setting `judged_on`
    "training": "judged on its own training rows: too good",
    None: "judged on rows that may have trained it: too good if they did (--held-out trains a model without some rows)",
}


class JudgedSettings(BooleanSettings, ApartSettings):
    """Settings for the model that is judged, and the rows that judge it."""

    model_file: LocalPath | None = own_file("Model", "Model that is judged, a JSON file.", alias="model")
    classifier: Annotated[str, Field(max_length=MOST_MODEL)] | None = public(
        None, "Classifier", "Model that is judged: the text of its JSON file", none="scores are a column", node=True
    )
    judged_on: Literal["held-out", "training", "new"] | None = public(
        None,
        "Judged on",
        "Rows that judge a model: those held out of its training, those of its training, or (new) all rows of tables "
        "that it was not trained on",
        none="those held out, if the model names them, else all",
        advanced=True,
    )


class TargetSettings(JudgedSettings):
    """Settings for the scores and the labels that they are compared with."""

    target: Name | None = public(
        None, "Target", "Column that the scores predict; it has two values", none="the model's", column=True
    )
    target_value: Name | None = public(
        None, "Value that is meant", "Value of the target that high scores predict", none="yes"
    )
    scores: Name | None = public(None, "Scores", "Column of scores, if no model", none="the model's", column=True)
    bins: Annotated[int, Field(strict=True, ge=2, le=MOST_BINS)] = public(
        20, "Bins", "Number of equal ranges (bins) of a model's scores; a column has the schema's", advanced=True
    )


@lru_cache(maxsize=16)
def _model(text: str) -> models.Model:
    return models.read(text)


@lru_cache(maxsize=16)
def _split(text: str) -> Split | None:
    """Return the split that a model file names. Raise InputError if it is invalid."""
    try:
        return Split.parse(json.loads(text))
    except ValueError as error:
        raise InputError(f"model: {error}") from None


@dataclass(frozen=True)
class Scored:
    """Layout of the counts of this party's rows: by group (if there are groups), label and score bin.

    The label of a row is whether `target` has the value `positive`. The score is a value of `column`, or without one
    comes from the public model of `task`. `edges` separate the bins; `by` is the column of the `groups`.
    """

    target: str
    positive: str
    edges: tuple[Fraction, ...]
    words: str  # description of the scores
    groups: tuple[str, ...]
    task: Scoring
    column: str | None
    by: str | None
    places: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # indices of groups, labels and column bins

    def count(self, rows: Any) -> Counts:
        """Return this party's rows of each cell, int64[groups, 2, bins], counted in one pass."""
        groups, labels, bins = map(_rank, self.places)
        shape = (max(1, len(self.groups)), 2, len(self.edges) - 1)
        counts: Counts = np.zeros(shape, dtype=np.int64)
        for codes, numbers in self._pieces(rows):
            label = labels[codes[self.target]]
            group = np.zeros(len(numbers), dtype=np.int64) if self.by is None else groups[codes[self.by]]
            if self.model is None:
                bin_ = bins[codes[str(self.column)]]
            else:
                values = models.scores(self.model, self.task.schema, self.positive, codes, len(numbers))
                bin_ = np.minimum((values * shape[2]).astype(np.int64), shape[2] - 1)
            is_counted = (label >= 0) & (group >= 0) & (bin_ >= 0)
            np.add.at(counts, (group[is_counted], label[is_counted], bin_[is_counted]), numbers[is_counted])
        return counts

    @property
    def model(self) -> models.Model | None:
        """The public model; None if the scores are a column."""
        return self.task.model if self.column is None else None

    @property
    def _tree(self) -> Node | None:
        """The tree whose leaves are counted as boxes, if columns lie apart; else None."""
        model = self.model if self.task.apart is not None else None
        return model.tree if isinstance(model, TreeFile) and not model.others else None

    @property
    def _columns(self) -> tuple[str, ...]:
        scores = [self.column] if self.model is None else columns_of(self.model)
        return tuple(name for name in dict.fromkeys([self.target, self.by, *scores]) if name is not None)

    def check(self) -> None:
        """Raise InputError if columns lie apart, and the values that give scores have too many combinations."""
        number = Cells(self.task.schema, self.task.where, self._columns).number
        if self.task.apart is not None and self._tree is None and number > MAX_CELLS:
            raise InputError(
                f"model: {number:,} combinations of values are too many for columns that lie apart, at most "
                f"{MAX_CELLS:,} are counted; give a single tree, or a model of fewer columns"
            )

    def _pieces(self, rows: Any) -> Iterator[tuple[dict[str, Codes], Counts]]:
        """Yield the selected rows in pieces: value indices of each column, and the number of rows of each line."""
        task, schema = self.task, self.task.schema
        if self._tree is not None:
            yield self._by_leaf(rows, self._tree)
            return
        chosen = {name: {*task.where.values(name, schema)} for name in self._columns}
        index = {name: np.flatnonzero([value in chosen[name] for value in schema.attributes[name]]) for name in chosen}
        for codes, numbers in reading.pieces(rows, schema, task.target, task.where, self._columns):
            yield {name: indices[codes[name]] for name, indices in index.items()}, numbers

    def _by_leaf(self, rows: Any, tree: Node) -> tuple[dict[str, Codes], Counts]:
        """Return a line for each leaf, group and label, with values that lead to the leaf, and shares of its rows."""
        schema, target = self.task.schema, self.task.target
        order, domain = [*schema.features(target), target], schema.attributes
        where = [(name, [value in chosen for value in domain[name]]) for name, chosen in self.task.where.wanted]
        groups = [()] if self.by is None else [((self.by, one),) for one in np.eye(len(domain[self.by]), dtype=bool)]
        boxes = [_met(*path, *where, *group) for _, path in models.leaves(tree, schema) for group in groups]
        labels = np.eye(len(domain[target]), dtype=np.int64)
        sums = rows.sums([{order.index(name): chosen for name, chosen in box.items()} for box in boxes], labels)
        codes = {name: np.array([box.get(name, ANY).argmax() for box in boxes]) for name in self._columns}
        lines = {name: np.repeat(code, len(labels)) for name, code in codes.items()}
        return {**lines, target: np.tile(np.arange(len(labels)), len(boxes))}, sums.reshape(-1)


def with_model(settings: Any) -> Any:
    """Return settings with the text of the model in its file. Raise InputError if it is unreadable, or too long."""
    if settings.model_file is None:
        return settings
    text = files.read_text(settings.model_file)
    if len(text) > MOST_MODEL:
        most = f"a model file may have at most {MOST_MODEL:,} characters; give a smaller model"
        raise InputError(f"{settings.model_file}: {most}")
    return settings.model_copy(update={"model_file": None, "classifier": text})


def _met(*conditions: tuple[str, Sequence[bool] | NDArray[np.bool_]]) -> dict[str, NDArray[np.bool_]]:
    """Return the values of each column that meet all conditions on it."""
    met: dict[str, NDArray[np.bool_]] = {}
    for name, chosen in conditions:
        met[name] = met.get(name, ANY) & np.array(chosen)
    return met


def _rank(places: Sequence[int]) -> Any:
    """Return an array that maps a category index to its position in `places`; -1 for the others."""
    ranks = np.full(1 << 17, -1, dtype=np.int64) if not places else np.full(max(max(places) + 1, 1 << 17), -1)
    ranks[list(places)] = np.arange(len(places))
    return ranks


def _judged_on(settings: Any) -> str | None:
    """Return the setting `judged_on` for a model, by default the rows held out. Raise InputError if there are none."""
    split, judged_on = _split(settings.classifier), settings.judged_on
    if split is None and judged_on in ("held-out", "training"):
        raise InputError("judged_on: the model names no rows that were held out; remove judged_on, or give new")
    if split is not None and not split.columns and settings.at_most is None and judged_on != "new":
        raise InputError("judged_on: people were held out of training; give tables with person and at_most, or new")
    return judged_on or (None if split is None else "held-out")


class Scoring(Release):
    """A question about scores of rows."""

    streamed = True
    lacking: ClassVar[str] = "scores: name the column of scores, or give a model"  # error without what is judged

    @classmethod
    @override
    def planned(cls, settings: Any) -> Self:
        return super().planned(with_model(settings))

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Read columns as numbers if the model does."""
        if (getattr(settings, "scores", None) is None) == (settings.classifier is None):
            raise InputError(f"{cls.lacking} (--model; classifier in a job)")
        if settings.judged_on is not None and settings.classifier is None:
            raise InputError("judged_on: goes with a model; remove judged_on, or give a model")
        if settings.classifier is not None:
            model = _model(settings.classifier)
            target = settings.target or model.target
            if target != model.target:
                raise InputError(
                    f"target: the model predicts {quoted(model.target)}, not {quoted(target)}; remove target"
                )
            for name in (target, *columns_of(model)):
                if name not in schema.attributes:
                    raise InputError(f"model: {models.ANOTHER}: there is no column {quoted(name)}")
            settings = settings.model_copy(update={"target": target, "judged_on": _judged_on(settings)})
            schema = schema.numeric(numbers_of(model))
        task = super().canonical(settings, schema)
        task.check_noise_hides_a_row()
        return task

    @override
    def check_apart(self) -> None:
        super().check_apart()
        if self.rows_taken is not None:
            raise InputError(
                f"judged_on: the rows held out follow from all columns of a row; with {self.apart_setting} give new"
            )

    def check_noise_hides_a_row(self) -> None:
        """Raise InputError if one row more could change which other rows judge the model, and noise is for one row.

        Rows that are equal in the split's columns are numbered, so one row more renumbers them. That changes no count
        if the rows are equal in all columns that are counted.
        """
        if getattr(self.settings, "epsilon", None) is None or self.rows_taken is None:
            return
        by = self.rows_taken.split.columns
        if by and (beyond := [name for name in self.columns if name not in by]):
            raise InputError(
                f"epsilon: the model's rows were held out by {listed(by)}, without {listed(beyond)}: noise would not "
                "hide a row; train the model with these columns too, hold out people, or give judged_on new"
            )

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns of the job, and those that the model reads."""
        columns = super().named(settings)
        if settings.classifier is None:
            return columns
        return tuple(dict.fromkeys([*columns, *columns_of(_model(settings.classifier))]))

    @property
    def model(self) -> models.Model | None:
        """Model that is evaluated; None if the scores are a column."""
        return None if self.settings.classifier is None else _model(self.settings.classifier)

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return numbers_of(self.model) if self.model is not None else ()

    @override
    def parameters(self) -> Document:
        """Return the public settings; a model is named by its description and digest."""
        values = super().parameters()
        return {**values, "classifier": None if self.model is None else self.words_of_model}

    @property
    @override
    def split(self) -> Split | None:
        return None if self.settings.classifier is None else _split(self.settings.classifier)

    @property
    @override
    def rows_taken(self) -> Part | None:
        rows = self.settings.judged_on
        return None if self.split is None or rows == "new" else Part(self.split, rows == "held-out")

    @property
    @override
    def columns_read(self) -> tuple[str, ...]:
        split = () if self.rows_taken is None else self.rows_taken.split.columns
        return tuple(dict.fromkeys([*self.columns, *split]))

    @property
    def words_of_rows(self) -> str:
        """Description of the part of the rows that judges the model, for a question; empty for all rows."""
        if self.rows_taken is None:
            return ""
        return f", {'of' if self.rows_taken.is_held_out else 'without'} {self.rows_taken.split.words}"

    @property
    def judged(self) -> Document:
        """Fields of the result: the rows that judge the model, and a headline on them; empty without a model."""
        if self.settings.classifier is None:
            return {}
        rows = self.settings.judged_on
        words = TOO_GOOD.get(rows, "judged on rows that the model has not seen")
        held_out = f": {self.split.words}" if rows == "held-out" and self.split is not None else ""
        return {"judged": rows or "unknown", "headline": words + held_out}

    @property
    def words_of_model(self) -> str:
        """Description of the model with its digest."""
        digest = hashlib.sha256(self.settings.classifier.encode()).hexdigest()[:16]
        model_type = {TreeFile: "tree", LinearModel: "linear model", BoostedModel: "model of boosted trees"}.get(
            type(self.model), "naive Bayes model"
        )
        return f"a {model_type} (SHA-256 {digest}...)"

    def scored(self, column: str | None, by: str | None = None) -> Scored:
        """Return the counting of rows by scores. Raise InputError if the settings are inconsistent.

        Args:
            column: Column of scores; None for the model's scores.
            by: Column of the groups, if any.
        """
        target = self.settings.target
        if target is None:
            raise InputError(f"{self.name}.target: is missing; name the column that the scores predict")
        names = [name for name in (target, column, by) if name]
        if len(set(names)) < len(names):
            raise InputError("target, scores and groups: name each column once")
        values = self.schema.attributes[target]
        if target in self.where.columns:
            raise InputError(
                "where: must not restrict the target, since rows of all its classes are needed; remove "
                "the target from where"
            )
        labels = two_values("target", target, values, self.settings.target_value, "a target")
        positive = values[labels[1]]
        places: tuple[int, ...] = ()
        if column is not None:
            places, edges, _ = ordered_bins("scores", column, self.schema.attributes[column])
            words = f"the scores in {column}"
        else:
            assert self.model is not None
            models.check(self.model, self.schema, positive)
            edges = tuple(Fraction(i, self.settings.bins) for i in range(self.settings.bins + 1))
            words = f"the scores of {self.words_of_model}"
        groups = () if by is None else tuple(v for v in self.schema.attributes[by] if v != MISSING)
        group_indices = tuple(i for i, v in enumerate(self.schema.attributes[by]) if v != MISSING) if by else ()
        found = Scored(target, positive, edges, words, groups, self, column, by, (group_indices, labels, places))
        found.check()
        return found

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        """Begin with the headline, which states whether the model has seen the rows that judge it."""
        headline = f"{document['headline']}\n" if "headline" in document else ""
        return headline + super().text(document, party)

    def decided(
        self, known: Scored, learnt: str, numbers: int, count: Any, decide: Any, about: dict[str, Any]
    ) -> Question:
        """Return the question with a one-bit answer.

        Args:
            known: The counting of rows.
            learnt: Description of the result.
            numbers: Count of a party's numbers.
            count: Function that reads this party's numbers from its rows.
            decide: Protocol that opens the bit.
            about: Further fields of the result.
        """

        def show(state: Any) -> dict[str, Any]:
            scores = known.column or self.words_of_model
            return {**self.judged, "target": known.target, "scores": scores, **about, "answer": bool(state[0])}

        return Question(
            learnt + self.where.words() + self.words_of_rows, numbers, count, decide, show, opens="decision", bits=1,
            target=known.target,
        )  # fmt: skip
