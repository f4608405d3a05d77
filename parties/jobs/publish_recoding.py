"""The cuts of a joint recoding as the file that `smc publish apply` reads, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties import files
from parties.jobs.kind import Document
from parties.publish.partition import Span
from parties.publish.recoding import Recoding
from parties.publish.rules import number
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.publish.cuts import Cuts


def document(cuts: Cuts, schema: Schema, recode: Sequence[str], keep: Sequence[str], k: int, against: str) -> Document:
    """A recoding with a box a class, and what it was made from.

    Against the peer the model is k-anonymity of each party's own rows, and is checked again when they are recoded;
    against the public a party alone cannot check what holds for both.
    """
    from protocols.publish.cuts import encode, final_boxes

    values = [schema.attributes[name] for name in recode]
    columns: dict[str, dict[str, Any]] = {name: {"role": "quasi-identifier"} for name in recode}
    columns |= {name: {"role": "other"} for name in keep}
    models = [{"model": "k-anonymity", "k": k}] if against == "peer" else []
    boxes = [
        tuple(span(column, low, high) for column, (low, high) in zip(values, box, strict=True))
        for box in final_boxes([len(column) for column in values], cuts)
    ]
    content: Document = json.loads(Recoding(columns, models, 0.0, None, boxes).text())
    joint = {"k": k, "against": against, "schema": schema.digest(), "cuts": encode(cuts)}
    return {**content, "joint": joint}


def span(values: Sequence[str], low: int, high: int) -> Span:
    """What a class says of the values from place `low` to before `high`: a range of numbers, or a set."""
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


def cuts_in(path: Path, schema: Schema, recode: Sequence[str]) -> Cuts:
    """The cuts of an earlier joint recoding. `InputError` if the file has none of these columns and this schema."""
    from protocols.publish.cuts import decode, open_boxes

    try:
        content = json.loads(files.read_text(path))
        joint, columns = content["joint"], content["columns"]
        recoded = [name for name, about in columns.items() if about["role"] == "quasi-identifier"]
        fits = (joint["schema"], recoded) == (schema.digest(), list(recode))
        cuts = decode(joint["cuts"])
        finished = fits and not open_boxes([len(schema.attributes[name]) for name in recode], cuts)
    except (ValueError, KeyError, TypeError, IndexError):
        raise InputError(f"{path}: not a recoding that smc publish joint wrote") from None
    if not finished:
        raise InputError(f"{path}: the recoding is for other columns than these, or for another schema")
    return cuts
