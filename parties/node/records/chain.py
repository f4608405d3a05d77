"""The hash chain of the audit log, by which any change to it shows, wherever the log is kept.

The hash of an entry is SHA-256 over the whole entry and the hash of the entry before it. So a change to one entry shows
in that entry or, if its hash is recomputed, in the next one. If all later hashes are recomputed, it shows in the head:
the last number and hash, signed with the party's key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cryptography import x509
from pydantic import ValidationError

from parties.base.canonical import canonical, dump
from parties.link.identity import Identity, fingerprint
from parties.node.records.kinds import BothSigned, Withdrawn
from parties.node.records.signature import check_signature, sign
from parties.node.records.statements import Head, Signed, head_document
from smc.errors import InputError

NO_ENTRY = "there is no entry"  # no problem before a node has started for the first time
NOTHING = "0" * 64  # the previous hash of the first entry
EMPTY = ""  # the fields of an entry whose content was archived
STAYS = ("spent", "counted")  # kinds of entries that are never archived, since budgets need them


class Row(NamedTuple):
    """An entry as stored; `fields` is canonical JSON. A stored row may have been tampered with, even in its types."""

    number: int
    at: str
    kind: str
    job: str | None
    fields: str
    previous: str
    hash: str

    def digest(self) -> str:
        """Return the hash of the entry's content. Raise InputError if no entry can have such content."""
        content = {name: value for name, value in self._asdict().items() if name != "hash"}
        return hashlib.sha256(f"smc.records.entry.v1\n{canonical(content)}".encode()).hexdigest()

    @property
    def is_empty(self) -> bool:
        """True if its content was archived: an `archived` entry must confirm that."""
        return self.fields == EMPTY and self.kind not in STAYS

    def head(self) -> Head:
        """Return number and hash of this entry. Raise ValueError if they are invalid."""
        return Head(number=self.number, hash=self.hash)

    def is_whole(self) -> bool:
        """Return whether the stored hash is that of the content."""
        try:
            return self.digest() == self.hash
        except InputError:
            return False


_BEFORE = Row(0, "", "", None, "", "", NOTHING)  # before the first entry


@dataclass(frozen=True)
class SignedHead:
    """Number and hash of a log's last entry, signed by the owner, and the fingerprint of the owner's certificate."""

    head: Head
    fingerprint: str
    signature: bytes

    def is_signed_by(self, certificate: x509.Certificate) -> bool:
        """Return whether the holder of the certificate signed the head."""
        return check_signature(certificate, head_document(self.head, self.fingerprint), self.signature, "head")


def sign_head(identity: Identity, head: Head) -> SignedHead:
    """Return the head of a log with a signature.

    Args:
        identity: Key and certificate of the signer.
        head: The head.
    """
    signer = fingerprint(identity.certificate)
    return SignedHead(head, signer, sign(identity, head_document(head, signer), "head"))


class SignedEntry(NamedTuple):
    """An entry of kind `signed`: its number, both parties' statements, and their certificates at the node's start."""

    number: int
    ours: Signed
    theirs: Signed
    fingerprint: str | None
    peer_fingerprint: str | None


@dataclass(frozen=True)
class Archive:
    """Archived entries by number, with their content, and SHA-256 of each job's lines in the archive file."""

    rows: Mapping[int, Row] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Checked:
    """The result of a check: hashes of the entries by number, the signed statements among them, and the problems.

    A later check continues from it: after the last entry, with the fields of the last start, and with the empty entries
    of each job that no `archived` entry has confirmed yet. `archived` counts the confirmed entries, `filled` those
    whose content was available.
    """

    hashes: dict[int, str] = field(default_factory=dict)
    statements: list[SignedEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    last: Row | None = None
    start: dict[str, Any] = field(default_factory=dict)
    empty: dict[str | None, list[Row]] = field(default_factory=dict)
    archived: int = 0
    filled: int = 0

    @property
    def entries(self) -> int:
        """The number of entries."""
        return len(self.hashes)


def check(
    rows: Iterable[Row],
    signed: SignedHead | None,
    certificate: x509.Certificate,
    peers: Collection[x509.Certificate] = (),
    known: Checked | None = None,
    archive: Archive | None = None,
) -> Checked:
    """Check the entries of a log and its signed head.

    A log without entries is not intact: a node's first action is to record its start. Empty entries are checked with
    their archived content; without it, only that they were archived, and which ones.

    Args:
        rows: The entries, in stored order.
        signed: The signed head.
        certificate: Certificate of the log's owner.
        peers: Certificates of peers whose signatures are checked.
        known: Check of the entries before `rows`, which were intact; it is updated.
        archive: Content of entries that are empty in the log.
    """
    checked, archive = known or Checked(), archive or Archive()
    before, jobs = len(checked.statements), set(archive.contents)
    for row in rows:
        if not isinstance(row.number, int):
            checked.problems.append(f"there is an entry with the number {row.number!r}")
            continue
        if row.is_empty:
            checked.empty.setdefault(row.job, []).append(row)
            if (content := archive.rows.get(row.number)) is not None and content.hash == row.hash:
                checked.filled += 1
                row = content
        checked.problems.extend(links(checked.last, row))
        checked.hashes[row.number] = row.hash
        if row.kind == "node started":
            checked.start = _fields(row)
        elif row.kind == "signed":
            checked.statements.extend(_statement(row, checked.start))
        elif row.kind == "withdrawn":
            checked.problems.extend(_withdrawal_problems(row, [certificate, *peers]))
        elif row.kind == "archived":
            checked.problems.extend(_archived_problems(checked, row, archive))
            jobs.discard(str(row.job))
        checked.last = row
    checked.problems.extend(_head_problems(checked.last, signed, certificate))
    for row in (row for rows_of_job in checked.empty.values() for row in rows_of_job):
        checked.problems.append(f"entry {row.number} was changed: it is empty, and no entry says that it was archived")
    checked.problems.extend(f"the archive has job {job[:8]}, but the log has no entry of that" for job in sorted(jobs))
    for statement in checked.statements[before:]:
        checked.problems.extend(_statement_problems(checked, statement, certificate, peers))
    return checked


def cross_check(
    ours: Checked, our_certificate: x509.Certificate, theirs: Checked, their_certificate: x509.Certificate
) -> list[str]:
    """Return the contradictions between two parties' logs, each checked by itself, and their owners' signatures.

    Args:
        ours: Check of our log.
        our_certificate: Our certificate.
        theirs: Check of the peer's log.
        their_certificate: The peer's certificate.
    """
    return [
        *_contradictions("our", ours, our_certificate, "the peer's", theirs),
        *_contradictions("the peer's", theirs, their_certificate, "our", ours),
    ]


def _contradictions(
    whose: str, log: Checked, certificate: x509.Certificate, holders: str, holder: Checked
) -> Iterator[str]:
    """Yield the differences between a log and its owner's signatures in the other party's log."""
    for statement in holder.statements:
        signed, evidence = statement.theirs, f"entry {statement.number} of {holders} log"
        if not signed.is_signed_by(certificate):
            # otherwise it was signed under an earlier certificate
            if statement.peer_fingerprint in (None, fingerprint(certificate)):
                yield f"{evidence} holds a statement that its signer has not signed"
        elif signed.head.number not in log.hashes:
            yield f"{whose} log has no entry {signed.head.number}, but {evidence} holds its owner's signature for it"
        elif log.hashes[signed.head.number] != signed.head.hash:
            yield f"{whose} entry {signed.head.number} is not the one that its owner signed for, as {evidence} shows"


def links(last: Row | None, row: Row, first: int = 1) -> Iterator[str]:
    """Yield the problems of an entry and of its link to the entry before.

    Args:
        last: The entry before; None for the first one in question.
        row: The entry.
        first: Number expected of the first entry in question.
    """
    expected = first if last is None else last.number + 1
    if row.number > expected:
        yield _missing(expected, row.number - 1)
    elif row.number < expected:
        twice = last is not None and row.number == last.number
        yield f"entry {row.number} " + ("is there twice" if twice else f"stands after entry {expected - 1}")
    if not (row.is_empty or row.is_whole()):
        yield f"entry {row.number} was changed: its content does not have the hash that stands beside it"
    elif row.number == expected and (last is not None or first == 1) and row.previous != (last or _BEFORE).hash:
        before = "the beginning" if last is None else f"entry {last.number}"
        yield f"entry {row.number} does not continue {before}: what it continued was changed or removed"


def emptied(rows: Iterable[Row]) -> str:
    """Return SHA-256 over the remainder of a job's archived entries: everything but their content."""
    remainder = [[row.number, row.at, row.kind, row.previous, row.hash] for row in rows]
    return hashlib.sha256(f"smc.records.emptied.v1\n{dump(remainder)}".encode()).hexdigest()


def _archived_problems(checked: Checked, row: Row, archive: Archive) -> Iterator[str]:
    """Yield where a job's empty entries, or its lines in a file, differ from those archived."""
    entries, fields = checked.empty.pop(row.job, []), _fields(row)
    checked.archived += len(entries)
    try:
        is_whole = emptied(entries) == fields.get("empty")
    except (TypeError, ValueError):  # forged content
        is_whole = False
    if not is_whole:
        yield f"the entries of job {str(row.job)[:8]} are not those that were archived by entry {row.number}"
    content = archive.contents.get(str(row.job))
    if content is not None and content != fields.get("content"):
        yield f"the archive's lines of job {str(row.job)[:8]} are not those that entry {row.number} was written for"


def _head_problems(last: Row | None, signed: SignedHead | None, certificate: x509.Certificate) -> Iterator[str]:
    if signed is None:
        yield NO_ENTRY if last is None else f"the signed head after entry {last.number} is missing"
        return
    head, owner = signed.head, fingerprint(certificate)
    if signed.fingerprint != owner:
        yield f"the head after entry {head.number} names the certificate {signed.fingerprint!s:.23}…, not {owner:.23}…"
    elif not signed.is_signed_by(certificate):
        yield f"the head after entry {head.number} was changed: the signature is not its owner's"
    reached = 0 if last is None else last.number
    if reached < head.number:
        yield f"{_missing(reached + 1, head.number)} at the end"
    elif reached > head.number:
        yield f"entry {head.number + 1} and what follows came after the signed head"
    elif last is not None and last.hash != head.hash:
        yield f"entry {head.number} is not the one that the head was signed for"


def _fields(row: Row) -> dict[str, Any]:
    """Return the fields of an entry; empty if they are unreadable, which the hash shows."""
    with suppress(ValueError, TypeError, RecursionError):
        fields = json.loads(row.fields)
        return fields if isinstance(fields, dict) else {}
    return {}


def _statement(row: Row, start: Mapping[str, Any]) -> Iterator[SignedEntry]:
    """Yield the signed statements in an entry; none if they are unreadable."""
    with suppress(ValidationError):
        both = BothSigned.model_validate(_fields(row))
        theirs = both.peer_fingerprint or start.get("peer_fingerprint")
        yield SignedEntry(row.number, both.ours, both.theirs, start.get("fingerprint"), theirs)


def _statement_problems(
    log: Checked, statement: SignedEntry, certificate: x509.Certificate, peers: Collection[x509.Certificate]
) -> Iterator[str]:
    """Yield where a log differs from its own statements; former certificates' signatures are skipped."""
    number, ours, theirs = statement.number, statement.ours, statement.theirs
    if log.hashes.get(ours.head.number) != ours.head.hash:
        yield f"entry {ours.head.number} is not the one that its owner signed for in entry {number}"
    if ours.result != theirs.result:
        yield f"the parties have signed different results in entry {number}"
    for signed, signers, at_that_time in (
        (ours, [certificate], statement.fingerprint),
        (theirs, peers, statement.peer_fingerprint),
    ):
        current = [signer for signer in signers if at_that_time in (None, fingerprint(signer))]
        if current and not any(signed.is_signed_by(signer) for signer in current):
            yield f"entry {number} holds a statement that its signer has not signed"


def _withdrawal_problems(row: Row, signers: Collection[x509.Certificate]) -> Iterator[str]:
    with suppress(ValidationError):
        entry = Withdrawn.model_validate(_fields(row))
        matching = [signer for signer in signers if fingerprint(signer) == entry.signer]
        if matching and not entry.word.is_signed_by(matching[0], entry.digest):
            yield f"entry {row.number} holds a withdrawal that its signer has not signed"


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"
