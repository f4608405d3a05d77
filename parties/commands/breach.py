"""`smc breach`: register of breaches of your own data with the 72-hour term, in the audit log."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from parties.base import console, files
from parties.base.report import Report
from parties.commands.log_writing import appending, entries_of, file_of
from parties.commands.options import find_party_file, known_table, node_config, out_option
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command, option, settings
from parties.node.governance import activities, breaches
from parties.node.governance.breaches import Breach
from parties.node.records.kinds import Step
from parties.node.settings import NodeFile
from smc.errors import InputError

TOLD: dict[str, Step] = {"authority": "authority told", "people": "people told", "peer": "peer told"}
_BREACH: Any = click.argument("breach", metavar="BREACH")


@click.group("breach", epilog="Example:  smc breach list --config party.toml")
def group() -> None:
    """Keep the register of breaches (GDPR, article 33).

    Each step is an entry of the audit log, under the name of the person who types it. The peer learns nothing of it.
    """


@command("found", "smc breach found 'a laptop with patients.csv is lost' --table patients", group)
def found_command(
    what: str = argument(),
    tables: tuple[str, ...] = option("Affected table, by its name in party.toml; repeatable.", flag="--table"),
    known: str | None = option("Time of discovery by this machine's clock: 2026-11-25T14:00  [now]", "TIME"),
    file: NodeFile = settings(file_of),
) -> Report:
    """Record a new breach. The 72 hours begin when you learn of it."""
    now = datetime.now(UTC)
    since = now if known is None else _moment(known)
    if since > now:
        raise InputError("--known: is in the future; give the time of discovery")
    names = [known_table(name, file.tables) for name in tables]
    fields = {"breach": secrets.token_hex(4), "step": "found", "text": what, "tables": names}
    with appending(file) as append:
        entry = append("breach", {**fields, "known": since.isoformat(timespec="seconds")})
    (breach,) = breaches.read([entry]).values()
    return _report(breach, now)


@command("note", "smc breach note 3f2a 'the disk was encrypted'", group)
def note_command(breach: str = _BREACH, text: str = argument(), file: NodeFile = settings(file_of)) -> Report:
    """Add a finding or a measure to a breach.

    BREACH is the identifier from smc breach list, or its first digits.
    """
    return _step(file, breach, "noted", text)


@command("told", "smc breach told 3f2a authority 'by its form, number 2026/881'", group)
def told_command(
    breach: str = _BREACH,
    whom: str = argument(click.Choice(list(TOLD))),
    text: str = argument(),
    file: NodeFile = settings(file_of),
) -> Report:
    """Record a notice to the authority, the people or the peer.

    TEXT states how you gave the notice. A notice to the authority after 72 hours must also give the reasons for the
    delay.

    BREACH is the identifier from smc breach list, or its first digits.
    """
    return _step(file, breach, TOLD[whom], text)


@command("close", "smc breach close 3f2a 'nothing was read; the disk is back'", group)
def close_command(breach: str = _BREACH, text: str = argument(), file: NodeFile = settings(file_of)) -> Report:
    """Close a breach, with the reason.

    If you did not notify the authority, give the reason for that too.

    BREACH is the identifier from smc breach list, or its first digits.
    """
    return _step(file, breach, "closed", text)


@command("list", "smc breach list --config party.toml", group)
def list_command(file: NodeFile = settings(file_of)) -> Report:
    """List all breaches, with the time left to notify the authority."""
    register, now = breaches.read(entries_of(file, "breach")), datetime.now(UTC)
    report = Report([_plain(breach, now) for breach in register.values()])
    heads = ("breach", "known since (UTC)", "state", "what")
    rows = [(one.id, f"{one.known:%Y-%m-%d %H:%M}", one.state(now), one.what) for one in register.values()]
    report.listing(dict.fromkeys(heads, ""), rows, "no breach is in the log")
    return report


@command("draft", "smc breach draft 3f2a --out notice.md", group)
def draft_command(
    breach: str = _BREACH, config_file: Path | None = node_config, out: Path | None = out_option, force: bool = FORCE
) -> None:
    """Write a draft of the notice to the authority, as Markdown. Without --out, print it.

    Its sources are party.toml and the log. Facts that only people know are marked as TODO.

    BREACH is the identifier from smc breach list, or its first digits.
    """
    file = file_of(config_file)
    check_new({"--out": out}, (), find_party_file(config_file), force)
    entries = entries_of(file)
    named = breaches.named(breaches.read(entries), breach)
    text = breaches.draft(named, file, activities.read(entries), datetime.now(UTC))
    if out is None:
        print(text, end="")
    else:
        files.write_text(out, text)
        console.err.print(f"written: {out}")


def _step(file: NodeFile, beginning: str, step: Step, text: str) -> Report:
    now = datetime.now(UTC)
    before = breaches.named(breaches.read(entries_of(file, "breach")), beginning)
    if before.has("closed"):
        raise InputError(f"breach {before.id} is closed; record a new breach with smc breach found")
    with appending(file) as append:
        before.add(append("breach", {"breach": before.id, "step": step, "text": text}))
    return _report(before, now)


def _moment(text: str) -> datetime:
    """Return a time, in this machine's time zone unless the text names another."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise InputError("--known: must be a time such as 2026-11-25T14:00") from None


def _plain(breach: Breach, now: datetime) -> dict[str, Any]:
    steps = [{"at": at, "step": step, "text": text} for at, step, text in breach.steps]
    moments = {"known": breach.known.isoformat(), "due": breach.due.isoformat()}
    return {"breach": breach.id, **moments, "state": breach.state(now), "tables": breach.tables, "steps": steps}


def _report(breach: Breach, now: datetime) -> Report:
    report = Report(_plain(breach, now))
    report.line(f"{breach.id}: {breach.state(now)}; known since {breach.known:%Y-%m-%d %H:%M} UTC")
    report.lines(f"  {at[:16]}  {step}: {text}" for at, step, text in breach.steps)
    return report
