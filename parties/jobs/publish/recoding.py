"""Result of a joint recoding as the file that `smc publish apply` reads, and the cuts in such a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.alone.publish.hierarchy import TOP, Hierarchy
from parties.alone.publish.models.model import missing_rule
from parties.alone.publish.recoding.partition import Box, Span
from parties.alone.publish.recoding.recoding import Recoding
from parties.alone.publish.rules import number
from parties.alone.publish.settings import ModelPlan
from parties.base import files
from parties.base.settings import validated
from parties.jobs.kind import Document
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.publish.recoded import Recoded
    from protocols.publish.cuts import Cuts


def document(
    task: Recoded,
    outcome: Mapping[str, Any],
    levels: Sequence[int] | None = None,
    boxes: list[Box] | None = None,
    paths: Mapping[str, list[list[str]]] | None = None,
    max_left_out: float = 0.0,
) -> Document:
    """Return a recoding file.

    It has a level for each hierarchy, or a box for each class. With `against` = peer, the models hold for each party's
    own rows, and `smc publish apply` checks them again. With `against` = public, they hold for the rows of both parties
    together, so one party cannot check them.

    Args:
        task: The task.
        outcome: Opened values of the run, as JSON fields.
        levels: Level of each recoded column's hierarchy.
        boxes: Boxes of the classes.
        paths: Paths of the hierarchies, by column.
        max_left_out: Largest share of rows that may be left out.
    """
    settings = task.settings
    columns: dict[str, dict[str, Any]] = {name: {"role": "quasi-identifier"} for name in settings.recode or ()}
    columns |= {name: {"role": "other"} for name in settings.keep or ()}
    if settings.sensitive is not None:  # all values in the agreed order, since a distance may depend on it
        values = task.schema.attributes[settings.sensitive]
        columns[settings.sensitive] = {"role": "sensitive", "paths": [[value, TOP] for value in values]}
    for name, lines in (paths or {}).items():
        columns[name]["paths"] = lines
    ours, both = (task.models, []) if settings.against == "peer" else ([], task.models)
    recoding = Recoding(columns, ours, max_left_out, None if levels is None else list(levels), boxes, both)
    content: Document = json.loads(recoding.text())
    return {**content, "joint": {"against": settings.against, "schema": task.schema.digest(), **outcome}}


def promise(document: Document) -> str:
    """Return a description of the rules that a joint recoding keeps, and for whose rows."""
    joint = document["joint"]["against"] == "public"
    models = document["of_both"] if joint else document["models"]
    descriptions = [validated(ModelPlan, model).made().words for model in models]
    k, *more = models[0]["k"], *descriptions[1:]
    whose = "rows of both" if joint else "rows of each party that has some"
    sensitive = {name: about for name, about in document["columns"].items() if about["role"] == "sensitive"}
    gaps = [name for name, about in sensitive.items() if [MISSING, TOP] in about["paths"]]
    rule = f"; {missing_rule(gaps)}" if gaps else ""
    return f"each with at least {k:,} {whose}" + "".join(f", {word}" for word in more) + rule


def boxes(cuts: Cuts, schema: Schema, recode: Sequence[str]) -> list[Box]:
    """Return the box of each class that joint Mondrian has cut: a range, or a set of values, for each column.

    Args:
        cuts: The opened cuts, level by level.
        schema: The schema.
        recode: Names of the recoded columns.
    """
    from protocols.publish.cuts import final_boxes

    values = [schema.attributes[name] for name in recode]
    return [
        tuple(span(column, low, high) for column, (low, high) in zip(values, box, strict=True))
        for box in final_boxes([len(column) for column in values], cuts)
    ]


def span(values: Sequence[str], low: int, high: int) -> Span:
    """Return the label of the values from index `low` to `high` (exclusive): a range of numbers, or a set.

    Args:
        values: Values of the column.
        low: Index of the first value.
        high: Index after the last value.
    """
    inside = tuple(values[low:high])
    numbers = [number(value) for value in values]
    if all(x is not None for x in numbers) and all(x < y for x, y in pairwise(numbers)):  # type: ignore[operator]
        first, last = numbers[low], numbers[high - 1]
        assert first is not None
        assert last is not None
        label = inside[0] if len(inside) == 1 else f"[{inside[0]}, {inside[-1]}]"
        return Span(label, 0, first, last, True)
    label = inside[0] if len(inside) == 1 else "*" if len(inside) == len(values) else "{" + ", ".join(inside) + "}"
    return Span(label, values=inside)


def published_boxes(hierarchies: Sequence[Hierarchy], node: Sequence[int], published: Sequence[bool]) -> list[Box]:
    """Return the boxes of the published classes at a node.

    Args:
        hierarchies: Hierarchy of each column.
        node: Level of each hierarchy.
        published: Whether each possible class is published; the last column's labels change first.
    """
    levels = list(zip(hierarchies, node, strict=True))
    spans = [[Span(label, level) for label in h.labels[level]] for h, level in levels]
    return [box for box, is_published in zip(product(*spans), published, strict=True) if is_published]


def joint_in(path: Path, schema: Schema, recode: Sequence[str], command: str) -> dict[str, Any]:
    """Return the joint result in the file of an earlier recoding, a JSON object.

    Args:
        path: The file.
        schema: The schema.
        recode: Names of the recoded columns.
        command: Name of the command that wrote the file.

    Raises:
        InputError: The file is not such a recoding, or is for other columns or another schema.
    """
    content = files.read_json(path)
    try:
        joint: dict[str, Any] = content["joint"]
        recoded = [name for name, about in content["columns"].items() if about["role"] == "quasi-identifier"]
        fits = (joint["schema"], recoded) == (schema.digest(), list(recode))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: not a recoding that smc publish {command} wrote; give one") from None
    if not fits:
        raise InputError(
            f"{path}: the recoding has different columns, or another schema; give one of these columns and this schema"
        )
    return joint


def cuts_in(path: Path, schema: Schema, recode: Sequence[str]) -> Cuts:
    """Return the cuts of an earlier joint recoding. Raise InputError if the file has none for these columns and
    schema.

    Args:
        path: The file.
        schema: The schema.
        recode: Names of the recoded columns.
    """
    from protocols.publish.cuts import decode, open_boxes

    joint = joint_in(path, schema, recode, "joint")
    try:
        cuts = decode(joint["cuts"])
        if not open_boxes([len(schema.attributes[name]) for name in recode], cuts):
            return cuts
    except (ValueError, KeyError, TypeError, IndexError):
        pass
    raise InputError(f"{path}: not a recoding that smc publish joint wrote; give one")
