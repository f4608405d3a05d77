"""`smc publish table`: counts or sums of one's own rows, with cells hidden or rounded so that nobody is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console, files
from parties.commands.options import FILE, json_option
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import log_options, recording
from parties.commands.publish_options import ESCAPE
from parties.commands.rows import TABLE, choose, paths, place
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.tabulation import Tabulated

DOMINANCE = click.Tuple([int, float])


@click.command(
    "table", epilog="Example:  smc publish table --data people.csv --by county --across benefit --out table.csv"
)
@click.option("--data", "source", metavar="SOURCE", required=True, help="The rows: a file, or a database's URL.")
@TABLE
@click.option("--by", required=True, metavar="COLUMN", help="A row of the table for each of its values.")
@click.option("--across", metavar="COLUMN", help="A column of the table for each of its values.")
@click.option("--sum", "summed", metavar="COLUMN", help="Add these numbers up  [count the rows]")
@click.option("--threshold", type=int, help="Hide cells of fewer rows  [3, if no other rule is given]")
@click.option("--dominance", type=DOMINANCE, metavar="N K", help="Hide sums of which the N largest are over K%.")
@click.option("--p-percent", type=float, metavar="P", help="Hide sums whose largest could be estimated to within P%.")
@click.option("--margin", type=float, metavar="P", help="Doubt to leave about a sum of too few rows, in %  [20]")
@click.option("--base", type=int, help="Round counts to multiples of it, instead of hiding any.")
@click.option("--rounding", type=click.Choice(["controlled", "random"]), help="Do totals stay sums?  [controlled]")
@click.option("--out", type=FILE, required=True, help="The published table, CSV.")
@ESCAPE
@FORCE
@click.option("--report", "report_file", type=FILE, help="Write as JSON what was hidden and why; keep it to yourself.")
@log_options
@json_option
def table_command(
    source: str,
    table: str | None,
    by: str,
    across: str | None,
    summed: str | None,
    threshold: int | None,
    dominance: tuple[int, float] | None,
    p_percent: float | None,
    margin: float | None,
    base: int | None,
    rounding: str | None,
    out: Path,
    escape_formulas: bool,
    force: bool,
    report_file: Path | None,
    config_file: Path | None,
    purpose: str | None,
    as_json: bool,
) -> None:
    """Publish a table with totals. Cells that the rules hide stay hidden from who adds and subtracts the others."""
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.table_text import as_csv
    from parties.alone.publish.hiding.tabulation import tabulate
    from parties.sources import open_rows

    check_new({"--out": out, "--report": report_file}, paths(source), config_file, force)
    if base is not None:
        if any(value is not None for value in (threshold, dominance, p_percent, margin)):
            raise InputError("--base rounds every cell: give it, or rules by which cells are hidden")
        if summed is not None:
            raise InputError("--base is about counts: sums are hidden by rules, not rounded")
    elif rounding is not None:
        raise InputError("--rounding needs --base: the number to whose multiples counts are rounded")
    if threshold is None and dominance is None and p_percent is None:
        threshold = 3
    rules = CellRules(threshold, dominance, p_percent, 20.0 if margin is None else margin)
    rules.check(summed is not None)
    where = place(source, table)
    choose(where, config_file)
    with recording(config_file, "table", purpose) as log, console.progress("counting") as status:
        with open_rows(where) as rows:
            tabulated = tabulate(rows, by, across, summed, rules.largest)
        status.doing("hiding cells" if base is None else "rounding cells")
        texts, report = _told(tabulated, rules, base, rounding, summed is not None)
        files.write_text(out, as_csv(by, tabulated.column_names, tabulated.row_names, texts, escape_formulas))
        columns = [name for name in (by, across, summed) if name is not None]
        log.published(where, columns, [rules.words if base is None else f"rounded to multiples of {base}"], out)
    if report_file is not None:
        files.write_text(report_file, json.dumps(report, indent=2) + "\n")
    lines = (f"{name.replace('_', ' '):28}{value}\n" for name, value in report.items())
    console.tell(as_json, report, "".join(lines))
    console.err.print("written: " + ", ".join(str(path) for path in (out, report_file) if path is not None))


def _told(
    table: Tabulated, rules: CellRules, base: int | None, rounding: str | None, sums: bool
) -> tuple[list[list[str]], dict[str, Any]]:
    """Return the cells as they are published, and what the report says of them."""
    from parties.alone.publish.hiding import rounding as rounded
    from parties.alone.publish.hiding.suppression import hide
    from parties.alone.publish.hiding.table_text import HIDDEN, spelled

    report: dict[str, Any] = {"cells": table.values.size}
    if base is not None:
        rounder = rounded.randomly if rounding == "random" else rounded.controlled
        values = rounder(table.values, base)
        report |= {"base": base, "rounding": rounding or "controlled", "changed": int((values != table.values).sum())}
        texts = [[str(x) for x in line] for line in values]
    else:
        needs = rules.needs(table, sums)
        hidden = hide(table.values, table.counts, needs)
        report |= {
            "by_the_rules": int(needs.sensitive.sum()),
            "so_that_totals_do_not_tell": int((hidden & ~needs.sensitive).sum()),
            "hidden": int(hidden.sum()),
        }
        texts = [
            [HIDDEN if covered else spelled(int(x), table.digits) for x, covered in zip(line, over, strict=True)]
            for line, over in zip(table.values, hidden, strict=True)
        ]
    return texts, report
