"""What tells a page that something has changed, and how many views of jobs are made for it."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity
from parties.node.desk import operator_service, views
from parties.node.desk.operator_service import OperatorService
from parties.node.events import Events
from parties.node.log.job_events import Unlogged
from parties.node.service import Node
from parties.node.settings import load
from parties.operator.interface import Operator
from smc.meter import Cost
from tests.support.ledgers import Pair, agreed, propose
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs of which a view was made, one after the other."""
    found: list[str] = []
    job_view = views.job_view

    def counted(record: Any, *rest: Any) -> Any:
        found.append(record.id)
        return job_view(record, *rest)

    monkeypatch.setattr(views, "job_view", counted)
    return found


def operator_of(pair: Pair) -> OperatorService:
    party = pair.parties[0]
    return OperatorService(party.who.identity, party.ledger, {}, {}, lambda: "", "lan")


def test_a_view_is_made_once_as_long_as_its_job_is_the_same(pair: Pair, made: list[str]) -> None:
    operator, jobs = operator_of(pair), [propose(pair) for _ in range(20)]
    for _ in range(10):
        assert operator.changes() == operator.changes()
    assert made == []
    first = operator.jobs(200)
    assert sorted(made) == sorted(jobs)
    for _ in range(10):
        assert operator.jobs(200) == first
        assert operator.job(jobs[3]) == first[-4]
    assert len(made) == 20
    operator.cancel(jobs[5])
    made.clear()
    assert [job.id for job in operator.jobs(200) if job.state == "cancelled"] == [jobs[5]]
    assert set(made) <= {jobs[5]}


def test_no_more_views_are_kept_than_a_bound(pair: Pair, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_KEPT", 4)
    operator, jobs = operator_of(pair), [propose(pair) for _ in range(9)]
    for _ in range(3):
        assert [job.id for job in operator.jobs(200)] == jobs[::-1]
    assert len(operator._views._cached) <= 4


def test_who_waits_for_a_job_or_a_change_is_told_of_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """And by nothing else: a wait would last ten minutes here. Who comes when too many wait already is answered now."""
    monkeypatch.setattr(operator_service, "LONGEST_WAIT", 600.0)
    monkeypatch.setattr(operator_service, "MOST_WAITING", 2)
    operator, ledger, job = operator_of(pair), pair.parties[0].ledger, agreed(pair)
    before = operator.changes()
    with ThreadPoolExecutor(2) as threads:
        told = [threads.submit(operator.job, job[:8], 600.0), threads.submit(operator.changes, before, 600.0)]
        eventually(lambda: not operator._places._value)  # type: ignore[attr-defined]
        assert (operator.job(job, 600.0).state, operator.changes(before, 600.0)) == ("queued", before)
        ledger.runs.begin(job, ledger.jobs.find(job).peer)
        operator.tell()
        assert told[1].result(PATIENCE) == operator.changes()
        assert not told[0].done()
        ledger.runs.over(job)
        ledger.decisions.cancel(job)
        operator.tell()
        assert told[0].result(PATIENCE).state == "cancelled"
    assert operator.job(job, 600.0).state == "cancelled"
    assert operator.changes(before, 600.0) != before


def test_a_node_wakes_who_waits_for_a_job(
    tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Page:
        def start(self, operator: Operator, *_: object) -> dict[str, str]:
            self.operator = operator
            return {}

        def stop(self) -> None:
            pass

    monkeypatch.setattr(operator_service, "LONGEST_WAIT", 600.0)
    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    alice, bob, page = identities["alice"], identities["bob"], Page()
    ports = "".join(f'{port} = "127.0.0.1:0"\n' for port in ("web", "metrics", "health"))
    (tmp_path / "party.toml").write_text(
        f'[link]\nidentity = "{alice.key_path}"\ncertificate = "{alice.certificate_path}"\n'
        f'peer = "{bob.certificate_path}"\nlisten = "127.0.0.1:0"\n[node]\n{ports}'
    )
    node = Node(load(tmp_path / "party.toml"), page)
    try:
        node.start()
        job = page.operator.submit({"protocol": "millionaires", "value": 1}).id
        with ThreadPoolExecutor(1) as threads:
            told = threads.submit(page.operator.job, job, 600.0)
            eventually(lambda: page.operator._places._value < operator_service.MOST_WAITING)  # type: ignore[attr-defined]
            page.operator.cancel(job)
            assert told.result(PATIENCE).state == "cancelled"
    finally:
        node.stop(seconds=0)


def test_every_step_of_a_job_is_a_change(pair: Pair) -> None:
    """Of its proposal, consent, session, end; and what was not written after all."""
    operator, ledger = operator_of(pair), pair.parties[0].ledger
    seen = [operator.changes()]

    def told() -> bool:
        seen.append(operator.changes())
        return seen[-1] not in seen[:-1]

    job = agreed(pair)
    assert told()
    shown = operator.job(job)
    ledger.runs.begin(job, ledger.jobs.find(job).peer)
    assert told()
    assert (shown.state, operator.job(job).state) == ("queued", "running")
    ledger.runs.met(job, 0, "mixed")
    assert told()
    ledger.runs.over(job)
    assert told()
    assert (operator.job(job).state, operator.job(job).why) == ("interrupted", "")
    ledger.runs.broke(job, "the peer has gone", Cost())
    assert told()
    assert operator.job(job).why == "the peer has gone"
    with suppress(sqlite3.Error), ledger.log.writing():
        ledger.jobs.apply(ledger.jobs.find(job), Unlogged({"note": "no disk"}))
        raise sqlite3.OperationalError("database or disk is full")
    assert told()
    operator.cancel(job)
    assert told()
    assert operator.job(job).state == "cancelled"
    assert operator.changes() == seen[-1]
