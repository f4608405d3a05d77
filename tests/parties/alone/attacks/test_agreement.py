"""What agrees with a published label, and how often."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parties.alone.attacks import agreement as module
from parties.alone.attacks.agreement import agreement
from parties.alone.publish.hierarchy import build
from smc.errors import InputError


def pairs(known: list[str], published: list[str], **more: object) -> dict[tuple[str, str], float]:
    agreed = agreement("age", known, published, **more)  # type: ignore[arg-type]
    return {
        (a, b): float(agreed.similar[agreed.known[i], agreed.published[j]])
        for i, a in enumerate(known)
        for j, b in enumerate(published)
    }


def test_values_ranges_and_everything() -> None:
    agreed = pairs(["20", "30", "?"], ["20", "[20, 30]", "[20, 30[", "*", "?"])
    assert [agreed["20", b] for b in ("20", "[20, 30]", "[20, 30[", "*", "?")] == [1, 1, 1, 1, 0]
    assert [agreed["30", b] for b in ("20", "[20, 30]", "[20, 30[", "*", "?")] == [0, 1, 0, 1, 0]
    assert all(agreed["?", b] == 0 for b in ("20", "[20, 30]", "*", "?")), "of a missing value nothing is known"


def test_numbers_with_errors() -> None:
    agreed = pairs(["20"], ["20", "22", "18", "none"], tolerance=2.0)
    assert [agreed["20", b] for b in ("20", "22", "18", "none")] == pytest.approx([1, math.exp(-1), math.exp(-1), 0])


def test_groups_of_a_hierarchy() -> None:
    hierarchy = build("zip", [("35010", "3501*", "*"), ("35011", "3501*", "*"), ("35020", "3502*", "*")])
    agreed = pairs(["35010", "35020", "99"], ["3501*", "3502*", "35010", "3503*", "*"], hierarchy=hierarchy)
    assert [agreed["35010", b] for b in ("3501*", "35010", "3503*", "*")] == [1, 1, 0, 1]
    assert [agreed["35020", b] for b in ("3501*", "35010", "3503*", "*")] == [0, 0, 0, 1]
    assert agreed["99", "3501*"] == agreed["99", "3502*"] == 0, (
        "a value that the hierarchy does not know is in no group"
    )


def test_how_many_rows_agree() -> None:
    agreed = agreement("age", ["20", "40"], ["20", "[10, 30]", "[10, 30]", "50"])
    assert agreed.frequencies[agreed.known].tolist() == [3, 0]


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 5)
    with pytest.raises(InputError, match="'age': 3 values times 2 of the other column are too"):
        agreement("age", ["1", "2", "3"], ["1", "2"])
    assert np.shape(agreement("age", ["1", "2"], ["1", "2"]).similar) == (2, 2)
