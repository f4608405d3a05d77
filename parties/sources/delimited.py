"""The readers of CSV files: Python's `csv` module (strict) for cells, and DuckDB with equal cells for queries.

A file has a header row. Blank lines are not rows. In a file of several columns, lines of spaces are not rows either.
DuckDB guesses nothing: the table's format and a look at all bytes decide the dialect. It reads a regular file in place.
Of any other file it reads a copy with records rewritten by `csv`; if `csv` refuses the file, an error names the line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import shutil
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from parties.base import files
from parties.base.temporary import HeldDirectory
from parties.sources.settings import FormatSettings
from parties.tables.delimited import MISSING, Columns, column_names, in_words, separating
from parties.tables.texts import PIECE, Gathered
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.databases import Scratch
    from parties.sources.opened import RowQuery

CHUNK = 1 << 20  # bytes checked, or letters copied, at a time
LF, CR = 10, 13
NAME_ENCODING = "set the right `encoding` in the format of party.toml, or save the file as UTF-8"
PLAIN = FormatSettings()


@dataclass(frozen=True)
class CsvFile:
    """A CSV file that DuckDB reads, as text columns c0, c1, ...; an empty cell is NULL."""

    names: list[str]  # of the columns in the header; "" for a column without a name
    records: int  # number of rows below the header
    call: str  # SQL expression of the file's columns
    path: Path  # the file, or a converted copy of it
    has_breaks: bool = False  # whether cells contain line breaks

    @property
    def rows(self) -> str:
        """SQL query for the rows. In a file of one column, a blank line is not a row."""
        return f"FROM {self.call}" + (" WHERE c0 IS NOT NULL" if len(self.names) == 1 else "")


def open_csv(path: Path, spelling: FormatSettings, resources: ExitStack) -> CsvFile:
    """Return a CSV file in a form that DuckDB reads correctly: the file itself, or a rewritten copy.

    Args:
        path: The file.
        spelling: Separator, encoding and marks of numbers.
        resources: Deletes the copy when it closes; only this user can read the copy.

    Raises:
        InputError: The file is not CSV of this format; the message names the bad line, if there is one.
    """
    names, header = read_header(path, spelling)
    if spelling.skip or spelling.drop_rows:
        copy, records = _written_anew(path, spelling, resources)
        return CsvFile(names, records, _call(copy, len(names), PLAIN, 0, None), copy, True)
    readable = _in_utf8(path, spelling, resources)
    look = _Look(len(names), spelling)
    with _open_bytes(readable) as stream:
        look.through(stream)
    if look.is_regular:
        call = _call(readable, len(names), spelling, header, look)
        return CsvFile(names, look.records - 1, call, readable, look.has_breaks)
    copy, records = _written_anew(path, spelling, resources)
    return CsvFile(names, records, _call(copy, len(names), PLAIN, 0, None), copy, True)


def _call(path: Path, width: int, spelling: FormatSettings, skipped: int, look: _Look | None) -> str:
    quote = sql_literal(spelling.quote)
    settings = {
        "auto_detect": "false",
        "header": "false",
        "skip": str(skipped),
        "columns": "{" + ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width)) + "}",
        "delim": sql_literal(spelling.separator),
        "quote": quote,
        "escape": quote,
        "compression": "'gzip'" if is_gzip(path) else "'none'",
        "allow_quoted_nulls": "false",  # distinguishes "" from a blank line
        "strict_mode": "true",
        "parallel": str(look is not None and not look.has_breaks).lower(),  # no thread begins within quotes
    }
    if look is None or not look.is_crlf:  # DuckDB decides this from the first line alone
        settings["new_line"] = r"'\n'"
    name = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
    return f"read_csv({sql_literal(name)}, {', '.join(f'{key} = {value}' for key, value in settings.items())})"


def sql_literal(text: str) -> str:
    """Return a text as a literal of DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


class _Look:
    """Facts about the records of a UTF-8 file from its bytes, without reading cells.

    A file is regular if quotes enclose whole cells, line ends are alike, and each line has as many separators as the
    header. DuckDB and `csv` find equal records in a regular file. `csv` accepts every regular file.
    """

    def __init__(self, width: int, spelling: FormatSettings) -> None:
        self.records = 0  # with the header
        self.is_regular = True
        self.is_crlf = False
        self.has_breaks = False  # within cells
        self._quote, self._separator = ord(spelling.quote), ord(spelling.separator)
        self._separators = width - 1  # separators of a record
        self._ends, self._crlf_ends = 0, 0
        self._is_inside = False  # whether the next line begins within quotes
        self._begun = 0, 0  # if so, bytes and separators of this record up to that line
        self._limit = csv.field_size_limit()

    def through(self, stream: BinaryIO | gzip.GzipFile) -> None:
        """Check the whole file, or the part up to its first irregular line."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        block, rest = stream.read(CHUNK).removeprefix(codecs.BOM_UTF8), b""
        try:
            while block and self.is_regular:
                decoder.decode(block)
                lines, end, rest = (rest + block).rpartition(b"\n")
                self._lines(lines + end)
                self.is_regular &= b"\0" not in block and len(rest) < self._limit
                block = stream.read(CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            self.is_regular = False
        if rest and self.is_regular:
            self._lines(rest + (b"\r\n" if self._crlf_ends else b"\n"))
        self.is_crlf = self._crlf_ends > 0
        self.is_regular &= not self._is_inside and self._crlf_ends in (0, self._ends)
        self.is_regular &= not (self.is_crlf and self.has_breaks)

    def _lines(self, lines: bytes) -> None:
        """Check some whole lines, and count their separators."""
        if not lines:
            return
        data = np.frombuffer(lines, dtype=np.uint8)
        ends, separators, returns = (np.flatnonzero(data == byte) for byte in (LF, self._separator, CR))
        bytes_begun, separators_begun = self._begun
        if self._is_inside or self._quote in lines:
            is_quote = data == self._quote
            within = (np.cumsum(is_quote, dtype=np.uint8) + self._is_inside) % 2 == 1
            self._check_quotes(data, np.flatnonzero(is_quote), within)
            self.has_breaks |= bool(within[ends].any() or within[returns].any())
            ends, separators, returns = (places[~within[places]] for places in (ends, separators, returns))
            self._is_inside = bool(within[-1])
        crlf = data[ends - 1] == CR  # for a LF at index 0, index -1 is the last byte, a LF
        lengths = np.diff(ends, prepend=-1 - bytes_begun) - 1 - crlf
        before = np.searchsorted(separators, ends)
        widths = np.diff(before, prepend=-separators_begun)
        self._ends += len(ends)
        self._crlf_ends += int(np.count_nonzero(crlf))
        self.records += int(np.count_nonzero(lengths))
        self.is_regular &= bool(
            len(returns) == np.count_nonzero(crlf)
            and (widths[lengths > 0] == self._separators).all()
            and lengths.max(initial=0) < self._limit
        )
        if len(ends):
            self._begun = len(data) - 1 - int(ends[-1]), len(separators) - int(before[-1])
        else:
            self._begun = bytes_begun + len(data), separators_begun + len(separators)

    def _check_quotes(self, data: NDArray[np.uint8], quotes: NDArray[np.intp], within: NDArray[np.bool_]) -> None:
        """Clear `is_regular` unless each quote begins or ends a cell, or is one of a pair within a cell.

        Args:
            data: Bytes of whole lines.
            quotes: Indices of the quotes.
            within: For each byte, whether what follows it is within quotes.
        """
        begins = within[quotes]
        before, after = data[quotes[begins] - 1], data[quotes[~begins] + 1]
        fit = np.isin(before, (self._separator, LF, self._quote)).all()
        self.is_regular &= bool(fit and np.isin(after, (self._separator, LF, CR, self._quote)).all())


def _in_utf8(path: Path, spelling: FormatSettings, resources: ExitStack) -> Path:
    """Return a file of UTF-8, or a copy in UTF-8 of any other.

    Raises:
        InputError: The bytes are not in the given encoding.
    """
    if spelling.encoding == "utf-8":
        return path
    copy = _copy_of(path, resources)
    try:
        with open_text(path, spelling) as stream, copy.open("w", encoding="utf-8", newline="") as utf8:
            shutil.copyfileobj(stream, utf8, CHUNK)
    except UnicodeError:
        raise InputError(f"{path}: not {spelling.encoding}; {NAME_ENCODING}") from None
    return copy


def _written_anew(path: Path, spelling: FormatSettings, resources: ExitStack) -> tuple[Path, int]:
    """Return the path of a copy that `csv` has rewritten in one plain dialect, and the number of rows."""
    copy, number = _copy_of(path, resources), 0
    with copy.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for _, record in records_of(path, spelling):
            writer.writerow(record)
            number += 1
    return copy, number


def _copy_of(path: Path, resources: ExitStack) -> Path:
    directory = HeldDirectory("text")
    resources.callback(directory.cleanup)
    return Path(directory.name) / path.with_suffix(".csv").name


def read_csv(engine: Scratch, path: Path, spelling: FormatSettings) -> RowQuery:
    """Return the rows of a CSV file as text, without columns that have no name.

    Args:
        engine: DuckDB that reads the file.
        path: The file.
        spelling: Separator, encoding and marks of numbers.

    Raises:
        InputError: The file is not CSV of this format.
    """
    import ibis.expr.datatypes as dt
    import sqlglot.expressions as exp

    from parties.sources.opened import RowQuery

    file = open_csv(path, spelling, engine.resources)
    view = f"csv {len(engine.reads)}"
    engine.reads.append(str(file.path))
    engine.reads_slowly = True
    engine.backend.raw_sql(f'CREATE TEMPORARY VIEW "{view}" AS {file.rows}')
    if file.has_breaks:
        _compare(path, spelling, file, engine.backend.raw_sql(f"SELECT count(*) {file.rows}").fetchone()[0])
    named = {name: exp.column(f"c{i}", quoted=True) for i, name in enumerate(file.names) if name}
    cells = [exp.alias_(cell, name, quoted=True, copy=False) for name, cell in named.items()]
    query = exp.Select().select(*cells, copy=False).from_(exp.table_(view, quoted=True), copy=False)
    return RowQuery(engine, query, dict.fromkeys(named, dt.string))


def small_columns(path: Path, spelling: FormatSettings) -> dict[str, Sequence[str]] | None:
    """Return the cells of each named column as they are written; None if the file is compressed.

    Args:
        path: A file that fits into memory.
        spelling: Separator, encoding and marks of numbers.
    """
    if is_gzip(path):
        return None
    names, _ = read_header(path, spelling)
    columns = list(zip(*(record for _, record in records_of(path, spelling)), strict=True)) or [()] * len(names)
    return {name: column for name, column in zip(names, columns, strict=True) if name}


def csv_columns(path: Path, spelling: FormatSettings = PLAIN, max_rows: int | None = None) -> Columns:
    """Return a file as text, column by column, with `?` for empty cells and without unnamed columns.

    Args:
        path: The file.
        spelling: Separator, encoding and marks of numbers.
        max_rows: Largest allowed number of rows; None for any number.

    Raises:
        InputError: The file is not CSV of this format, or has more than `max_rows` rows.
    """
    files.refuse_other(path, files.read_bytes(path, 64))
    names, _ = read_header(path, spelling)
    columns = [Gathered(lambda field: field.strip() or MISSING) for _ in names]
    lines, records = array("q"), records_of(path, spelling)
    while some := list(islice(records, PIECE)):
        if max_rows is not None and len(lines) + len(some) > max_rows:
            line, _ = some[max_rows - len(lines)]
            raise InputError(f"{path}, line {line}: more than {max_rows} rows, the agreed bound; raise max_rows")
        lines.extend(line for line, _ in some)
        for column, fields in zip(columns, zip(*(record for _, record in some), strict=True), strict=True):
            column.add(fields)
    named = {name: column.column() for name, column in zip(names, columns, strict=True) if name}
    return Columns(path, named, lines, len(names) - len(named))


def _compare(path: Path, spelling: FormatSettings, file: CsvFile, rows: int) -> None:
    """Raise InputError if DuckDB found other rows than the records of the file; name the first line that differs."""
    if rows != file.records:
        records = islice(records_of(path, spelling), min(rows, max(file.records - 1, 0)), None)
        line, _ = next(records, (1, []))
        raise InputError(
            f"{path}, line {line}: DuckDB read {rows:,} rows, but the file has {file.records:,}; check this line"
        )


def is_gzip(path: Path) -> bool:
    """Return True if the first bytes are those of gzip."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def _open_bytes(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path, "rb") if is_gzip(path) else path.open("rb")


def open_text(path: Path, spelling: FormatSettings, errors: str = "strict") -> TextIO:
    """Return the text of a CSV file, decompressed if it is gzip, without a byte order mark.

    Args:
        path: The file.
        spelling: Format of the file; only its encoding is used.
        errors: Treatment of bytes outside the encoding, as for Python's `open`.
    """
    encoding = "utf-8-sig" if spelling.encoding == "utf-8" else spelling.encoding
    if is_gzip(path):
        return gzip.open(path, "rt", encoding=encoding, errors=errors, newline="")
    return path.open(encoding=encoding, errors=errors, newline="")


def records_of(path: Path, spelling: FormatSettings) -> Iterator[tuple[int, list[str]]]:
    """Yield, for each row below the header, the number of its first line and its cells.

    Args:
        path: The file.
        spelling: Separator, encoding and marks of numbers.

    Raises:
        InputError: A record is not valid CSV.
    """
    names, header = read_header(path, spelling)
    line, size = 1 + spelling.skip, len(names)
    try:
        with open_text(path, spelling) as stream:
            _skip(stream, spelling)
            reader = csv.reader(stream, delimiter=spelling.separator, quotechar=spelling.quote, strict=True)
            for number, record in enumerate(reader):
                if "\0" in "".join(record):
                    _complain_of_bytes(path, spelling)
                if number >= header and record and (size == 1 or len(record) > 1 or record[0].strip()):
                    is_row = record[0].strip() not in spelling.drop_rows
                    if is_row and len(record) != size:
                        raise InputError(
                            f"{path}, line {line}: {len(record)} fields, but the header has {size}; correct the line"
                        )
                    if is_row:
                        yield line, record
                line = reader.line_num + 1 + spelling.skip
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: not valid CSV: {error}") from None
    except UnicodeError:
        _complain_of_bytes(path, spelling)
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _skip(stream: TextIO, spelling: FormatSettings) -> None:
    for _ in range(spelling.skip):
        stream.readline()


def _complain_of_bytes(path: Path, spelling: FormatSettings) -> NoReturn:
    """Raise InputError with the first line of a file that is not in its encoding or has a NUL byte."""
    offset = 0
    with ExitStack() as resources, _open_bytes(_in_utf8(path, spelling, resources)) as stream:
        for number, line in enumerate(stream, 1):
            files.decode(path, line, number, offset, NAME_ENCODING)
            offset += len(line)
    raise InputError(f"{path}: it was changed while it was read; try again")


def line_of(path: Path, spelling: FormatSettings, column: str, text: str | None) -> int | None:
    """Return the line of the first row with a text in a column; None if no row has it or the file cannot be read.

    The engine has read the file without line numbers, so this function reads it again. It always reads to the end, so
    its time does not depend on the line.

    Args:
        path: The file.
        spelling: Separator, encoding and marks of numbers.
        column: Name of the column.
        text: The text to find; None for an empty cell.
    """
    wanted = {text} if text is not None else {"", *spelling.missing}
    with suppress(InputError, ValueError):
        place = read_header(path, spelling)[0].index(column)
        return min((line for line, cells in records_of(path, spelling) if cells[place].strip() in wanted), default=None)
    return None


def read_header(path: Path, spelling: FormatSettings) -> tuple[list[str], int]:
    """Return the column names, and the number of records up to and including the header, blank records included.

    Args:
        path: The file.
        spelling: Separator, encoding and marks of numbers.
    """
    records = 0
    try:
        # Bytes below the header that are not UTF-8 are refused later, with their line.
        with open_text(path, spelling, "surrogateescape") as stream:
            _skip(stream, spelling)
            reader = csv.reader(stream, delimiter=spelling.separator, quotechar=spelling.quote, strict=True)
            record: list[str] = []
            for record in reader:
                records += 1
                if record:
                    break
            mark = separating(record, spelling.separator)
            first = next((cells for cells in reader if cells), []) if mark else []
    except csv.Error as error:
        raise InputError(f"{path}: not valid CSV: {error}") from None
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeError:  # UTF-16 without a byte order mark, or half a letter
        raise InputError(f"{path}: not {spelling.encoding}; {NAME_ENCODING}") from None
    if any("\ud800" <= letter <= "\udfff" for field in record for letter in field):
        raise InputError(f"{path}: the header is not {spelling.encoding}; {NAME_ENCODING}")
    if first and (len(first) > 1 or mark in first[0]):  # else the mark is a letter of a name
        raise InputError(f"{path}: the header is one column; {in_words(mark)}")
    return column_names(path, record), records
