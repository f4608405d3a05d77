"""CSV files as `parties.tables.delimited` means them, but read by DuckDB or `plain`: all cells are text as spelled.

The one difference: a line of nothing but space, in a file of several columns, is an error here.
"""

from __future__ import annotations

import csv
import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.tables.delimited import column_names
from smc.errors import InputError

if TYPE_CHECKING:
    import ibis.expr.types as ir


def read_csv(backend: Any, path: Path) -> ir.Table:
    """Return the file as a table of text; columns without a name are dropped. `InputError` if the header is no good."""
    names, records = read_header(path)
    table = backend.read_csv(
        glob.escape(str(path)),
        columns={f"c{i}": "VARCHAR" for i in range(len(names))},
        header=False,
        skip=records,
        delim=",",
        quote='"',
        escape='"',
        allow_quoted_nulls=False,  # tells "" from a blank line
        strict_mode=True,
    )
    if len(names) == 1:
        table = table.filter(table.c0.notnull())
    return table.select(**{name: table[f"c{i}"] for i, name in enumerate(names) if name})


def read_header(path: Path) -> tuple[list[str], int]:
    """Return the names of the columns, and the number of records, blank ones too, up to and with the header."""
    records = 0
    try:
        # What is not UTF-8 below the header DuckDB will find, and say in which line.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            for record in csv.reader(stream, strict=True):
                records += 1
                if record:
                    break
            else:
                record = []
    except csv.Error as error:
        raise InputError(f"{path}: not valid CSV: {error}") from None
    if any("\ud800" <= letter <= "\udfff" for field in record for letter in field):
        raise InputError(f"{path}: the header is not UTF-8; save the file as UTF-8")
    return column_names(path, record), records
