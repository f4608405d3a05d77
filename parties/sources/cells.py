"""A party's own file as text, column by column, whatever it is: CSV as it stands, Parquet as a source spells its cells.

What a command reads once, from the first row to the last. A node's tables are asked where they are, see `source`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from parties.base.extras import require
from parties.sources.formats import format_of
from parties.sources.settings import FormatSettings, PlaceSettings
from parties.tables import delimited
from parties.tables.delimited import MISSING, Columns
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery


def cells(path: Path, max_rows: int | None = None) -> Columns:
    """Return the file's cells as text; an empty one and NULL are `?`. Columns that hold no categories are named as
    unfit.

    `InputError` for what is neither a CSV file (see `delimited.columns`) nor Parquet, for more than `max_rows` rows, or
    if what reads Parquet is not installed.
    """
    if format_of(path, None) != "parquet":
        return delimited.columns(path, max_rows)
    require(f"{path}: Parquet", "ibis", "duckdb", "pyarrow")
    return _queried(PlaceSettings(source=str(path.absolute())), max_rows)


def cells_at(
    place: PlaceSettings, max_rows: int | None = None, opened: Callable[[PlaceSettings], RowQuery] | None = None
) -> Columns:
    """Return the same of the file at a place, spelled as the party's table there, without rows that it leaves out.

    `opened` opens the rows, if it is done in another way than by `open_rows`.
    """
    plain = place.chosen_as is None and place.spelling == FormatSettings()
    return cells(Path(place.source), max_rows) if plain else _queried(place, max_rows, opened)


def _queried(
    place: PlaceSettings, max_rows: int | None, opened: Callable[[PlaceSettings], RowQuery] | None = None
) -> Columns:
    from parties.sources.opening import open_rows

    path = Path(place.source)
    with (opened or open_rows)(place) as rows:
        rows.engine.backend.raw_sql("SET preserve_insertion_order = true")
        unfit = {name: problem for name in rows.types if (problem := rows.unfit(name)) is not None}
        names = [name for name in rows.types if name and name not in unfit]
        columns: dict[str, list[str]] = {name: [] for name in names}
        query = rows.spelled(names)
        number = 0
        for batch in rows.engine.batches(query) if names else ():
            number += batch.num_rows
            if max_rows is not None and number > max_rows:
                raise InputError(f"{path}: more than {max_rows} rows, the agreed bound (max_rows)")
            for position, name in enumerate(names):
                columns[name].extend(text or MISSING for text in batch.column(position).to_pylist())
    return Columns(path, columns, range(1, number + 1), unit="row", unfit=unfit)
