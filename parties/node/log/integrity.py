"""The check that everything a node keeps is intact: its log, and all that is stored beside the log.

`smc audit verify`, the check before an upgrade, the start of a node and its page all use it. The log's chain, head and
signatures are checked first. Then come the log's marker and the people's accounts. Each job's row is compared with the
job's entries. Last, the seal reveals any other change of a table.
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
from parties.node.records.chain import Archive, Checked
from parties.node.records.sidecar_files import SidecarFiles
from parties.operator.accounts import FILE_NAME as ACCOUNTS
from parties.operator.accounts import content
from parties.operator.interface import AuditEntry
from smc.errors import InputError

BY_COMMANDS = ("reviewed",)  # entries about a job that a command writes in addition to the node's


def verify(
    connection: sqlite3.Connection,
    owner: x509.Certificate,
    peers: Collection[x509.Certificate] = (),
    state: Path | None = None,
    archive: Archive | None = None,
) -> Checked:
    """Check everything that a node keeps.

    Args:
        connection: The database; it is only read.
        owner: Certificate of the log's owner.
        peers: Certificates of its peers; their signatures are checked.
        state: The state directory; None skips the files beside the database.
        archive: The archived content of entries that are empty in the log.

    Returns:
        The findings about the log, with the problems of everything that is kept.
    """
    checked = audit.verify(connection, owner, peers, archive=archive)
    checked.problems.extend(beside_the_log(connection, owner, checked.hashes, state))
    return checked


def is_begun(connection: sqlite3.Connection, state: Path) -> bool:
    """Return whether a node or a command has written to the log; otherwise the first start writes its first entry.

    Args:
        connection: The database.
        state: The state directory.
    """
    last_entry = database.last_rows(connection, 1) or database.signed_head(connection)
    return bool(last_entry) or (state / marker.FILE_NAME).exists()


def beside_the_log(
    connection: sqlite3.Connection, owner: x509.Certificate, hashes: dict[int, str], state: Path | None
) -> list[str]:
    """Return the problems of what is stored beside the log.

    Args:
        connection: The database; it is only read.
        owner: Certificate of the log's owner.
        hashes: Hashes of the log's entries, by number.
        state: The state directory; None skips the files beside the database.
    """
    try:
        entries = list(map(audit.entry, database.rows(connection)))
    except InputError as error:  # then the log is damaged
        return [str(error)]
    starts = [entry.fields.get("state", 0) for entry in entries if entry.kind == "node started"]
    state_in_log = max(starts, default=0)
    problems = [*_files(connection, entries, state)]
    if database.state_number(connection) < state_in_log:
        problems.append(f"the state has a number below {state_in_log}, which the audit log says it had")
    if state_in_log >= seal.NEEDS_SEAL or store.has_jobs(connection):  # otherwise it may be a log without a node
        try:
            problems += consistency.disagreements(store.read(connection), entries)
        except InputError as error:  # an unreadable row
            problems.append(str(error))
    of_jobs = (entry.number for entry in entries if entry.job is not None and entry.kind not in BY_COMMANDS)
    last_of_jobs = max(of_jobs, default=0)
    return problems + list(seal.problems(connection, owner, hashes, last_of_jobs, state_in_log >= seal.NEEDS_SEAL))


def _files(connection: sqlite3.Connection, entries: list[AuditEntry], state: Path | None) -> Iterator[str]:
    """Yield the problems of the files beside the database: the log's marker, and the people's accounts."""
    if state is None:
        return
    try:
        marker.check(state / marker.FILE_NAME, partial(database.last_rows, connection, 1))
    except InputError as error:
        yield str(error)
    last = next((entry for entry in reversed(entries) if entry.kind == "operators"), None)
    if last is None or last.fields["digest"] is None:
        return  # no person has a name; or an earlier release wrote no digest
    path = state / ACCOUNTS
    try:
        data = SidecarFiles(state / database.FILE_NAME).read(path) if path.exists() else content({})
    except InputError as error:
        yield str(error)
        return
    if hashlib.sha256(data).hexdigest() != last.fields["digest"]:
        yield (
            f"{path} is not what entry {last.number} of the log says: an older copy, or changed by hand; put the right "
            "one back, or look at it and write it anew by smc operator"
        )
