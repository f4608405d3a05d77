"""How a cell of any type is spelled."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pytest

from parties.tables.categories import spell


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (" a ", "a"), ("", "?"), ("  ", "?"), (None, "?"), (math.nan, "?"), (np.float32("nan"), "?"), (3, "3"),
        (3.0, "3"), (0.5, "0.5"), (-0.0, "0"), (np.int8(-4), "-4"), (True, "True"), (np.bool_(False), "False"),
        ("ß", "ß"), (datetime.date(2024, 2, 29), "2024-02-29"),
    ],
)  # fmt: skip
def test_spelling(cell: Any, text: str) -> None:
    assert spell(cell) == text
