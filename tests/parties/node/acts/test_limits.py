"""What a peer may propose: how many jobs a day, how large, how old; and what becomes of what exceeds it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.base.rate import Rate
from parties.link.identity import Identity
from parties.node.acts import limits, runs
from parties.node.log import node_log
from parties.node.log.statement import Statement
from parties.node.policy.rules import Rule
from parties.node.settings import LimitSettings
from smc.errors import InputError, ProtocolError
from tests.support.ledgers import SCHEMA, Pair, agreed, paired, propose
from tests.support.proposals import proposal_of

pytestmark = pytest.mark.slow

ALL = (Rule(name="all", effect="permit"),)
NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def permitting(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[Pair]:
    """Two parties of whom bob permits every job."""
    with paired(tmp_path, identities, ALL) as made:
        yield made


def said(at: datetime = NOW, **fields: Any) -> Statement:
    """A proposal of alice's."""
    return Statement(
        proposal=proposal_of(SCHEMA, 0, **fields).model_copy(update={"proposed_at": at}), verdict="approved"
    )


def test_the_last_moments_of_a_proposal() -> None:
    """As old as may be, as early as two clocks may differ; and the last one of a day."""
    second = timedelta(seconds=1)
    for age, why in (
        (limits.OLDEST, None),
        (limits.OLDEST + second, f"more than {limits.OLDEST.days} days ago"),
        (-limits.CLOCK_SKEW, None),
        (-limits.CLOCK_SKEW - second, "in the future"),
    ):
        found = limits.excess(said(NOW - age), limits.Heard(), NOW, LimitSettings())
        assert found is None if why is None else why in (found or "")
    few = LimitSettings(jobs_a_day=500)
    assert limits.excess(said(), limits.Heard(499, 0), NOW, few) is None
    why = limits.excess(said(), limits.Heard(500, 0), NOW, few)
    assert why is not None
    assert "node.limits.jobs_a_day: 500 jobs were proposed today already" in why
    assert "wait until midnight UTC" in why


def test_shards_of_one_job_and_of_all() -> None:
    eight = LimitSettings(processes=8, memory=1000)
    assert limits.excess(said(shards=8), limits.Heard(), NOW, eight) is None
    assert limits.excess(said(shards=9), limits.Heard(), NOW, eight) == (
        "node.limits.processes: the job has 9 shards, but this node allows a peer 8: ask for fewer"
    )
    mib = 2**20
    assert limits.too_large(0, 0, (8, 1000 * mib), eight) == ""
    assert limits.too_large(3, 300 * mib, (5, 700 * mib), eight) == ""
    assert "5 shards run with this peer, of 8 at most" in limits.too_large(4, 0, (5, 0), eight)
    assert limits.too_large(3, 301 * mib, (5, 700 * mib), eight) == (
        "node.limits.memory: its shards take about 301 MiB, running ones take 700, but a peer may take 1000"
    )


def hear(pair: Pair, statement: Statement) -> Statement:
    """Bob's answer to a proposal."""
    bob = pair.parties[1]
    bob.hear(statement.to_bytes())
    (answer,), bob.said[:] = list(bob.said), []
    return Statement.from_bytes(answer)


def limit(pair: Pair, **settings: int) -> None:
    """Let bob's file have these limits from now on."""
    pair.parties[1].limits = LimitSettings(**settings)
    pair.parties[1].ledger.gate.limits = pair.parties[1].limits


def kept(pair: Pair) -> int:
    return len(pair.parties[1].ledger.jobs.all())


@pytest.mark.usefixtures("one_day")
def test_a_day_is_counted_by_our_clock(pair: Pair) -> None:
    """Whatever dates the peer writes on its proposals."""
    limit(pair, jobs_a_day=5)
    for number in range(12):
        answer = hear(pair, said(NOW - timedelta(days=number)))
        assert (answer.verdict == "refused") == (number >= 5)
    assert kept(pair) == 5
    assert "5 jobs were proposed today" in answer.why
    pair.parties[1].crash()
    assert hear(pair, said()).verdict == "refused", "a restart begins a new day"


@pytest.mark.parametrize(
    ("days", "why"), [(-20000, "days ago"), (-32, "days ago"), (2, "clocks"), (20000, "clocks"), (-30, ""), (0.5, "")]
)
def test_no_date_is_far_from_now(pair: Pair, days: float, why: str) -> None:
    answer = hear(pair, said(NOW + timedelta(days=days)))
    assert why in answer.why
    assert (answer.verdict, kept(pair)) == (("refused", 0) if why else ("waiting", 1))


@pytest.mark.usefixtures("one_day")
def test_the_bytes_of_a_day_are_bounded(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of rows and entries, which are more than what was said."""
    first = said()
    verdicts = [hear(pair, first)]
    size = pair.parties[1].ledger.hearing._tally.of("alice", datetime.now(UTC)).bytes
    assert size > 2 * len(first.to_bytes())
    monkeypatch.setattr(limits, "MIB", 3 * size + size // 2)
    limit(pair, mib_a_day=1)
    verdicts += [hear(pair, said()) for _ in range(5)]
    assert [answer.verdict for answer in verdicts] == ["waiting"] * 3 + ["refused"] * 3
    assert kept(pair) == 3
    now = pair.parties[1].ledger.hearing._tally.of("alice", datetime.now(UTC)).bytes
    monkeypatch.setattr(limits, "MIB", now + 50)
    pair.parties[1].hear(first.model_copy(update={"why": "x" * 40}).to_bytes())
    with pytest.raises(ProtocolError, match="today"):  # more of a job that is kept counts as well
        pair.parties[1].hear(first.model_copy(update={"why": "x" * 100}).to_bytes())
    assert pair.parties[1].ledger.jobs.find(first.proposal.id).theirs.why == "x" * 40  # type: ignore[union-attr]


def test_what_does_not_fit_is_answered_and_not_kept(permitting: Pair) -> None:
    """An entry is kept, no job, and the honest proposer does not wait for ever: it hears why, and both are at rest."""
    alice, bob = permitting.parties
    job = propose(permitting, peer_table="nights")
    permitting.deliver()
    assert alice.state(job) == "refused"
    record = alice.ledger.jobs.find(job)
    assert record.theirs is not None
    assert "no table 'nights'" in record.theirs.why
    assert kept(permitting) == 0
    (entry,) = bob.ledger.log.entries(1, None)
    assert (entry.kind, entry.fields["peer"]) == ("turned away", "alice")
    assert "nights" in entry.fields["why"]
    assert alice.ledger.jobs.to_greet(alice.who.peer_name) == []
    permitting.meet()
    assert kept(permitting) == 0


def test_an_answer_that_was_lost_is_given_again(permitting: Pair) -> None:
    alice, bob = permitting.parties
    job = propose(permitting, peer_table="nights")
    bob.hear(alice.said.pop())
    bob.said.clear()
    permitting.meet()
    assert alice.state(job) == "refused"


def test_what_waits_waits_whether_it_fits_or_not(pair: Pair) -> None:
    """The operator sees what does not fit, cannot approve it, and by refusing tells the peer."""
    alice, bob = pair.parties
    job = propose(pair, peer_table="nights")
    pair.deliver()
    assert (alice.state(job), bob.state(job)) == ("waiting", "waiting")
    theirs = alice.ledger.jobs.find(job).theirs
    assert theirs is None or not theirs.why
    assert "there are 'days': to use one of them, name it [tables.nights]" in bob.ledger.jobs.find(job).reason
    with pytest.raises(
        InputError, match=r"cannot run here: there is no table 'nights' here .*; there are 'days'.*; smc"
    ):
        bob.ledger.decisions.decide(job, "approved")
    bob.ledger.decisions.decide(job, "refused")
    pair.deliver()
    told = alice.ledger.jobs.find(job).theirs.why  # type: ignore[union-attr]
    assert "no table 'nights'" in told
    assert "--peer-table" in told
    assert "days" not in told, "which tables there are is for the operator there"


def test_probes_are_counted_and_folded(permitting: Pair) -> None:
    """2,000 guesses of a table's name were answered, of which the log showed nothing; now 500, in a few entries."""
    limit(permitting, jobs_a_day=500)
    bob = permitting.parties[1]
    before = len(bob.ledger.log.entries(10_000, None))
    answers = [hear(permitting, said(peer_table=f"t{number}")) for number in range(700)]
    assert sum("there is no table" in one.why for one in answers) == 500
    bob.ledger.log.note_repeats()
    entries = bob.ledger.log.entries(len(bob.ledger.log.entries(10_000, None)) - before, None)
    assert [entry.kind for entry in entries] == ["repeated", *["turned away"] * node_log.FREE]
    assert entries[0].fields["times"] == 700 - node_log.FREE
    assert bob.ledger.log.verify().ok


def test_answers_in_waiting_are_bounded(pair: Pair) -> None:
    """Of a peer that proposes and does not listen nothing is kept but the last few."""
    refusals = limits.Refusals(pair.parties[0].who.identity)
    many = [said(table="days") for _ in range(limits.MOST_REFUSALS + 10)]
    for one in many:
        refusals.put(one, "no")
    assert [bool(refusals.take(one.proposal.id)) for one in many] == [False] * 10 + [True] * limits.MOST_REFUSALS
    assert refusals.take(many[-1].proposal.id) == b""


def test_a_proposal_that_was_withdrawn_before_we_heard_of_it_is_recorded(pair: Pair) -> None:
    alice, bob = pair.parties
    job = propose(pair)
    alice.said.clear()
    alice.ledger.decisions.cancel(job)
    pair.deliver()
    assert bob.state(job) == "cancelled"
    assert alice.ledger.jobs.to_greet(alice.who.peer_name) == []


def test_a_rate_has_a_burst_and_then_a_pace() -> None:
    now = [0.0]
    rate = Rate(3, 2, lambda: now[0])
    assert [rate.allows() for _ in range(5)] == [True] * 3 + [False] * 2
    now[0] += 0.5
    assert [rate.allows() for _ in range(2)] == [True, False]
    rate.back()
    assert rate.allows()
    now[0] += 100
    assert [rate.delay() for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    assert rate.delay(10) == 6.0


def test_a_job_that_the_peer_does_not_sign_does_not_go_on_for_ever(pair: Pair) -> None:
    alice, job = pair.parties[0], agreed(pair)
    pair.session(job, until=(9, 1))
    pair.parties[0].said.clear()
    for _ in range(runs.MOST_UNSIGNED):
        assert alice.begin(job) is not None
        alice.ledger.runs.over(job)
    with pytest.raises(InputError, match="does not sign"):
        alice.begin(job)
