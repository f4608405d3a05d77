"""A reference for mapped CSV files: each cell placed by its column's rule, one by one, from Python's csv alone."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from parties.sources.mapping import ColumnRule
from parties.sources.settings import PlaceSettings


def plain_rows(place: PlaceSettings, rules: Sequence[ColumnRule]) -> list[list[int]] | str:
    """The distinct rows as indices and how often each is there, in order; or what is wrong with a value."""
    data = Path(place.source).read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    spelling = place.format
    encoding = "utf-8-sig" if spelling.encoding == "utf-8" else spelling.encoding
    lines = data.decode(encoding).splitlines(keepends=True)
    header, *records = filter(None, csv.reader(lines, delimiter=spelling.separator, quotechar=spelling.quote))
    columns = []
    for rule in rules:
        cells = [record[header.index(rule.column)] for record in records]
        codes = [rule.code(cell.strip()) for cell in cells]
        if unknown := [cell for cell, code in zip(cells, codes, strict=True) if code is None]:
            return rule.complaint(min((cell.strip() for cell in unknown if cell), default=None))
        columns.append([code for code in codes if code is not None])
    counts = Counter(zip(*columns, strict=True))
    return sorted([*row, number] for row, number in counts.items())
