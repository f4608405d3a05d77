"""`smc rights`: requests of people in your tables, answered and recorded without their names."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any, get_args

import click

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import csv_text, quoted
from parties.commands.log_writing import appending, entries_of, file_of
from parties.commands.options import check_outputs, find_party_file, known_table, node_config
from parties.commands.signature import argument, command, option, settings
from parties.node.records.kinds import Request
from parties.node.settings import NodeFile
from parties.sources.settings import ObjectionsSettings, TableSettings
from smc.errors import InputError

DONE_ELSEWHERE = [what for what in get_args(Request) if what in ("rectification", "erasure", "restriction")]
NO_TEXT = ("Cc", "Cs", "Zl", "Zp")  # Unicode's controls, surrogates, and separators of lines or paragraphs
AFTERWARDS = "earlier results are unchanged: smc forget --table {table} lists the results learnt from the table"


@click.group("rights", epilog="Example:  smc rights list --config party.toml")
def group() -> None:
    """Answer requests of people in your tables (GDPR, articles 15 to 21).

    Each answer is an entry of the audit log: type of request, table and your case number, never the person. The peer
    learns nothing of it.
    """


_TABLE: Any = click.option("--table", required=True, metavar="NAME", help="Name of the table in party.toml.")
_CASE: Any = click.option(
    "--case", default="", metavar="TEXT", help="Your case number, for the log; not the person's name."
)
_PERSON: Any = click.option("--person", required=True, help="Person as written in the table; - reads standard input.")


@command("access", "smc rights access --table patients --person 1747 --out answer.json", group)
def access_command(
    table: str = _TABLE,
    case: str = _CASE,
    config_file: Path | None = node_config,
    person: str = _PERSON,
    column: str | None = option(
        "Column that identifies the person  [the column of `objections`, else `person`, of the table]"
    ),
    out: Path = option("New file for the answer, which only you can read."),
    form: str = option("Output format  [json]", click.Choice(["json", "csv"]), flag="--format", default="json"),
) -> None:
    """Write all rows of a person (GDPR, articles 15 and 20).

    The rows have all columns of the source, even those that no job reads. JSON also lists the recipients of answers
    from the table, and the purposes. CSV has only the rows.
    """
    from parties.alone.rights import answer
    from parties.node.governance.activities import ARCHIVES

    file = file_of(config_file)
    settings = file.tables[known_table(table, file.tables)]
    check_outputs({"--out": out}, (), find_party_file(config_file))
    files.ensure_absent(out)
    name = column or _column(settings)
    columns, rows = answer(settings, name, _read_person(person))
    recipients, unknown = _recipients(file, table)
    document = {"table": table, "columns": columns, "rows": rows, "recipients": recipients}
    text = csv_text([columns, *rows]) if form == "csv" else json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    with appending(file) as append:
        append("rights", {"what": "access", "table": table, "case": case})
        files.create_private(out, text.encode())
    console.err.print(f"written: {out}, {len(rows):,} {'row' if len(rows) == 1 else 'rows'}")
    if archived := sum(recipient["purpose"] is None for recipient in recipients):
        console.err.print(f"{archived} jobs on the table are archived; their purposes are only in the archives")
    if unknown:
        console.err.print(
            f"{unknown} archived jobs are not among the recipients, as the log does not name their table: {ARCHIVES}"
        )


@command("object", "smc rights object --table patients --person 1747 --case 2026-14", group)
def object_command(
    table: str = _TABLE,
    case: str = _CASE,
    file: NodeFile = settings(file_of),
    person: str = _PERSON,
    withdraw: bool = option("Withdraw the objection: remove the person from the list."),
) -> Report:
    """Leave a person's rows out from now on (GDPR, article 21).

    The person becomes a line of the file in `objections` of the table. The command prints the number of the person's
    rows. A person without any row can object too.
    """
    objections = file.tables[known_table(table, file.tables)].objections
    if objections is None:
        raise InputError(
            f"tables.{table}: has no list of objections; add "
            'objections = { column = "COLUMN", file = "objections.txt" } and make the file'
        )
    who = _read_person(person)
    what = "objection withdrawn" if withdraw else "objection"
    with appending(file) as append:
        append("rights", {"what": what, "table": table, "case": case})  # from here on no other command writes
        _put(objections, who, withdraw)
    rows, about_rows = _rows_of(file.tables[table], objections.column, who)
    report = Report({"table": table, "what": what, "people": len(objections.people()), "rows": rows})
    report.line(f"noted: {what}; it takes effect when the table is next opened; the log has an entry of it")
    report.note(about_rows, always=False)
    report.note(AFTERWARDS.format(table=table))
    return report


@command("done", "smc rights done rectification --table patients --case 2026-15", group)
def done_command(
    what: str = argument(click.Choice(DONE_ELSEWHERE)),
    table: str = _TABLE,
    case: str = _CASE,
    file: NodeFile = settings(file_of),
) -> None:
    """Record a change that you made to rows at their source.

    You have corrected or erased rows, or restricted their use (articles 16 to 18). This program never changes rows.
    Give the table a new `version` if it has one.
    """
    with appending(file) as append:
        append("rights", {"what": what, "table": known_table(table, file.tables), "case": case})
    console.out.print(f"{what} recorded in the log")
    console.err.print(AFTERWARDS.format(table=table))


@command("list", "smc rights list --config party.toml", group)
def list_command(file: NodeFile = settings(file_of)) -> Report:
    """List requests and answers: time, table, your case number."""
    entries = entries_of(file, "rights")
    shown = [{"at": entry.at, **entry.fields} for entry in entries]
    report = Report([{name: value for name, value in line.items() if name != "blind"} for line in shown])
    columns = {"at (UTC)": "{at:.16}", "what": "{what}", "table": "{table}", "case": "{case}", "by": "{person}"}
    report.listing(columns, report.data, "no request is in the log")
    return report


def _rows_of(table: TableSettings, column: str, person: str) -> tuple[int | None, str]:
    """Return the number of a person's rows in our table, None if it cannot be read, and a sentence about it."""
    from parties.alone.rights import answer

    try:
        number = len(answer(table, column, person)[1])
    except InputError as error:
        return None, f"the rows of this person could not be counted: {error}"
    if not number:
        return 0, f"no row of the table is of this person now; check the spelling in its column {quoted(column)}"
    are = "row of the table is" if number == 1 else "rows of the table are"
    return number, f"{number:,} {are} of this person now"


def _read_person(person: str) -> str:
    """Return the value of --person (- reads standard input); raise InputError if it cannot be a line of a list."""
    who = (sys.stdin.read() if person == "-" else person).strip()
    unseen = all(unicodedata.category(mark)[0] in "CZ" for mark in who)  # without any visible character
    if unseen or who.startswith("#") or any(unicodedata.category(mark) in NO_TEXT for mark in who):
        raise InputError("--person: must be one line, as in the column of the table")
    return who


def _put(objections: ObjectionsSettings, who: str, withdraw: bool) -> None:
    """Add a person to the list of objections, or remove the person; raise InputError if there is nothing to change."""
    is_first = not objections.file.exists()
    if (who in (() if is_first else objections.people())) != withdraw:
        there = "is not on" if withdraw else "is already on"
        raise InputError(f"the person {there} the list {objections.file}")
    text = "" if is_first else files.read_text(objections.file)
    if withdraw:
        lines = [line for line in re.findall(r"[^\n]*\n|[^\n]+", text) if line.strip() != who]
    else:
        lines = [text, "" if not text or text.endswith("\n") else "\n", who + "\n"]
    files.write_bytes(objections.file, "".join(lines).encode(), private=True)


def _column(settings: TableSettings) -> str:
    if settings.objections is not None:
        return settings.objections.column
    if settings.person is not None:
        return settings.person.strip()
    raise InputError("--column is missing: give the column that identifies the person")


def _recipients(file: NodeFile, table: str) -> tuple[list[dict[str, Any]], int]:
    """Return the recipients of joint answers and publications from the table, by the log, and a number of unclear jobs.

    The purpose of an archived job is None. The number counts archived jobs whose table is unknown.
    """
    from parties.node.governance.activities import read

    log = read(entries_of(file))
    jobs = [job for job in log.jobs.values() if job.proposed["table"] == table and job.started]
    joint = [
        {
            "at": job.at,
            "with": job.proposed["peer"],
            "what": job.proposed["protocol"],
            "purpose": job.proposed["purpose"],
        }
        for job in jobs
    ]
    archived = [
        {"at": job.at, "with": job.peer, "what": job.protocol, "purpose": None}
        for job in log.archived
        if job.table == table
    ]
    published = [
        {
            "at": entry.at,
            "with": "readers",
            "what": f"publish {entry.fields['what']}",
            "purpose": entry.fields["purpose"],
        }
        for entry in log.published
        if entry.fields["table"] == table
    ]
    return archived + joint + published, sum(not job.table for job in log.archived)
