"""A recoding as a file: all that it takes to recode later rows as these, and to check them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError, model_validator

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes, build
from parties.alone.publish.models.classes import layout_of
from parties.alone.publish.models.model import PrivacyModel, fitting
from parties.alone.publish.recoding.partition import SUPPRESSED, Box, Partition, Span
from parties.alone.publish.rules import hierarchy, read_tree
from parties.alone.publish.settings import ColumnPlan, ModelPlan, PublishPlan
from parties.base import files
from parties.base.arrays import Counts
from parties.base.settings import Finite, Settings, explained, validated
from parties.base.text import quoted
from smc.errors import InputError

FORMAT = 1
CHUNK = 1 << 22  # pairs of a box and a cell that are compared at a time


@dataclass(frozen=True, eq=False)
class Recoding:
    """The columns in order, trees as their paths; the models; and levels for all rows, or boxes for classes.

    `of_both` are models of a joint recoding that hold for both parties' rows together, so nobody can check them alone.
    """

    columns: dict[str, dict[str, Any]]
    models: list[dict[str, Any]]
    max_suppressed: float
    levels: list[int] | None
    boxes: list[Box] | None
    of_both: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, plan: PublishPlan, levels: Sequence[int] | None, boxes: list[Box] | None) -> Recoding:
        """Return what a plan has led to."""
        columns = {}
        for name, column in plan.columns.items():
            settings = column.model_dump(mode="json", exclude_defaults=True, exclude={"tree"})
            if column.tree is not None:
                settings["paths"] = read_tree(column.tree)
            columns[name] = settings
        models = [model.model_dump(exclude_none=True) for model in plan.models]
        return cls(columns, models, plan.max_suppressed, None if levels is None else list(levels), boxes)

    def named(self, role: str) -> list[str]:
        """Return the columns that have a role."""
        return [name for name, column in self.columns.items() if column["role"] == role]

    def published(self) -> list[str]:
        """Return the columns that are told."""
        return [name for name, column in self.plans().items() if column.shown]

    def made(self) -> list[PrivacyModel]:
        """Return the models."""
        return [validated(ModelPlan, model).made() for model in self.models]

    def unchecked(self) -> list[str]:
        """Return the models that hold for both parties' rows, in words."""
        return [validated(ModelPlan, model).made().words for model in self.of_both]

    def plans(self) -> dict[str, ColumnPlan]:
        """Return what each column is."""
        return {
            name: validated(ColumnPlan, {key: value for key, value in column.items() if key != "paths"})
            for name, column in self.columns.items()
        }

    def hierarchy(self, name: str, values: Sequence[str]) -> Hierarchy:
        """Return a column's hierarchy for these values. `InputError` if one does not fit its tree or rule."""
        column = dict(self.columns[name])
        paths = column.pop("paths", None)
        if paths is None:
            return hierarchy(name, validated(ColumnPlan, column), values)
        built = build(name, paths)
        for value in values:
            built.code(value)
        return built

    def partition(self, cells: Cells, models: Sequence[PrivacyModel]) -> Partition:
        """Return the classes of other rows: those in no box, or in a class that does not fit, are suppressed.

        If there is a public table, whoever of it is in no box is in a class of their own, of which no row is published.
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
        boxes = None if self.boxes is None else [[_plain(span) for span in box] for box in self.boxes]
        content: dict[str, Any] = {
            "smc_recoding": FORMAT,
            "columns": self.columns,
            "models": self.models,
            "max_suppressed": self.max_suppressed,
            "levels": self.levels,
            "boxes": boxes,
        }
        if self.of_both:
            content["of_both"] = self.of_both
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def place_in(boxes: Sequence[Box], hierarchies: Sequence[Hierarchy], quasi: ValueCodes, alone: bool = False) -> Counts:
    """Return the first box with each cell, int64[cells], or none. `InputError` if not alone where it shall be."""
    holds = [
        np.array([[box[i].holds(h, value) for value in h.values] for box in boxes]).reshape(len(boxes), len(h.values))
        for i, h in enumerate(hierarchies)
    ]
    classes = np.full(quasi.shape[1], SUPPRESSED, dtype=np.int64)
    step = max(1, CHUNK // max(1, len(boxes)))
    for start in range(0, len(classes) if boxes else 0, step):
        part = slice(start, start + step)
        inside = np.logical_and.reduce([h[:, codes[part]] for h, codes in zip(holds, quasi, strict=True)])
        if alone and (inside.sum(axis=0) > 1).any():
            raise InputError("classes overlap, so presence cannot be counted")
        classes[part] = np.where(inside.any(axis=0), inside.argmax(axis=0), SUPPRESSED)
    return classes


def broken(cells: Cells, partition: Partition, models: Sequence[PrivacyModel]) -> list[str]:
    """Return the models that do not bear what is left out: those that count who is missing."""
    classes = partition.count(cells, layout_of(cells))
    return [model.words for model in models if model.keeps_all and not model.fits(classes).all()]


def _check_level(hierarchy: Hierarchy, level: int) -> None:
    if level > hierarchy.height:
        raise InputError(f"column {quoted(hierarchy.column)}: there is no level {level}; the top is {hierarchy.height}")


class _Column(ColumnPlan):
    """A column of the file: its tree stands there as paths."""

    tree: None = None
    paths: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] | None = None


class _Span(Settings):
    """A span of the file."""

    label: str
    level: Annotated[int, Field(strict=True, ge=0)] = 0
    low: Finite = 0.0
    high: Finite = 0.0
    numeric: bool = False
    values: tuple[str, ...] = ()


class _File(BaseModel):
    """The file; a joint recoding says more, which is not for this."""

    columns: dict[str, _Column]
    models: list[ModelPlan]
    max_suppressed: Annotated[float, Field(strict=True, ge=0, le=1)]
    levels: list[Annotated[int, Field(strict=True, ge=0)]] | None
    boxes: list[list[_Span]] | None
    of_both: list[ModelPlan] = []

    @model_validator(mode="after")
    def _fits(self) -> _File:
        number = sum(column.role == "quasi-identifier" for column in self.columns.values())
        if (self.levels is None) == (self.boxes is None):
            raise ValueError("must have either levels or boxes")
        if any(len(box) != number for box in ([self.levels] if self.levels is not None else self.boxes or [])):
            raise ValueError(f"must have a level, and boxes a span, for each of the {number} quasi-identifiers")
        return self


def load(path: Path) -> Recoding:
    """Read a recoding. `InputError` if the file is none."""
    content = files.read_json(path)
    what = f"{path}: not a recoding that smc publish anonymise or joint wrote"
    if not isinstance(content, dict) or "smc_recoding" not in content:
        raise InputError(what)
    if content["smc_recoding"] != FORMAT:
        version = quoted(str(content["smc_recoding"]))
        raise InputError(f"{path}: format {version} of a recoding, and this program knows {FORMAT}")
    try:
        file = _File.model_validate(content)
        recoding = Recoding(
            content["columns"],
            content["models"],
            file.max_suppressed,
            file.levels,
            None if file.boxes is None else [tuple(Span(**dict(span)) for span in box) for box in file.boxes],
            content.get("of_both", []),
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
