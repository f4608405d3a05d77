"""`smc audit`: show, verify and export the records of a node.

The node may be running, except for `renew`, `archive` and `seal`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from cryptography import x509

from parties import party_file
from parties.base import console, files, keyfile
from parties.base.report import Report
from parties.base.settings import required
from parties.base.text import listed, printable, quoted
from parties.commands.audit_processing import processing
from parties.commands.audit_review import review
from parties.commands.options import (
    FOLDER,
    Between,
    find_party_file,
    new_secret,
    node_config,
    out_option,
    require_confirmation,
    required_party_file,
)
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command, option, settings
from parties.link.identity import read_certificate, short_fingerprint
from parties.node.records import audit, database, export, gaps, marker, sealed, shipped, sidecar_files
from parties.node.records.chain import STAYS, Checked, check, cross_check
from parties.node.settings import NodeFile
from parties.operator.entries import fields_in_words
from parties.operator.interface import AuditEntry
from parties.party_file import load, peer_files
from smc.errors import InputError

FORGOTTEN = (
    "later revocations are lost, and jobs continue with {peers}: revoke again each certificate that you do not trust "
    "(smc identity revoke, or party.toml); check smc operator list if accounts were rolled back too"
)
MOST_SHOWN = 10  # most problems shown if the file may be a wrong one
_STATE: Any = click.option(
    "--state", "state_directory", type=FOLDER, help="State directory of the node  [as in --config]"
)


@dataclass(frozen=True)
class OwnRecords:
    """Records of the node of a party.toml."""

    config_file: Path | None = node_config

    @property
    def path(self) -> Path:
        """Path of the party's file."""
        return required_party_file(self.config_file)

    @property
    def place(self) -> Path:
        """Path of the database with the records."""
        return party_file.state_directory(self.path) / database.FILE_NAME

    @property
    def file(self) -> NodeFile:
        """Content of this party's `party.toml`."""
        from parties.node.settings import load

        return load(self.path)

    @contextmanager
    def writing(self) -> Iterator[tuple[audit.AuditLog, NodeFile]]:
        """Open the existing log for writing, and yield it with party.toml; another key may have signed the log."""
        from parties.commands.log_writing import file_of
        from parties.commands.publish_log import log_of

        file = file_of(self.config_file)
        with database.reading(self.place):  # the log must exist
            pass
        with log_of(file, check_end=False) as (connection, log), connection:
            yield log, file


def _database(config_file: Path | None = node_config, state_directory: Path | None = _STATE) -> Path:
    if state_directory is not None:
        return state_directory / database.FILE_NAME
    return OwnRecords(required_party_file(config_file, " or --state DIRECTORY")).place


@click.group("audit", epilog="Example:  smc audit verify --config party.toml")
def group() -> None:
    """Verify, show and export the records of a node."""


group.add_command(processing)
group.add_command(review)


@command("verify", "smc audit verify --config party.toml", group)
def verify_command(
    config_file: Path | None = node_config,
    state_directory: Path | None = _STATE,
    export_file: Path | None = option("Check this exported log instead."),
    archives: tuple[Path, ...] = option(
        "File of archived jobs: check their content too; repeatable.", flag="--archive"
    ),
    certificate: Path | None = option("Certificate of the owner of the log  [as in --config]"),
    against: Path | None = option("The peer's exported log: check that neither log contradicts a signature."),
    peer_certificate: Path | None = option("The peer's certificate  [as in --config]"),
) -> Report:
    """Verify that the records of a node are unchanged.

    In the log, no entry may be changed, moved, removed or inserted. In a state directory, the jobs and the other files
    are checked too. Exit code 0 if all records are whole, 2 if not. Each problem is printed on its own line.
    """
    from parties.node.log import integrity

    # an auditor verifies an export with the certificate that comes with it
    if export_file is None and certificate is None:
        config_file = find_party_file(config_file)
    link = load(config_file).link
    owner = read_certificate(required(certificate or link.certificate, "link.certificate"))
    peers = [read_certificate(path) for path in ([peer_certificate] if peer_certificate else peer_files(config_file))]
    other, place = "", None if export_file is not None else _database(config_file, state_directory)
    archive = export.read_archives(archives, lambda path: sidecar_files.read_archive(path, place))
    with console.progress("verifying"):
        if export_file is not None:
            checked = check(*export.read_lines(export_file), owner, peers, archive=archive)
        elif place is not None:
            with database.reading(place) as connection:
                checked = integrity.verify(connection, owner, peers, place.parent, archive)
                other = audit.other_certificate(database.signed_head(connection), owner)
    if against is not None:
        if len(peers) != 1:
            several = (
                ": there are several peers, say whose log it is" if peers else ", or peer under [link] in --config"
            )
            raise InputError(f"--against needs --peer-certificate{several}")
        peer = peers[0]
        theirs = check(*export.read_lines(against), peer, [owner])
        checked.problems.extend(f"{against}: {problem}" for problem in theirs.problems)
        checked.problems.extend(cross_check(checked, owner, theirs, peer))
    if other:
        console.err.print(other)
    report = _verdict(checked, owner)
    if against is not None and not report.failure:
        report.line(f"peer:  {against} is whole; neither log contradicts what its owner signed")
    return report


@command("show", "smc audit show --config party.toml --last 50", group)
def show_command(
    place: Path = settings(_database),
    last: int = option("Number of entries  [20]", click.IntRange(1, 10**9), default=20),
) -> Report:
    """Show the last entries."""
    with database.reading(place) as connection:
        entries = [audit.entry(row) for row in reversed(database.last_rows(connection, last))]
    report = Report([entry.model_dump(mode="json") for entry in entries], is_foreign=True)
    report.line("entry  at (UTC)             kind          job       fields")
    report.lines(map(_line, entries))
    if hidden := entries[0].number - 1 if entries else 0:
        what = "1 earlier entry is" if hidden == 1 else f"{hidden:,} earlier entries are"
        report.note(f"{what} not shown: --last {hidden + last} shows all", always=False)
    return report


@command("export", "smc audit export --config party.toml --out audit.jsonl", group)
def export_command(
    config_file: Path | None = node_config,
    state_directory: Path | None = _STATE,
    form: str = option(
        "Output format: jsonl, which can be verified, or csv  [jsonl]",
        click.Choice(["jsonl", "csv"]),
        flag="--format",
        default="jsonl",
    ),
    archive: Path | None = option("Write this file of archived jobs instead, decrypted."),
    out: Path | None = out_option,
    force: bool = FORCE,
) -> None:
    """Export all entries and the signed head, for an auditor."""
    place = _database(config_file, state_directory)
    inputs = [place, *([] if archive is None else [archive])]
    check_new({"--out": out}, inputs, find_party_file(config_file), force)
    if archive is not None:
        if form == "csv":
            raise InputError("--format csv: an archive is lines of JSON; remove --format csv")
        text = files.decode(archive, sidecar_files.read_archive(archive, place))
    else:
        with database.reading(place) as connection:
            rows = database.rows(connection)
            text = export.to_csv(rows) if form == "csv" else export.to_lines(rows, database.signed_head(connection))
    if out is None:
        print(text, end="")
    else:
        files.write_text(out, text, private=True)
        console.err.print(f"written: {out}")


@command("renew", "smc audit renew --config party.toml --former keys/a-2026.crt", group)
def renew_command(
    records: OwnRecords = settings(OwnRecords), former: Path = option("Certificate that has signed the log so far.")
) -> None:
    """Continue the log with a new certificate.

    The new certificate is the one in --config. The log must be whole. Stop the node first.
    """
    with records.writing() as (log, file), files.lock(file.node.state / "lock"):
        renewed = log.renew(read_certificate(former))
    signer = read_certificate(required(file.link.certificate, "link.certificate"))
    console.out.print(f"entry {renewed.number}: signed with {short_fingerprint(signer)} from here on")


@command("shipped", "smc audit shipped --config party.toml", group)
def shipped_command(records: OwnRecords = settings(OwnRecords)) -> Report:
    """Show how far the log is shipped to each target.

    The targets are the [[records.ship]] of --config. The node may be running.
    """
    place, targets = records.place, records.file.records.ship
    with database.reading(place) as connection:
        last = max((row.number for row in database.last_rows(connection, 1)), default=0)
        known = {target.called: shipped.of(connection, target.called) for target in targets}
    head = {target.called: {"target": target.called, "to": target.where, "entries": last} for target in targets}
    report = Report([fields | known[name]._asdict() for name, fields in head.items()])
    if not targets:
        report.line("the log is shipped nowhere; to ship it, name a target as [[records.ship]] in party.toml")
    for name, at in known.items():
        behind = f"{last - at.number} behind" if last > at.number else "has all"
        text = f"{name}: entry {at.number} of {last}, {behind}; last shipped: {at.at or 'never'}"
        report.line(text + (f"; not shipped now: {at.why}" if at.why else ""))
    return report


@command("gaps", "smc audit gaps received.jsonl older.log", group)
def gaps_command(
    received: tuple[Path, ...] = argument(required=True),
    first: int = option("First expected entry; earlier ones are elsewhere  [1]", click.IntRange(1), default=1),
) -> Report:
    """Find gaps in the received copy of a log.

    Give the files of shipped entries, in any order. Entries may have the prefix of a syslog server. Exit code 0 if the
    entries are one chain, 2 if an entry is missing, cut or changed. Each problem is printed on its own
    line.
    """
    all_received = gaps.read(received, first)
    state = audit.state(Checked(problems=all_received.problems))
    last = max(all_received.rows, default=0)
    head = {"number": last, "hash": all_received.rows[last].hash} if last else None
    whole = {"ok": state.ok, "problems": state.problems, "entries": len(all_received.rows)}
    report = Report({**whole, "repeats": all_received.repeats, "empty": all_received.empty, "head": head})
    if head is not None and state.ok:
        report.line(f"no gap: entries {first} to {last}; {all_received.repeats} came more than once")
        if all_received.empty:
            report.line(
                f"empty:  {all_received.empty} without content: archived before they were shipped, or removed since"
            )
        report.line(f"last:   entry {last}, hash {head['hash']}")
    else:
        report.lines(state.problems[:MOST_SHOWN])
        if (more := len(state.problems) - MOST_SHOWN) > 0:
            report.line(f"and {more:,} more: --json names all")
    if not state.ok:
        report.failure = InputError(f"the received entries are not the whole log: {printable(state.problems[0])}")
    return report


@command("archive", "smc audit archive --config party.toml --days 365", group)
def archive_command(
    records: OwnRecords = settings(OwnRecords),
    days: int | None = option("Minimum age in days since the job ended  [as in party.toml]", click.IntRange(0, 36525)),
    out: Path | None = option("New archive file  [in the state directory]"),
    yes: bool = option("With --days 0: archive all ended jobs without a question."),
) -> None:
    """Move old jobs from the node's database to a file.

    Results and texts move to the file. Spent budgets stay in the database. You can verify the log with or without the
    file. A running node does this daily, for jobs older than retention_days. Stop the node before this command.
    """
    from parties.node import peers
    from parties.node.log.jobs import Jobs
    from parties.node.log.node_log import NodeLog
    from parties.node.log.retention import Retention
    from parties.node.log.spendings import Spendings
    from parties.node.offers import Offers

    place, file = records.place, records.file
    if out is not None:
        files.ensure_absent(out)
    if days == 0 and not yes:
        ends = "--days 0: all ended jobs move to the archive, and their results are no longer shown."
        require_confirmation([ends], "Archive all of them?", "nothing was archived")
    known = peers.Peers([who for who, _ in peers.reached(file)])
    sidecar_files.require_sealed(place, file.node.sealed)
    with database.reading(place):  # the log must exist
        pass
    with files.lock(place.parent / "lock"), database.usable(place), closing(database.connect(place)) as connection:
        _sweep(place, connection)
        jobs = Jobs(NodeLog(connection, known), {}, lambda _: None)
        jobs.check(place.parent / marker.FILE_NAME)
        limit = Offers.of(file).kept if days is None else lambda _: days
        retention = Retention(jobs, Spendings(jobs))
        archived = retention.archive(limit, place.parent / sidecar_files.ARCHIVES, out, file.node.emergency)
    console.out.print("no job is old enough" if archived is None else printable(f"archived: {archived}"))
    if not retention.overwritten:
        console.err.print(
            printable(f"{place}-wal may still contain archived data, as another process reads it; run this again later")
        )


@command("seal", "smc audit seal --config party.toml", group)
def seal_command(
    records: OwnRecords = settings(OwnRecords),
    passphrase_file: Path | None = option(
        "File whose first line is the new passphrase; - = standard input.", flag="--passphrase-file"
    ),
    remove: bool = option("Remove the encryption."),
) -> None:
    """Encrypt a node's records, or change the passphrase.

    The records are the database with jobs and log, the archives, the operators' accounts and the log's marker. Commands
    and node look for the passphrase in systemd's credential node.passphrase, then in the file node.passphrase beside
    the database. Else they ask at the terminal. Stop the node first.
    """
    if remove and passphrase_file is not None:
        raise InputError("--passphrase-file: sets a passphrase, but --remove removes it; give one of the two")
    place, file = records.place, records.file
    if remove and not place.exists():
        raise InputError(f"--remove: there is no database {place}")
    if remove and file.node.sealed:
        raise InputError(f"--remove: {records.path} has node.sealed = true; remove that line first")
    word = "" if remove else new_secret("passphrase", passphrase_file)
    with database.usable(place):
        with closing(_to_seal(place, word)) as connection, files.lock(place.parent / "lock"):
            _sweep(place, connection)
        with files.lock(place.parent / "lock"):
            others = sidecar_files.seal(place, word)
    what = "not encrypted" if remove else "encrypted"
    console.out.print(printable(f"database      {place}   ({what})"))
    for other in others:
        console.out.print(printable(f"beside it     {other}   ({what})"))
    if not remove and not file.node.sealed:
        console.err.print(
            "set sealed = true under [node] in party.toml, so that the node refuses an unencrypted database"
        )
    passphrase = keyfile.first_line(place.with_suffix(keyfile.ENDING))
    if passphrase is not None and passphrase[0] != word:
        what = "remove it" if remove else "replace it by the new one"
        console.err.print(
            printable(f"the passphrase {passphrase[1]} is the old one: {what}, or the node does not start")
        )


@command("accept-rollback", "smc audit accept-rollback --config party.toml --peer b", group)
def accept_rollback_command(
    records: OwnRecords = settings(OwnRecords),
    peer: str | None = option("Accept the loss for this peer only  [all]"),
    lost: float | None = option(
        "Upper bound on the epsilon that the lost jobs spent on a table  [the peer's whole share]",
        Between(0),
        metavar="EPSILON",
    ),
    lost_delta: float | None = option(
        "Upper bound on the delta that the lost jobs spent on a table  [the peer's whole share; 0 with --lost 0]",
        Between(0, 1, max_open=True),
        metavar="DELTA",
    ),
    lost_bits: int | None = option(
        "Upper bound on the exact bits that the lost jobs opened on a table  [the peer's whole share]",
        click.IntRange(0),
    ),
) -> None:
    """Continue although records were rolled back.

    Entries missing in your log, or in a peer's, are lost. Both operators must accept the loss. If your log lacks
    entries, jobs with the peer may have spent an unknown amount. The command therefore charges the peer's whole share
    of each budget. Use --lost, --lost-delta and --lost-bits to charge less. Before you accept, revoke
    again the certificates whose revocation your log has lost. The node may be running.
    """
    from parties.node import peers
    from parties.node.starting import rollback

    with records.writing() as (log, file):
        open_ones = [fields for fields in log.rollbacks() if peer in (None, fields["peer"])]
        if not open_ones:
            raise InputError(f"there is no rollback to accept{'' if peer is None else f' with {quoted(peer)}'}")
        entries = [log.append("rollback accepted", None, fields) for fields in open_ones]
        ours, known = [fields for fields in open_ones if fields["whose"] == "us"], {}
        if ours:
            known = {who.peer_name: who for who, _ in peers.reached(file)}
            for name in dict.fromkeys(fields["peer"] for fields in ours):
                if name in known:  # otherwise no job with this peer can run
                    entries += rollback.charge(log, known[name], file.tables, lost, lost_bits, lost_delta)
    for entry in entries:
        if entry.kind in STAYS:
            what = f"{entry.fields['bits']} bits" if entry.kind == "counted" else "the possible spending of lost jobs"
            console.out.print(
                printable(
                    f"entry {entry.number}: table {entry.fields['table']}: {what} charged to {entry.fields['peer']}"
                )
            )
            continue
        whose = "our log" if entry.fields["whose"] == "us" else f"the log of {entry.fields['peer']}"
        console.out.print(printable(f"entry {entry.number}: {whose} continues without entry {entry.fields['number']}"))
    if ours:
        console.err.print(printable(FORGOTTEN.format(peers=listed(known) or "all peers")))


def _to_seal(place: Path, word: str) -> sqlite3.Connection:
    """Open a database with its present passphrase, or with `word` if an interrupted run has set that.

    The database is created if it is missing.
    """
    try:
        return database.connect(place, plain=True)
    except InputError as error:
        if not (word and sealed.is_sealed(place)):
            raise
        sealed.know(place, word)
        with suppress(InputError):
            return database.connect(place, plain=True)
        raise error from None


def _sweep(place: Path, connection: sqlite3.Connection) -> None:
    """Remove the files that killed runs have left beside the records, and print their names."""
    for left in sidecar_files.sweep(place, connection):
        console.err.print(printable(f"removed: {left}, left by a killed run"))


def _verdict(checked: Checked, owner: x509.Certificate) -> Report:
    state = audit.state(checked)
    last = max(checked.hashes, default=0)
    head = {"number": last, "hash": checked.hashes[last]} if last else None
    archived = {"archived": checked.archived, "read": checked.filled}
    report = Report({**state.model_dump(), "head": head, "statements": len(checked.statements), **archived})
    if not state.ok:
        report.lines(state.problems)
        report.failure = InputError(f"the records are not whole: {printable(state.problems[0])}")
        return report
    signed = f", {len(checked.statements)} signed by both parties" if checked.statements else ""
    report.line(f"whole: {state.entries} entries{signed}")
    if checked.archived:
        there = f"the content of {checked.filled} was available and checked"
        report.line(f"archived: {checked.archived} of the entries; {there}")
    report.line(f"head:  entry {last}, hash {checked.hashes[last]}, signed by {short_fingerprint(owner)}…")
    return report


def _line(entry: AuditEntry) -> str:
    at = entry.at[:19].replace("T", " ")
    fields = "; ".join(f"{name}: {words}" for name, words in fields_in_words(entry))
    return f"{entry.number:5}  {at:19}  {entry.kind:12}  {(entry.job or '')[:8]:8}  {fields}".rstrip()
