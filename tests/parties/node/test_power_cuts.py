"""What a power cut takes: nothing that anybody was told, though nobody waits for the disk where a session begins."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from parties.link.identity import Identity
from parties.node.exchanges.openings import Leaving, Written
from parties.node.policy.rules import Rule
from parties.node.records import deferred_sync, marker
from parties.sources.settings import BudgetSettings
from smc.meter import Cost
from tests.support.ledgers import REPORT, TASK, TREE, Pair, agreed, paired, propose
from tests.support.power import Power, cut_off
from tests.support.registry import registered

NAMED = Rule(name="research", effect="permit", purpose=("research",))


@pytest.fixture
def power(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> tuple[Power, Power]:
    return cut_off(pair.parties, monkeypatch)


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A directory on a disk in memory, if there is one: what is on it, and since when, is reckoned here anyway."""
    place = Path("/dev/shm")
    with TemporaryDirectory(dir=place if place.is_dir() else tmp_path) as name:
        yield Path(name)


def life(pair: Pair) -> Iterator[str]:
    """A job from its proposal to the end, as two nodes have it: what has just happened, one after the other."""
    alice, bob = pair.parties
    job = propose(pair)
    yield job
    for hearer, speaker in ((bob, alice), (alice, bob)):  # the proposal; the consent
        for data in list(speaker.said):
            hearer.hear(data)
            yield job
        speaker.said.clear()
        if hearer is bob:
            bob.ledger.decisions.decide(job, "approved")
            yield job
    steps: list[Callable[[Pair, int], object]] = [
        lambda pair, party: pair.parties[party].begin(job),
        lambda pair, party: pair.parties[party].ledger.runs.met(job, 0, "mixed"),
        lambda pair, party: pair.parties[party].ledger.runs.write_opening(job, Written(0, 0, b"share", bytes(16))),
        lambda pair, party: pair.parties[party].ledger.runs.opening_leaves(job, Leaving(0, 0)),
        lambda pair, party: pair.parties[party].ledger.runs.computed(
            job, TASK.states.encode(TREE), Cost(5, 6, 7, 8), REPORT
        ),
    ]
    for step in steps:
        for party in (0, 1):
            step(pair, party)
            yield job
    for _ in range(3):  # the signatures; that each knows of the end
        for hearer, speaker in ((bob, alice), (alice, bob)):
            said, speaker.said[:] = list(speaker.said), []
            for data in said:
                hearer.hear(data)
                yield job
    assert (alice.said, bob.said) == ([], [])


def rolled_back(pair: Pair) -> bool:
    """Whether a log lacks what its owner has signed for the other, as they find on a new link."""
    heads = [party.ledger.heads.shown(party.who.peer_name) for party in pair.parties]
    found = [
        party.ledger.heads.lost(party.who.peer_name, theirs)
        for party, theirs in zip(pair.parties, reversed(heads), strict=True)
    ]
    return any(one.lost for one in found)


@pytest.mark.parametrize("party", [0, 1])
def test_the_power_may_go_at_any_moment_of_a_job(
    quick_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, party: int
) -> None:
    """Both end with one result and one story, whatever was heard before and is gone."""
    for moment in count():
        with paired(quick_path / str(moment), identities) as pair, monkeypatch.context() as patched:
            power = cut_off(pair.parties, patched)
            job = next(islice(life(pair), moment, None), "")
            if not job:  # it had ended before
                assert moment == 19
                return
            for one in pair.parties:
                one.ledger.runs.over(job)
            power[party].cut()
            pair.meet()
            assert not rolled_back(pair)
            if pair.parties[1].state(job) == "waiting":
                pair.parties[1].ledger.decisions.decide(job, "approved")
                pair.deliver()
            if pair.parties[0].state(job) != "done":
                pair.session(job)
                pair.meet()
            assert [one.state(job) for one in pair.parties] == ["done", "done"], moment
            assert all(one.ledger.log.verify().ok for one in pair.parties)


def test_a_job_waits_for_the_disk_where_something_is_told_and_nowhere_else(
    pair: Pair, power: tuple[Power, Power]
) -> None:
    """For what is said and heard, the share, that it leaves, and the result; not where a session begins."""
    for _ in life(pair):
        pass
    assert [one.waits for one in power] == [7, 6]


@pytest.mark.parametrize("step", ["write_opening", "opening_leaves"])
def test_what_has_been_announced_or_has_left_is_there(pair: Pair, power: tuple[Power, Power], step: str) -> None:
    """The share, and that the session has begun, which is written before it and waits for nobody."""
    job = agreed(pair)
    alice = pair.parties[0]
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "mixed")
    alice.ledger.runs.write_opening(job, Written(0, 0, b"share", bytes(16)))
    if step == "opening_leaves":
        alice.ledger.runs.opening_leaves(job, Leaving(0, 0))
    power[0].cut()
    record, stored = alice.ledger.jobs.find(job), alice.ledger.runs.openings(job)
    assert (record.tries, record.sessions) == (1, 1)
    assert (stored.shares, stored.left) == ((b"share",), step == "opening_leaves")
    assert "started" in [entry.kind for entry in alice.ledger.log.entries(9, None)]


def test_what_a_session_spends_is_there_once_a_share_has_left(pair: Pair, power: tuple[Power, Power]) -> None:
    for party in pair.parties:
        party.budget = BudgetSettings(epsilon=2)
        party.crash()
    with registered(("noisy", "tests.support.noisy:Noisy")):
        job = pair.parties[0].ledger.decisions.propose({"protocol": "noisy", "table": "days", "epsilon": 1.5}).id
        pair.deliver()
        pair.parties[1].ledger.decisions.decide(job, "approved")
        pair.deliver()
        for party, power_of in zip(pair.parties, power, strict=True):
            power_of._watch()
            party.begin(job)
            party.ledger.runs.met(job, 0, "mixed")
            party.opens(job)
            power_of.cut()
            assert party.ledger.jobs.find(job).charged is not None
            assert len(party.ledger.spendings.released()) == 1


def test_consent_by_a_rule_that_was_told_is_there(
    tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule is gone when the node starts again: it has consented all the same, and the peer knows it."""
    with paired(tmp_path, identities, (NAMED,)) as pair:
        power = cut_off(pair.parties, monkeypatch)
        job = propose(pair, purpose="research")
        pair.deliver()
        assert [party.state(job) for party in pair.parties] == ["queued", "queued"]
        pair.parties[1].rules = ()
        power[1].cut()
        assert pair.parties[1].state(job) == "queued"
        pair.meet()
        assert [party.state(job) for party in pair.parties] == ["queued", "queued"]


def test_what_is_shipped_shown_or_remembered_is_there(pair: Pair, power: tuple[Power, Power], tmp_path: Path) -> None:
    bob, peer = pair.parties[1], pair.parties[1].who.peer_name
    kept = tmp_path / marker.FILE_NAME

    def began() -> int:
        job = agreed(pair)
        bob.begin(job)
        bob.ledger.runs.met(job, 0, "mixed")
        bob.ledger.runs.over(job)
        return bob.ledger.log.entries(1, None)[0].number

    bob.said.clear()
    told: list[Callable[[], object]] = [
        lambda: bob.ledger.log.rows_after(0, 100),
        lambda: bob.ledger.heads.shown(peer),
        lambda: bob.ledger.log.remember(kept),
    ]
    for tell in told:
        last = began()
        tell()
        power[1].cut()
        assert (last, "started") in [(entry.number, entry.kind) for entry in bob.ledger.log.entries(3, None)], tell
        bob.ledger.jobs.check(kept)


def test_a_disk_that_takes_nothing_more_is_told_of_once_and_for_all(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = agreed(pair)
    alice = pair.parties[0]
    monkeypatch.setattr(deferred_sync, "_beside", SimpleQueue[Any])
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "mixed")

    def broken(_: int) -> None:
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as patched:
        patched.setattr(deferred_sync, "_sync", broken)
        with pytest.raises(sqlite3.OperationalError, match="start the node again"):
            alice.ledger.hearing.statement(job)
    for act in (lambda: alice.ledger.hearing.statement(job), lambda: alice.opens(job)):  # though it would go well now
        with pytest.raises(sqlite3.OperationalError, match="start the node again"):
            act()
    alice.crash()
    assert alice.ledger.hearing.statement(job)
