"""How a raw CSV file is spelled: its encoding and marks from its bytes, its dates and numbers from samples of cells."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from parties.sources.delimited import is_gzip, open_text
from parties.sources.formats import format_of
from parties.sources.settings import FormatSettings, PlaceSettings
from smc.errors import InputError

CHUNK = 1 << 20
SEPARATORS = (";", "\t", "|", ",")
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d.%m.%y", "%m/%d/%y")
CLOCKS = ("", " %H:%M:%S", "T%H:%M:%S", " %H:%M")
POINT = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d{1,2})?|[+-]?\.\d+")
COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d*)?")
CODE = re.compile(r"0\d{2,}")  # digits that are no number: a postcode, a code of three places
TIME = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?")
MOST = 0.8  # of a sample that must be of a kind: the others may be codes for a missing value

# Texts that mean no value wherever they stand.
NO_VALUE = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "--", ".", "k.A.", "n.a.", "N.A.")


def spelling_of(place: PlaceSettings) -> FormatSettings:
    """Return the encoding, separator and quote of a CSV file; the usual ones for anything else.

    `InputError` if it cannot be read.
    """
    if "://" in place.source or format_of(Path(place.source), place.table) != "csv":
        return FormatSettings()
    path = Path(place.source)
    try:
        spelling = FormatSettings(encoding=_encoding(path))
        with open_text(path, spelling) as stream:
            lines = [line for line in (stream.readline(CHUNK) for _ in range(200)) if line.strip()]
    except UnicodeError:
        raise InputError(f"{path}: neither UTF-8 nor UTF-16 nor Windows-1252: save it as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    if any("\0" in line for line in lines):
        raise InputError(f"{path}: a NUL byte; this is not a text file")
    if not lines:
        raise InputError(f"{path}: the file is empty; the first line must name the columns")
    separator, quote = _marks(lines)
    return FormatSettings(encoding=spelling.encoding, separator=separator, quote=quote)


def _encoding(path: Path) -> Literal["utf-8", "utf-16", "cp1252"]:
    """Return UTF-16 by its mark, UTF-8 if all of the file is, else what Windows writes in the West."""
    with _bytes(path) as stream:
        start = stream.read(CHUNK)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while start:
                decoder.decode(start)
                start = stream.read(CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _bytes(path: Path) -> Any:
    return gzip.open(path, "rb") if is_gzip(path) else path.open("rb")


def _marks(lines: Sequence[str]) -> tuple[Any, Any]:
    """Return the separator and the quote by which these lines have the most fields, alike in nearly all of them.

    DuckDB's own sniffer finds the same, takes seconds where this takes none, and reads UTF-8 only.
    """

    def fields(marks: tuple[str, str]) -> tuple[bool, bool, int]:
        try:
            counts = [len(record) for record in csv.reader(lines, delimiter=marks[0], quotechar=marks[1]) if record]
        except csv.Error:
            return False, False, 0
        usual = max(counts, key=counts.count)
        return counts[0] == usual > 1, counts.count(usual) >= MOST * len(counts), usual

    return max(((mark, quote) for quote in "\"'" for mark in SEPARATORS), key=fields)


FORMS = tuple(date + clock for clock in CLOCKS for date in DATES)


def date_form(samples: Sequence[str], forms: Sequence[str] = FORMS) -> str | None:
    """Return the form that all these texts have as days; the first of several. None if there is none."""
    for form in forms:
        if all(_is_date(text, form) for text in samples):
            return form
    return None


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def decimal_mark(samples: Iterable[Sequence[str]]) -> Literal[".", ","]:
    """Return the mark that the numbers in more columns are written with, from samples of each."""
    votes = {".": 0, ",": 0}
    for texts in samples:
        for mark, pattern in ((".", POINT), (",", COMMA)):
            marked = [text for text in texts if mark in text]
            votes[mark] += bool(marked) and share(texts, pattern) >= MOST
    return "," if votes[","] > votes["."] else "."


def share(texts: Sequence[str], pattern: re.Pattern[str]) -> float:
    """Return the part of these texts that have the form of a pattern, 0 of none."""
    return sum(pattern.fullmatch(text) is not None for text in texts) / len(texts) if texts else 0.0
