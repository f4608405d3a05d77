"""Columns of text with each distinct text once, beside plain lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from parties.tables import texts
from parties.tables.texts import Gathered, TextColumn, encode


@pytest.mark.parametrize("kinds", [1, 3, 256, 257, 70_000])
def test_a_column_in_pieces_is_the_list_of_its_cells(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a later piece has more texts than a byte can number, and if Arrow brings a piece."""
    monkeypatch.setattr(texts, "PIECE", 1000)
    draw = np.random.default_rng(1)
    cells = [f" t{number}" for number in draw.integers(0, kinds, 3000).tolist()]
    cells += [f"t{number}" for number in range(kinds)]
    column = Gathered(str.strip)
    column.add(cells[:10])
    column.add(cells[10:2000])
    column.add(*encode(pa.chunked_array([cells[2000:2500], cells[2500:]])))
    column.add([])
    whole, plain = column.column(), [cell.strip() for cell in cells]
    assert whole.codes.dtype.itemsize == (1 if kinds < 257 else 2 if kinds < 70_000 else 4)
    assert whole == plain
    assert whole != plain[1:]
    assert whole[5:9] == plain[5:9]
    assert (len(whole), whole[-1], whole.index(plain[7])) == (len(plain), plain[-1], plain.index(plain[7]))
    assert list(whole.texts) == list(dict.fromkeys(plain))
    values, places = whole.unique()
    expected, inverse = np.unique(plain, return_inverse=True)
    assert values.tolist() == expected.tolist()
    assert places.tolist() == inverse.tolist()


def test_a_column_of_few_of_many_texts_has_these_alone() -> None:
    column = TextColumn.among(("a", "b", "c", "d"), np.array([3, 1, 3], dtype=np.int32))
    assert list(column) == ["d", "b", "d"]
    assert column.texts == ["b", "d"]
    assert TextColumn.of(column) is column
    assert list(TextColumn.of(iter(["x", "", "x"]))) == ["x", "", "x"]
    assert list(TextColumn.of([])) == []
