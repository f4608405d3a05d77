"""`smc publish tables`: several tables of one's own rows, with cells hidden in all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console, files
from parties.base.report import Report
from parties.commands.options import FILE
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE
from parties.commands.publish_table import FEWEST, cell_rules
from parties.commands.rows import TABLE, choose, paths, place
from parties.commands.signature import command, option, settings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.tabulation import Tabulated


DRAWS = 3  # solutions by which it is tried to rebuild rows from what is published
MOST_UNKNOWNS = 5_000  # combinations up to which it is tried
SECONDS = 10.0


@command(
    "tables", "smc publish tables --data people.csv --cross county*benefit benefits.csv --cross county*age ages.csv"
)
def tables_command(
    source: str = option("The rows: a file, or a database's URL.", flag="--data SOURCE"),
    table: str | None = TABLE,
    crosses: tuple[tuple[str, Path], ...] = option(
        "A table and where it goes, CSV; once for each.",
        click.Tuple([str, FILE]),
        flag="--cross",
        metavar="COLUMN[*COLUMN] FILE",
        required=True,
    ),
    summed: str | None = option("Add these numbers up  [count the rows]", flag="--sum COLUMN"),
    given: CellRules | None = settings(cell_rules),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    report_file: Path | None = option("Write as JSON what was hidden and why; keep it to yourself."),
    record: Record = settings(Record),
) -> Report:
    """Publish linked tables: what one of them hides cannot be computed from the others."""
    from parties.alone.publish.hiding import linked
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.table_text import as_csv, covered
    from parties.alone.publish.hiding.tabulation import tabulate
    from parties.sources import open_rows

    outputs: dict[str, Path | None] = {f"--cross {name}": out for name, out in crosses}
    if len(outputs) < len(crosses):
        raise InputError("--cross: a table is given twice")
    check_new(outputs | {"--report": report_file}, paths(source), record.config_file, force)
    axes = [linked.axes_of(name) for name, _ in crosses]
    rules = given or CellRules(FEWEST)
    rules.check(summed is not None)
    where = place(source, table)
    choose(where, record.config_file)
    with record.of("table") as log, console.progress("counting") as status:
        with open_rows(where) as rows:
            tables = [tabulate(rows, by, across, summed, rules.largest) for by, across in axes]
        status.doing("hiding cells")
        masks, data = _hidden(axes, tables, rules, summed is not None)
        names = [summed] if summed is not None else []
        for (by, across), tabulated, mask, (_, out) in zip(axes, tables, masks, crosses, strict=True):
            texts = covered(tabulated.values, mask, tabulated.digits)
            files.write_text(out, as_csv(by, tabulated.column_names, tabulated.row_names, texts, escape_formulas))
            columns = [name for name in (by, across) if name is not None]
            log.published(where, [*columns, *names], [rules.words, f"{len(axes)} linked tables"], out)
        if summed is None:
            status.doing("trying to rebuild rows")
            data["rows_certain"] = _certain(crosses)
    report = Report(data, width=27)
    report.all_facts()
    report.save(report_file)
    report.written(*(out for _, out in crosses), report_file)
    return report


def _certain(crosses: Sequence[tuple[str, Path]]) -> int | None:
    """Return how many rows a reader of these tables can rebuild for certain: as far as it is known in some seconds.

    None if there are too many combinations of values to try.
    """
    import numpy as np

    from parties.alone.attacks import reconstruction
    from parties.alone.attacks.tables import counts_of

    counts = [count for name, out in crosses for count in counts_of(name.split("*"), out)]
    try:
        problem = reconstruction.programme(counts, most=MOST_UNKNOWNS)
        drawn = reconstruction.solutions(problem, DRAWS, np.random.default_rng(), lambda doing: None)
    except InputError:
        return None
    return int(reconstruction.certain(problem, drawn, SECONDS, lambda doing: None).sum())


def _hidden(axes: list[Any], tables: list[Tabulated], rules: CellRules, sums: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return what is hidden of each table, bool[rows, columns], and what the report says of it."""
    from parties.alone.publish.hiding import linked

    together = linked.linked(axes, tables, [rules.needs(table, sums) for table in tables])
    hidden = linked.hide(together)
    report = {
        "tables": len(tables),
        "different_cells": len(together.values),
        "by_the_rules": int(together.sensitive.sum()),
        "so_that_totals_do_not_tell": int((hidden & ~together.sensitive).sum()),
        "hidden": int(hidden.sum()),
    }
    return linked.masks(together, hidden), report
