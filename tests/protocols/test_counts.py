"""Rows in memory, told as distinct ones and in pieces."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from protocols import counts
from protocols.counts import RowCounts


@pytest.mark.parametrize("often", [False, True])
@pytest.mark.parametrize(("piece", "pieces"), [(None, 1), (7, 5), (6, 6)])
def test_all_rows_are_told(often: bool, piece: int | None, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if piece is not None:
        monkeypatch.setattr(counts, "BATCH", piece)
    rng = np.random.default_rng(3)
    rows, labels, numbers = rng.integers(0, 3, (31, 2)), rng.integers(0, 2, 31), rng.integers(1, 4, 31)
    own = RowCounts((3, 3), 2, rows, labels, numbers if often else None)
    expected: Counter[tuple[int, ...]] = Counter()
    for row, label, number in zip(rows.tolist(), labels.tolist(), numbers.tolist(), strict=True):
        expected[(*row, label)] += number if often else 1
    assert {tuple(line[:-1]): line[-1] for line in own.distinct().tolist()} == expected
    told = list(own.batches())
    assert len(told) == pieces
    assert max(map(len, told)) <= (piece or 1 << 16)
    found: Counter[tuple[int, ...]] = Counter()
    for *row, number in np.concatenate(told).tolist():
        found[tuple(row)] += number
    assert found == expected
