"""`smc publish keys`, `pseudonyms`, `restore`, `rotate`, `forget`, `records`: columns that only a key opens."""

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
    """The files of keys."""

    master: Path = option("The master key, that none but you can read.")
    keys: Path = option("The file of keys, wrapped by the master key.")

    def opened(self) -> AbstractContextManager[Keyring]:
        """Open the file of keys, for `with`."""
        from parties.alone.publish.keys.keyring import opened, read_master

        return opened(self.keys, read_master(self.master))


def add_to(group: click.Group) -> None:
    """Make these commands part of a group."""
    for added in (keys, pseudonyms, restore, rotate, forget, records):
        group.add_command(added)


@command("keys", "smc publish keys --master master.key --keys keys.db")
def keys(of: Keys = settings(Keys)) -> None:
    """Make a file of keys, and the master key that wraps them if it is not there yet; keep them apart."""
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
    console.err.print(f"written: {of.keys}; who has {of.master} too can restore all pseudonyms")


@command("pseudonyms", "smc publish pseudonyms --plan publish.toml --master master.key --keys keys.db --out rows.csv")
def pseudonyms(
    plan_file: Path = PLAN,
    of: Keys = settings(Keys),
    out: Path = option("The rows: CSV, or Parquet if named so."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    record: Record = settings(Record),
) -> None:
    """Write a table with pseudonyms for identifiers, as the plan says.

    Its other columns stay as they are, but for identifiers: those without a pseudonym are dropped, as are columns that
    the plan does not name.
    """
    from parties.alone.publish.pseudonyms import Pseudonyms, write
    from parties.alone.publish.settings import unrecorded
    from parties.sources import open_rows

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, of.master, of.keys, *paths(plan.source)], record.config_file, force)
    choose(plan, record.config_file)
    if not any(column.pseudonym for column in plan.columns.values()):
        raise InputError(f'{plan_file}: no column becomes a pseudonym: give one pseudonym = "deterministic"')
    with (
        record.of("pseudonyms") as log,
        of.opened() as ring,
        open_rows(plan) as rows,
        console.progress("making pseudonyms"),
    ):
        for warning in Pseudonyms(plan, ring).guessable(rows):
            console.err.print(f"warning: {warning}")
        written = write(rows, plan, ring, out, escape_formulas)
        columns = plan.columns.items()
        protection = [f"{name}: {column.pseudonym} pseudonyms" for name, column in columns if column.pseudonym]
        shown_names = [name for name, column in columns if column.shown or column.pseudonym]
        log.published(plan, shown_names, protection, out)
    console.err.print(f"written: {out} ({written.rows} rows); they are still about people: whom, the keys tell")


@command(
    "restore",
    "smc publish restore --data rows.csv --column patient --master master.key --keys keys.db"
    ' --purpose "recall of a drug" --out restored.csv',
)
def restore(
    data: str = option("A table with pseudonyms.", "SOURCE"),
    table: str | None = TABLE,
    columns: tuple[str, ...] = option("A column of them, and its key.", flag="--column NAME[=KEY]", required=True),
    of: Keys = settings(Keys),
    purpose: str = option("Why, for the record."),
    out: Path = option("The restored rows: CSV, or Parquet if named so."),
    force: bool = FORCE,
) -> None:
    """Put values back in the place of pseudonyms; that it was done is on record with the keys."""
    from parties.alone.publish import pseudonyms as made
    from parties.alone.publish.keys.keyring import user

    check_new({"--out": out}, [of.master, of.keys, *paths(data)], None, force)
    if not purpose.strip():
        raise InputError("--purpose: say why; it is put on record")
    wanted = {name: key or name for name, _, key in (column.partition("=") for column in columns)}
    with of.opened() as ring, rows_at(data, table) as rows, console.progress("restoring"):
        written = made.restore(rows, wanted, ring, out, purpose, user())
    lost = f"; {written.forgotten} cells of forgotten subjects are empty" if written.forgotten else ""
    console.err.print(f"written: {out} ({written.rows} rows){lost}; this is on record")


@command("rotate", "smc publish rotate --master master.key --keys keys.db --column patient")
def rotate(
    of: Keys = settings(Keys),
    columns: tuple[str, ...] = option("A column's key to make anew.", flag="--column KEY"),
    new_master: Path | None = option("Wrap all keys by a new master key, written here."),
) -> None:
    """Make columns' keys anew, or the master key. Older pseudonyms stay restorable, and do not join with later ones."""
    from parties.alone.publish.keys.keyring import make_master

    if not columns and new_master is None:
        raise InputError("give --column, --new-master, or both")
    with of.opened() as ring:
        for name in dict.fromkeys(columns):
            console.out.print(f"{name}: version {ring.rotate(name)}")
        if new_master is not None:
            ring.rewrap(make_master(new_master))
        ring.commit()
    if new_master is not None:
        console.err.print(f"written: {new_master}; destroy {of.master} to make older copies of {of.keys} useless")


@command("forget", "smc publish forget --master master.key --keys keys.db --subject -")
def forget(
    of: Keys = settings(Keys),
    subject: str = option("Who: the value in the plan's subject column; - reads it from standard input."),
    table: str | None = option("Of which table of party.toml, for the record; with --config.", "NAME"),
    record: Record = settings(Record),
) -> None:
    """Destroy a subject's key: none of their pseudonyms can be restored. It is on record that one was, not whose."""
    if subject == "-":
        subject = typed_line("the subject")
    if (table is None) != (record.config_file is None):
        raise InputError("--config and --table go together: of which table's subject the log shall tell")
    with record.of("forget", table or "") as log, of.opened() as ring:
        if not ring.forget(subject.strip()):
            raise InputError(f"{of.keys}: there is no key of this subject: it was never made, or is destroyed already")
        ring.commit()
        log.published(table or "")
    console.err.print(
        "the key is destroyed here; older copies of the file still hold it: destroy them, or rotate --new-master"
    )


@command("records", "smc publish records --master master.key --keys keys.db --json")
def records(of: Keys = settings(Keys)) -> Report:
    """What was done with the keys: every restore, rotation and erasure; checked for changes."""
    with of.opened() as ring:
        report = Report(ring.records(), is_foreign=True)
    for entry in report.data:
        fields = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in entry["fields"].items())
        report.line(f"{entry['number']}  {entry['at']}  {entry['what']}" + (f": {fields}" if fields else ""))
    return report
