"""Two ledgers that hear each other, or not: whatever happens, both end with one story, and all of it is recorded."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.link.identity import Identity
from parties.node.events import Events
from parties.node.links.contacts import Contacts
from parties.node.log.store import Store
from parties.node.policy.rules import Rule
from parties.operator.interface import ENDED
from smc.errors import InputError, ProtocolError
from tests.support.ledgers import OTHER, TREE, Pair, agreed, paired, propose


def test_the_latest_result_is_that_of_the_latest_job_that_is_done(pair: Pair) -> None:
    alice, bob = pair.parties
    with pytest.raises(InputError, match="there is no job yet that is done"):
        alice.ledger.jobs.find("latest", ("done",))
    done = propose(pair)
    pair.deliver()
    bob.ledger.decisions.decide(done, "approved")
    pair.deliver()
    pair.session(done)
    pair.deliver()
    waiting = propose(pair)
    assert alice.ledger.jobs.find("latest").id == waiting
    assert alice.ledger.jobs.find("latest", ("done",)).id == done


def test_from_proposal_to_signatures(pair: Pair) -> None:
    alice, bob = pair.parties
    job = propose(pair)
    assert alice.state(job) == "waiting"
    pair.deliver()
    assert bob.state(job) == "waiting"
    bob.ledger.decisions.decide(job[:4], "approved")
    pair.deliver()
    assert alice.state(job) == bob.state(job) == "queued"
    pair.session(job)
    pair.deliver()
    assert alice.state(job) == bob.state(job) == "done"
    for party, peer in ((alice, bob), (bob, alice)):
        record = party.ledger.jobs.find(job)
        assert record.theirs is not None
        assert record.theirs.signed is not None
        assert record.theirs.signed.is_signed_by(peer.who.identity.certificate)
        entries = party.ledger.log.entries(100, None)
        assert party.ledger.log.verify().ok
        kinds = [entry.kind for entry in reversed(entries)]
        assert kinds[-2:] == ["finished", "signed"]
        opened = [entry.fields for entry in reversed(entries) if entry.kind == "opened"]
        assert [fields["depth"] for fields in opened] == [0, 1, 2]
        totals = {kind: sum(fields["opened"][kind] for fields in opened) for kind in opened[0]["opened"]}
        # Six nodes, four of them leaves, and one of the two splits had a choice.
        assert totals == {"whether a node is a leaf": 6, "class of a leaf": 4, "attribute of a split": 1}


def test_of_both_statements_the_proposal_is_in_memory_once(pair: Pair) -> None:
    """As the peer's words come in, and as the node starts anew."""
    job = propose(pair)
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job, "approved")
    pair.deliver()
    for party in pair.parties:
        (again,) = Store(party.ledger.log.connection).all()
        for record in (party.ledger.jobs.find(job), again):
            assert record.theirs is not None
            assert record.theirs.proposal is record.ours.proposal


def test_different_results_end_the_job(pair: Pair) -> None:
    job = propose(pair)
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job, "approved")
    pair.deliver()
    pair.session(job, (TREE, OTHER))
    pair.deliver()
    assert [party.state(job) for party in pair.parties] == ["failed", "failed"]


def test_a_result_is_not_done_until_both_have_it(pair: Pair) -> None:
    """One party leaves before its last step: both stay ready to go on, and end well the next time."""
    job = propose(pair)
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job, "approved")
    pair.deliver()
    for short in (0, 1):
        pair.session(job, until=(9, 3) if short else (3, 9))
        pair.parties[short].crash()
        pair.meet()
        assert [party.state(job) for party in pair.parties] == ["interrupted", "interrupted"] or short == 1
        if short == 0:
            pair.parties[0].crash()
    pair.session(job)
    pair.meet()
    assert [party.state(job) for party in pair.parties] == ["done", "done"]


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["propose", "approve", "refuse", "cancel", "session", "cut", "crash", "deliver", "meet", "lose"]
        ),
        st.integers(0, 1),
        st.integers(0, 3),
    ),
    max_size=25,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTIONS)
def test_whatever_happens_both_tell_the_same_story(
    tmp_path_factory: pytest.TempPathFactory, identities: dict[str, Identity], actions: list[tuple[str, int, int]]
) -> None:
    with paired(tmp_path_factory.mktemp("ledgers"), identities) as pair:
        jobs: list[str] = []
        for action, who, which in actions:
            party = pair.parties[who]
            job = jobs[which % len(jobs)] if jobs else "0" * 32
            with suppress(InputError):  # what the state of the job does not allow
                match action:
                    case "propose":
                        jobs.append(propose(pair, who))
                    case "approve":
                        party.ledger.decisions.decide(job, "approved")
                    case "refuse":
                        party.ledger.decisions.decide(job, "refused", "no")
                    case "cancel":
                        party.ledger.decisions.cancel(job, "enough")
                    case "session":
                        pair.session(job)
                    case "cut":
                        pair.session(job, until=(which, 9) if who else (9, which))
                    case "crash":
                        party.crash()
                    case "deliver":
                        pair.deliver()
                    case "meet":
                        pair.meet()
                    case "lose":
                        party.said.clear()
        pair.meet()
        pair.meet()
        for job in jobs:
            knowing = [party for party in pair.parties if any(record.id == job for record in party.ledger.jobs.all())]
            if len(knowing) == 1:  # withdrawn before the peer heard of it
                assert knowing[0].state(job) == "cancelled"
                continue
            left, right = (party.state(job) for party in pair.parties)
            assert left == right or not {left, right} & set(ENDED), (left, right)
        assert all(party.ledger.log.verify().ok for party in pair.parties)


def test_a_rule_approves_and_another_denies(tmp_path: Path, identities: dict[str, Identity]) -> None:
    rules = (
        Rule.model_validate({"name": "shallow", "effect": "permit", "max_depth": {"at_most": 2}}),
        Rule.model_validate({"name": "not wind", "effect": "deny", "columns": {"any_of": ["wind"]}}),
    )
    with paired(tmp_path, identities, rules) as pair:
        for fields, expected, by in (
            ({"max_depth": 1, "columns": ["rain"]}, "queued", "rule shallow"),
            ({"max_depth": 1}, "refused", "rule not wind"),
            ({"max_depth": 2, "columns": ["wind"]}, "refused", "rule not wind"),
            ({"columns": ["rain"], "plain": True}, "waiting", ""),
        ):
            job = propose(pair, 0, **fields)
            pair.deliver()
            assert pair.parties[1].state(job) == pair.parties[0].state(job) == expected
            record = pair.parties[1].ledger.jobs.find(job)
            assert record.ours.by == by
            if expected == "refused":
                assert "not wind" in record.reason
                assert "wind" not in record.ours.why.replace("not wind", "")  # the peer learns the rule's name only


def test_the_own_policy_binds_the_own_operator(tmp_path: Path, identities: dict[str, Identity]) -> None:
    rules = (Rule.model_validate({"name": "never", "effect": "deny", "table": "days"}),)
    with paired(tmp_path, identities, rules) as pair, pytest.raises(InputError, match="never"):
        propose(pair, 1)


@pytest.mark.usefixtures("one_day")
def test_runs_of_a_day_are_counted(tmp_path: Path, identities: dict[str, Identity]) -> None:
    rules = (Rule.model_validate({"name": "two a day", "effect": "permit", "runs_today": {"below": 2}}),)
    with paired(tmp_path, identities, rules) as pair:
        jobs = [propose(pair) for _ in range(3)]
        pair.deliver()
        assert [pair.parties[1].state(job) for job in jobs] == ["queued", "queued", "waiting"]


def test_what_a_rule_has_permitted_is_asked_again_when_it_runs(tmp_path: Path, identities: dict[str, Identity]) -> None:
    permit = Rule.model_validate({"name": "anything", "effect": "permit"})
    deny = Rule.model_validate({"name": "not now", "effect": "deny"})
    with paired(tmp_path, identities, (permit,)) as pair:
        bob = pair.parties[1]
        by_rule = propose(pair)
        pair.deliver()
        for rules, begun in (((permit, deny), False), ((), False), ((permit,), True)):
            bob.rules = rules
            bob.crash()
            assert bob.state(by_rule) == "queued"
            assert (bob.begin(by_rule) is not None) == begun
            assert ("not now" in bob.ledger.jobs.find(by_rule).note) == (deny in rules)
        assert bob.state(by_rule) == "running"
        bob.ledger.runs.over(by_rule)

        bob.rules = ()
        bob.crash()
        by_hand = propose(pair)
        pair.deliver()
        bob.ledger.decisions.decide(by_hand, "approved")
        bob.rules = (deny,)
        bob.crash()
        assert bob.begin(by_hand) is not None  # the operator has decided


@pytest.mark.parametrize("change", ["other job", "wrong key", "no key"])
def test_what_the_peer_must_not_say(pair: Pair, change: str) -> None:
    alice, bob = pair.parties
    job = propose(pair)
    pair.deliver()
    said = bob.ledger.jobs.find(job).ours
    assert alice.ledger.jobs.find(job).theirs == said
    if change == "other job":
        forged = said.model_copy(update={"proposal": said.proposal.model_copy(update={"purpose": "another"})})
    else:
        bob.ledger.decisions.decide(job, "approved")
        pair.deliver()
        pair.session(job)
        own = (alice if change == "wrong key" else bob).ledger.jobs.find(job).ours
        assert own.signed is not None
        signed = own.signed if change == "wrong key" else own.signed.model_copy(update={"signature": "0" * 128})
        forged = own.model_copy(update={"signed": signed})
    with pytest.raises(ProtocolError):
        alice.hear(forged.to_bytes())
    assert alice.state(job) != "done"


def test_a_job_is_named_by_its_beginning(pair: Pair) -> None:
    job = propose(pair)
    ledger = pair.parties[0].ledger
    assert ledger.jobs.find(job[:4]).id == ledger.jobs.find(job.upper()).id == job
    for name, message in (("", "4 digits"), (job[:3], "4 digits"), ("%%%%", "no job"), ("____", "no job")):
        with pytest.raises(InputError, match=message):
            ledger.jobs.find(name)


def test_what_ended_cannot_be_decided(pair: Pair) -> None:
    job = propose(pair)
    pair.deliver()
    alice, bob = (party.ledger for party in pair.parties)
    with pytest.raises(InputError, match="does not wait for our consent"):
        alice.decisions.decide(job, "approved")
    bob.decisions.decide(job, "refused", "no")
    pair.deliver()
    for call in (
        lambda: alice.decisions.cancel(job),
        lambda: bob.decisions.decide(job, "approved"),
        lambda: bob.runs.begin(job, "alice"),
    ):
        with pytest.raises(InputError, match="refused"):
            call()


def test_the_last_jobs_and_those_before(pair: Pair) -> None:
    ledger = pair.parties[0].ledger
    jobs = [propose(pair) for _ in range(7)]
    for job in jobs[::2]:
        ledger.decisions.cancel(job)
    assert [record.id for record in ledger.jobs.last(3)] == jobs[:3:-1]
    assert [record.id for record in ledger.jobs.last(2, before=jobs[3])] == [jobs[2], jobs[1]]
    assert [record.id for record in ledger.jobs.last(9, states=("cancelled",))] == jobs[::-2]
    assert [record.id for record in ledger.jobs.last(1, jobs[3], ("cancelled",))] == [jobs[2]]
    assert ledger.jobs.last(5, before=jobs[0]) == []
    with pytest.raises(InputError, match="no job begins"):
        ledger.jobs.last(5, before="abcdef" * 5)


def test_an_error_of_ours_ends_one_statement_and_not_the_link(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """With each link it would come again. Nothing of it is written, its text is not logged, and the next is heard."""
    alice, bob = pair.parties
    log = StringIO()
    node = Contacts.__new__(Contacts)
    node._ledger, node._events = bob.ledger, Events(log)
    known = propose(pair)
    pair.deliver()
    entries, tally = bob.ledger.log.entries(100, None), bob.connection.execute("SELECT * FROM heard").fetchall()

    def broken(record: Any) -> None:
        raise ZeroDivisionError("row 7 of days")

    with monkeypatch.context() as patch:
        patch.setattr(bob.ledger.jobs.store, "put", broken)  # late: entries and counts are written by then
        new = propose(pair)
        alice.ledger.decisions.cancel(known)
        for data in alice.said:
            node._hear("alice", alice.ledger.heads.attached(data))
    alice.said.clear()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["event"], line["job"]) for line in lines] == [("statement failed", new), ("statement failed", known)]
    assert {line["why"] for line in lines} == {"internal error: ZeroDivisionError"}
    assert bob.ledger.log.entries(100, None) == entries
    assert bob.connection.execute("SELECT * FROM heard").fetchall() == tally
    assert [record.id for record in bob.ledger.jobs.all()] == [known]
    assert bob.ledger.log.verify().ok
    pair.deliver()
    assert (alice.state(new), alice.ledger.jobs.find(new).theirs.why) == ("refused", "internal error")  # type: ignore[union-attr]
    pair.meet()  # what is known is said again
    assert bob.state(known) == "cancelled"
    assert len(bob.ledger.jobs.all()) == 1
    node._hear("alice", b"{")
    assert json.loads(log.getvalue().splitlines()[-1])["event"] == "statement refused"


@pytest.mark.parametrize("call", ["decide", "cancel", "unpaid", "withdraw"])
def test_of_a_reason_the_peer_hears_as_much_as_it_takes(pair: Pair, call: str) -> None:
    """A longer one would make a statement that it cannot read."""
    job, why = (agreed(pair) if call != "decide" else propose(pair)), "x" * 501
    pair.deliver()
    alice, bob = pair.parties
    if call == "withdraw":
        pair.session(job)
        pair.deliver()
    act: Any = (
        partial(bob.ledger.decisions.decide, job, "refused")
        if call == "decide"
        else partial(getattr(bob.ledger.runs if call == "unpaid" else bob.ledger.decisions, call), job)
    )
    act(why)
    pair.deliver()
    theirs = alice.ledger.jobs.find(job).theirs
    assert theirs is not None
    said = theirs if call != "withdraw" else theirs.withdrawn
    assert said is not None
    assert said.why == "x" * 500
