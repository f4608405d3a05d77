"""A result is withdrawn: a signed word that both parties keep, however the link breaks, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.link.identity import Identity
from parties.node.desk.views import job_result, job_view
from parties.node.log.job_events import withdrawn
from parties.node.log.statement import Statement
from parties.node.records import withdrawal
from smc.errors import InputError, ProtocolError
from tests.support.ledgers import SCHEMA, Pair, agreed, propose
from tests.support.proposals import inputs_of


def done(pair: Pair) -> str:
    """A job that both have computed and signed."""
    job = agreed(pair)
    pair.deliver()
    pair.session(job)
    pair.deliver()
    assert [party.state(job) for party in pair.parties] == ["done", "done"]
    return job


def words(pair: Pair, party: int, job: str) -> list[str]:
    """Who has withdrawn the result, as a party sees it, without the time."""
    ledger = pair.parties[party].ledger
    shown = job_result(ledger.jobs.find(job), "done").withdrawn
    return [f"{line.split(',')[0]}: {line.rpartition(': ')[2]}" for line in shown]


def test_a_list_has_the_answer_until_it_is_withdrawn(pair: Pair) -> None:
    job, alice = done(pair), pair.parties[0].ledger

    def answer() -> str:
        record = alice.jobs.find(job)
        return job_view(record, alice.jobs.state(record), inputs_of(SCHEMA), None, "lan").answer

    assert answer() == "wind = weak: yes (and 3 lines)"
    alice.decisions.withdraw(job, "art. 17")
    assert answer() == ""


def test_a_withdrawal_is_seen_at_both_sides(pair: Pair) -> None:
    job = done(pair)
    alice, bob = pair.parties
    alice.ledger.decisions.withdraw(job, "art. 17")
    pair.deliver()
    assert words(pair, 0, job) == ["by us: art. 17"]
    assert words(pair, 1, job) == ["by alice: art. 17"]
    for party in pair.parties:
        assert party.state(job) == "done"
        (entry,) = [one for one in party.ledger.log.entries(9, None) if one.kind == "withdrawn"]
        assert entry.fields["by"] == ("us" if party is alice else "peer")
        assert party.ledger.log.verify().ok
        assert not party.ledger.jobs.find(job).ours.unheard
    word = bob.ledger.jobs.find(job).theirs.withdrawn  # type: ignore[union-attr]
    assert word is not None
    digest = bob.ledger.jobs.find(job).ours.proposal.digest
    assert word.is_signed_by(bob.who.peer, digest)
    assert not word.is_signed_by(alice.who.peer, digest)
    assert not word.is_signed_by(bob.who.peer, "0" * 64)
    with pytest.raises(InputError, match="withdrawn already"):
        alice.ledger.decisions.withdraw(job, "art. 17")
    bob.ledger.decisions.withdraw(job, "ours, too")
    pair.deliver()
    assert words(pair, 0, job) == ["by us: art. 17", "by bob: ours, too"]
    assert words(pair, 1, job) == ["by us: ours, too", "by alice: art. 17"]


@pytest.mark.parametrize("lost", ["word", "answer"])
def test_what_is_lost_is_said_with_the_next_link(pair: Pair, lost: str) -> None:
    job = done(pair)
    alice, bob = pair.parties
    for party in pair.parties:  # nothing more is to be said of the job
        record = party.ledger.jobs.find(job)
        assert record.theirs is not None
        with party.connection:
            settled = record.theirs.model_copy(update={"settled": True})
            party.ledger.jobs.store.put(record.model_copy(update={"theirs": settled}))
        assert party.ledger.jobs.to_greet(party.who.peer_name) == []
    alice.ledger.decisions.withdraw(job, "art. 17")
    if lost == "answer":
        bob.hear(alice.said.pop())
    alice.crash()
    bob.crash()
    assert alice.ledger.jobs.to_greet(alice.who.peer_name) == [job]
    pair.meet()
    assert words(pair, 1, job) == ["by alice: art. 17"]
    assert not any(party.ledger.jobs.find(job).ours.unheard for party in pair.parties)


def test_both_at_once(pair: Pair) -> None:
    job = done(pair)
    for party in pair.parties:
        party.ledger.decisions.withdraw(job, "mine")
    pair.deliver()
    pair.meet()
    assert [len(words(pair, party, job)) for party in (0, 1)] == [2, 2]
    assert not any(party.ledger.jobs.find(job).ours.unheard for party in pair.parties)


def test_an_auditor_checks_the_signature(pair: Pair) -> None:
    """By either certificate; a word in the log that its signer has not signed is named."""
    job = done(pair)
    alice, bob = pair.parties
    alice.ledger.decisions.withdraw(job, "art. 17")
    pair.deliver()
    record = bob.ledger.jobs.find(job)
    assert record.theirs is not None
    word = record.theirs.withdrawn
    assert word is not None
    changed = word.model_copy(update={"why": "art. 18"})
    with bob.connection:
        bob.ledger.jobs.apply(record, withdrawn(bob.who, "peer", record.ours.proposal.digest, changed))
    problem, *_ = bob.ledger.log.verify().problems
    assert problem.endswith("holds a withdrawal that its signer has not signed")


def test_a_withdrawal_counts_once_the_job_is_done(pair: Pair) -> None:
    """A peer that withdraws the result before we have signed it puts nothing in our records that our log lacks."""
    job = agreed(pair)
    alice, bob = pair.parties
    pair.session(job, until=(2, 9))
    said = bob.ledger.jobs.find(job).ours
    assert said.signed is not None
    result = said.signed.result[said.proposal.task.about.noun]
    word = withdrawal(bob.who.identity, said.proposal.digest, result, "mine", "2026-01-01T00:00:00+00:00")
    early = said.model_copy(update={"withdrawn": word, "unheard": True}).to_bytes()
    alice.hear(early)
    assert alice.state(job) == "interrupted"
    assert alice.ledger.log.verify().problems == []
    pair.session(job)
    assert alice.state(job) == "done"
    assert words(pair, 0, job) == []
    alice.hear(early)
    assert words(pair, 0, job) == ["by bob: mine"]
    assert alice.ledger.log.verify().problems == []


def test_a_withdrawal_has_a_reason(pair: Pair) -> None:
    with pytest.raises(InputError, match="give a reason: a withdrawal is permanent"):
        pair.parties[0].ledger.decisions.withdraw(done(pair), " ")


def test_only_results_are_withdrawn(pair: Pair) -> None:
    job = propose(pair)
    with pytest.raises(InputError, match="no result to withdraw: it is waiting"):
        pair.parties[0].ledger.decisions.withdraw(job, "art. 17")


@pytest.mark.parametrize("forged", ["signer", "result", "job", "why", "taken back"])
def test_a_word_that_is_not_the_peers(pair: Pair, forged: str, identities: dict[str, Identity]) -> None:
    job = done(pair)
    alice, bob = pair.parties
    alice.ledger.decisions.withdraw(job, "art. 17")
    (said,) = alice.said
    theirs = Statement.from_bytes(said)
    assert theirs.withdrawn is not None
    digest, result = theirs.proposal.digest, theirs.withdrawn.result
    if forged == "taken back":
        bob.hear(said)
        wrong = theirs.model_copy(update={"withdrawn": None, "unheard": False})
    else:
        signer = identities["bob" if forged == "signer" else "alice"]
        word = withdrawal(
            signer,
            "0" * 64 if forged == "job" else digest,
            "0" * 64 if forged == "result" else result,
            "art. 17",
            theirs.withdrawn.at,
        )
        wrong = theirs.model_copy(
            update={"withdrawn": word.model_copy(update={"why": "art. 18"}) if forged == "why" else word}
        )
    with pytest.raises(ProtocolError, match="contradicts" if forged == "taken back" else "under a withdrawal is wrong"):
        bob.hear(wrong.to_bytes())
    assert len(words(pair, 1, job)) == (forged == "taken back")


def test_a_withdrawn_result_is_not_given_again_for_nothing(pair: Pair) -> None:
    for party in pair.parties:
        party.version = "1"
        party.crash()
    first = done(pair)
    again = propose(pair)
    pair.deliver()
    ledger = pair.parties[0].ledger
    earlier = ledger.accounts.earlier(ledger.jobs.find(again))
    assert earlier is not None
    pair.parties[1].ledger.decisions.decide(again, "approved")
    pair.deliver()
    for party in pair.parties:  # it repeats the first
        with party.connection:
            party.ledger.jobs.store.put(party.ledger.jobs.find(again).model_copy(update={"repeats": first}))
    pair.session(again)
    pair.deliver()
    assert [party.state(again) for party in pair.parties] == ["done", "done"]
    ledger.decisions.withdraw(first, "art. 17")
    assert ledger.accounts.earlier(ledger.jobs.find(first)) is None
    assert ledger.accounts.earlier(ledger.jobs.find(again)) is None


@pytest.mark.parametrize("party", [0, 1])
def test_the_same_job_is_learnt_anew(pair: Pair, party: int) -> None:
    """By either: a new job of the same specification, tables and purpose, that waits for the other's consent."""
    first = done(pair)
    ledger = pair.parties[party].ledger
    ledger.decisions.withdraw(first, "art. 17")
    again = ledger.decisions.repeat(first).id
    pair.deliver()
    before, after = (ledger.jobs.find(job).ours.proposal for job in (first, again))
    assert after.id != before.id
    assert (after.proposer, after.digest != before.digest) == (party, True)
    assert (after.specification, after.tables, after.purpose) == (before.specification, before.tables, before.purpose)
    assert [one.state(again) for one in pair.parties] == ["waiting", "waiting"]
    pair.parties[1 - party].ledger.decisions.decide(again, "approved")
    pair.deliver()
    pair.session(again)
    pair.deliver()
    assert [one.state(again) for one in pair.parties] == ["done", "done"]
    assert ledger.jobs.find(again).ours.withdrawn is None


def test_a_row_that_says_otherwise_than_the_log(pair: Pair, tmp_path: Path) -> None:
    job = done(pair)
    ledger = pair.parties[0].ledger
    ledger.decisions.withdraw(job, "art. 17")
    ledger.jobs.check(tmp_path / "log.json")
    record = ledger.jobs.find(job)
    unsaid = record.ours.model_copy(update={"withdrawn": None})
    with pair.parties[0].connection:
        ledger.jobs.store.put(record.model_copy(update={"ours": unsaid}))
    with pytest.raises(InputError, match=r"its withdrawal \(us\) is not what the audit log says"):
        ledger.jobs.check(tmp_path / "log.json")
