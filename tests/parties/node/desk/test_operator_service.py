"""What an operator sees and may ask, of real records and a peer whose link is as a test says."""

from __future__ import annotations

import inspect
import sqlite3
from types import SimpleNamespace
from typing import Any, cast

import pytest

from parties.base.token_key import TokenError
from parties.link import tls
from parties.node.desk import operator_service
from parties.node.desk.operator_service import LARGEST_GROUP, OperatorService
from parties.node.links.contacts import REVOKED, Contact
from parties.operator.interface import NotRecordedError, Operator, PeerView
from parties.sources.settings import BudgetSettings
from smc.errors import InputError
from tests.support.ledgers import Pair, agreed, offer_otherwise, propose
from tests.support.registry import registered

GROUP = min(tls.POST_QUANTUM)


def operator_of(pair: Pair, connect: str | None = None, unbegun: str = "", **control: Any) -> OperatorService:
    """Alice's, with bob at the other end of such a link, and none of whose sessions is under way."""
    alice = pair.parties[0]
    control = {"connected": False, "trouble": "", "held": "not compared yet", "tls": "", "group": ""} | control
    sessions = SimpleNamespace(
        progress=lambda _: None, stop=lambda *_: None, trouble=lambda _: "", why_not_begun=lambda _: unbegun
    )
    ended = SimpleNamespace(**control, stop=lambda: None)
    contact = cast("Contact", SimpleNamespace(who=alice.who, connect=connect, control=ended, sessions=sessions))
    columns = {"days": ["wind", "rain", "play"]}
    return OperatorService(alice.who.identity, alice.ledger, {"bob": contact}, columns, lambda: "here:1", "lan")


def peer_of(operator: OperatorService) -> PeerView:
    (peer,) = operator.node().peers
    return peer


def test_a_link_that_is_up_is_shown_with_what_protects_it(pair: Pair) -> None:
    peer = peer_of(operator_of(pair, connected=True, trouble="of the link before", tls="TLSv1.3", group=GROUP))
    assert (peer.connected, peer.trouble, peer.tls, peer.group) == (True, "", "TLSv1.3", GROUP)
    assert (peer.post_quantum, peer.held, peer.role, peer.address) == (True, "", "listens", "here:1")
    assert peer_of(operator_of(pair, connected=True, group="X25519")).post_quantum is False


def test_a_link_that_is_down_is_shown_with_why_and_not_with_what_protected_it(pair: Pair) -> None:
    down = {"trouble": "nobody answers", "tls": "TLSv1.3", "group": GROUP}
    peer = peer_of(operator_of(pair, "bob.example:1", **down))
    assert (peer.connected, peer.trouble, peer.tls, peer.group) == (False, "nobody answers", "", "")
    assert (peer.post_quantum, peer.held, peer.address) == (None, "", "bob.example:1")
    assert peer_of(operator_of(pair, trouble="rolled back", held="rolled back")).held == "rolled back"


def test_a_revoked_peer_is_shown_so_however_its_link_ended(pair: Pair) -> None:
    operator = operator_of(pair, trouble="nobody answers")
    job = agreed(pair)
    assert operator.job(job).why == ""
    assert operator.revoke("bob", " ").peers[0].trouble == operator.job(job).why == REVOKED
    (entry,) = [one for one in operator.audit() if one.kind == "pin revoked"]
    assert entry.fields["why"] == "no reason given"


def test_why_no_session_begins_is_shown(pair: Pair) -> None:
    """As the peer has told it, for it may be a limit of the peer's."""
    job = agreed(pair)
    assert operator_of(pair, unbegun="the peer refuses: its limit").job(job).why == "the peer refuses: its limit"


def effects(operator: OperatorService, noisy: str, exact: str) -> tuple[float | None, ...]:
    """What a noisy job would leave of epsilon, from how much, and what there is of bits for one that has no noise."""
    views = {view.id: view for view in operator.jobs()}
    price, exposure = views[noisy].price, views[exact].exposure
    assert price is not None
    assert exposure is not None
    assert (price.epsilon, views[noisy].exposure, views[exact].price) == (1.5, None, None)
    return price.left, price.after, exposure.left


def test_what_a_job_would_leave_is_shown_while_it_waits_as_the_budget_is_now(pair: Pair) -> None:
    """Once it is decided that is over."""
    with registered(("noisy", "tests.support.noisy:Noisy")):
        alice, ledger = pair.parties[0], pair.parties[1].ledger
        alice.budget = BudgetSettings(epsilon=2, bits=8)
        alice.crash()
        operator = operator_of(pair)
        noisy = ledger.decisions.propose({"protocol": "noisy", "table": "days", "epsilon": 1.5}).id
        exact = ledger.decisions.propose({"protocol": "id3", "table": "days", "plain": True}).id
        pair.deliver()
        assert effects(operator, noisy, exact) == (2, 0.5, 8)
        offer_otherwise(alice.offers, budget=BudgetSettings(epsilon=3, bits=9))
        assert effects(operator, noisy, exact) == (3, 1.5, 9)
        for job in (noisy, exact):
            operator.approve(job)
        assert effects(operator, noisy, exact) == (None, None, None)


def test_it_is_asked_as_its_interface_says() -> None:
    names = [name for name in vars(Operator) if not name.startswith("_")]
    assert "revoke" in names
    for name in names:
        asked, answered = (inspect.signature(getattr(one, name)) for one in (Operator, OperatorService))
        assert asked == answered, name


@pytest.mark.parametrize("group", [-1, 0, LARGEST_GROUP + 1])
def test_a_budget_is_shown_for_groups_of_some_rows(pair: Pair, group: int) -> None:
    operator = operator_of(pair)
    for size in (1, LARGEST_GROUP):
        assert [table.table for table in operator.budget(size)] == ["days"]
    with pytest.raises(InputError, match=f"group: the loss can be shown for 1 to {LARGEST_GROUP} rows"):
        operator.budget(group)


def test_nobody_waits_no_time(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none of the places of those who wait is taken for it, or kept after it."""
    operator = operator_of(pair)
    monkeypatch.setattr(operator, "_changes", lambda: "same")
    places = operator._places._value  # type: ignore[attr-defined]
    for wait in (-1.0, 0.0, 0.001):
        assert operator.changes("same", wait) == "same"
        assert operator._places._value == places  # type: ignore[attr-defined]


def test_nobody_waits_longer_than_the_most(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_service, "LONGEST_WAIT", 0.001)
    operator, job = operator_of(pair), propose(pair)
    assert operator.job(job, 10.0**6).state == "waiting"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            sqlite3.OperationalError("disk I/O error"),
            "the disk fails; look at the disk, then start the node again, then see smc check$",
        ),
        (sqlite3.OperationalError("database is locked"), "another program holds the database; end that program, "),
        (TokenError("the token is away"), "the token is away$"),
    ],
)
@pytest.mark.parametrize("asked", ["submit", "approve", "refuse", "cancel", "withdraw", "revoke", "repeat"])
def test_what_cannot_be_written_is_told_as_not_done(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str, asked: str
) -> None:
    operator, ledger = operator_of(pair), pair.parties[0].ledger

    def fail(*_: Any, **__: Any) -> None:
        raise error

    for name in ("propose", "decide", "cancel", "withdraw", "repeat"):
        monkeypatch.setattr(ledger.decisions, name, fail)
    monkeypatch.setattr(ledger.pins, "revoke", fail)
    arguments: dict[str, tuple[Any, ...]] = {"submit": ({},), "refuse": ("1", "no"), "withdraw": ("1", "no")}
    with pytest.raises(NotRecordedError, match="cannot write its records, so nothing has been done: " + said):
        getattr(operator, asked)(*arguments.get(asked, ("bob",)))


def test_a_job_whose_table_has_gone_is_shown_all_the_same(pair: Pair) -> None:
    operator, job = operator_of(pair), propose(pair, 1)
    pair.deliver()
    assert operator.jobs()[0].waits_for_us
    cast("dict[str, Any]", pair.parties[0].offers.tables).clear()
    operator = operator_of(pair)  # as after a start
    assert (operator.job(job).id, operator.job(job).waits_for_us) == (job, True)
    with pytest.raises(InputError):
        operator.approve(job)


def test_a_result_is_that_of_a_job_that_is_done(pair: Pair) -> None:
    operator, job, other = operator_of(pair), agreed(pair), propose(pair)
    with pytest.raises(InputError):
        operator.result(job)
    pair.session(job)
    pair.deliver()
    assert operator.result(job[:8]).id == job
    with pytest.raises(InputError):
        operator.result(other)
    assert operator.verify().ok
