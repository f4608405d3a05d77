"""The checks of single entries, on logs that are written here line by line."""

from __future__ import annotations

import pytest

from parties.base.canonical import canonical
from parties.link.identity import Identity, fingerprint
from parties.node.records.chain import EMPTY, NOTHING, Archive, Row, check, emptied, sign_head
from parties.node.records.statements import withdrawal

JOB, OTHER, RESULT = "1a" * 32, "2b" * 32, "3c" * 32
AT = "2026-01-30T12:00:00+00:00"


def chained(*entries: tuple[str, dict[str, object]]) -> list[Row]:
    """Entries of these kinds and fields, each with the hash of the one before."""
    found: list[Row] = []
    for number, (kind, fields) in enumerate(entries, 1):
        previous = found[-1].hash if found else NOTHING
        row = Row(number, AT, kind, "1a" * 16, canonical(fields), previous, "")
        found.append(row._replace(hash=row.digest()))
    return found


def problems(owner: Identity, peers: list[Identity], *entries: tuple[str, dict[str, object]]) -> list[str]:
    """What is wrong with a log of a start and these entries, whose head the owner has signed."""
    rows = chained(("node started", {}), *entries)
    return check(
        rows, sign_head(owner, rows[-1].head()), owner.certificate, [one.certificate for one in peers]
    ).problems


@pytest.mark.parametrize("signer", ["alice", "bob"])
def test_a_withdrawal_is_its_signers_for_this_job(identities: dict[str, Identity], signer: str) -> None:
    """Ours and the peer's; if the signer's certificate is not known, nothing can be said."""
    alice, bob = identities["alice"], identities["bob"]
    word = withdrawal(identities[signer], JOB, RESULT, "a row was wrong", AT)
    fields: dict[str, object] = {"by": "us" if signer == "alice" else "peer", "word": word.model_dump()}
    fields["signer"] = fingerprint(identities[signer].certificate)
    right, wrong = ("withdrawn", fields | {"digest": JOB}), ("withdrawn", fields | {"digest": OTHER})
    assert problems(alice, [bob], right) == []
    assert problems(alice, [bob], wrong) == ["entry 2 holds a withdrawal that its signer has not signed"]
    assert problems(alice, [bob], right, wrong, right)[0].startswith("entry 3 holds a withdrawal")
    assert (problems(alice, [], wrong) == []) == (signer == "bob")


def test_content_that_no_entry_can_have_is_not_whole() -> None:
    row = chained(("node started", {}))[0]
    assert row.is_whole()
    assert not row._replace(fields=float("nan")).is_whole()
    assert not row._replace(fields=b"{}").is_whole()


def test_the_first_entry_continues_the_beginning(identities: dict[str, Identity]) -> None:
    """Also one that has the hash of its content and a signed head."""
    alice = identities["alice"]
    row = chained(("node started", {}))[0]._replace(previous="1" * 64)
    row = row._replace(hash=row.digest())
    found = check([row], sign_head(alice, row.head()), alice.certificate).problems
    assert found == ["entry 1 does not continue the beginning: what it continued was changed or removed"]


def test_entries_that_were_archived_are_those_of_the_file(identities: dict[str, Identity]) -> None:
    """Both are counted; with the file's rows they are filled; other rows or lines are told."""
    alice, job, content = identities["alice"], "1a" * 16, "4d" * 32
    full = chained(("proposed", {"x": 1}), ("approved", {"x": 2}))
    empty = [row._replace(fields=EMPTY) for row in full]

    def checked(fields: dict[str, object], archive: Archive | None = None) -> tuple[list[str], int, int]:
        last = Row(3, AT, "archived", job, canonical(fields), full[-1].hash, "")
        last = last._replace(hash=last.digest())
        found = check([*empty, last], sign_head(alice, last.head()), alice.certificate, archive=archive)
        return found.problems, found.archived, found.filled

    right: dict[str, object] = {"empty": emptied(full), "content": content}
    rows = {row.number: row for row in full}
    assert checked(right) == ([], 2, 0)
    assert checked(right, Archive(rows, {job: content})) == ([], 2, 2)
    other = rows | {2: chained(("proposed", {"x": 1}), ("approved", {"x": 3}))[1]}
    assert checked(right, Archive(other, {job: content})) == ([], 2, 1)
    assert checked(right | {"empty": "5e" * 32})[0] == [
        f"the entries of job {job[:8]} are not those that were archived by entry 3"
    ]
    assert checked(right, Archive(rows, {job: "5e" * 32}))[0] == [
        f"the archive's lines of job {job[:8]} are not those that entry 3 was written for"
    ]
