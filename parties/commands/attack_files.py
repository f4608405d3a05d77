"""Files that `smc attack` reads and writes, and its reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.base import console, files
from parties.base.text import printable, quoted
from parties.commands.rows import chosen
from parties.sources.settings import PlaceSettings
from parties.tables.delimited import MISSING
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.settings import PublishPlan
    from parties.tables.delimited import Columns

LEAVE_OUT = ", or leave the column out of --columns"
SEED = 1  # of what is drawn: the same report for the same files
MOST_ROWS = 1_000_000
NAMES = 34  # columns for the names of figures


def names_of(text: str) -> list[str]:
    """Return the columns that an option names. `InputError` for none, or one twice."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError("--columns: name at least one column, each once, with commas between them")
    return names


def cells_of(path: Path, config_file: Path | None, plan: PublishPlan | None = None) -> Columns:
    """Read a file as its table in party.toml is spelled, or else as a plan says, its cells as publications have them:
    numbers with a point, `?` for words that mean no value."""
    from parties.sources.cells import cells, cells_at

    if config_file is None and plan is None:
        return cells(path, MOST_ROWS)
    from parties.alone.publish.reading import rows_of

    if config_file is None and plan is not None:
        place = PlaceSettings(source=str(path), format=plan.format)
    else:
        place = chosen(str(path), None, config_file)
    return cells_at(place, MOST_ROWS, rows_of)


def column_of(table: Columns, name: str) -> list[str]:
    """Return a column. `InputError` if there is none of this name."""
    table.require([name])
    return table.values[name]


def check_shared(name: str, known: Iterable[str], published: Iterable[str], where: Path, others: str) -> None:
    """Raise `InputError` if no known value occurs among the published ones: nothing would be found, whatever they tell.

    Where either has no value at all nothing is compared, which is no mistake. `others` are other ways to mend it.
    """
    mine, theirs = ({cell for cell in cells if cell != MISSING} for cells in (known, published))
    if mine and theirs and mine.isdisjoint(theirs):
        raise InputError(
            f"column {quoted(name)}: no value of the known rows occurs in {where}: {quoted(min(mine))} and "
            f"{quoted(min(theirs))} for example; map the rows to the published categories, as by the --config that smc "
            f"prepare wrote for them{others}"
        )


def write_csv(path: Path, header: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    """Write lines for the owner of the rows alone."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    files.write_text(path, stream.getvalue(), private=True)


def tell(as_json: bool, report: dict[str, Any], lines: Sequence[tuple[str, str]]) -> None:
    """Print a report: a line for every figure, or JSON."""
    console.tell(as_json, report, "".join(f"{printable(f'{name:{NAMES}} {value}')}\n" for name, value in lines))
