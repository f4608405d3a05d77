"""A party's private rows: from a CSV file to value indices, checked before any connection is made.

The file has a header row and is UTF-8. Space around a field is dropped; an empty field means the same as `?`,
a missing value, which is allowed where the schema lists `?`. Columns come in any order. The messages name
the file, the line and the column; they quote private values, so they are for this party's operator only.
"""

from __future__ import annotations

import csv
import importlib.resources
import io
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parties import files
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.schema import Schema

MISSING = "?"
_BLOCK = 1 << 14  # rows turned into columns at a time: few enough that the row objects stay in the cache


@dataclass(frozen=True, eq=False)
class Columns:
    """A CSV file as text: each named column's cells, and the line of the file on which each row starts."""

    path: Path
    values: dict[str, list[str]]
    lines: Sequence[int]
    unnamed: int = 0  # columns without a name, which are left out

    def where(self, row: int, column: str) -> str:
        """The place of a cell, for messages."""
        return f"{self.path}, line {self.lines[row]}, column {files.quoted(column)}"

    def require(self, names: Sequence[str]) -> None:
        """`InputError` unless every named column is there."""
        absent = [name for name in names if name not in self.values]
        if not absent:
            return
        hint = files.did_you_mean(absent[0], self.values)
        if len(self.values) == 1 and any(mark in next(iter(self.values)) for mark in ";\t|"):
            hint = " (the fields must be separated by commas)"
        plural = "s" if len(absent) > 1 else ""
        raise InputError(f"{self.path}: the header lacks the column{plural} {files.listed(absent)}{hint}")


@dataclass(frozen=True, eq=False)
class Table:
    """One party's rows as indices into the value lists of the schema.

    `rows` is int32[rows, attributes], the attributes being all but the target in schema order (a column is
    contiguous in memory), `classes` int32[rows] the index of the target's value. Signed and wide, so that
    index arithmetic cannot wrap. `ignored` names the columns of the file that the schema does not know.
    """

    rows: NDArray[np.int32]
    classes: NDArray[np.int32]
    ignored: tuple[str, ...] = ()


def load(path: Path, schema: Schema, target: str, max_rows: int) -> Table:
    """Read a party's rows. No rows at all are allowed: then this party only learns.

    `InputError` names line and column of the first value outside the schema; it is also raised for missing,
    repeated or misshapen columns, more than `max_rows` rows and files that are not UTF-8 CSV.
    """
    table = columns(path, max_rows)
    table.require(list(schema.attributes))
    features = schema.features(target)
    rows = np.empty((len(table.lines), len(features)), dtype=np.int32, order="F")
    for position, name in enumerate(features):
        rows[:, position] = _indices(table, name, schema.attributes[name])
    ignored = tuple(name for name in table.values if name not in schema.attributes)
    return Table(rows, _indices(table, target, schema.attributes[target]), ignored)


def columns(path: Path, max_rows: int | None = None) -> Columns:
    """Read a CSV file as text, column by column. Columns without a name are dropped.

    `InputError` for anything that is not a rectangular UTF-8 CSV file with at most `max_rows` rows.
    """
    records = _records(path)
    line, header = next(records, (1, []))
    names = [field.strip() for field in header]
    if not any(names):
        raise InputError(f"{path}: the file is empty; the first line must name the columns")
    repeated = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if repeated is not None:
        raise InputError(f"{path}, line {line}: the column {files.quoted(repeated)} stands twice in the header")
    clean = _Cleaner()
    cells: list[list[str]] = [[] for _ in names]
    lines = array("q")
    block: list[list[str]] = []

    def flush() -> None:
        for column, fields in zip(cells, zip(*block, strict=True), strict=False):
            column.extend(map(clean.__getitem__, fields))
        block.clear()

    for line, record in records:
        if len(record) != len(names):
            if len(names) > 1 and len(record) == 1 and not record[0].strip():
                continue  # a line of nothing but space
            raise InputError(f"{path}, line {line}: {len(record)} fields, but the header has {len(names)}")
        if len(lines) == max_rows:
            raise InputError(f"{path}, line {line}: more than {max_rows} rows, the agreed bound (max_rows)")
        block.append(record)
        lines.append(line)
        if len(block) == _BLOCK:
            flush()
    flush()
    named = {name: column for name, column in zip(names, cells, strict=True) if name}
    return Columns(path, named, lines, len(names) - len(named))


class Demo(NamedTuple):
    """The bundled example: two parties' rows of Quinlan's weather table, and their schema."""

    clinic_a: Path
    clinic_b: Path
    schema: Path


def demo() -> Demo:
    """Where the bundled example is installed (J. R. Quinlan, Induction of Decision Trees, 1986, table 1)."""
    data = Path(str(importlib.resources.files("parties") / "data"))
    return Demo(data / "clinic_a.csv", data / "clinic_b.csv", data / "schema.toml")


class _Cleaner(dict[str, str]):
    """Raw field to cell: remembers each spelling, so equal cells share one string and are cleaned once."""

    def __missing__(self, raw: str) -> str:
        cell = raw.strip() or MISSING
        self[raw] = cell = self.setdefault(cell, cell)
        return cell


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The non-blank records of a CSV file, each with the number of the line it starts on."""
    data = files.read_bytes(path)
    files.decode(path, data)  # refuse bad text here, where its line is known
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""), strict=True)
    start = 1
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {start}: not valid CSV: {error}") from None


def _indices(table: Columns, name: str, values: Sequence[str]) -> NDArray[np.int32]:
    """The index of every cell of a column in `values`, int32[rows]."""
    index = {value: i for i, value in enumerate(values)}
    column = table.values[name]
    try:
        return np.fromiter(map(index.__getitem__, column), np.int32, len(column))
    except KeyError:
        row = next(i for i, cell in enumerate(column) if cell not in index)
    where = table.where(row, name)
    if column[row] == MISSING:
        raise InputError(f"{where}: no value, and the schema does not list '?' (missing) for this attribute")
    hint = files.did_you_mean(column[row], values)
    allowed = files.listed(values)
    raise InputError(f"{where}: {files.quoted(column[row])} is not in the schema{hint}; allowed: {allowed}")
