"""CSV files as `parties.tables.delimited` means them, but read by DuckDB or `plain`: all cells are text as spelled.

The one difference: a line of nothing but space, in a file of several columns, is an error here.
"""

from __future__ import annotations

import csv
import glob
import gzip
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from parties.base import files
from parties.base.temporary import HeldDirectory
from parties.sources.settings import FormatSettings
from parties.tables.delimited import column_names, in_words, separating
from smc.errors import InputError

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from parties.sources.databases import Scratch

CHUNK = 1 << 20  # letters that are copied at a time


def read_csv(engine: Scratch, path: Path, spelling: FormatSettings) -> ir.Table:
    """Return the file as a table of text; columns without a name are dropped. `InputError` if the header is no good.

    DuckDB reads UTF-8: of anything else it reads a copy, for its owner only, that goes when the engine is closed.
    """
    names, records = read_header(path, spelling)
    readable = path if spelling.encoding == "utf-8" else _in_utf8(engine, path, spelling)
    engine.reads.append(str(readable))
    engine.reads_slowly = True
    table = engine.backend.read_csv(
        glob.escape(str(readable)),
        columns={f"c{i}": "VARCHAR" for i in range(len(names))},
        header=False,
        skip=records,
        delim=spelling.separator,
        quote=spelling.quote,
        escape=spelling.quote,
        compression="gzip" if is_gzip(readable) else "none",
        allow_quoted_nulls=False,  # tells "" from a blank line
        strict_mode=True,
    )
    if len(names) == 1:
        table = table.filter(table.c0.notnull())
    return table.select(**{name: table[f"c{i}"] for i, name in enumerate(names) if name})


def _in_utf8(engine: Scratch, path: Path, spelling: FormatSettings) -> Path:
    """Return a copy of a file in UTF-8. `InputError` if it is not in the encoding that it should be in."""
    directory = HeldDirectory("text")
    engine.resources.callback(directory.cleanup)
    copy = Path(directory.name) / path.name
    try:
        with open_text(path, spelling) as stream, copy.open("w", encoding="utf-8", newline="") as utf8:
            shutil.copyfileobj(stream, utf8, CHUNK)
    except UnicodeError:
        raise InputError(f"{path}: not {spelling.encoding}: give another `encoding` in its format") from None
    return copy


def is_gzip(path: Path) -> bool:
    """Return whether a file is compressed by gzip, by how it begins."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_text(path: Path, spelling: FormatSettings, errors: str = "strict") -> TextIO:
    """Return the text of a CSV file, compressed by gzip or not. A byte order mark is dropped."""
    encoding = "utf-8-sig" if spelling.encoding == "utf-8" else spelling.encoding
    if is_gzip(path):
        return gzip.open(path, "rt", encoding=encoding, errors=errors, newline="")
    return path.open(encoding=encoding, errors=errors, newline="")


def records_of(path: Path, spelling: FormatSettings) -> Iterator[tuple[int, list[str]]]:
    """Yield the line in which each row below the header begins, and its cells. `InputError` if it is not valid."""
    names, header = read_header(path, spelling)
    line, size = 1, len(names)
    try:
        with open_text(path, spelling) as stream:
            reader = csv.reader(stream, delimiter=spelling.separator, quotechar=spelling.quote, strict=True)
            for number, record in enumerate(reader):
                if number >= header and record:
                    if len(record) != size:
                        raise InputError(f"{path}, line {line}: {len(record)} fields, but the header has {size}")
                    yield line, record
                line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: not valid CSV: {error}") from None
    except UnicodeDecodeError:
        _complain_of_bytes(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def _complain_of_bytes(path: Path) -> NoReturn:
    """Raise `InputError` with the first line that is not UTF-8."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            files.decode(path, line, number)
    raise InputError(f"{path}: it was changed while it was read")


def line_of(path: Path, spelling: FormatSettings, column: str, text: str | None) -> int | None:
    """Return the line of the first row with this text in a column, None for no value; None if there is none.

    A second look at a file that an engine has read, which names no lines; to its end, so that how long it takes says
    nothing of the line.
    """
    wanted = {text} if text is not None else {"", *spelling.missing}
    with suppress(InputError, ValueError):
        place = read_header(path, spelling)[0].index(column)
        return min((line for line, cells in records_of(path, spelling) if cells[place].strip() in wanted), default=None)
    return None


def read_header(path: Path, spelling: FormatSettings) -> tuple[list[str], int]:
    """Return the names of the columns, and the number of records, blank ones too, up to and with the header."""
    records = 0
    try:
        # What is not UTF-8 below the header DuckDB will find, and say in which line.
        with open_text(path, spelling, "surrogateescape") as stream:
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
    except (OSError, EOFError, UnicodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if any("\ud800" <= letter <= "\udfff" for field in record for letter in field):
        raise InputError(f"{path}: the header is not UTF-8; save the file as UTF-8")
    if first and (len(first) > 1 or mark in first[0]):  # else the mark is a letter of a name
        raise InputError(f"{path}: the header is one column; {in_words(mark)}")
    return column_names(path, record), records
