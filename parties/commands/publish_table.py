"""`smc publish table`, `tables` and `open`: counts or sums of rows, with hidden cells that protect people."""

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
from parties.commands.rows import TABLE, chosen, paths
from parties.commands.signature import argument, command, option, settings
from parties.link.identity import load_key
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.tabulation import Tabulated

FEWEST = 3  # least rows of a visible cell, without another rule


def cell_rules(
    threshold: int | None = option("Hide cells with fewer rows than this  [3 if you give no other rule]"),
    dominance: tuple[int, float] | None = option(
        "Hide a sum if its N largest contributions exceed K% of it.", click.Tuple([int, float]), metavar="N K"
    ),
    p_percent: float | None = option("Hide a sum if others can estimate its largest contribution to within P%.", "P"),
    margin: float | None = option(
        "With --sum: others must not be able to compute a sum hidden by --threshold to within P%  [20]", "P"
    ),
) -> CellRules | None:
    """Return the rules by which cells are hidden; None if no option names one."""
    from parties.alone.publish.hiding.cell_rules import CellRules

    if all(value is None for value in (threshold, dominance, p_percent, margin)):
        return None
    if threshold is None and dominance is None and p_percent is None:
        threshold = FEWEST
    return CellRules(threshold, dominance, p_percent, 20.0 if margin is None else margin)


@command("table", "smc publish table --data people.csv --by county --across benefit --out table.csv")
def table_command(
    source: str = option("Rows: a file, or the URL of a database.", flag="--data SOURCE"),
    table: str | None = TABLE,
    by: str = option("Column whose values become the rows of the table.", "COLUMN"),
    across: str | None = option("Column whose values become the columns of the table.", "COLUMN"),
    summed: str | None = option("Column of numbers to add up  [count the rows]", flag="--sum COLUMN"),
    given: CellRules | None = settings(cell_rules),
    base: int | None = option("Round counts to multiples of this base, instead of hiding cells; not with --sum."),
    rounding: str | None = option(
        "With --base: controlled = totals stay sums; random = they may not  [controlled]",
        click.Choice(["controlled", "random"]),
    ),
    percent: str | None = option(
        "Write percentages of a published total instead of numbers.", click.Choice(["rows", "columns", "all"])
    ),
    out: Path = option("File for the published table, CSV."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    report_file: Path | None = option("Write hidden cells and reasons as JSON; keep it to yourself."),
    record: Record = settings(Record),
) -> Report:
    """Publish a table with totals. Hidden cells cannot be computed from the other cells."""
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.table_text import as_csv, percentages
    from parties.alone.publish.hiding.tabulation import tabulate
    from parties.alone.publish.reading import rows_of

    check_new({"--out": out, "--report": report_file}, paths(source), record.config_file, force)
    if base is not None:
        if given is not None:
            raise InputError("--base: rounds every cell; give either --base or rules that hide cells")
        if summed is not None:
            raise InputError("--base: rounds counts only; remove --base or --sum")
    elif rounding is not None:
        raise InputError("--rounding: needs --base; add --base NUMBER")
    if percent == "rows" and across is None:
        raise InputError(
            "--percent: without --across each row has one cell, always 100 %; give --percent columns, or --across"
        )
    rules = given or CellRules(FEWEST)
    rules.check(summed is not None)
    where = chosen(source, table, record.config_file)
    with record.of("table") as log, console.progress("counting") as status:
        with rows_of(where) as rows:
            tabulated = tabulate(rows, by, across, summed, rules.largest)
        status.doing("hiding cells" if base is None else "rounding cells")
        texts, data = _published(tabulated, rules, base, rounding, summed is not None)
        if percent is not None:
            texts = percentages(texts, percent)
        files.write_text(out, as_csv(by, tabulated.column_names, tabulated.row_names, texts, escape_formulas))
        columns = [name for name in (by, across, summed) if name is not None]
        log.published(where, columns, [rules.words if base is None else f"rounded to multiples of {base}"], out)
    report = Report(data, width=27)
    report.all_facts()
    report.save(report_file)
    report.written(out, report_file)
    return report


def _published(
    table: Tabulated, rules: CellRules, base: int | None, rounding: str | None, sums: bool
) -> tuple[list[list[str]], dict[str, Any]]:
    from parties.alone.publish.hiding import rounding as rounded
    from parties.alone.publish.hiding.suppression import hide
    from parties.alone.publish.hiding.table_text import covered

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
        texts = covered(table.values, hidden, table.digits)
    return texts, report


DRAWS = 3  # solutions drawn in the attempt to rebuild rows from the publication
MOST_UNKNOWNS = 5_000  # most combinations for this attempt
SECONDS = 10.0


@command(
    "tables", "smc publish tables --data people.csv --cross county*benefit benefits.csv --cross county*age ages.csv"
)
def tables_command(
    source: str = option("Rows: a file, or the URL of a database.", flag="--data SOURCE"),
    table: str | None = TABLE,
    crosses: tuple[tuple[str, Path], ...] = option(
        "Columns of a table, joined by *, and the CSV file to write; once per table.",
        click.Tuple([str, FILE]),
        flag="--cross",
        metavar="COLUMN[*COLUMN] FILE",
        required=True,
    ),
    summed: str | None = option("Column of numbers to add up  [count the rows]", flag="--sum COLUMN"),
    given: CellRules | None = settings(cell_rules),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    report_file: Path | None = option("Write hidden cells and reasons as JSON; keep it to yourself."),
    record: Record = settings(Record),
) -> Report:
    """Publish linked tables. Cells hidden in one table cannot be computed from the others."""
    from parties.alone.publish.hiding import linked
    from parties.alone.publish.hiding.cell_rules import CellRules
    from parties.alone.publish.hiding.table_text import as_csv, covered
    from parties.alone.publish.hiding.tabulation import tabulate
    from parties.alone.publish.reading import rows_of

    outputs: dict[str, Path | None] = {f"--cross {name}": out for name, out in crosses}
    if len(outputs) < len(crosses):
        raise InputError("--cross: a table is given twice; remove one")
    check_new(outputs | {"--report": report_file}, paths(source), record.config_file, force)
    axes = [linked.axes_of(name) for name, _ in crosses]
    rules = given or CellRules(FEWEST)
    rules.check(summed is not None)
    where = chosen(source, table, record.config_file)
    with record.of("table") as log, console.progress("counting") as status:
        with rows_of(where) as rows:
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
    """Return the number of rows that a reader of these tables can rebuild for certain, found within a time limit.

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


@command("open", "smc publish open from-a.json from-b.json --key analyst.key --out table.csv")
def open_command(
    sealed_files: tuple[Path, ...] = argument(metavar="FILE...", type=FILE, nargs=-1, required=True),
    key: Path = option("Your private key (mode 0600)."),
    out: Path = option("File for the table, CSV, private to you (mode 0600)."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
) -> Report:
    """Open a table that smc publish joint-table --to has sealed to your certificate.

    One party's file is enough. If you give both parties' files, they must be the same: then neither party has changed
    the table alone.
    """
    from parties.alone.publish.hiding.table_text import as_csv, covered
    from parties.alone.publish.sealing import sealed

    check_new({"--out": out}, [*sealed_files, key], None, force)
    private_key = load_key(key)
    first, *others = [sealed.load(path) for path in sealed_files]
    for path, other in zip(sealed_files[1:], others, strict=True):
        if other.job != first.job:
            raise InputError(f"{sealed_files[0]} and {path} are from different jobs; give files of one job")
        if other != first:
            raise InputError(
                f"{sealed_files[0]} and {path} are from one job but differ: one was changed; ask both parties"
            )
    opened = sealed.open_table(sealed_files[0], first, private_key)
    units, mask = first.units, first.mask
    texts = covered(opened.values, mask, units.digits, units.factor)
    files.write_text(out, as_csv(first.by, first.columns, first.rows, texts, escape_formulas), private=True)
    about = first.model_dump(include={"job", "by", "across", "sum", "threshold", "against", "zeros"})
    report = Report(about | {"cells": mask.size, "hidden": int(mask.sum())}, width=27)
    report.all_facts()
    report.written(out)
    return report
