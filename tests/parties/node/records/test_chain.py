"""The checks of single entries, on logs that are written here line by line."""

from __future__ import annotations

import pytest

from parties.base.canonical import canonical
from parties.link.identity import Identity, fingerprint
from parties.node.records.chain import NOTHING, Row, check, sign_head
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
