"""Records that a token signs: the same signatures to whoever checks them, and what is written waits for the token."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from parties.base.token_key import TokenError
from parties.link.identity import Identity, create
from parties.node.desk.operator_service import recorded
from parties.node.peers import PeerIdentity
from parties.node.records import AuditLog
from parties.node.records.signature import ORDER, check_signature, sign
from parties.operator.interface import NotRecordedError
from tests.support.ledgers import Party
from tests.support.tokens import SoftHsm


@pytest.fixture(scope="module")
def of_token(hsm: SoftHsm, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return create("carol", [], tmp_path_factory.mktemp("carol"), token=hsm.uri("carol", "away"))


def test_a_signature_is_checked_like_any_other(of_token: Identity, identities: dict[str, Identity]) -> None:
    """And is the only one of its two forms that counts."""
    lower = 0
    for number in range(20):
        signature = sign(of_token, {"number": number}, "head")
        assert check_signature(of_token.certificate, {"number": number}, signature, "head")
        assert not check_signature(of_token.certificate, {"number": number}, signature, "rows")
        assert not check_signature(identities["alice"].certificate, {"number": number}, signature, "head")
        lower += int.from_bytes(signature[32:]) <= ORDER // 2
    assert lower == 20


def test_what_is_written_waits_for_the_token(
    of_token: Identity, identities: dict[str, Identity], hsm: SoftHsm, tmp_path: Path
) -> None:
    """As for room on a disk: nothing is half written, and the log goes on where it was."""
    party = Party(tmp_path / "node.sqlite", PeerIdentity(of_token, identities["alice"].certificate, 1))
    party.ledger.log.note("node stopped", why="before")
    with hsm.away("away"):
        with pytest.raises(sqlite3.Error) as error:
            party.ledger.log.note("node stopped", why="lost")
        assert isinstance(error.value, TokenError)
        assert "carol" in str(error.value)
        assert [entry.kind for entry in party.ledger.log.entries(10, None)] == ["node stopped", "node started"]
    party.ledger.log.note("node stopped", why="after")
    party.crash()
    found = AuditLog(party.connection, of_token).checked()
    assert (found.problems, found.entries) == ([], 4)
    party.connection.close()


@pytest.mark.parametrize(
    ("error", "is_disk"),
    [(TokenError("away"), False), (sqlite3.OperationalError("database or disk is full"), True)],
)
def test_the_disk_is_blamed_for_what_is_not_the_token(error: Exception, is_disk: bool) -> None:
    with pytest.raises(NotRecordedError) as caught, recorded():
        raise error
    assert ("the disk is full" in str(caught.value)) == is_disk
