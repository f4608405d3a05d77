"""The bundled example: Quinlan's table of tennis, cut in two."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from parties.sources import cells
from parties.sources.delimited import csv_columns as columns
from parties.tables import example, schema
from parties.tables.schema import Schema
from tests.support.places import SHARED


def test_the_demo_is_quinlans_table_and_neither_half_shows_the_tree() -> None:
    demo = example.demo()
    agreed = schema.load(demo.schema)
    target = agreed.choose_target()
    halves = [cells.load(path, agreed, target, 14) for path in (demo.clinic_a, demo.clinic_b)]
    assert [len(half.classes) for half in halves] == [7, 7]
    joined = np.concatenate([half.rows for half in halves])
    classes = np.concatenate([half.classes for half in halves])
    assert len({(*row, c) for row, c in zip(joined.tolist(), classes.tolist(), strict=True)}) == 14
    joint = _id3(joined, classes, agreed, list(range(4)))
    assert joint == {
        "outlook": {
            "sunny": {"humidity": {"high": "no", "normal": "yes"}},
            "overcast": "yes",
            "rain": {"wind": {"weak": "yes", "strong": "no"}},
        }
    }
    assert all(_id3(half.rows, half.classes, agreed, list(range(4))) != joint for half in halves)


def test_the_demo_holds_the_published_rows() -> None:
    published = SHARED / "data" / "tennis.csv"
    if not published.exists():
        pytest.skip("the shared data sets are not beside the repository")
    expected = Counter(tuple(line.lower().split(",")) for line in published.read_text().split()[1:])
    demo = example.demo()
    bundled = [columns(path).values.values() for path in (demo.clinic_a, demo.clinic_b)]
    assert Counter(row for half in bundled for row in zip(*half, strict=True)) == expected


def _id3(rows: Any, classes: Any, agreed: Schema, left: list[int]) -> Any:
    """Plain ID3 on indices, written for this test from Quinlan's description."""
    names = agreed.features("play")
    counts = np.bincount(classes, minlength=2)
    majority = agreed.attributes["play"][int(counts.argmax())]
    if counts.max() == counts.sum() or not left:
        return majority

    def entropy(attribute: int) -> float:
        total = 0.0
        for value in range(len(agreed.attributes[names[attribute]])):
            part = np.bincount(classes[rows[:, attribute] == value], minlength=2)
            total -= sum(n * math.log(n / part.sum()) for n in part if n)
        return round(total, 9)

    best = min(left, key=entropy)
    branches = {}
    for value, name in enumerate(agreed.attributes[names[best]]):
        here = rows[:, best] == value
        below = [a for a in left if a != best]
        branches[name] = _id3(rows[here], classes[here], agreed, below) if here.any() else majority
    return {names[best]: branches}
