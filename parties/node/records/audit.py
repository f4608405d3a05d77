"""The audit log of a party: an append-only list of its actions, with times and decisions."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from cryptography import x509

from parties.base.canonical import canonical
from parties.link.identity import Identity, fingerprint
from parties.node.records import database, seal
from parties.node.records.chain import NOTHING, STAYS, Archive, Checked, Row, SignedHead, check, emptied, sign_head
from parties.node.records.kinds import FIELDS, Blinded, EntryKind, Fields
from parties.node.records.sealed import errors
from parties.node.records.statements import Evidence, Head
from parties.operator.interface import AuditEntry, AuditState
from smc.errors import InputError

ENTRY_BYTES = 300  # of an entry without its fields
MAX_PROBLEMS = 100  # shown at most; a log that was rewritten has a problem in each entry


class AuditLog:
    """The log in an open database (`database.connect`), signed with a party's key.

    Several threads may use it, one at a time. The caller's transaction is the log's: `with connection:` around an
    action and its entry makes both durable, or neither.
    """

    def __init__(self, connection: sqlite3.Connection, identity: Identity) -> None:
        self._connection = connection
        self._identity = identity
        self._known: SignedHead | None = None  # written or checked by this object
        self.bytes = 0  # added by this object, roughly
        self._latest: tuple[Head, str | None] = Head(number=0, hash=NOTHING), None  # the latest time up to an entry
        # the last check and the database version and peers at that time
        self._last_check: tuple[object, Checked] | None = None

    def append(self, kind: EntryKind, job: str | None, fields: Mapping[str, Any]) -> AuditEntry:
        """Add an entry of a kind, in the caller's transaction or a new one, and return it.

        Args:
            kind: Kind of entry.
            job: Identifier of its job, if it concerns one.
            fields: Fields of this kind.

        Raises:
            ValueError: The fields are not those of `kinds.FIELDS`.
        """
        return entry(self.add(FIELDS[kind].model_validate(fields), job))

    def add(self, fields: Fields, job: str | None) -> Row:
        """Add an entry in the caller's transaction, or begin one: a node and a command may write to one log.

        Args:
            fields: Fields of the entry.
            job: Identifier of its job, if it concerns one.

        Raises:
            InputError: The end of the log is not the last entry written: to go on would hide that.
        """
        self._begin()
        head = self._end(self._identity.certificate)
        if isinstance(fields, Blinded):
            fields = fields.model_copy(update={"blind": secrets.token_hex(16)})
        content = canonical(fields.model_dump(mode="json"))
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = Row(head.number + 1, at, fields.kind, job, content, head.hash, "")
        row = row._replace(hash=row.digest())
        self._known = sign_head(self._identity, row.head())
        database.add(self._connection, row, self._known)
        self.bytes += len(row.fields) + ENTRY_BYTES
        return row

    def of_job(self, job: str) -> list[Row]:
        """Return the rows of a job's entries that are archived with it."""
        return [row for row in database.rows_of_job(self._connection, job) if row.kind not in STAYS]

    def archive(self, job: str, fields: Mapping[str, Any]) -> AuditEntry:
        """Empty the entries of a job, whose content is in a file, and record that, in the caller's transaction.

        Args:
            job: Identifier of the job.
            fields: Fields of the entry `archived` except `entries` and `empty`.
        """
        self._begin()  # otherwise a failure would leave the log without a trigger
        entries = self.of_job(job)
        self._last_check = None
        database.empty(self._connection, [row.number for row in entries])
        return self.append("archived", job, {**fields, "entries": len(entries), "empty": emptied(entries)})

    def head(self) -> Head:
        """Return the last entry's number and hash, to be signed with a result."""
        return self._end(self._identity.certificate)

    def latest(self) -> str | None:
        """Return the latest time of any entry, ISO 8601 in UTC; None without entries. Only new entries are read."""
        last_head, before = self._latest
        if not self.has(last_head):  # its transaction was rolled back
            last_head, before = Head(number=0, hash=NOTHING), None
        new = database.latest(self._connection, last_head.number)
        latest = max(filter(None, (before, new)), default=None)
        if rows := database.last_rows(self._connection, 1):
            self._latest = rows[0].head(), latest
        return latest

    def evidence(self) -> Evidence:
        """Return the signed head of the written log, for a peer. Raise InputError if there is no entry."""
        head, signed = self.head(), database.signed_head(self._connection)
        if signed is None:
            raise InputError("the audit log has no entry yet; start the node once")
        return Evidence(head=head, fingerprint=signed.fingerprint, signature=signed.signature.hex())

    def has(self, head: Head) -> bool:
        """Return whether the log has this entry."""
        rows = database.last_rows(self._connection, 1, head.number + 1)
        return head.number == 0 or [(row.number, row.hash) for row in rows] == [(head.number, head.hash)]

    def of_kind(self, *kinds: EntryKind) -> list[AuditEntry]:
        """Return all entries of these kinds, oldest first."""
        return [entry(row) for row in database.rows_of(self._connection, *kinds)]

    def rollbacks(self) -> list[dict[str, Any]]:
        """Return the losses of our log or a peer's that our operator has not accepted, oldest first."""
        accepted = [entry.fields for entry in self.of_kind("rollback accepted")]
        return [entry.fields for entry in self.of_kind("rolled back") if entry.fields not in accepted]

    def entries(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        """Return the last entries, newest first.

        Args:
            last: Largest number of entries.
            before: Only entries before this number.
        """
        return [entry(row) for row in database.last_rows(self._connection, last, before)]

    def __iter__(self) -> Iterator[AuditEntry]:
        return map(entry, database.rows(self._connection))

    def checked(self, peers: Collection[x509.Certificate] = ()) -> Checked:
        """Check the whole log, with the signatures of the peers whose certificates are given; return all findings.

        What was intact before is not read again, unless another process has written to the database since.
        """
        circumstances = database.version(self._connection), [fingerprint(peer) for peer in peers]
        earlier = self._last_check[1] if self._last_check is not None and self._last_check[0] == circumstances else None
        self._last_check = None
        checked = verify(self._connection, self._identity.certificate, peers, earlier)
        if checked.problems and earlier is not None:  # report all problems
            checked = verify(self._connection, self._identity.certificate, peers)
        if not checked.problems:
            self._last_check = circumstances, checked
        return checked

    def renew(self, former: x509.Certificate) -> AuditEntry:
        """Sign a log under a former certificate with this identity from now on, in the caller's transaction.

        Raise InputError if the log, checked with the former certificate, is not intact.
        """
        if problems := verify(self._connection, former).problems:
            raise InputError(f"the audit log is not whole: {problems[0]}; run `smc audit verify`")
        self._known = sign_head(self._identity, self._end(former))
        database.put_head(self._connection, self._known)
        seal.renew(self._connection, self._identity, former)
        prints = {"former_fingerprint": fingerprint(former), "fingerprint": fingerprint(self._identity.certificate)}
        return self.append("renewed", None, prints)

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def _end(self, certificate: x509.Certificate) -> Head:
        """Return the head, checked to be the last one of this log and signed with the certificate's key."""
        signed = database.signed_head(self._connection)
        last = database.last_rows(self._connection, 1)
        if signed is None and not last:
            return Head(number=0, hash=NOTHING)
        if signed is None or not last or (signed.head.number, signed.head.hash) != (last[0].number, last[0].hash):
            raise InputError("the end of the audit log was changed; run `smc audit verify`")
        if signed != self._known and not signed.is_signed_by(certificate):
            raise InputError(
                "the audit log is not signed with this certificate's key; if the certificate is new, run "
                "`smc audit renew`, else `smc audit verify`"
            )
        return signed.head


def verify(
    connection: sqlite3.Connection,
    certificate: x509.Certificate,
    peers: Collection[x509.Certificate] = (),
    known: Checked | None = None,
    archive: Archive | None = None,
) -> Checked:
    """Check the whole log in a database.

    Args:
        connection: The database.
        certificate: Certificate of its owner.
        peers: Certificates of peers whose signatures are checked.
        known: Check of the first entries, if they were found intact before.
        archive: Content of entries that are empty in the log.
    """
    try:
        after = None if known is None or known.last is None else known.last.number
        entries = database.rows(connection, after)
        checked = check(entries, database.signed_head(connection), certificate, peers, known, archive)
        checked.problems.extend(
            f"the trigger {name}, which keeps entries from being changed, is missing"
            for name in database.missing_triggers(connection)
        )
    except errors(name="DatabaseError") as error:
        checked = Checked(problems=[f"the database is damaged: {error}"])
    return checked


def other_certificate(signed: SignedHead | None, present: x509.Certificate) -> str:
    """Return the remedy if the log is signed with another certificate than the present one; empty if it is not.

    Args:
        signed: The signed head.
        present: The present certificate.
    """
    if signed is None or signed.fingerprint == fingerprint(present):
        return ""
    return (
        f"the audit log is signed with another certificate, {signed.fingerprint:.23}; if the present one has "
        "replaced it: smc audit renew --config party.toml --former OLD.crt"
    )


def state(checked: Checked) -> AuditState:
    """Return the findings of a check for the operator: number of entries, whether all is intact, and problems."""
    problems = checked.problems[:MAX_PROBLEMS]
    if more := len(checked.problems) - len(problems):
        problems.append(f"and {more} more")
    return AuditState(entries=checked.entries, ok=not problems, problems=problems)


def entry(row: Row) -> AuditEntry:
    """Return an entry as an operator sees it, without fields if archived. Raise InputError if it is invalid."""
    if row.is_empty:
        return AuditEntry(number=row.number, at=row.at, kind=row.kind, job=row.job, fields={}, hash=row.hash)
    try:
        logged, kind = json.loads(row.fields), FIELDS[row.kind]
        kind.model_validate(logged)
        fields = {name: logged[name] for name in kind.model_fields if name in logged}
        return AuditEntry(number=row.number, at=row.at, kind=row.kind, job=row.job, fields=fields, hash=row.hash)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"entry {row.number} of the audit log was changed; run `smc audit verify`") from None
