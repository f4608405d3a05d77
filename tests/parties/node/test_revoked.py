"""A certificate that is revoked: in the ledger, which remembers it, and at the node's door."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from parties.link.listening import RefusedError
from parties.node.desk.operator_service import OperatorService
from parties.node.links.contacts import REVOKED, Contact, Contacts
from parties.operator.people import acting
from parties.web import words
from smc.errors import InputError
from tests.support.ledgers import Pair, agreed, propose


def contact_of(pair: Pair, calls: list[Any]) -> Contact:
    """Alice's with bob, whose link and sessions only note that they are ended."""
    ended = SimpleNamespace(stop=lambda *why: calls.append(why), connected=False, trouble="", held="", group="")
    sessions = SimpleNamespace(stop=ended.stop, progress=lambda _: None)
    sessions.trouble = sessions.why_not_begun = lambda _: ""
    return cast("Contact", SimpleNamespace(who=pair.parties[0].who, connect=None, control=ended, sessions=sessions))


def test_no_link_and_no_job_with_it_any_more(pair: Pair) -> None:
    alice, calls, job = pair.parties[0], list[Any](), agreed(pair)
    contact = contact_of(pair, calls)
    service = OperatorService(alice.who.identity, alice.ledger, {"bob": contact}, {}, lambda: "here", "lan")
    assert words.state(service.job(job)) == "both agree: it starts next"
    with pytest.raises(InputError, match="there is no peer 'bop'"):
        service.revoke("bop")
    before = acting.set("anna")
    try:
        (peer,) = service.revoke("bob", "its key was copied").peers
    finally:
        acting.reset(before)
    assert peer.trouble == service.job(job).why == REVOKED
    assert words.state(service.job(job)) == "both agree: it waits"
    assert calls == [(0, "its certificate is revoked here"), ()]
    (entry,) = [one for one in alice.ledger.log.entries(9, None) if one.kind == "pin revoked"]
    assert [entry.fields[name] for name in ("peer", "person", "why")] == ["bob", "anna", "its key was copied"]
    for _ in range(2):  # after a restart, too
        node: Any = SimpleNamespace(_ledger=alice.ledger, stopping=False, of={"bob": contact})
        node.is_revoked = lambda one: Contacts.is_revoked(node, one)  # noqa: B023 (called at once)
        for label in ("control", "job 1234"):
            with pytest.raises(RefusedError, match="your certificate is revoked here"):
                Contacts.admit(node, "bob", contact.who.peer, label)
        with pytest.raises(InputError, match="the certificate of bob is revoked here"):
            propose(pair)
        with pytest.raises(InputError, match="revoked already"):
            alice.ledger.pins.revoke("bob", "")
        alice.crash()
