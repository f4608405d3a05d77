"""Bits of exact answers: booked once before a step, never more than is left, agreed on by both."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from parties.jobs.kind import Step
from parties.node.budget.bits import BitsAccount, BitsCharge
from parties.node.exchanges import counting
from parties.node.exchanges.counting import BitsError, PastBitsError
from parties.node.policy.rules import Rule
from parties.sources.settings import BudgetSettings
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from smc.meter import Cost
from smc.session import Session
from tests.support.ledgers import STAGES, TASK, Pair, Party

COST = Cost(1, 2, 3, 4)
EXACT = Rule(name="exact", effect="permit", exact=True)


@pytest.fixture
def bounded(pair: Pair) -> Pair:
    """Alice's table may open eight bits, Bob's as many as it likes."""
    pair.parties[0].budget = BudgetSettings(epsilon=1, bits=8)
    pair.parties[0].rules = pair.parties[1].rules = (EXACT,)
    for party in pair.parties:
        party.crash()
    return pair


def agreed(pair: Pair) -> str:
    job = pair.parties[0].ledger.decisions.propose({"protocol": "id3", "table": "days", "plain": True}).id
    pair.deliver()
    if pair.parties[1].state(job) == "waiting":
        pair.parties[1].ledger.decisions.decide(job, "approved")
    pair.deliver()
    return str(job)


def begins(party: Party, job: str, bits: int, step: int = 0) -> None:
    """A session of the job comes to a step of so many bits."""
    if party.begin(job) is not None:
        party.ledger.runs.met(job, 0, "yao")
    reaches(party, job, bits, step)


def reaches(party: Party, job: str, bits: int, step: int = 0) -> None:
    party.ledger.runs.reached(job, TASK.states.encode(STAGES[step]), COST, step, bits)


def booked(party: Party) -> list[tuple[str | None, int, int]]:
    """The entries of the log, which are those of the jobs, and of the account."""
    entries = [entry for entry in party.ledger.log.entries(1000, None)[::-1] if entry.kind == "counted"]
    known = [(entry.job, entry.fields["depth"], entry.fields["bits"]) for entry in entries]
    assert sorted(known, key=str) == sorted(
        ((charge.job, charge.step, charge.bits) for job in party.ledger.jobs.all() for charge in job.bits), key=str
    )
    assert party.ledger.accounts.bits("days").spent == sum(bits for _, _, bits in known)
    return known


def test_a_step_is_booked_once_however_often_it_is_begun(bounded: Pair) -> None:
    party, job = bounded.parties[0], agreed(bounded)
    for _ in range(3):  # sessions that break in the first step; the node is started anew in between
        begins(party, job, 5)
        party.ledger.runs.counted(job, 0)
        assert booked(party) == [(job, 0, 5)]
        party.ledger.runs.broke(job, "cut", COST)
        party.ledger.runs.over(job)
        party.crash()
    begins(party, job, 5)
    party.ledger.runs.counted(job, 0)
    reaches(party, job, 3, 1)
    party.ledger.runs.counted(job, 1)
    assert booked(party) == [(job, 0, 5), (job, 1, 3)]
    assert party.ledger.accounts.bits("days").left == 0
    assert not party.ledger.log.verify().problems


@pytest.mark.parametrize("change", ["none", "fewer", "gone", "step", "table"])
def test_bits_that_somebody_has_changed(bounded: Pair, change: str) -> None:
    """A row of the jobs says otherwise than the log: the node does not go on."""
    party, job = bounded.parties[0], agreed(bounded)
    begins(party, job, 5)
    party.ledger.runs.counted(job, 0)
    party.ledger.runs.over(job)
    (text,) = party.connection.execute("SELECT record FROM jobs WHERE id = ?", (job,)).fetchone()
    row = json.loads(text)
    (charge,) = row["bits"]
    charge.update({"fewer": {"bits": 4}, "step": {"step": 1}, "table": {"table": "nights"}}.get(change, {}))
    if change == "gone":
        row["bits"] = []
    with party.connection:
        party.connection.execute(
            "UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(row, separators=(",", ":")), job)
        )
    party.crash()
    if change == "none":
        party.ledger.jobs.check(party.path.parent / "log.json")
        return
    with pytest.raises(InputError, match="the bits that it has opened is not what the audit log says"):
        party.ledger.jobs.check(party.path.parent / "log.json")


def test_a_step_that_does_not_begin_is_not_booked(bounded: Pair) -> None:
    party, job = bounded.parties[0], agreed(bounded)
    begins(party, job, 8)
    party.ledger.runs.over(job)  # the peer's bound was met
    assert booked(party) == []
    with pytest.raises(BitsError):
        begins(party, agreed(bounded), 9)


def test_jobs_side_by_side_meet_one_bound(bounded: Pair) -> None:
    party, jobs = bounded.parties[0], [agreed(bounded), agreed(bounded)]
    begins(party, jobs[0], 5)
    with pytest.raises(BitsError):
        begins(party, jobs[1], 5)
    reaches(party, jobs[1], 3)
    party.ledger.runs.counted(jobs[1], 0)
    party.ledger.runs.counted(jobs[0], 0)
    with pytest.raises(BitsError):
        reaches(party, jobs[0], 1, 1)
    assert party.ledger.accounts.bits("days").left == 0
    free = bounded.parties[1]
    begins(free, jobs[0], 1 << 30)
    free.ledger.runs.counted(jobs[0], 0)
    assert (free.ledger.accounts.bits("days").left, booked(free)) == (None, [(jobs[0], 0, 1 << 30)])


def test_boosting_begins_only_if_it_can_be_ended(bounded: Pair) -> None:
    """All its bits must be left, besides those that another such job has still to open; others get no step of them."""
    party = bounded.parties[0]
    trees = {"protocol": "boost", "table": "days", "exact": True, "depth": 1}

    def proposed(rounds: int) -> str:
        job = str(party.ledger.decisions.propose({**trees, "rounds": rounds}).id)
        bounded.deliver()
        if bounded.parties[1].state(job) == "waiting":
            bounded.parties[1].ledger.decisions.decide(job, "approved")
        bounded.deliver()
        return job

    round_ = 119  # bits, of a split and two exact leaves
    party.budget = BudgetSettings(epsilon=1, bits=3 * round_)
    party.crash()
    with pytest.raises(InputError, match=f"the job opens {4 * round_} bits of exact answers, more than"):
        proposed(4)
    first, second = proposed(2), proposed(2)
    assert party.begin(first) is not None
    assert party.begin(second) is None
    assert "another job under way may need the remaining budget" in party.ledger.jobs.find(second).note
    other = agreed(bounded)
    with pytest.raises(BitsError):
        begins(party, other, round_ + 1)
    party.ledger.runs.met(first, 0, "yao")
    party.ledger.runs.reached(first, None, COST, 0, round_)
    party.ledger.runs.counted(first, 0)
    reaches(party, other, round_)


@pytest.mark.parametrize("fits", [(True, True), (True, False), (False, True), (False, False)])
def test_both_stop_before_a_step_with_one_line(fits: tuple[bool, bool]) -> None:
    def program(session: Session) -> Any:
        why = ""
        try:
            counting.agree(session, Step(1, 2, None, "level 1 with 2 nodes"), 6, fits[session.party])
        except PastBitsError as error:
            why = str(error)
        total = session.meter.total
        assert (total.bytes_sent + total.bytes_received, total.rounds) == (counting.BYTES, counting.ROUNDS)
        return why

    left, right = run_local(program)
    assert left == right
    assert bool(left) == (fits != (True, True))
    for party, enough in enumerate(fits):
        assert (f"of party {party}" in left) == (not enough)
    assert all(fits) or "level 1 with 2 nodes, which opens up to 6 bits" in left


@pytest.mark.parametrize("first", [True, False])
def test_the_table_of_a_holder_is_named(first: bool) -> None:
    """Also if the holder has answered one of the two only, or lacks bits beside a party."""

    def program(session: Session) -> None:
        holders_fit = first and session.party == 0
        with pytest.raises(PastBitsError, match="of exact answers: the table of a holder has fewer left"):
            counting.agree(session, Step(1, 2, None, "level 1"), 6, session.party == 0, holders_fit)

    run_local(program)


def test_the_bound_is_a_window_s_and_has_shares() -> None:
    now, budget = datetime(2026, 6, 1, tzinfo=UTC), BudgetSettings(epsilon=1, per="week")
    assert (budget.bits, budget.shared(0.5).bits, budget.shared(1 / 3).bits) == (4096, 2048, 1365)
    charges = [BitsCharge(now - timedelta(days=days), "days", "bob", "1", 0, 10) for days in (1, 8)]
    account = BitsAccount(budget, charges, now)
    assert (account.spent, account.ever, account.left) == (10, 20, 4086)
    assert account.fits(4086)
    assert not account.fits(4087)
    assert BitsAccount(None, charges, now).fits(1 << 60)


@pytest.mark.parametrize("word", [2, 255])
def test_a_peer_that_says_neither_is_not_believed(word: int) -> None:
    def program(session: Session) -> None:
        if session.party == 1:
            session.send("checkpoint.bits", np.array([word], dtype=np.uint8))
            session.receive("checkpoint.bits", np.uint8, (1,))
            return
        with pytest.raises(ProtocolError, match="answer about a step's bits is neither yes nor no"):
            counting.agree(session, Step(1, 2, None, "level 1"), 6, True)

    run_local(program)
