"""CSV files as columns of text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.tables.delimited import columns

CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), max_size=8)))
def test_what_a_csv_writer_wrote_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    width = len(rows[0]) if rows else 1
    names = [f"c{i}" for i in range(width)]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(text.getvalue().encode())
    expected = [[cell.strip() or "?" for cell in row] for row in rows]
    assert [list(row) for row in zip(*columns(path).values.values(), strict=True)] == expected
