"""The format of a file, recognised by its first bytes, not by its name."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Literal, TypeAlias

from parties.base.files import read_bytes, refuse_other, require_regular
from parties.sources.excel import is_workbook
from smc.errors import InputError

Format: TypeAlias = Literal["pattern", "folder", "duckdb", "excel", "parquet", "csv"]


def format_of(path: Path, table: str | None) -> Format:
    """Return the format of a source, such as csv or parquet.

    Args:
        path: The file, folder or pattern.
        table: Table in the file; None if none is named.

    Raises:
        InputError: The file cannot be read, or `table` names a table in a format without tables.
    """
    if not path.exists() and glob.has_magic(str(path)):
        return "pattern"
    if path.is_dir():
        return "folder"
    require_regular(path)
    start = read_bytes(path, 64)
    if start.startswith(b"PK") and is_workbook(path):
        return "excel"
    if path.suffix.lower() == ".xlsx":
        raise InputError(f"{path}: is broken or no workbook; save it again in Excel, or the table as CSV")
    refuse_other(path, start)
    if start[8:12] == b"DUCK":
        return "duckdb"
    if table is not None:
        raise InputError(
            f"{path}: `table` names a table of a database, but this is a CSV or Parquet file; remove `table`"
        )
    return "parquet" if start.startswith(b"PAR1") else "csv"
