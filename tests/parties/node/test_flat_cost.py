"""The work of a job does not grow with the jobs that a node keeps: what is touched is counted, no time is measured."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity
from parties.node.budget.bits import BitsCharge
from parties.node.log.job_index import JobIndex
from parties.node.log.store import Record
from parties.node.policy.rules import Rule
from parties.sources.settings import BudgetSettings
from smc.meter import Cost
from tests.support.ledgers import REPORT, Pair, paired, propose

ALL = (Rule(name="all", effect="permit"),)
FEW, MANY = 4, 40
SLACK = 1.1  # pages of a database split now and then


@dataclass
class Work:
    """The records that were touched, the jobs of a store that were passed over, and SQLite's steps."""

    records: set[int] = field(default_factory=set)
    passed: int = 0
    steps: int = 0


class Counted(dict[str, Record]):
    """The jobs of a store, which count how many of them are passed over."""

    work: Work

    def __iter__(self) -> Iterator[str]:
        self.work.passed += len(self)
        return super().__iter__()

    def values(self) -> Any:
        self.work.passed += len(self)
        return super().values()

    def items(self) -> Any:
        self.work.passed += len(self)
        return super().items()


def watched(pair: Pair, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> Work:
    """Return what both parties touch while something is done."""
    work = Work()
    get = object.__getattribute__

    def touched(record: Record, name: str) -> Any:
        if not name.startswith("_"):
            work.records.add(hash(get(record, "__dict__")["ours"].proposal.id))
        return get(record, name)

    def step() -> int:
        work.steps += 1
        return 0

    for party in pair.parties:
        jobs = Counted(party.ledger.jobs.store._records)
        jobs.work = work
        party.ledger.jobs.store._records = jobs
        party.connection.set_progress_handler(step, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Record, "__getattribute__", touched)
        act()
    for party in pair.parties:
        party.connection.set_progress_handler(None, 0)
        party.ledger.jobs.store._records = dict(party.ledger.jobs.store._records)
    return work


@pytest.fixture
def permitting(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[Pair]:
    """Two parties of whom bob permits every job, with a budget that many of them fit."""
    with paired(tmp_path, identities, ALL) as made:
        for party in made.parties:
            party.budget = BudgetSettings(epsilon=1000, bits=10**6, per="day")
            party.crash()
        yield made


def watch_waiting(pair: Pair, job: str) -> None:
    """Ask what a page asks of a job that waits."""
    ledger = pair.parties[0].ledger
    record, accounts = ledger.jobs.find(job), ledger.accounts
    accounts.exposure_now(record)
    if (price := accounts.price(record)) is not None:
        accounts.effect(record, price)


def run(pair: Pair, **fields: Any) -> None:
    """Run a job from its proposal to its end, and all that a node asks meanwhile."""
    job = propose(pair, **fields)
    watch_waiting(pair, job)
    pair.deliver()
    for party in pair.parties:
        party.ledger.jobs.agreed(party.who.peer_name, "ready")
        party.ledger.jobs.agreed(party.who.peer_name, "table")
        party.ledger.jobs.to_greet(party.who.peer_name)
        party.ledger.decisions.unasked()
    pair.session(job)
    pair.deliver()
    for party in pair.parties:
        assert party.ledger.jobs.counts()["done"] == len(party.ledger.jobs.store._order)
        assert party.ledger.jobs.find(job).id == job
        assert [record.id for record in party.ledger.jobs.last(1)] == [job]
        assert party.ledger.jobs.last(5, states=("waiting", "queued", "running", "interrupted")) == []


def test_a_job_costs_the_same_however_many_are_kept(permitting: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for more in (FEW, MANY - FEW):
        for _ in range(more):
            run(permitting)
        found.append(watched(permitting, monkeypatch, lambda: run(permitting)))
    few, many = found
    assert 0 < len(many.records) <= len(few.records)
    assert many.passed <= few.passed
    assert many.steps <= SLACK * few.steps


def run_noisy(pair: Pair) -> None:
    """Run a job with noise, which opens exact bits as well; its charges then count no more."""
    job = propose(pair, epsilon=0.5, max_depth=1, trees=1)
    watch_waiting(pair, job)
    pair.deliver()
    for party in pair.parties:
        assert party.begin(job) is not None
        party.ledger.runs.met(job, 0, "yao")
        party.opens(job)
        party.ledger.runs.computed(job, [1], Cost(1, 2, 3, 4), REPORT)
        party.ledger.runs.over(job)
    pair.deliver()


def age(pair: Pair) -> None:
    """Let all charges be of the day before yesterday."""
    for party in pair.parties:
        with party.ledger.log.writing():
            for record in party.ledger.jobs.all():
                if record.charged is None:
                    continue
                before = replace(record.charged, at=record.charged.at - timedelta(days=2))
                bits = BitsCharge(before.at, "days", record.peer, record.id, 0, 1)
                party.ledger.jobs.store.put(record.model_copy(update={"charged": before, "bits": (bits,)}))


def test_what_counts_no_more_costs_nothing(permitting: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges before the window of a budget, of noise and of bits, are not read for each job."""
    found = []
    for more in (FEW, MANY - FEW):
        for _ in range(more):
            run_noisy(permitting)
        age(permitting)
        found.append(watched(permitting, monkeypatch, lambda: (run_noisy(permitting), run(permitting))))
        age(permitting)
    few, many = found
    assert 0 < len(many.records) <= len(few.records)
    assert many.passed <= few.passed
    assert many.steps <= SLACK * few.steps


def contents(index: JobIndex) -> dict[str, Any]:
    return {name: {key: value for key, value in kept.items() if value} for name, kept in vars(index).items()}


def test_an_index_is_what_all_jobs_say(permitting: Pair) -> None:
    """After changes, changes that were taken back, and jobs that have left."""
    for _ in range(3):
        run(permitting)
    waiting = propose(permitting)
    permitting.deliver()
    for party in permitting.parties:
        ledger = party.ledger
        with suppress(sqlite3.OperationalError), ledger.log.writing():
            ledger.jobs.store.remove(ledger.jobs.last(1)[0].id)
            ledger.jobs.store.remove(ledger.jobs.all()[-1].id)
            raise sqlite3.OperationalError("disk is full")
        assert len(ledger.jobs.all()) == 4
        with ledger.log.writing():
            ledger.jobs.store.remove(ledger.jobs.all()[-1].id)
        assert contents(ledger.jobs.index) == contents(JobIndex(ledger.jobs.store))
    assert permitting.parties[0].ledger.jobs.last(1)[0].id == waiting
