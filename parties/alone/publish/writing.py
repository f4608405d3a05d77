"""Recoded rows as a file, CSV or Parquet: streamed from the source, written whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import sqlglot.expressions as exp

from parties.alone.publish.cells import Cells, Finder
from parties.alone.publish.masks import MaskPlan, cell
from parties.alone.publish.reading import cell_of, require, spelled
from parties.alone.publish.recoding.partition import SUPPRESSED, Partition
from parties.base import files
from parties.base.randomness import private
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING
from parties.tables.texts import encode
from protocols.arrays import Counts
from smc.errors import InputError

PARQUET = ".parquet"
FORMULA = "^[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"  # first character of a cell that spreadsheets compute
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"  # numbers may begin with such a character and are not escaped


def write(
    rows: RowQuery,
    path: Path,
    order: Sequence[str],
    cells: Cells,
    partition: Partition,
    masks: Mapping[str, MaskPlan | None],
    escape_formulas: bool = False,
) -> int:
    """Write the columns in `order`, quasi-identifiers recoded, others masked or in clear; return the number of rows.

    Rows are permuted within each batch: their positions in the table would identify them.

    Args:
        rows: the source
        path: the file
        order: its columns
        cells: the counted cells
        partition: classes of the cells
        masks: masks of the columns
        escape_formulas: escape cells that a spreadsheet would compute

    Raises:
        InputError: the rows have changed since they were counted, or the file cannot be written
    """
    quasi = [h.column for h in cells.hierarchies]
    sensitive = [h.column for h in cells.sensitive_hierarchies]
    require(rows, order)
    unrecoded = [name for name in order if name not in quasi]
    texts = [cell_of(rows, name).as_(f"c{i}") for i, name in enumerate([*quasi, *sensitive])]
    others = [cell(rows, name, masks.get(name)).as_(f"o{i}") for i, name in enumerate(unrecoded)]
    query = exp.Select().select(*texts, *others).from_(rows.query.subquery("t"))
    places = {name: i for i, name in enumerate(unrecoded)}
    labels = [labels_of(partition, i) for i in range(len(quasi))]
    assigned = _Assigned(cells, partition)
    written = 0
    mixed = private()
    with files.replacing(path) as stream, writer_of(path, stream, order, escape_formulas) as writer:
        for batch in rows.engine.batches(query):
            classes = assigned.next([batch.column(i) for i in range(len(texts))], rows.engine.place)
            keep = mixed.permutation(np.flatnonzero(classes != SUPPRESSED))
            chosen = pa.array(classes[keep])
            columns = []
            for name in order:
                if name in places:
                    columns.append(batch.column(len(texts) + places[name]).take(pa.array(keep)))
                else:
                    columns.append(labels[quasi.index(name)].take(chosen))
            writer.write(pa.table(columns, names=list(order)))
            written += len(keep)
        assigned.finish(rows.engine.place)
    return written


def labels_of(partition: Partition, place: int) -> pa.Array:
    """Return the label of each class in a quasi-identifier, NULL for a missing value.

    Args:
        partition: the classes
        place: index of the quasi-identifier
    """
    labels = [box[place].label for box in partition.boxes]
    return pa.array([None if label == MISSING else label for label in labels], pa.string())


class _Assigned:
    """Assigns classes to rows: equal rows are spread over classes as in the partition, in their order of arrival."""

    def __init__(self, cells: Cells, partition: Partition) -> None:
        self._indices = [h.index for h in (*cells.hierarchies, *cells.sensitive_hierarchies)]
        self._finder = Finder([*cells.quasi, *cells.sensitive], [len(i) for i in self._indices])
        self._seen = np.zeros(len(cells.counts), dtype=np.min_scalar_type(cells.counts.max(initial=0)))
        self._counts = cells.counts
        self._before = np.cumsum(cells.counts) - cells.counts
        self._ends = np.cumsum(partition.counts)
        self._classes = partition.classes

    def next(self, columns: Sequence[Any], place: str) -> Counts:
        """Return the classes of the next rows, int64[rows]. Raise InputError if the partition has no such row."""
        coded = []
        for column, index in zip(columns, self._indices, strict=True):
            values, codes = encode(column)
            coded.append(np.array([index.get(spelled(value), -1) for value in values], dtype=np.int32)[codes])
        cells = self._finder.find(np.stack(coded))
        if (cells < 0).any():
            raise changed(place)
        order = np.argsort(cells, kind="stable")
        ranked = cells[order]
        starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]])) if len(ranked) else order
        lengths = np.diff(starts, append=len(ranked))
        ranks = np.arange(len(ranked)) - np.repeat(starts, lengths) + self._seen[ranked]
        if (ranks >= self._counts[ranked]).any():
            raise changed(place)
        self._seen[ranked[starts]] = self._seen[ranked[starts]] + lengths
        assigned = np.empty(len(cells), dtype=np.int64)
        assigned[order] = self._classes[np.searchsorted(self._ends, self._before[ranked] + ranks, side="right")]
        return assigned

    def finish(self, place: str) -> None:
        """Raise InputError unless all rows have been assigned."""
        if (self._seen != self._counts).any():
            raise changed(place)


def changed(place: str) -> InputError:
    """Return the error for a source whose rows have changed since they were counted."""
    return InputError(f"{place}: the rows changed while they were published; nothing was written; publish them again")


def escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put an apostrophe before text that a spreadsheet would compute as a formula; leave other cells as they are."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    begins = pa.compute.match_substring_regex(column, FORMULA)
    number = pa.compute.match_substring_regex(column, NUMBER)
    marked = pa.compute.binary_join_element_wise("'", column.cast(pa.string()), "")
    return pa.compute.if_else(pa.compute.and_not(begins, number), marked, column.cast(pa.string()))


def escaped_text(texts: Sequence[str]) -> list[str]:
    """Return the texts, with an apostrophe before each that a spreadsheet would compute as a formula."""
    return escaped(pa.chunked_array([list(texts)], pa.string())).to_pylist()


class CsvWriter:
    """Writer of tables as CSV, with one header; formulas may be escaped.

    A missing value of a single column is written as an empty quoted text: readers would skip an empty line.
    """

    def __init__(self, stream: IO[bytes], names: Sequence[str], escape_formulas: bool = False) -> None:
        self._escape_formulas = escape_formulas
        header = io.StringIO()
        header_names = escaped_text(names) if escape_formulas else names
        csv.writer(header, lineterminator="\n").writerow(header_names)
        stream.write(header.getvalue().encode())
        self._stream = stream

    def write(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        if self._escape_formulas:
            table = pa.table([escaped(column) for column in table.columns], names=table.column_names)
        if table.num_columns == 1:
            table = pa.table([table.column(0).cast(pa.string()).fill_null("")], names=table.column_names)
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
        pyarrow.csv.write_csv(table, self._stream, options)


class ParquetWriter:
    """Writer of tables as Parquet, all with the first one's types."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def writer_of(
    path: Path, stream: IO[bytes], names: Sequence[str], escape_formulas: bool = False
) -> Iterator[CsvWriter | ParquetWriter]:
    """Yield a writer of tables for the format of the file's name; Parquet needs no escaping of formulas.

    Args:
        path: the file's name
        stream: the open file
        names: the columns
        escape_formulas: escape cells that a spreadsheet would compute; for CSV only
    """
    if path.suffix != PARQUET:
        yield CsvWriter(stream, names, escape_formulas)
        return
    writer = ParquetWriter(stream)
    yield writer
    writer.close()
