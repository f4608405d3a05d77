"""`smc publish open`: read a table that two parties have sealed to one's own key."""

from __future__ import annotations

from pathlib import Path

from parties.base import files
from parties.base.report import Report
from parties.commands.options import FILE
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_options import ESCAPE
from parties.commands.signature import argument, command, option
from parties.link.identity import load_key
from smc.errors import InputError


@command("open", "smc publish open from-a.json from-b.json --key analyst.key --out table.csv")
def open_command(
    sealed_files: tuple[Path, ...] = argument(metavar="FILE...", type=FILE, nargs=-1, required=True),
    key: Path = option("Your own key, for your eyes only (mode 0600)."),
    out: Path = option("The table, CSV, for your eyes only (mode 0600)."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
) -> Report:
    """Read a table that smc publish joint-table --to has sealed to your certificate.

    One party's file is enough. Ask both for theirs: they must be the same, and then neither party has changed it alone.
    """
    from parties.alone.publish.hiding.table_text import as_csv, covered
    from parties.alone.publish.sealing import sealed

    check_new({"--out": out}, [*sealed_files, key], None, force)
    private_key = load_key(key)
    first, *others = [sealed.load(path) for path in sealed_files]
    for path, other in zip(sealed_files[1:], others, strict=True):
        if other.job != first.job:
            raise InputError(f"{sealed_files[0]} and {path} are not of one job")
        if other != first:
            raise InputError(f"{sealed_files[0]} and {path} are of one job, but not the same: one was changed")
    opened = sealed.open_table(sealed_files[0], first, private_key)
    units, mask = first.units, first.mask
    texts = covered(opened.values, mask, units.digits, units.factor)
    files.write_text(out, as_csv(first.by, first.columns, first.rows, texts, escape_formulas), private=True)
    about = first.model_dump(include={"job", "by", "across", "sum", "threshold", "against", "zeros"})
    report = Report(about | {"cells": mask.size, "hidden": int(mask.sum())}, width=27)
    report.all_facts()
    report.written(out)
    return report
