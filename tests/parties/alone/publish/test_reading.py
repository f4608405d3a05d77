"""Distinct rows of a file, counted in pieces, beside a count of all rows at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from parties.alone.publish.reading import rows_of, texts
from parties.base.settings import validated
from parties.sources import PlaceSettings


def test_rows_grouped_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pieces, in which equal rows recur, some with surrounding space; the distinct rows come in order."""
    monkeypatch.setattr("parties.sources.databases.BATCH", 2048)
    monkeypatch.setattr("parties.alone.publish.reading.PENDING", 0)
    draw = np.random.default_rng(1)
    columns = {"a": draw.choice(["10", "9", " 9", "x", ""], 6000).tolist(), "b": draw.integers(0, 300, 6000).tolist()}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    with rows_of(validated(PlaceSettings, {"source": str(tmp_path / "rows.parquet")})) as rows:
        found = texts(rows, ["a", "b"])
    cells = zip(*([v[c] for c in codes] for v, codes in zip(found.values, found.codes, strict=True)), strict=True)
    pairs = zip(columns["a"], map(str, columns["b"]), strict=True)
    expected = Counter((a.strip() or "?", b) for a, b in pairs)
    assert dict(zip(cells, found.counts.tolist(), strict=True)) == expected
    assert len(found.counts) == len(expected)
    assert found.values[0] == ["9", "10", "x", "?"]
    keys = found.codes[0].astype(int) * 300 + found.codes[1]
    assert (keys[1:] > keys[:-1]).all()
