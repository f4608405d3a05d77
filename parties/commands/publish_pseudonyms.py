"""`smc publish keys`, `pseudonyms`, `restore`, `rotate`, `forget`, `records`: columns that only a key can restore."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parties.base import console, files
from parties.base.report import Report
from parties.commands.options import typed_line
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE, PLAN
from parties.commands.rows import TABLE, choose, paths
from parties.commands.rows import opened as rows_at
from parties.commands.signature import command, option, settings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.keys.keyring import Keyring


@dataclass(frozen=True)
class Keys:
    """Options that name the file of keys and the master key."""

    master: Path = option("Master key; only you may be able to read the file.")
    keys: Path = option("File of keys, encrypted with the master key.")

    def opened(self) -> AbstractContextManager[Keyring]:
        """Open the file of keys, for `with`."""
        from parties.alone.publish.keys.keyring import opened, read_master

        return opened(self.keys, read_master(self.master))


def add_to(group: click.Group) -> None:
    """Add these commands to a group."""
    for added in (keys, pseudonyms, restore, rotate, forget, records):
        group.add_command(added)


@command("keys", "smc publish keys --master master.key --keys keys.db")
def keys(of: Keys = settings(Keys)) -> None:
    """Make a file of keys, encrypted with a master key. Also make the master key if its file does not exist.

    Store the two files apart.
    """
    from parties.alone.publish.keys.keyring import make_keyring, make_master, read_master, refuse_existing

    files.check_outputs({"--keys": of.keys}, [of.master])
    refuse_existing(of.keys)
    is_new = not of.master.exists()
    key = make_master(of.master) if is_new else read_master(of.master)
    try:
        make_keyring(of.keys, key)
    except BaseException:
        if is_new:
            of.master.unlink(missing_ok=True)
        raise
    console.err.print(f"written: {of.keys}; anyone who also has {of.master} can restore all pseudonyms")


@command("pseudonyms", "smc publish pseudonyms --plan publish.toml --master master.key --keys keys.db --out rows.csv")
def pseudonyms(
    plan_file: Path = PLAN,
    of: Keys = settings(Keys),
    out: Path = option("Output file: CSV, or Parquet if its name ends in .parquet."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    record: Record = settings(Record),
) -> None:
    """Replace identifiers of a table by pseudonyms, as in the plan.

    Other columns of the plan stay unchanged. Identifiers without a pseudonym are dropped, and so are columns missing in
    the plan.
    """
    from parties.alone.publish.pseudonyms import Pseudonyms, write
    from parties.alone.publish.reading import unchanged_rows_of
    from parties.alone.publish.settings import unrecorded

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, of.master, of.keys, *paths(plan.source)], record.config_file, force)
    choose(plan, record.config_file)
    if not any(column.pseudonym for column in plan.columns.values()):
        raise InputError(f'{plan_file}: no column becomes a pseudonym; set pseudonym = "deterministic" for one')
    with (
        record.of("pseudonyms") as log,
        of.opened() as ring,
        unchanged_rows_of(plan) as rows,
        console.progress("making pseudonyms"),
    ):
        for warning in Pseudonyms(plan, ring).guessable(rows):
            console.err.print(f"warning: {warning}")
        written = write(rows, plan, ring, out, escape_formulas)
        columns = plan.columns.items()
        protection = [f"{name}: {column.pseudonym} pseudonyms" for name, column in columns if column.pseudonym]
        shown_names = [name for name, column in columns if column.shown or column.pseudonym]
        log.published(plan, shown_names, protection, out)
    console.err.print(
        f"written: {out} ({written.rows} rows); they are still personal data: the keys identify the people"
    )


@command(
    "restore",
    "smc publish restore --data rows.csv --column patient --master master.key --keys keys.db"
    ' --purpose "recall of a drug" --out restored.csv',
)
def restore(
    data: str = option("Table with pseudonyms.", "SOURCE"),
    table: str | None = TABLE,
    columns: tuple[str, ...] = option(
        "Column of pseudonyms, and its key; repeatable.", flag="--column NAME[=KEY]", required=True
    ),
    of: Keys = settings(Keys),
    purpose: str = option("Purpose, for the record."),
    out: Path = option("Output file: CSV, or Parquet if its name ends in .parquet."),
    force: bool = FORCE,
) -> None:
    """Restore the values behind pseudonyms. The use is recorded in the file of keys."""
    from parties.alone.publish import pseudonyms as made
    from parties.alone.publish.keys.keyring import user

    check_new({"--out": out}, [of.master, of.keys, *paths(data)], None, force)
    if not purpose.strip():
        raise InputError("--purpose: is empty; give the reason, which is recorded")
    wanted = {name: key or name for name, _, key in (column.partition("=") for column in columns)}
    with of.opened() as ring, rows_at(data, table) as rows, console.progress("restoring"):
        written = made.restore(rows, wanted, ring, out, purpose, user())
    lost = f"; {written.forgotten} cells of forgotten subjects are empty" if written.forgotten else ""
    console.err.print(f"written: {out} ({written.rows} rows){lost}; this is recorded")


@command("rotate", "smc publish rotate --master master.key --keys keys.db --column patient")
def rotate(
    of: Keys = settings(Keys),
    columns: tuple[str, ...] = option("Key of a column to replace by a new one; repeatable.", flag="--column KEY"),
    new_master: Path | None = option("File for a new master key, which encrypts all keys."),
) -> None:
    """Replace keys of columns, or the master key. Pseudonyms of a replaced column key stay restorable, but do not join
    with later ones."""
    from parties.alone.publish.keys.keyring import make_master

    if not columns and new_master is None:
        raise InputError("--column: give --column, --new-master, or both")
    with of.opened() as ring:
        for name in dict.fromkeys(columns):
            console.out.print(f"{name}: version {ring.rotate(name)}")
        if new_master is not None:
            ring.rewrap(make_master(new_master))
        ring.commit()
    if new_master is not None:
        console.err.print(
            f"written: {new_master}; destroy {of.master}, so that older copies of {of.keys} become useless"
        )


@command("forget", "smc publish forget --master master.key --keys keys.db --subject -")
def forget(
    of: Keys = settings(Keys),
    subject: str = option("Person as in the plan's subject column; - reads standard input."),
    table: str | None = option("Table of party.toml, for the record; with --config.", "NAME"),
    record: Record = settings(Record),
) -> None:
    """Destroy a person's key, so that their pseudonyms cannot be restored. The record does not name the person."""
    if subject == "-":
        subject = typed_line("the subject")
    if (table is None) != (record.config_file is None):
        raise InputError(
            "--config and --table: give both or neither; --table names the person's table in party.toml, for the log"
        )
    with record.of("forget", table or "") as log, of.opened() as ring:
        if not ring.forget(subject.strip()):
            raise InputError(f"{of.keys}: has no key of this person; it was never made, or is already destroyed")
        ring.commit()
        log.published(table or "")
    console.err.print(
        "the key is destroyed here, but older copies of the file still have it; destroy them, or rotate --new-master"
    )


@command("records", "smc publish records --master master.key --keys keys.db --json")
def records(of: Keys = settings(Keys)) -> Report:
    """List every restore, rotation and erasure of the keys. The list is checked for changes."""
    with of.opened() as ring:
        report = Report(ring.records(), is_foreign=True)
    for entry in report.data:
        fields = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in entry["fields"].items())
        report.line(f"{entry['number']}  {entry['at']}  {entry['what']}" + (f": {fields}" if fields else ""))
    return report
