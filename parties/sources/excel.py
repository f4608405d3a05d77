"""Sheets of Excel workbooks (.xlsx): written as CSV, which the one reader of files reads.

A cell becomes its value: a day or moment as ISO, a number with at most 15 digits, TRUE or FALSE. A number that is shown
with leading zeros keeps them. Blank rows stay blank lines, so row numbers are line numbers where no cell has a break.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from parties.base import extras
from parties.base.temporary import HeldDirectory
from parties.base.text import instead, listed
from smc.errors import InputError

DIGITS = 15  # of a number, as Excel keeps them


def is_workbook(path: Path) -> bool:
    """Return whether a file is an Excel workbook (.xlsx)."""
    import zipfile  # only where the kind of a file is looked at

    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def sheets(path: Path) -> list[str]:
    """Return the names of the visible sheets that have rows.

    Raises:
        InputError: The extra `excel` is missing, or the file cannot be read.
    """
    with _opened(path) as book:
        return [sheet.title for sheet in book.worksheets if _has_rows(sheet)]


def sheet_as_csv(path: Path, sheet: str | None, resources: ExitStack) -> Path:
    """Return a CSV file with the rows of a sheet.

    Args:
        path: The workbook.
        sheet: Name of the sheet; None for the only visible one with rows.
        resources: Deletes the file, which only its owner can read.

    Raises:
        InputError: There is no such sheet; `sheet` is None, and none or several have rows; or the file is unreadable.
    """
    directory = HeldDirectory("text")
    resources.callback(directory.cleanup)
    copy = Path(directory.name) / path.with_suffix(".csv").name
    with _opened(path) as book:
        rows = [*_rows(_chosen(path, book, sheet))]
        width = max(map(len, rows), default=0)
        with copy.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows(row + [""] * (width - len(row)) if row else row for row in rows)
    return copy


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with extras.needing(f"{path}: an Excel file"):
        import openpyxl
    warnings.filterwarnings("ignore", module="openpyxl")  # styles and pictures are not read
    try:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            yield book
    except InputError:
        raise
    except Exception as error:  # the library raises what its parts raise
        raise InputError(f"cannot read {path}: {error}; save the table as CSV") from None


def _chosen(path: Path, book: Any, name: str | None) -> Any:
    if name is not None:
        if name not in (names := [sheet.title for sheet in book.worksheets]):
            raise InputError(f"{path}: there is no sheet {name!r}{instead(name, names)}")
        return book[name]
    found = [sheet for sheet in book.worksheets if _has_rows(sheet)]
    if len(found) > 1:
        names = [sheet.title for sheet in found]
        raise InputError(
            f"{path}: there are several sheets; name one by --table, or `table` in party.toml ({listed(names)}), "
            "or save it alone"
        )
    if not found:
        raise InputError(f"{path}: no visible sheet has rows; name a hidden one by --table")
    return found[0]


def _has_rows(sheet: Any) -> bool:
    return sheet.sheet_state == "visible" and any(_rows(sheet))


def _rows(sheet: Any) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # other programs write wrong ones
    for cells in sheet.iter_rows():
        row = [_text(cell) for cell in cells]
        while row and not row[-1]:
            row.pop()
        yield row


def _text(cell: Any) -> str:
    match cell.value:
        case None:
            return ""
        case bool(flag):
            return str(flag).upper()
        case datetime() as moment if moment.time() == time() and "h" not in _shown(cell).lower():
            return moment.date().isoformat()
        case datetime() as moment:
            return moment.isoformat(" ")
        case date() | time() as value:
            return value.isoformat()
        case timedelta() as span:
            seconds = round(span.total_seconds())
            return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case int() as number:
            return str(number).zfill(len(zeros[0]) if (zeros := re.fullmatch("0+", _shown(cell))) else 0)
        case float() as number:
            return f"{number:.{DIGITS}g}"
        case text:
            return str(text)


def _shown(cell: Any) -> str:
    return str(cell.number_format)
