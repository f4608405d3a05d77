"""Consent: nothing that the peer says makes a job run, or run again, without it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity
from parties.node.log.statement import Statement
from parties.node.policy.rules import Rule
from smc.errors import InputError, ProtocolError, SmcError
from smc.meter import Cost
from tests.support.ledgers import STAGES, TASK, Pair, agreed, paired, propose

pytestmark = pytest.mark.slow


def test_consent_by_rule_is_asked_for_again_when_the_job_runs(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """The rules of the day of the run decide: after a restart without the rule, the job stays where it is."""
    rules = (Rule.model_validate({"name": "any", "effect": "permit"}),)
    with paired(tmp_path, identities, rules) as pair:
        bob = pair.parties[1]
        job = propose(pair)
        pair.deliver()
        assert bob.state(job) == "queued"
        for stricter in ((), (Rule.model_validate({"name": "none", "effect": "deny"}), *rules)):
            bob.rules = stricter
            bob.crash()
            assert bob.begin(job) is None
            assert bob.state(job) == "queued"
            assert bob.ledger.jobs.find(job).note
        bob.rules = rules
        bob.crash()
        assert bob.begin(job) is not None
        assert bob.state(job) == "running"


def test_the_operators_consent_is_not_put_to_the_rules(pair: Pair) -> None:
    job = agreed(pair)
    for party in pair.parties:
        assert party.begin(job) is not None


def test_one_session_at_a_time(pair: Pair) -> None:
    alice = pair.parties[0]
    job = agreed(pair)
    alice.begin(job)
    with pytest.raises(InputError, match="running"):
        alice.begin(job)
    assert alice.ledger.jobs.agreed(alice.who.peer_name, "ready") == []
    alice.ledger.runs.over(job)
    assert [record.id for record in alice.ledger.jobs.agreed(alice.who.peer_name, "ready")] == [job]


@pytest.mark.parametrize("consenting", [0, 1])
def test_no_session_without_both(pair: Pair, consenting: int) -> None:
    """Neither the proposer alone, nor a peer that approves a job of its own, can begin."""
    job = propose(pair, party=consenting)
    pair.deliver()
    for party in pair.parties:
        with pytest.raises(InputError, match="waiting"):
            party.begin(job)


@pytest.mark.parametrize("end", ["cancelled", "refused"])
def test_what_the_peer_has_ended_stays_ended(pair: Pair, end: str) -> None:
    """An older statement of the peer, said again or held up on its way, does not bring a job back to life."""
    alice, bob = pair.parties
    job = propose(pair)
    pair.deliver()
    approved = bob.ledger.jobs.find(job).ours.model_copy(update={"verdict": "approved", "by": "operator"})
    if end == "cancelled":
        alice.hear(approved.to_bytes())
        alice.hear(approved.model_copy(update={"end": "cancelled", "why": "no"}).to_bytes())
    else:
        alice.hear(approved.model_copy(update={"verdict": "refused", "why": "no"}).to_bytes())
    assert alice.state(job) == end
    with suppress(ProtocolError):
        alice.hear(approved.to_bytes())
    assert alice.state(job) == end
    assert not alice.ledger.jobs.agreed(alice.who.peer_name, "ready")


def test_a_withdrawn_consent_is_recorded(pair: Pair) -> None:
    """A peer may refuse what it has approved, as long as the job has not ended; the log tells."""
    alice, bob = pair.parties
    job = agreed(pair)
    refused = bob.ledger.jobs.find(job).ours.model_copy(update={"verdict": "refused", "why": "we were asked not to"})
    alice.hear(refused.to_bytes())
    assert alice.state(job) == "refused"
    newest = alice.ledger.log.entries(1, None)[0]
    assert (newest.kind, newest.fields["verdict"], newest.fields["party"]) == ("decided", "refused", "peer")


def test_a_job_that_was_ended_while_the_peer_was_dialled_opens_nothing(pair: Pair) -> None:
    """Between `begin` and the handshake there is nothing to cut yet: the session must find out by itself."""
    job = agreed(pair)
    ledger = pair.parties[0].ledger
    ledger.runs.begin(job, "bob")
    ledger.decisions.cancel(job, "stop")
    with pytest.raises(SmcError):
        ledger.runs.met(job, 0, "mixed")
    with pytest.raises(SmcError):
        ledger.runs.reached(job, TASK.states.encode(STAGES[1]), Cost(1, 2, 3, 4))
    assert not {entry.kind for entry in ledger.log.entries(100, None)} & {"started", "opened"}


@pytest.mark.parametrize(
    "change",
    [
        {"end": "computed"},  # without a signature
        {"verdict": "waiting", "end": "computed"},
        {"end": "failed"},
    ],
)
def test_no_statement_of_the_peer_makes_an_unapproved_job_run(pair: Pair, change: dict[str, Any]) -> None:
    bob = pair.parties[1]
    job = propose(pair)
    pair.deliver()
    theirs = bob.ledger.jobs.find(job).theirs
    assert theirs is not None
    with suppress(ProtocolError):
        bob.hear(theirs.model_copy(update=change).to_bytes())
    assert bob.state(job) in ("waiting", "failed")
    assert not bob.ledger.jobs.agreed(bob.who.peer_name, "ready")
    with pytest.raises(InputError):
        bob.begin(job)


def test_a_new_job_under_a_known_identifier_is_refused(pair: Pair) -> None:
    """Also while the first one waits, and also if only its proposer is another."""
    alice, bob = pair.parties
    job = propose(pair)
    pair.deliver()
    known = alice.ledger.jobs.find(job).ours.proposal
    for change in ({"proposer": 1}, {"purpose": "another"}, {"tables": ("days", "nights")}):
        other = Statement(proposal=known.model_copy(update=change), verdict="approved")
        with pytest.raises(ProtocolError, match="changed"):
            bob.hear(other.to_bytes())
    assert bob.state(job) == "waiting"
    assert bob.ledger.jobs.find(job).ours.proposal == known
