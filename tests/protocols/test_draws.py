"""Draws among rows, in batches, against the words of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from protocols import draws


@pytest.mark.parametrize("batch", [7, 1 << 20])
@pytest.mark.parametrize(("count", "chosen"), [(0, 0), (1, 1), (500, 0), (500, 1), (500, 149), (500, 500)])
def test_the_least_words_choose_rows(monkeypatch, batch: int, count: int, chosen: int) -> None:
    monkeypatch.setattr(draws, "BATCH", batch)
    words = [int(word) for piece in draws.words(b"key", count) for word in piece]
    assert len(words) == len(set(words)) == count
    expected = sorted(range(count), key=words.__getitem__)[:chosen]
    assert np.flatnonzero(draws.least(b"key", count, chosen)).tolist() == sorted(expected)


def test_words_do_not_depend_on_batches(monkeypatch) -> None:
    whole = np.concatenate(list(draws.words(b"key", 1000)))
    monkeypatch.setattr(draws, "BATCH", 6)
    assert np.concatenate(list(draws.words(b"key", 1000))).tolist() == whole.tolist()


def test_rows_are_added_by_line() -> None:
    rows = np.array([1, 0, 1, 1, 255, 255], dtype=np.uint8)
    assert draws.by_line(rows, np.array([3, 1, 2])).tolist() == [2, 1, 510]
    assert draws.by_line(rows, np.ones(6, dtype=np.int8)).tolist() == rows.tolist()
