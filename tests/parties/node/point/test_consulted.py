"""Where the decision point is asked, by whom, and what becomes of a job: never anything milder than without it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.link.identity import Identity
from parties.node.acts.gate import Circumstances, Gate, Judgement
from parties.node.acts.parts import PeerLink
from parties.node.links import executor
from parties.node.log.statement import Statement
from parties.node.log.store import Record
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity
from parties.node.point import asking, xacml
from parties.node.point.asking import Asking
from parties.node.point.xacml import DecisionPointAnswer
from parties.node.policy.rules import Rule
from parties.node.settings import LimitSettings, NodeFile
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError
from tests.support.decision_points import Says
from tests.support.ledgers import TREE, Pair, Party, agreed, paired, propose
from tests.support.proposals import proposal_of
from tests.support.session_pairs import finds, running
from tests.support.waiting import PATIENCE, eventually

MAX_WAITING = LimitSettings().waiting
PERMIT = (Rule(name="all", effect="permit"),)
REFUSALS: list[Any] = ["Deny", "NotApplicable", "Indeterminate"]


@contextmanager
def bob_asks(
    directory: Path, identities: dict[str, Identity], point: Says, rules: tuple[Rule, ...] = PERMIT
) -> Iterator[tuple[Pair, Party]]:
    """Two ledgers; bob, who has these rules, has to ask the point."""
    with paired(directory, identities, rules) as pair:
        bob = pair.parties[1]
        bob.point = point
        bob.crash()
        yield pair, bob


def decided(party: Party) -> list[dict[str, Any]]:
    entries = party.ledger.log.entries(100, None)
    return [entry.fields for entry in entries if entry.kind == "decided" and entry.fields["party"] == "us"]


def test_what_a_rule_permits_waits_for_the_point(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """The peer sees what it sees of an operator who has not looked; a restart loses nothing."""
    point = Says("Permit", "by policy 7")
    with bob_asks(tmp_path, identities, point) as (pair, bob):
        job = propose(pair)
        pair.deliver()
        assert (bob.state(job), point.asked) == ("waiting", [])
        assert bob.ledger.jobs.find(job).reason.endswith("; the decision point is being asked")
        assert pair.parties[0].ledger.jobs.find(job).theirs == Statement(
            proposal=bob.ledger.jobs.find(job).ours.proposal
        )
        bob.crash()
        assert bob.ledger.decisions.unasked() == [job]
        assert bob.ledger.decisions.settle(job)
        assert (len(point.asked), bob.ledger.decisions.unasked()) == (1, [])
        record = bob.ledger.jobs.find(job)
        assert (record.ours.verdict, record.ours.by, record.ours.why) == ("approved", "rule all", "")
        assert decided(bob)[0]["reason"].endswith("; the decision point permits it: by policy 7")
        pair.deliver()
        assert bob.state(job) == "queued"
        assert bob.ledger.decisions.settle(job)
        assert len(point.asked) == 1


@pytest.mark.parametrize("decision", REFUSALS)
def test_a_refusal_tells_the_peer_nothing_of_the_point(
    tmp_path: Path, identities: dict[str, Identity], decision: Any
) -> None:
    with bob_asks(tmp_path, identities, Says(decision, "SECRET")) as (pair, bob):
        job = propose(pair)
        pair.deliver()
        assert bob.ledger.decisions.settle(job)
        (entry,) = decided(bob)
        assert (entry["verdict"], entry["by"]) == ("refused", "decision point")
        assert entry["reason"].endswith(f"the decision point says {decision}: SECRET")
        told = bob.ledger.jobs.find(job).ours.to_bytes()
        assert b"SECRET" not in told
        assert b"decision" not in told
        pair.deliver()
        assert pair.parties[0].state(job) == "refused"


def test_without_an_answer_the_job_waits_and_we_see_why(tmp_path: Path, identities: dict[str, Identity]) -> None:
    point = Says(None, "no answer in time")
    with bob_asks(tmp_path, identities, point) as (pair, bob):
        job = propose(pair)
        pair.deliver()
        assert not bob.ledger.decisions.settle(job)
        assert bob.ledger.jobs.find(job).reason.endswith("the decision point gives no answer: no answer in time")
        assert (bob.state(job), decided(bob), bob.said) == ("waiting", [], [])
        entries = len(bob.ledger.log.entries(100, None))
        assert not bob.ledger.decisions.settle(job)
        assert len(bob.ledger.log.entries(100, None)) == entries
        point.decision = "Permit"
        assert bob.ledger.decisions.settle(job)
        assert bob.ledger.jobs.find(job).ours.verdict == "approved"


def test_our_own_denial_asks_nobody(tmp_path: Path, identities: dict[str, Identity]) -> None:
    point = Says("Permit")
    with bob_asks(tmp_path, identities, point, (Rule(name="no", effect="deny"),)) as (pair, _):
        job = propose(pair)
        pair.deliver()
        assert pair.parties[0].state(job) == "refused"
        with pytest.raises(InputError, match="cannot be proposed: denied"):
            propose(pair, 1)
        assert point.asked == []


@pytest.mark.parametrize("decision", [*REFUSALS, None])
def test_no_consent_of_ours_without_a_permit(tmp_path: Path, identities: dict[str, Identity], decision: Any) -> None:
    """An operator cannot approve past the point, nor propose; the job goes on waiting, and can be refused."""
    point = Says(decision, "SECRET")
    with bob_asks(tmp_path, identities, point, ()) as (pair, bob):
        job = propose(pair)
        pair.deliver()
        with pytest.raises(InputError, match=r"this cannot be approved: the decision point .*SECRET"):
            bob.ledger.decisions.decide(job, "approved")
        with pytest.raises(InputError, match=r"this cannot be proposed: the decision point .*SECRET"):
            propose(pair, 1)
        assert (bob.state(job), decided(bob), len(bob.ledger.jobs.all())) == ("waiting", [], 1)
        point.decision = "Permit"
        bob.ledger.decisions.decide(job, "approved")
        assert decided(bob)[0]["reason"] == "the decision point permits it: SECRET"
        assert b"SECRET" not in bob.ledger.jobs.find(job).ours.to_bytes()
        other = propose(pair, 1)
        assert decided(bob)[0]["reason"] == "the decision point permits it: SECRET"
        point.asked.clear()
        bob.ledger.decisions.cancel(other)
        assert point.asked == []


def begun(bob: Party, job: str) -> Record | None:
    """Bob's node begins a session with alice's, and asks the point first if it must."""
    for attempt in bob.ledger.gate.attempts():
        with attempt:
            record = bob.ledger.runs.begin(job, "alice", attempt.word)
    return record


def test_a_session_begins_with_a_permit_alone(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """Each session asks anew; without a permit the job waits, and goes on when there is one."""
    point = Says("Permit")
    with bob_asks(tmp_path, identities, point, ()) as (pair, bob):
        job = agreed(pair)
        begin = partial(begun, bob, job)
        for decision in (*REFUSALS, None):
            point.decision = decision
            assert begin() is None
            assert bob.state(job) == "queued"
            assert "the decision point" in bob.ledger.jobs.find(job).note
        point.decision = "Permit"
        for _ in range(2):
            asked = len(point.asked)
            assert begin() is not None
            assert len(point.asked) == asked + 1
            bob.ledger.runs.over(job)


def test_the_lock_is_free_while_the_point_is_asked(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """Planted in `meanwhile`: another thread reads all jobs, or the test fails."""
    point, free = Says("Permit"), []

    def look(bob: Party) -> None:
        thread = threading.Thread(target=lambda: free.append(len(bob.ledger.jobs.all())), daemon=True)
        thread.start()
        thread.join(5)
        assert not thread.is_alive()

    with bob_asks(tmp_path, identities, point) as (pair, bob):
        point.meanwhile = partial(look, bob)
        job = propose(pair)
        pair.deliver()
        bob.ledger.decisions.settle(job)
        propose(pair, 1)
        pair.deliver()
        assert begun(bob, job) is not None
        assert len(free) == len(point.asked) == 3


def test_an_answer_to_another_question_is_none(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """What changes while the point is asked is asked anew, at another time."""
    point = Says("Permit")
    with bob_asks(tmp_path, identities, point, ()) as (pair, bob):
        job = propose(pair)
        pair.deliver()
        point.meanwhile = lambda: bob.ledger.parts.links.update(alice=PeerLink("192.0.2.1"))
        with pytest.raises(InputError, match="changed while the decision point was asked"):
            bob.ledger.decisions.decide(job, "approved")
        bob.ledger.decisions.decide(job, "approved")
        bob.ledger.decisions.cancel(job)
        late = propose(pair)
        pair.deliver()
        point.meanwhile = lambda: bob.ledger.decisions.cancel(late)
        with pytest.raises(InputError, match="does not wait"):
            bob.ledger.decisions.decide(late, "approved")


def test_no_typed_value_is_sent(tmp_path: Path, identities: dict[str, Identity]) -> None:
    point = Says("Permit")
    with bob_asks(tmp_path, identities, point, ()) as (pair, bob):
        fields = {"protocol": "millionaires", "bits": 32, "splits": None, "table": None}
        given = {name: value for name, value in fields.items() if value is not None}
        job = pair.parties[0].ledger.decisions.propose({**given, "value": 1}).id
        pair.deliver()
        bob.ledger.decisions.decide(job, "approved", typed={"value": 123456789})
        (asked,) = point.asked
        assert "123456789" not in str(xacml.document(asked))


def test_the_thread_asks_about_each_and_comes_back(
    tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "AGAIN_SECONDS", 0.02)
    point, told = Says(None), []
    with bob_asks(tmp_path, identities, point) as (pair, bob):
        thread = Asking(bob.ledger.decisions, lambda event, **fields: told.append((event, fields)))
        bob.changed = lambda _: thread.wake()
        thread.start()
        jobs = [propose(pair) for _ in range(3)]
        pair.deliver()
        eventually(lambda: len(point.asked) > 6)
        assert [bob.state(job) for job in jobs] == ["waiting"] * 3
        point.decision = "Permit"
        eventually(lambda: not bob.ledger.decisions.unasked())
        assert [bob.ledger.jobs.find(job).ours.verdict for job in jobs] == ["approved"] * 3
        assert told == [("decision point", {"answers": False}), ("decision point", {"answers": True})]
        thread.stop()


class OneFails:
    """Jobs of which one, the oldest, never gets an answer."""

    def __init__(self) -> None:
        self.left, self.asked = ["bad", *map(str, range(20))], 0

    def unasked(self) -> list[str]:
        return list(self.left)

    def settle(self, identifier: str) -> bool:
        if identifier != "bad":
            self.left.remove(identifier)
        return identifier != "bad"


def test_a_job_without_an_answer_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "AGAIN_SECONDS", 0.01)
    jobs = OneFails()
    thread = Asking(jobs, lambda *_, **__: None)
    thread.start()
    eventually(lambda: jobs.left == ["bad"])
    eventually(lambda: set(thread._tried) == {"bad"})  # of the others nothing is kept
    thread.stop()
    thread._thread.join(PATIENCE)
    assert not thread._thread.is_alive()
    assert thread._thread.daemon  # an asking under way keeps no process from ending


@pytest.mark.slow
def test_sessions_of_two_nodes(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over real gRPC: the listening node's point refuses, the job waits at both; then it runs."""
    monkeypatch.setattr(executor, "run", finds(TREE))
    point = Says("Permit")
    with running(tmp_path, parties, identities) as (pair, nodes):
        alice = pair.parties[0]
        job = agreed(pair)
        monkeypatch.setattr(alice.ledger.gate, "_point", point)
        point.decision = "Deny"
        nodes.bob.start()
        eventually(lambda: point.asked)
        assert nodes.states(job)[0] == "queued"
        point.decision = "Permit"
        eventually(lambda: all(party.ledger.jobs.find(job).ours.signed for party in pair.parties))


# Properties

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")
RANK = {"refused": 0, "waiting": 1, "approved": 2}
RULES = [
    Rule.model_validate({"name": str(number), **fields})
    for number, fields in enumerate(
        [
            {"effect": "permit"},
            {"effect": "permit", "exact": True},
            {"effect": "deny", "proposed_by": "us"},
            {"effect": "deny", "runs_today": {"above": 2}},
            {"effect": "permit", "network": "192.0.2.0/24"},
        ]
    )
]
AROUND = st.builds(
    Circumstances,
    runs_today=st.integers(0, 4),
    waiting=st.sampled_from([0, MAX_WAITING]),
    at=st.just(datetime(2026, 3, 2, 12, tzinfo=UTC)),
    address=st.sampled_from([None, "192.0.2.1"]),
    budget=st.sampled_from(["", "spent"]),
)


@settings(max_examples=60, deadline=None)
@given(
    rules=st.lists(st.sampled_from(RULES), unique_by=lambda rule: rule.name),
    around=AROUND,
    by=st.sampled_from(["us", "peer"]),
    decision=st.sampled_from(["Permit", *REFUSALS, None]),
    about=st.sampled_from(["this", "another", "nothing"]),
)
def test_a_point_never_makes_a_verdict_milder(
    identities: dict[str, Identity], rules: list[Rule], around: Circumstances, by: Any, decision: Any, about: str
) -> None:
    """And approves only what it permits of this very request; at another moment it is the same one."""
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    table = TableSettings.model_validate({"source": "days.csv", "schema": "schema.toml", "max_rows": 100})
    offers = Offers({"days": Offer(table, SCHEMA)}, {})
    job = proposal_of(SCHEMA, party=0 if by == "us" else 1)
    point = Says(decision)

    def judged(word: DecisionPointAnswer | None, asked: Says | None) -> Judgement:
        later = replace(around, at=around.at + timedelta(minutes=1)) if word else around
        return Gate(NodeFile(policy=tuple(rules)), offers, asked).judge(job, who, by, later, word)  # type: ignore[arg-type]

    without, before = judged(None, None), judged(None, point)
    assert RANK[before.verdict] < RANK["approved"]
    word = None if before.ask is None or about == "nothing" else point.ask(before.ask)
    if word is not None and about == "another":
        word = word._replace(about="another")
    after = judged(word, point)
    assert max(RANK[before.verdict], RANK[after.verdict]) <= RANK[without.verdict]
    permits = word is not None and about == "this" and decision == "Permit"
    assert (after.verdict == "approved") == (without.verdict == "approved" and permits)
    if without.verdict != "approved":
        assert before == after == without
    elif about == "this" and decision in REFUSALS and word is not None:
        assert after.verdict == "refused"


def test_of_jobs_that_wait_for_the_point_there_are_not_too_many(identities: dict[str, Identity]) -> None:
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    table = TableSettings.model_validate({"source": "days.csv", "schema": "schema.toml", "max_rows": 100})
    gate = Gate(NodeFile(policy=PERMIT), Offers({"days": Offer(table, SCHEMA)}, {}), Says("Permit"))  # type: ignore[arg-type]
    around = Circumstances(0, MAX_WAITING, datetime(2026, 3, 2, 12, tzinfo=UTC), None)
    found = gate.judge(proposal_of(SCHEMA, party=1), who, "peer", around)
    assert (found.verdict, found.by) == ("refused", "node")
