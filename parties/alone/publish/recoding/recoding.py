"""Recoding as a file: all that is required to recode later rows in the same way, and to check them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError, model_validator

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes, build
from parties.alone.publish.models.classes import layout_of
from parties.alone.publish.models.model import PrivacyModel, fitting
from parties.alone.publish.recoding.partition import OVERLAPS, SUPPRESSED, Box, Partition, Span
from parties.alone.publish.rules import hierarchy, number, read_tree
from parties.alone.publish.settings import ColumnPlan, ModelPlan, PublishPlan
from parties.base import files
from parties.base.settings import Finite, Settings, explained, validated
from parties.base.text import quoted
from parties.sources.column_formats import formats_of
from parties.sources.settings import FormatSettings, SourceSettings
from protocols.arrays import Counts
from smc.errors import InputError

FORMAT = 1
CHUNK = 1 << 22  # pairs of a box and a cell compared at once
DENSE = 3  # columns in which all pairs are compared; in others, only the remaining pairs


@dataclass(frozen=True, eq=False)
class Recoding:
    """A recoding: columns, models, and levels for all rows or boxes for classes.

    Attributes:
        columns: settings of each column in order, with trees as their paths
        models: models that are checked for later rows
        max_suppressed: largest share of suppressed rows
        levels: level of each quasi-identifier; None with boxes
        boxes: published values of each class; None with levels
        of_both: models of a joint recoding, which hold for both parties' rows together; one party cannot check them
        format: spelling of the rows' cells
        history: column that identifies rows, if every publication is recorded in a history
    """

    columns: dict[str, dict[str, Any]]
    models: list[dict[str, Any]]
    max_suppressed: float
    levels: list[int] | None
    boxes: list[Box] | None
    of_both: list[dict[str, Any]] = field(default_factory=list)
    format: FormatSettings = field(default_factory=FormatSettings)
    history: str | None = None

    @classmethod
    def of(cls, plan: PublishPlan, levels: Sequence[int] | None, boxes: list[Box] | None) -> Recoding:
        """Return the recoding that a plan and the result of its algorithm define.

        Args:
            plan: the plan
            levels: level of each quasi-identifier; None with boxes
            boxes: published values of each class; None with levels
        """
        columns, formats = {}, formats_of(plan)
        for name, column in plan.columns.items():
            column = column.model_copy(update={"format": formats.get(name)})
            settings = column.model_dump(mode="json", exclude_defaults=True, exclude={"tree"})
            if column.tree is not None:
                settings["paths"] = read_tree(column.tree)
            columns[name] = settings
        models = [model.model_dump(exclude_none=True) for model in plan.models]
        every = None if levels is None else list(levels)
        row = None if plan.history is None else plan.history.row
        return cls(columns, models, plan.max_suppressed, every, boxes, format=plan.spelling, history=row)

    def named(self, role: str) -> list[str]:
        """Return the columns with a role."""
        return [name for name, column in self.columns.items() if column["role"] == role]

    def published(self) -> list[str]:
        """Return the published columns."""
        return [name for name, column in self.plans().items() if column.shown]

    def made(self) -> list[PrivacyModel]:
        """Return the privacy models of the recoding, made from its settings."""
        return [validated(ModelPlan, model).made() for model in self.models]

    def unchecked(self) -> list[str]:
        """Return descriptions of the models for both parties' rows together, which one party alone cannot check."""
        return [validated(ModelPlan, model).made().words for model in self.of_both]

    def plans(self) -> dict[str, ColumnPlan]:
        """Return the settings of each column in the form of a plan."""
        return {
            name: validated(ColumnPlan, {key: value for key, value in column.items() if key != "paths"})
            for name, column in self.columns.items()
        }

    def formats(self) -> dict[str, SourceSettings]:
        """Return the spellings of single columns by name."""
        return {name: column.format for name, column in self.plans().items() if column.format is not None}

    def hierarchy(self, name: str, values: Sequence[str]) -> Hierarchy:
        """Return a column's hierarchy for these values; raise InputError if one does not fit its tree or rule.

        Args:
            name: Name of the column.
            values: Distinct values of the column as text.
        """
        column = dict(self.columns[name])
        paths = column.pop("paths", None)
        if paths is None:
            return hierarchy(name, validated(ColumnPlan, column), values)
        built = build(name, paths)
        for value in values:
            built.code(value)
        return built

    def partition(self, cells: Cells, models: Sequence[PrivacyModel]) -> Partition:
        """Return the partition of other rows; rows in no box, or in a class that does not fit, are suppressed.

        With a public table, its people in no box form a class of their own, of which no row is published.

        Args:
            cells: the other rows
            models: the models to be satisfied
        """
        number, quasi = len(cells.counts), cells.quasi
        if cells.public is not None:
            quasi = np.concatenate([quasi, cells.public[0]], axis=1)
        if self.levels is not None:
            boxes, classes = self._by_level(cells.hierarchies, quasi)
        else:
            for h, span in [pair for box in self.boxes or [] for pair in zip(cells.hierarchies, box, strict=True)]:
                _check_level(h, span.level)
            boxes, classes = list(self.boxes or []), place_in(self.boxes or [], cells.hierarchies, quasi)
        public = None
        if cells.public is not None:
            outside = classes[number:] == SUPPRESSED
            if outside.any():
                classes[number:][outside] = len(boxes)
                boxes.append(tuple(Span(h.labels[-1][0], h.height) for h in cells.hierarchies))
            weights = cells.public[1]
            public = np.bincount(classes[number:], weights=weights, minlength=len(boxes)).astype(np.int64)
        classes, places = classes[:number], np.arange(number, dtype=np.int64)
        partition = Partition(places, classes, cells.counts, boxes, public)
        fits = np.append(fitting(partition.count(cells, layout_of(cells)), models), False)
        return replace(partition, classes=np.where((classes >= 0) & fits[classes], classes, SUPPRESSED))

    def _by_level(self, hierarchies: Sequence[Hierarchy], quasi: ValueCodes) -> tuple[list[Box], Counts]:
        assert self.levels is not None
        pairs = list(zip(hierarchies, self.levels, strict=True))
        for h, level in pairs:
            _check_level(h, level)
        coded = np.stack([h.groups[n][codes] for (h, n), codes in zip(pairs, quasi, strict=True)])
        groups, classes = np.unique(coded, axis=1, return_inverse=True)
        boxes = [tuple(Span(h.labels[n][g], n) for (h, n), g in zip(pairs, group, strict=True)) for group in groups.T]
        return boxes, classes.reshape(-1).astype(np.int64)

    def text(self) -> str:
        """Return the file's content."""
        content: dict[str, Any] = {
            "smc_recoding": FORMAT,
            "columns": self.columns,
            "models": self.models,
            "max_suppressed": self.max_suppressed,
            "levels": self.levels,
        }
        if self.of_both:
            content["of_both"] = self.of_both
        if self.history is not None:
            content["history"] = self.history
        if spelling := self.format.model_dump(mode="json", exclude_defaults=True):
            content["format"] = spelling
        if self.boxes is None:
            return json.dumps(content | {"boxes": None}, ensure_ascii=False, indent=1) + "\n"
        spans = {id(span): span for box in self.boxes for span in box}  # few are different: each is encoded once
        texts = {place: json.dumps(_plain(span), ensure_ascii=False) for place, span in spans.items()}
        boxes = ",\n".join(f"  [{', '.join(texts[id(span)] for span in box)}]" for box in self.boxes)
        return json.dumps(content, ensure_ascii=False, indent=1)[:-2] + f',\n "boxes": [\n{boxes}\n ]\n}}\n'


def place_in(
    boxes: Sequence[Box], hierarchies: Sequence[Hierarchy], quasi: ValueCodes, exclusive: bool = False
) -> Counts:
    """Return the index of the first box that holds each cell, int64[cells]; `SUPPRESSED` if no box does.

    Args:
        boxes: the boxes
        hierarchies: hierarchies of the quasi-identifiers
        quasi: the cells, int[columns, cells]
        exclusive: raise InputError if two boxes hold one cell
    """
    classes = np.full(quasi.shape[1], SUPPRESSED, dtype=np.int64)
    if not boxes:
        return classes
    sides = [_Side(h, column) for h, column in zip(hierarchies, zip(*boxes, strict=True), strict=True)]
    some = quasi[:, :: max(1, quasi.shape[1] // 64)]  # columns that hold the fewest cells are tested first
    every = np.arange(len(boxes))[:, None]
    shares = [side.holds(every, codes[None]).mean() for side, codes in zip(sides, some, strict=True)]
    order = np.argsort(shares, kind="stable").tolist()
    step = max(1, CHUNK // len(boxes))
    for start in range(0, len(classes), step):
        part = quasi[:, start : start + step]
        inside = np.logical_and.reduce([sides[i].holds(every, part[i][None]) for i in order[:DENSE]])
        box, cell = np.nonzero(inside)
        for i in order[DENSE:]:
            held = sides[i].holds(box, part[i][cell])
            box, cell = box[held], cell[held]
        if exclusive and len(np.unique(cell)) < len(cell):
            raise InputError(OVERLAPS)
        classes[start + cell[::-1]] = box[::-1]  # the first box is written last
    return classes


class _Side:
    """Spans of all boxes in one column, as arrays: ranges from `low` to `high`, groups, or sets of values."""

    def __init__(self, hierarchy: Hierarchy, column: Sequence[Span]) -> None:
        spans = {id(span): span for span in column}
        places = {place: i for i, place in enumerate(spans)}
        self._span = np.array([places[id(span)] for span in column])
        distinct_spans = list(spans.values())
        index = [{label: i for i, label in enumerate(labels)} for labels in hierarchy.labels]
        self._numeric = np.array([span.numeric for span in distinct_spans])
        self._low, self._high = (np.array([getattr(span, end) for span in distinct_spans]) for end in ("low", "high"))
        self._level = np.array([span.level for span in distinct_spans])
        self._group = np.array([index[span.level].get(span.label, -1) for span in distinct_spans])
        self._groups = np.stack(hierarchy.groups)
        self._numbers = np.array([np.nan if (x := number(value)) is None else x for value in hierarchy.values])
        sets = [i for i, span in enumerate(distinct_spans) if span.values and not span.numeric]
        self._set = np.full(len(distinct_spans), -1)
        self._set[sets] = np.arange(len(sets))
        self._sets = np.array(
            [[value in distinct_spans[i].values for value in hierarchy.values] for i in sets], dtype=bool
        )

    def holds(self, boxes: Counts, codes: ValueCodes) -> NDArray[np.bool_]:
        """Return whether each box covers the value beside it, bool; `boxes` and `codes` are indices, and broadcast."""
        spans = self._span[boxes]
        if self._numeric.all():
            numbers = self._numbers[codes]
            inside: NDArray[np.bool_] = (self._low[spans] <= numbers) & (numbers <= self._high[spans])
            return inside
        held: NDArray[np.bool_] = self._groups[self._level[spans], codes] == self._group[spans]
        if self._numeric.any():
            numbers = self._numbers[codes]
            inside = (self._low[spans] <= numbers) & (numbers <= self._high[spans])
            held = np.where(self._numeric[spans], inside, held)
        if len(self._sets):
            held = np.where(self._set[spans] >= 0, self._sets[self._set[spans], codes], held)
        return held


def broken(cells: Cells, partition: Partition, models: Sequence[PrivacyModel]) -> list[str]:
    """Return descriptions of the models that suppressed rows break, such as presence, which counts missing people.

    Args:
        cells: the table
        partition: its classes
        models: the models of the plan
    """
    classes = partition.count(cells, layout_of(cells))
    return [model.words for model in models if model.keeps_all and not model.fits(classes).all()]


def _check_level(hierarchy: Hierarchy, level: int) -> None:
    if level > hierarchy.height:
        raise InputError(f"column {quoted(hierarchy.column)}: there is no level {level}; the top is {hierarchy.height}")


class _Column(ColumnPlan):
    """A column of the file, with its tree as paths."""

    tree: None = None
    paths: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] | None = None


class _Span(Settings):
    """A `Span` as the recoding file has it: a published label and the values that it covers."""

    label: str
    level: Annotated[int, Field(strict=True, ge=0)] = 0
    low: Finite = 0.0
    high: Finite = 0.0
    numeric: bool = False
    values: tuple[str, ...] = ()


class _File(BaseModel):
    """Content of a recoding file. Further content of a joint recoding is ignored."""

    columns: dict[str, _Column]
    models: list[ModelPlan]
    max_suppressed: Annotated[float, Field(strict=True, ge=0, le=1)]
    levels: list[Annotated[int, Field(strict=True, ge=0)]] | None
    boxes: list[list[_Span]] | None
    of_both: list[ModelPlan] = []
    format: FormatSettings = FormatSettings()
    history: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> _File:
        number = sum(column.role == "quasi-identifier" for column in self.columns.values())
        if (self.levels is None) == (self.boxes is None):
            raise ValueError("must have either levels or boxes")
        if any(len(box) != number for box in ([self.levels] if self.levels is not None else self.boxes or [])):
            raise ValueError(f"must have a level, and boxes a span, for each of the {number} quasi-identifiers")
        return self


def load(path: Path) -> Recoding:
    """Read a recoding; raise InputError if the file is not one."""
    content = files.read_json(path)
    what = f"{path}: not a recoding that smc publish anonymise or joint wrote"
    if not isinstance(content, dict) or "smc_recoding" not in content:
        raise InputError(what)
    if content["smc_recoding"] != FORMAT:
        version = quoted(str(content["smc_recoding"]))
        raise InputError(f"{path}: format {version} of a recoding is not supported, only {FORMAT}; make it anew")
    try:
        file = _File.model_validate(content)
        recoding = Recoding(
            content["columns"],
            content["models"],
            file.max_suppressed,
            file.levels,
            None if file.boxes is None else [tuple(Span(**dict(span)) for span in box) for box in file.boxes],
            content.get("of_both", []),
            file.format,
            file.history,
        )
        recoding.made()
        recoding.unchecked()
    except ValidationError as error:
        raise InputError(f"{what}: {explained(error, _File)}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return recoding


def _plain(span: Span) -> dict[str, Any]:
    fields = asdict(span)
    if span.numeric:
        return {name: fields[name] for name in ("label", "level", "low", "high", "numeric")}
    if span.values:
        return {"label": span.label, "values": list(span.values)}
    return {"label": span.label, "level": span.level}
