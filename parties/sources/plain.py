"""CSV files counted with Python and numpy alone, where DuckDB is not installed; `delimited` says how they are read.

The file is read once, by the first question, a block of rows at a time: cells become category indices, and equal rows
one row with its number. So what is held are the distinct rows, never more than the agreed bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.text import listed
from parties.sources.delimited import read_header, records_of
from parties.sources.mapping import ColumnRule
from parties.sources.settings import PlaceSettings
from parties.sources.source import Source
from protocols.counts import Indices, LevelCounts, RowCounts
from protocols.tree import Tree
from smc.errors import InputError

BLOCK = 1 << 14  # rows of the file that are in memory as text at a time
PENDING = 1 << 17  # distinct rows of blocks that wait to be merged
SPELLINGS = 1 << 16  # of a column that are remembered: columns with ranges may have no end of them


class PlainSource(Source):
    """The rows of a CSV file. See `opening.open_table`."""

    def __init__(self, settings: PlaceSettings, rules: Sequence[ColumnRule], max_rows: int, least_rows: int) -> None:
        """Raise `InputError` if the header is no good, or lacks a column."""
        super().__init__(settings.label, rules, max_rows, least_rows)
        self._path = Path(settings.source)
        self._spelling = settings.format
        self.names, _ = read_header(self._path, settings.format)
        for rule in rules:
            self._require(rule, filter(None, self.names))
            if (twins := [name for name in self.names if name.lower() == rule.column.lower()])[1:]:
                raise InputError(f"{self._where(rule)}: rename {listed(twins)}: they differ only in case")
        self._codes = [_Codes(rule) for rule in rules]
        self._total: int | None = None
        self._rows: RowCounts | None = None

    @override
    def check(self) -> int:
        if self._total is None:
            self._total = self._read()
        self._check_rows(self._total)
        for rule, codes in zip(self._rules, self._codes, strict=True):
            if codes.unknown:
                (text,) = codes.unknown
                raise self._unfit(rule, text, rule.complaint(text))
        self._checked = True
        return self._total

    @override
    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        return self._counted().level(tree, attributes)

    @override
    def distinct(self) -> Indices:
        return self._counted().distinct()

    @override
    def _read_pieces(self) -> Iterator[Indices]:
        return self._counted().batches()

    @override
    def close(self) -> None:
        """See `Source.close`: nothing is open between questions."""

    def _counted(self) -> RowCounts:
        self.check()
        assert self._rows is not None
        return self._rows

    def _read(self) -> int:
        """Read the file; the number of its rows. Distinct rows are kept while all of them are fit."""
        places = [self.names.index(rule.column) for rule in self._rules]
        distinct = _Distinct(len(places))
        total, fit = 0, True
        for block in self._blocks():
            total += len(block)
            columns = list(zip(*block, strict=True))
            indices = np.empty((len(block), len(places)), dtype=np.int32)
            for i, (codes, place) in enumerate(zip(self._codes, places, strict=True)):
                indices[:, i] = np.fromiter(map(codes.__getitem__, columns[place]), np.int32, len(block))
            fit = fit and total <= self._max_rows and not any(codes.unknown for codes in self._codes)
            if fit:
                distinct.add(indices)
        if fit:
            lines = distinct.merged()
            self._rows = RowCounts(self._domains, self._classes, lines[:, :-2], lines[:, -2], lines[:, -1])
        return total

    def _blocks(self) -> Iterator[list[list[str]]]:
        records = self.records()
        while block := list(islice(records, BLOCK)):
            yield block

    def records(self) -> Iterator[list[str]]:
        """Yield the rows below the header."""
        return (record for _, record in records_of(self._path, self._spelling))


class _Codes(dict[str, int]):
    """Cell to category index by a column's rule, -1 if it is none: remembers, so equal cells are looked up once."""

    def __init__(self, rule: ColumnRule) -> None:
        self._rule = rule
        self.unknown: set[str | None] = set()  # the first text without an index; None of no value

    def __missing__(self, raw: str) -> int:
        text = raw.strip()
        code = self._rule.code(text)
        if code is None:
            unknown = {*self.unknown, text if raw else None}
            self.unknown = {min((known for known in unknown if known is not None), default=None)}
        if len(self) >= SPELLINGS:
            self.clear()
        self[raw] = code = -1 if code is None else code
        return code


class _Distinct:
    """Rows of indices with their numbers, merged now and then."""

    def __init__(self, width: int) -> None:
        self._parts = [np.zeros((0, width + 1), dtype=np.int64)]
        self._pending = 0

    def add(self, rows: NDArray[np.int32]) -> None:
        """Add rows, int32[rows, width]."""
        distinct, numbers = np.unique(rows, axis=0, return_counts=True)
        self._parts.append(np.column_stack([distinct, numbers]))
        self._pending += len(distinct)
        if self._pending > max(PENDING, len(self._parts[0])):
            self._parts = [self.merged()]
            self._pending = 0

    def merged(self) -> Indices:
        """Return the distinct rows so far, int64[rows, width + 1]: the numbers stand last."""
        whole = np.concatenate(self._parts)
        distinct, which = np.unique(whole[:, :-1], axis=0, return_inverse=True)
        numbers = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(numbers, which.reshape(-1), whole[:, -1])
        return np.column_stack([distinct, numbers])
