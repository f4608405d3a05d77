"""A peer's new certificate: named by its former key, trusted besides for a while, and alone once it is used."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from parties.commands.identity import group
from parties.link.identity import Identity, create, fingerprint
from parties.link.listening import RefusedError
from parties.node import records
from parties.node.links import validity
from parties.node.links.contacts import Contacts
from parties.node.peers import PeerIdentity, reached
from parties.node.records import AuditLog
from parties.node.records.signature import sign
from parties.node.records.succession import Succession, Successor, _document, load, succession
from parties.node.settings import NodeFile
from smc.errors import InputError
from tests.support.ledgers import Pair, agreed


@dataclass(frozen=True)
class Ends:
    """What a contact has, without a node."""

    who: PeerIdentity
    control: Any
    sessions: Any
    links: Any


LATER = datetime.now(UTC).date() + timedelta(days=30)


@pytest.fixture
def new(tmp_path: Path) -> Identity:
    """Bob's new key and certificate."""
    (tmp_path / "new").mkdir()
    return create("bob", [], tmp_path / "new")


def test_only_the_former_key_names_a_successor(identities: dict[str, Identity], new: Identity, tmp_path: Path) -> None:
    bob, path = identities["bob"], tmp_path / "b.next"
    word = succession(bob, new.certificate, LATER)
    path.write_text(word.model_dump_json())
    assert load(path, bob.certificate) == Successor(new.certificate, LATER)
    with pytest.raises(InputError, match="announces the successor of"):
        load(path, identities["alice"].certificate)
    forged = succession(identities["mallory"], new.certificate, LATER).signature
    for change in (
        {"until": (LATER + timedelta(days=1)).isoformat()},
        {"signature": forged},
        {"certificate": identities["mallory"].certificate_path.read_text()},
    ):
        path.write_text(word.model_copy(update=change).model_dump_json())
        with pytest.raises(InputError, match="is not signed with the key of"):
            load(path, bob.certificate)
    ever = date(9999, 12, 31)
    signature = sign(bob, _document(word.former, new.certificate, ever.isoformat()), "succession").hex()
    path.write_text(word.model_copy(update={"until": ever.isoformat(), "signature": signature}).model_dump_json())
    with pytest.raises(InputError, match="until 9999-12-31 is after the new certificate's last day"):
        load(path, bob.certificate)
    assert not Successor(new.certificate, ever).is_due
    for text in ("", "{}", word.model_copy(update={"until": "soon"}).model_dump_json()):
        path.write_text(text)
        with pytest.raises(InputError, match="is not an announcement of a new certificate"):
            load(path, bob.certificate)


def test_a_word_has_its_fields_for_good() -> None:
    fields: dict[str, Any] = {"former": "AB", "certificate": "", "until": "2026-03-01", "signature": "cd" * 64}
    word = Succession.model_validate(fields)
    for wrong in ({**fields, "more": 1}, {**fields, "until": b"2026-03-01"}):
        with pytest.raises(ValidationError):
            Succession.model_validate(wrong)
    with pytest.raises(ValidationError):
        word.until = "2026-03-02"  # type: ignore[misc]


def test_the_last_day_of_a_certificate_is_a_day_of_it(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(records.succession, "datetime", SimpleNamespace(now=lambda zone: noon))
    alice, bob = identities["alice"], identities["bob"].certificate
    days = {day: Successor(bob, date(2026, 3, 1) + timedelta(days=day)).is_due for day in (-1, 0, 1)}
    assert days == {-1: True, 0: False, 1: False}
    end = bob.not_valid_after_utc.date()
    assert succession(alice, bob, end).until == end.isoformat()
    with pytest.raises(InputError, match="is after the new certificate's last day"):
        succession(alice, bob, end + timedelta(days=1))
    with pytest.raises(InputError, match="is past: name 2026-03-01 or a later day"):
        succession(alice, bob, date(2026, 2, 28))


def test_the_command_and_the_file(identities: dict[str, Identity], new: Identity, tmp_path: Path) -> None:
    alice, bob = identities["alice"], identities["bob"]
    config, out = tmp_path / "b.toml", tmp_path / "b.next"
    config.write_text(f'[link]\nidentity = "{bob.key_path}"\ncertificate = "{bob.certificate_path}"\n')
    words = ["succeed", str(new.certificate_path), "--config", str(config), "--out", str(out), "--until"]
    result = CliRunner().invoke(group, [*words, "9999-12-31"])
    assert "is after the new certificate's last day" in str(result.exception)
    assert "--until 2020-12-31 is past" in str(CliRunner().invoke(group, [*words, "2020-12-31"]).exception)
    assert not out.exists()
    words.append(LATER.isoformat())
    assert CliRunner().invoke(group, words).exit_code == 0
    assert json.loads(out.read_text())["former"] == fingerprint(bob.certificate)
    for path in (config, bob.certificate_path):
        result = CliRunner().invoke(group, [*words[:5], str(path), *words[6:]])
        assert "would be overwritten" in str(result.exception)
    words[1] = str(bob.certificate_path)
    words.append("--force")
    assert "is the present certificate" in str(CliRunner().invoke(group, words).exception)
    link = {"identity": alice.key_path, "certificate": alice.certificate_path, "peer": bob.certificate_path}
    file = NodeFile.model_validate({"link": {**link, "listen": "127.0.0.1:1"}, "peer": {"successor": out}})
    ((who, _),) = reached(file)
    assert who.trusted == [bob.certificate, new.certificate]
    assert (who.succeeded.trusted, who.succeeded.peer_name) == ([new.certificate], "bob")


def named(pair: Pair, new: Identity) -> PeerIdentity:
    """Alice's bob, whose former key has named the new certificate."""
    alice = pair.parties[0]
    alice.who = replace(alice.who, successor=Successor(new.certificate, LATER))
    alice.crash()
    return alice.who


def test_all_goes_on_under_the_new_certificate(pair: Pair, new: Identity) -> None:
    """What was signed before arrives after; logs are compared across the change; both logs are whole."""
    early, late = agreed(pair), agreed(pair)
    alice, bob = pair.parties
    who = named(pair, new)
    pair.session(early, until=(9, 9))
    said = list(bob.said)  # signed with the former key, and not heard yet
    with bob.connection:
        AuditLog(bob.connection, new).renew(bob.who.identity.certificate)
    bob.who = replace(bob.who, identity=new)
    bob.crash()
    assert not alice.ledger.pins.is_succeeded(who)
    alice.who = alice.ledger.pins.succeed(who)
    assert alice.ledger.pins.is_succeeded(who)
    alice.ledger.pins.succeed(who)  # once
    for data in said:
        alice.hear(data)
    pair.meet()
    assert [party.state(early) for party in pair.parties] == ["done", "done"]
    pair.session(late)
    pair.deliver()
    assert [party.state(late) for party in pair.parties] == ["done", "done"]
    prints = [
        entry.fields["peer_fingerprint"] for entry in alice.ledger.log.entries(99, None) if entry.kind == "signed"
    ]
    assert prints == [fingerprint(new.certificate), fingerprint(who.peer)]
    assert [entry.kind for entry in alice.ledger.log.entries(99, None)].count("pin replaced") == 1
    for own, other in itertools.permutations(pair.parties):
        theirs = other.ledger.heads.shown(other.who.peer_name)
        assert own.ledger.heads.lost(own.who.peer_name, theirs).lost is None
        assert own.ledger.log.verify().ok


def test_a_log_that_is_rolled_back_while_it_changes_is_noticed(pair: Pair, new: Identity) -> None:
    alice, bob = pair.parties
    who = named(pair, new)
    alice.ledger.heads.hold("bob", bob.ledger.heads.shown("alice").own)
    held = alice.ledger.heads.shown("bob").held
    alice.ledger.pins.succeed(who)
    assert alice.ledger.heads.shown("bob").held == held
    bob.connection.close()
    for file in bob.path.parent.iterdir():
        file.unlink()
    bob.who = replace(bob.who, identity=new)
    bob.open()
    alice_says = alice.ledger.heads.lost_by_peer(
        "bob", bob.ledger.heads.shown("alice"), bob.ledger.heads.lost("alice", alice.ledger.heads.shown("bob"))
    )
    assert held is not None
    assert alice_says.lost == held.head


def test_who_has_copied_a_key_that_is_revoked_names_nobody(pair: Pair, new: Identity) -> None:
    alice, who = pair.parties[0], named(pair, new)
    alice.ledger.pins.revoke("bob", "its key was copied")
    node: Any = SimpleNamespace(stopping=False, _ledger=alice.ledger, of={"bob": Ends(who, None, None, None)})
    node.is_revoked = lambda contact: Contacts.is_revoked(node, contact)
    node._succeed = lambda name: alice.ledger.pins.succeed(who)
    with pytest.raises(RefusedError, match="the certificate that yours replaces is revoked"):
        Contacts.admit(node, "bob", new.certificate, "control")
    assert not alice.ledger.pins.is_succeeded(who)


def test_the_former_one_is_over_once_the_new_one_is_used(pair: Pair, new: Identity) -> None:
    """Or on the day that was agreed; nobody else's ever counts."""
    alice = pair.parties[0]
    who = named(pair, new)
    admitted, sessions = list[Any](), list[PeerIdentity]()
    node: Any = SimpleNamespace(
        stopping=False,
        is_revoked=lambda _: False,
        _ledger=alice.ledger,
        _events=SimpleNamespace(log=lambda *_, **__: 0),
    )
    node._succeeding = threading.Lock()

    def contact(known: PeerIdentity) -> Any:
        control = SimpleNamespace(admit=lambda: admitted.append(1))
        return Ends(known, control, SimpleNamespace(succeed=sessions.append), SimpleNamespace(allows=lambda: True))

    node._succeed = lambda name: Contacts._succeed(node, name)
    admit = lambda certificate: Contacts.admit(node, "bob", certificate, "control")  # noqa: E731
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    overdue = replace(who, successor=Successor(new.certificate, yesterday))
    node.of = {"bob": contact(overdue)}
    assert "should have been replaced by now" in validity.lapsed(overdue)
    with pytest.raises(RefusedError, match="should have been replaced by now"):
        admit(who.peer)
    node.of = {"bob": contact(who)}
    assert validity.lapsed(who) == ""
    admit(who.peer)
    assert (len(admitted), sessions) == (1, [])
    admit(new.certificate)
    assert (len(admitted), [one.peer for one in sessions]) == (2, [new.certificate])
    with pytest.raises(RefusedError, match="was replaced by a newer one"):
        admit(who.peer)
    admit(new.certificate)
    assert len(sessions) == 1
