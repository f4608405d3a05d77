"""The heads of both logs: what is found missing, by whom, and who may go on."""

from __future__ import annotations

import itertools
from io import StringIO
from typing import Any

import numpy as np
import pytest

from parties.node.events import Events
from parties.node.links.contacts import Contacts
from parties.node.log.heads import Accepted, Found, Shown, receive, why_held
from parties.node.records import Evidence, Head
from parties.node.records.chain import sign_head
from parties.node.records.seal import Seal
from smc.errors import ProtocolError
from tests.support.ledgers import Pair, agreed, propose

pytestmark = pytest.mark.slow

HEAD = Head(number=7, hash="ab" * 32)


class Says:
    """The peer: what it announces, and what it says."""

    def __init__(self, size: int, data: bytes) -> None:
        self._parts = [np.array([size], dtype=np.int64), np.frombuffer(data, dtype=np.uint8)]

    def receive(self, step: str, dtype: object, shape: tuple[int, ...]) -> Any:
        part = self._parts.pop(0)
        assert (part.dtype, part.shape) == (dtype, shape)
        return part


@pytest.mark.parametrize("size", [-1, 0, 1, 64 << 10, (64 << 10) + 1])
def test_of_the_peers_word_no_more_is_waited_for_than_it_can_be(size: int) -> None:
    data = b'{"accepted":true}'.ljust(max(size, 0))[: max(size, 0)]
    peer: Any = Says(size, data)
    if size == 64 << 10:
        assert receive(peer, Accepted).accepted
        return
    with pytest.raises(ProtocolError, match="unreadable" if size == 1 else f"announced {size} bytes"):
        receive(peer, Accepted)


def lost(pair: Pair, party: int) -> Found:
    """What a party's log lacks of what the other holds."""
    own, other = pair.parties[party], pair.parties[1 - party]
    return own.ledger.heads.lost(own.who.peer_name, other.ledger.heads.shown(other.who.peer_name))


def test_after_a_job_each_holds_the_others_signature(pair: Pair) -> None:
    job = agreed(pair)
    assert [p.ledger.heads.shown(p.who.peer_name).held for p in pair.parties] == [None, None]
    pair.session(job)
    pair.deliver()
    for own, other in itertools.permutations(pair.parties):
        held = own.ledger.heads.shown(own.who.peer_name).held
        assert held is not None
        assert held.is_signed_by(other.who.identity.certificate)
        assert not held.is_signed_by(own.who.identity.certificate)
        assert held == Evidence.model_validate_json(held.model_dump_json())
    assert [lost(pair, party) for party in (0, 1)] == [Found(lost=None)] * 2


def test_a_head_is_held_with_its_statement_in_one_transaction(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction waits for the disk."""
    alice, bob = pair.parties
    written, write = list[Head](), Seal.write
    propose(pair)
    (data,) = alice.said
    statement, head = bob.ledger.heads.detached("alice", alice.ledger.heads.attached(data))
    monkeypatch.setattr(Seal, "write", lambda seal, last: (written.append(last), write(seal, last))[1])
    bob.ledger.hearing.hear("alice", statement, head)
    assert (statement, len(written)) == (data, 1)
    assert bob.ledger.heads.shown("alice").held == head
    assert bob.ledger.log.verify().ok


def test_a_head_is_held_though_its_statement_is_refused(pair: Pair) -> None:
    alice, bob = pair.parties
    node = Contacts.__new__(Contacts)
    node._ledger, node._events = bob.ledger, Events(StringIO())
    node._hear("alice", alice.ledger.heads.attached(b"{"))
    held = bob.ledger.heads.shown("alice").held
    assert held is not None
    assert held.head == alice.ledger.log.audit.head()


def test_a_log_made_anew_lacks_what_it_signed(pair: Pair) -> None:
    pair.session(agreed(pair))
    pair.deliver()
    alice, bob = pair.parties
    held = bob.ledger.heads.shown("alice").held
    assert held is not None
    alice.connection.close()
    for file in alice.path.parent.iterdir():
        file.unlink()
    alice.open()
    found = lost(pair, 0)
    assert found == Found(lost=held.head, accepted=False)
    assert lost(pair, 0) == found
    shown = alice.ledger.heads.shown("bob")
    assert shown.held is None
    for said in (found, Found(lost=None)):  # whether alice says so or not
        assert bob.ledger.heads.lost_by_peer("alice", shown, said) == Found(lost=held.head, accepted=False)
    for party in pair.parties:
        assert [entry.kind for entry in party.ledger.log.entries(100, None)].count("rolled back") == 1
    while alice.ledger.log.entries(1, None)[0].number <= held.head.number:
        alice.ledger.log.note("node stopped")
    grown = alice.ledger.heads.shown("bob")  # as long as it was: now its own word tells
    assert bob.ledger.heads.lost_by_peer("alice", grown, lost(pair, 0)).lost == held.head
    bob.ledger.heads.hold("alice", grown.own)
    assert lost(pair, 0) == Found(lost=None)


def test_what_nobody_signed_accuses_nobody(pair: Pair) -> None:
    alice, bob = pair.parties
    shown = bob.ledger.heads.shown("alice")

    def of(identity, head: Head = HEAD) -> Evidence:
        found = sign_head(identity, head)
        return Evidence(head=head, fingerprint=found.fingerprint, signature=found.signature.hex())

    own = of(alice.who.identity)
    forged = own.model_copy(update={"head": HEAD.model_copy(update={"number": 8})})
    with pytest.raises(ProtocolError, match="we have not signed"):
        alice.ledger.heads.lost("bob", shown.model_copy(update={"held": forged}))
    with pytest.raises(ProtocolError, match="not signed its log's head"):
        alice.ledger.heads.lost("bob", Shown(own=own, held=None))
    former = shown.model_copy(update={"held": of(bob.who.identity)})  # of a certificate that is not ours now
    assert alice.ledger.heads.lost("bob", former) == Found(lost=None)
    assert alice.ledger.heads.lost("bob", shown.model_copy(update={"held": own})).lost == HEAD


def test_nobody_goes_on_before_both_have_accepted() -> None:
    for gone, ours, theirs in itertools.product((False, True), repeat=3):
        found = Found(lost=HEAD if gone else None, accepted=ours)
        nothing = Found(lost=None)
        free = not gone or (ours and theirs)
        assert (why_held("b", found, nothing, theirs, False) == "") == free
        assert (why_held("b", nothing, found, False, theirs) == "") == free
    both = why_held("b", Found(lost=HEAD), Found(lost=HEAD), False, False)
    assert "the records here" in both
    assert "the records of b" in both
