"""The one verdict on whether what a node keeps is whole: its log, and all that stands beside the log.

`smc audit verify`, the check before an upgrade, the start of a node and its page all ask here. The log's chain, head
and signatures are checked first. Then come the log's marker and the people's accounts. Each job's row is compared with
the job's entries. At last the seal sees any other change of a table.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from cryptography import x509

from parties.node.log import consistency, store
from parties.node.records import audit, database, marker, seal
from parties.node.records.beside import Beside
from parties.node.records.chain import Archive, Checked
from parties.operator.accounts import FILE_NAME as ACCOUNTS
from parties.operator.accounts import content
from parties.operator.interface import AuditEntry
from smc.errors import InputError

BY_COMMANDS = ("reviewed",)  # entries about a job that a command writes, beside the node


def verify(
    connection: sqlite3.Connection,
    owner: x509.Certificate,
    peers: Collection[x509.Certificate] = (),
    state: Path | None = None,
    archive: Archive | None = None,
) -> Checked:
    """Check all that a node keeps.

    Args:
        connection: the database; it is only read.
        owner: the certificate of the log's owner.
        peers: those of its peers; their signatures are checked.
        state: the state directory; None leaves the files beside the database out.
        archive: what files have of entries that are empty.

    Returns:
        What was found in the log, with the problems of all that is kept.
    """
    checked = audit.verify(connection, owner, peers, archive=archive)
    checked.problems.extend(beside_the_log(connection, owner, checked.hashes, state))
    return checked


def is_begun(connection: sqlite3.Connection, state: Path) -> bool:
    """Return whether a node or a command has written to the log: else the first start writes its first entry."""
    known = database.last_rows(connection, 1) or database.signed_head(connection)
    return bool(known) or (state / marker.FILE_NAME).exists()


def beside_the_log(
    connection: sqlite3.Connection, owner: x509.Certificate, hashes: dict[int, str], state: Path | None
) -> list[str]:
    """Return what is wrong with what stands beside the log; `hashes` are those of its entries, by number."""
    try:
        entries = list(map(audit.entry, database.rows(connection)))
    except InputError as error:  # then it is the log that is not whole
        return [str(error)]
    starts = [entry.fields.get("state", 0) for entry in entries if entry.kind == "node started"]
    kept = max(starts, default=0)
    problems = [*_files(connection, entries, state)]
    if database.state_number(connection) < kept:
        problems.append(f"the state has a number below {kept}, which the audit log says it had")
    if kept >= seal.NEEDS_SEAL or store.has_jobs(connection):  # else it may be a log without a node
        try:
            problems += consistency.disagreements(store.read(connection), entries)
        except InputError as error:  # a row that cannot be read
            problems.append(str(error))
    of_jobs = (entry.number for entry in entries if entry.job is not None and entry.kind not in BY_COMMANDS)
    last_of_jobs = max(of_jobs, default=0)
    return problems + list(seal.problems(connection, owner, hashes, last_of_jobs, kept >= seal.NEEDS_SEAL))


def _files(connection: sqlite3.Connection, entries: list[AuditEntry], state: Path | None) -> Iterator[str]:
    """Yield what is wrong with the files beside the database: the log's marker, and the people's accounts."""
    if state is None:
        return
    try:
        marker.check(state / marker.FILE_NAME, partial(database.last_rows, connection, 1))
    except InputError as error:
        yield str(error)
    last = next((entry for entry in reversed(entries) if entry.kind == "operators"), None)
    if last is None or last.fields["digest"] is None:
        return  # nobody has a name; or an earlier release wrote no digest
    path = state / ACCOUNTS
    try:
        data = Beside(state / database.FILE_NAME).read(path) if path.exists() else content({})
    except InputError as error:
        yield str(error)
        return
    if hashlib.sha256(data).hexdigest() != last.fields["digest"]:
        yield (
            f"{path} is not what entry {last.number} of the log says: an older copy, or changed by hand; put the right "
            "one back, or look at it and write it anew by smc operator"
        )
