"""A party's own file of any format as text, column by column.

Commands that read cells once, from first to last row, use this module. Commands that count rows use `source`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from parties.sources.delimited import PLAIN, csv_columns
from parties.sources.formats import format_of
from parties.sources.settings import PlaceSettings
from parties.tables.delimited import MISSING, Columns
from parties.tables.rows import Table, encoded
from parties.tables.schema import Schema
from parties.tables.texts import Gathered, encode
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery


def cells(path: Path, max_rows: int | None = None) -> Columns:
    """Return the file's cells as text; an empty cell and NULL are `?`.

    Columns that cannot hold categories are listed as unfit.

    Args:
        path: CSV or Parquet file.
        max_rows: Largest allowed number of rows; None for any number.

    Raises:
        InputError: The file cannot be read, or has more than `max_rows` rows.
    """
    if format_of(path, None) == "csv":
        return csv_columns(path, PLAIN, max_rows)
    return cells_at(PlaceSettings(source=str(path.absolute())), max_rows)


def load(path: Path, schema: Schema, target: str, max_rows: int) -> Table:
    """Return the rows of a file whose cells are spelled exactly as the values of the schema.

    Args:
        path: CSV or Parquet file.
        schema: The public schema.
        target: Name of the class column.
        max_rows: Largest allowed number of rows.

    Raises:
        InputError: The file cannot be read or has too many rows, or a cell is not a value of the schema.
    """
    return encoded(cells(path, max_rows), schema, target)


def cells_at(
    place: PlaceSettings, max_rows: int | None = None, opened: Callable[[PlaceSettings], RowQuery] | None = None
) -> Columns:
    """Return a file's cells as text, without rows that the table leaves out. Raise InputError beyond `max_rows`.

    Args:
        place: The file or table, its spelling and its row filter.
        max_rows: Largest allowed number of rows; None for any number.
        opened: Function that opens the rows; None for `open_rows`.
    """
    path = Path(place.source)
    plain = place.chosen_as is None and not place.derives and (opened is None or place.spelling == PLAIN)
    if "://" not in place.source and plain and format_of(path, place.table) == "csv":
        return csv_columns(path, place.spelling, max_rows)
    from parties.sources.opening import open_rows

    with (opened or open_rows)(place) as rows:
        rows.engine.backend.raw_sql("SET preserve_insertion_order = true")
        unfit = {name: problem for name in rows.types if (problem := rows.unfit(name)) is not None}
        names = [name for name in rows.types if name and name not in unfit]
        columns = {name: Gathered(lambda text: text or MISSING) for name in names}
        query = rows.spelled(names)
        number = 0
        for batch in rows.engine.batches(query) if names else ():
            number += batch.num_rows
            if max_rows is not None and number > max_rows:
                raise InputError(f"{path}: more than {max_rows} rows, the agreed bound; raise max_rows")
            for column, cells in zip(columns.values(), batch.columns, strict=True):
                column.add(*encode(cells))
    values = {name: column.column() for name, column in columns.items()}
    return Columns(path, values, range(1, number + 1), unit="row", unfit=unfit)
