"""Risks of published classes, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.models.classes import Classes, Layout
from parties.alone.publish.models.risks import risks
from parties.alone.publish.rules import Rule, hierarchy


def sensitive(values: int) -> Hierarchy:
    return hierarchy("disease", Rule(), [f"v{i}" for i in range(values)])


def test_classes_without_rows_change_nothing() -> None:
    """Two classes of one value and a mixed one; an empty class is no class."""
    rows = np.array([[3, 0], [0, 0], [0, 2], [2, 1]])
    counts = np.column_stack([rows.sum(axis=1), rows])
    figures = risks(Classes(counts, Layout((sensitive(2),), False, counts.sum(axis=0))))
    assert figures["linkage"] == pytest.approx(
        {"prosecutor_highest": 1 / 2, "prosecutor_average": 3 / 8, "marketer": 3 / 8, "unique_rows": 0}
    )
    found = figures["sensitive"]["disease"]
    assert found["homogeneity"] == pytest.approx({"classes": 2, "rows_share": 5 / 8})
    assert found["skewness"] == pytest.approx({"highest_lift": 8 / 3, "farthest": 5 / 8})
    assert (found["worst_hit"]["right"], found["worst_hit"]["people"]) == (7, 8)
