"""Files that `smc attack` reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from parties.base.text import parts_of, quoted
from parties.commands.rows import chosen
from parties.party_file import load
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import schema
from parties.tables.delimited import MISSING, Columns
from parties.tables.texts import TextColumn
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.settings import PublishPlan
    from parties.models.load import AnyModel

LEAVE_OUT = ", or leave the column out of --columns"
SEED = 1  # seed of all draws: equal files give equal reports
MOST_ROWS = 1_000_000
NAMES = 34  # width of the names of figures


def names_of(text: str) -> list[str]:
    """Return the columns that an option names; raise InputError if it names none, or one twice."""
    names = parts_of(text)
    if not names or len(set(names)) < len(names):
        raise InputError("--columns: name at least one column, each once, separated by commas")
    return names


def cells_of(path: Path, config_file: Path | None, plan: PublishPlan | None = None) -> Columns:
    """Return the cells of a file in the form of publications: numbers with a point, `?` for missing values.

    Args:
        path: The file.
        config_file: party.toml; its table that reads this file has the formats of the cells. None: no party.toml.
        plan: Plan with the formats, if party.toml has no such table.
    """
    from parties.sources.cells import cells

    if config_file is not None:
        return _cells_at(chosen(str(path), None, config_file))
    if plan is not None:
        place = PlaceSettings(source=str(path), format=plan.format)
        place.read_columns_as(plan.formats)
        return _cells_at(place)
    return cells(path, MOST_ROWS)


def _cells_at(place: PlaceSettings) -> Columns:
    from parties.alone.publish.reading import rows_of
    from parties.sources.cells import cells_at

    return cells_at(place, MOST_ROWS, rows_of)


def comparable_cells(
    release: Columns | AnyModel, path: Path, config_file: Path | None, plan: PublishPlan | None = None
) -> Columns:
    """Return the cells of a file in the form of published rows or of a model.

    A table of party.toml maps the cells to categories of its schema: in columns that are published as categories, or
    that the model needs. It is the table that reads the file, or the only one.

    Args:
        release: The published rows, or the model.
        path: The file.
        config_file: party.toml; None to read the cells by the formats of `plan`.
        plan: Plan with the formats, if there is no party.toml.

    Raises:
        InputError: A value is outside the schema.
    """
    from parties.models.load import columns_of, schema_for
    from parties.sources.labels import labelled

    if config_file is None:
        return cells_of(path, None, plan)
    place = chosen(str(path), None, config_file)
    table = place.party_table or _only_table(place, path, config_file)
    rows = _cells_at(place)
    if table is None:
        return rows
    if isinstance(release, Columns):
        agreed = schema.load(table.schema_file)
        names = [name for name, values in agreed.attributes.items() if _are(release.values.get(name, []), values)]
    else:
        agreed = schema_for(release, table.schema_file)
        names = [name for name in (*columns_of(release), release.target) if name in agreed.attributes]
    called = {name: column.column for name, column in table.columns.items() if column.column is not None}
    there = [name for name in names if called.get(name, name) in rows.values]
    raw = [name for name in there if not _are(rows.values.get(name, []), agreed.attributes[name])]
    if not raw:
        return rows
    return replace(rows, values={**rows.values, **labelled(table.bounded_by(MOST_ROWS), agreed, raw).values})


def _only_table(place: PlaceSettings, path: Path, config_file: Path) -> TableSettings | None:
    """Return the only table of party.toml with `path` as its source; None if it leaves rows out or there are others."""
    tables = list(load(config_file).tables.values())
    if len(tables) != 1 or tables[0].is_chosen:
        return None
    table = tables[0].model_copy(update={"source": str(path), "table": None})
    place.read_as(table)
    return table


def _are(cells: Sequence[str], categories: Sequence[str]) -> bool:
    values = {*TextColumn.of(cells).texts} - {MISSING}
    return bool(values) and values <= set(categories)


def column_of(table: Columns, name: str) -> Sequence[str]:
    """Return a column of a table.

    Args:
        table: The table.
        name: Name of the column.

    Raises:
        InputError: The table has no such column.
    """
    table.require([name])
    return table.values[name]


def check_shared(name: str, known: Iterable[str], published: Iterable[str], where: Path, others: str) -> None:
    """Raise InputError if no known value of a column is published, because the attack could then find nothing.

    If either side has no value at all, nothing is compared.

    Args:
        name: Name of the column.
        known: Values that the attacker knows.
        published: Published values.
        where: File of the published values, for the message.
        others: Further remedies for the message.
    """
    mine, theirs = ({*TextColumn.of(cells).texts} - {MISSING} for cells in (known, published))
    if mine and theirs and mine.isdisjoint(theirs):
        raise InputError(
            f"column {quoted(name)}: no value of the known rows occurs in {where}: {quoted(min(mine))} and "
            f"{quoted(min(theirs))} for example; map the rows to the published categories with the --config that smc "
            f"prepare wrote for them{others}"
        )
