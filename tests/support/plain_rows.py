"""A reference for typed columns: cells of a CSV file placed one by one by their rule, by Python's csv alone."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parties.sources.mapping import ColumnRule
from parties.sources.settings import PlaceSettings
from protocols.counts import Indices


class PlainRows:
    """The rows of a file that csv reads, as the rules have them."""

    def __init__(self, place: PlaceSettings, rules: Sequence[ColumnRule]) -> None:
        data = Path(place.source).read_bytes()
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        encoding = "utf-8-sig" if place.format.encoding == "utf-8" else place.format.encoding
        lines = data.decode(encoding).splitlines(keepends=True)
        spelling = place.format
        records = [r for r in csv.reader(lines, delimiter=spelling.separator, quotechar=spelling.quote) if r]
        self._rules = rules
        self._columns = [[record[records[0].index(rule.column)].strip() for record in records[1:]] for rule in rules]

    def complaint(self) -> str | None:
        """What is wrong with the first column that has an unknown text, and its least one."""
        for rule, column in zip(self._rules, self._columns, strict=True):
            if unknown := sorted(text for text in column if rule.code(text) is None):
                return rule.complaint(unknown[-1] and (min(filter(None, unknown)) or None))
        return None

    def distinct(self) -> Indices:
        """The distinct rows of indices, and how often each is there, in order."""
        codes = zip(*([rule.code(text) for text in c] for rule, c in zip(self._rules, self._columns, strict=True)), strict=True)
        lines = sorted((*row, number) for row, number in Counter(codes).items())  # type: ignore[type-var]
        return np.array(lines, dtype=np.int64).reshape(-1, len(self._rules) + 1)
