"""Both tables are there before anything is computed: who is slow says so, who is away says that, and not why."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs.inputs import AwayError
from parties.jobs.kind import Opened
from parties.link.identity import Identity
from parties.node.exchanges import readiness
from parties.node.exchanges.readiness import AWAY, READY, STEP, STILL, PeerAwayError
from parties.node.links import executor, sessions
from parties.node.log.job_index import Queue
from smc.errors import LinkError, ProtocolError
from smc.local import run_local
from smc.session import Session
from tests.support.ledgers import agreed
from tests.support.session_pairs import running
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

SECRET = "password of the table: 4711"


@pytest.mark.parametrize("ready", [(True, True), (True, False), (False, True), (False, False)])
def test_each_hears_of_the_other(ready: tuple[bool, bool]) -> None:
    def program(session: Session) -> tuple[bool, int, int]:
        heard = readiness.exchange(session, ready[session.party], lambda: None)
        total = session.meter.total
        return heard, total.bytes_sent + total.bytes_received, total.rounds

    cost = readiness.BYTES, readiness.ROUNDS
    assert run_local(program) == ((ready[1], *cost), (ready[0], *cost))


def test_signs_of_life_while_a_table_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "ALIVE_SECONDS", 0.2)

    heard: tuple[list[int], list[int]] = [], []

    def program(session: Session) -> None:
        with readiness.telling(session):
            if session.party == 0:
                eventually(lambda: len(heard[1]) >= 3)
        assert readiness.exchange(session, True, lambda: heard[session.party].append(1))

    run_local(program)
    assert len(heard[0]) <= 1


def test_nobody_may_open_a_table_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "LONGEST_SECONDS", 0.0)

    def program(session: Session) -> object:
        if session.party == 0:
            for _ in range(9):
                session.send(STEP, np.array([STILL], dtype=np.uint8))
            return None
        with pytest.raises(LinkError, match="within"):
            readiness.exchange(session, True, lambda: None)
        return None

    run_local(program)


def test_a_peer_that_says_nonsense() -> None:
    def program(session: Session) -> None:
        if session.party == 0:
            session.send(STEP, np.array([max(STILL, READY, AWAY) + 1], dtype=np.uint8))
        else:
            readiness.exchange(session, True, lambda: None)

    with pytest.raises(ProtocolError, match="neither"):
        run_local(program)


class Tables:
    """In place of `executor.opened`: a party's table takes some time, or is away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.away: set[str] = set()  # by the names of the parties
        self.seconds: dict[str, float] = {}
        self.openings: list[str] = []
        self.ready: list[str] = []
        monkeypatch.setattr(executor, "opened", self.opened)
        monkeypatch.setattr(sessions, "SHORTEST_TABLE_PAUSE", 0.05)
        monkeypatch.setattr(sessions, "LOOK_SECONDS", 0.05)

    @contextmanager
    def opened(self, order: executor.Order) -> Iterator[tuple[Opened, str]]:
        self.openings.append(order.identity.name)
        time.sleep(self.seconds.get(order.identity.name, 0.0))
        if order.identity.name in self.away:
            raise AwayError(SECRET)
        self.ready.append(order.identity.name)
        yield Opened(None), ""


class BothReadyError(ProtocolError):
    """A stop for the session, and no further one: both tables are there."""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    made = Tables(monkeypatch)

    def reached(*_: Any) -> None:
        raise BothReadyError

    monkeypatch.setattr(executor, "engine_of", reached)
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 0.1)
    return made


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_one_session_however_long_a_table_is_away(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], tables: Tables, who: str
) -> None:
    """Its owner asks for it again, alone; the peer hears that it is waited for, not why; then the job goes on."""
    tables.away = {who}
    other = "alice" if who == "bob" else "bob"
    with running(tmp_path, parties, identities) as (pair, nodes):
        owner, peer = pair.parties if who == "alice" else pair.parties[::-1]
        job = agreed(pair)
        for part in (nodes.alice, nodes.bob):
            part.start()
        eventually(lambda: tables.openings.count(who) >= 4)
        eventually(lambda: owner.state(job) == peer.state(job) == "queued")
        pair.deliver()
        assert tables.openings.count(other) == 1, "a session was begun again while the table was away"
        assert SECRET in owner.ledger.jobs.find(job).note
        assert peer.ledger.jobs.find(job).peer_waits
        said = peer.ledger.jobs.find(job).model_dump_json() + owner.ledger.hearing.statement(job).decode()
        assert SECRET not in said + nodes.logs[0].getvalue() + nodes.logs[1].getvalue()
        events = [json.loads(line)["event"] for log in nodes.logs for line in log.getvalue().splitlines()]
        assert events.count("table away") == 1
        assert not {"session broke", "session began"} & set(events)
        assert not [e for party in pair.parties for e in party.ledger.log.entries(99, None) if e.kind == "interrupted"]

        tables.away = set()
        eventually(lambda: not owner.ledger.jobs.find(job).ours.waits)
        assert owner.ledger.jobs.find(job).note == ""

        def goes_on() -> bool:
            pair.deliver()  # what the owner has written it says a moment later
            return other in tables.ready[1:]

        eventually(goes_on)


@pytest.mark.parametrize("pause", [0.0, 3600.0])
def test_a_table_that_is_away_is_asked_for_by_one_at_a_time_and_not_at_once(
    tmp_path: Path,
    parties: Any,
    identities: dict[str, Identity],
    tables: Tables,
    monkeypatch: pytest.MonkeyPatch,
    pause: float,
) -> None:
    """Whoever serves it is not overrun: here an asking lasts for ever, or the pause between two does."""
    monkeypatch.setattr(sessions, "SHORTEST_TABLE_PAUSE", pause)
    monkeypatch.setattr(sessions, "LONGEST_TABLE_PAUSE", pause)
    monkeypatch.setattr(sessions, "LOOK_SECONDS", 0.01)
    go = threading.Event()
    with running(tmp_path, parties, identities) as (pair, nodes):
        job, ledger = agreed(pair), pair.parties[1].ledger
        ledger.runs.table_away(job, "no line to it")
        looks = list[int]()
        agreed_jobs = ledger.jobs.agreed

        def looked(peer: str, queue: Queue) -> Any:
            looks.append(1)
            return agreed_jobs(peer, queue)

        def asked(self: Any, record: Any) -> None:
            tables.openings.append(record.id)
            go.wait(PATIENCE)

        monkeypatch.setattr(ledger.jobs, "agreed", looked)
        monkeypatch.setattr(sessions.Sessions, "_open_table", asked)
        if pause:
            nodes.bob._table_pauses.put(job)
        nodes.bob.start()
        eventually(lambda: len(looks) > 4)
        assert tables.openings == ([] if pause else [job])
        go.set()


def test_a_slow_table_keeps_the_peer_informed(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as long as a silence may be: the session stands, and both see what is waited for."""
    monkeypatch.setattr(readiness, "ALIVE_SECONDS", 0.1)
    tables.seconds = {"alice": 4.0}
    with running(tmp_path, parties, identities) as (pair, nodes):
        nodes.bob._options = replace(nodes.bob._options, timeout=2.0)
        job = agreed(pair)
        nodes.bob.start()
        doing: set[str] = set()

        def computed() -> bool:
            for part in (nodes.alice, nodes.bob):
                if (progress := part.progress(job)) is not None:
                    doing.add(progress.doing)
            return len(tables.ready) == 2

        eventually(computed)
        assert {"opening its table", "the peer is opening its table"} <= doing
        eventually(lambda: pair.parties[1].state(job) == "failed")  # both are there: `BothReadyError`
        assert tables.openings.count("bob") == 1


def test_why_a_table_is_away_stays_here(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer's session ends by an error of its own, which says no more than that."""
    tables.away = {"alice"}
    heard: list[BaseException] = []
    stopped = sessions.Sessions._stopped

    def noted(self: Any, identifier: str, session: Any, error: BaseException) -> None:
        heard.append(error)
        stopped(self, identifier, session, error)

    monkeypatch.setattr(sessions.Sessions, "_stopped", noted)
    with running(tmp_path, parties, identities) as (pair, nodes):
        agreed(pair)
        nodes.bob.start()
        eventually(lambda: {type(error) for error in heard} == {AwayError, PeerAwayError})
        assert SECRET not in str(next(error for error in heard if isinstance(error, PeerAwayError)))
