"""Shards as processes with connections of their own: what is left of a run when some are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from parties.jobs.sharding import Processes, sharded
from parties.link.opening import Link
from protocols.cost_model import with_tree
from protocols.counts import RowCounts
from protocols.id3 import Problem, Tree, id3
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session
from tests.support.links import Parties

pytestmark = [pytest.mark.slow, pytest.mark.campaign]  # nodes' shards are killed in tests/conformance

PROBLEM = Problem((3, 2, 4, 3), 2, 40, delta=0.05)
PROFILE = Profile("mixed", shards=2)
Kills = dict[tuple[int, int], int]  # of a party's shard: at which of its tasks


def rows(party: int) -> RowCounts:
    rng = np.random.default_rng(party)
    cells = np.stack([rng.integers(0, size, 40) for size in PROBLEM.domains], axis=1)
    return RowCounts(PROBLEM.domains, PROBLEM.classes, cells, (cells.sum(axis=1) + rng.integers(0, 2, 40)) % 2)


def program(link: Link) -> tuple[Tree, Any]:
    session = link.session()
    engine = engine_of(session, PROFILE)
    with sharded(link, engine, PROFILE):
        return id3(engine, PROBLEM, rows(session.party)), session.meter.total


def killing(monkeypatch: pytest.MonkeyPatch, kills: Kills) -> list[int]:
    """Kill these processes, and list them: just before they are given an odd task, or in the middle of an even one."""
    given = Counter[tuple[int, int]]()
    answers, killed = Processes._answers, list[int]()

    def kill(shards: Processes, number: int) -> None:
        killed.append(shards.pids[number])
        os.kill(killed[-1], signal.SIGKILL)

    def watched(shards: Processes, numbers: Sequence[int], tasks: Any) -> Any:
        for number in numbers:
            place = shards.session.party, number
            given[place] += 1
            if given[place] == kills.get(place):
                if given[place] % 2:
                    kill(shards, number)
                else:
                    threading.Timer(0.02, kill, (shards, number)).start()
        return answers(shards, numbers, tasks)

    monkeypatch.setattr(Processes, "_answers", watched)
    return killed


def test_killed_processes_cost_nothing_but_time(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    def clear(session: Session) -> Tree:
        return id3(engine_of(session, Profile("clear")), PROBLEM, rows(session.party))

    expected = run_local(clear)[0]
    counted = forecast(lambda engine: with_tree(engine, PROBLEM, expected), PROFILE)
    killed = killing(monkeypatch, {(0, 0): 2, (1, 1): 3})
    (left, cost), (right, _) = parties.run(program, program)
    assert left == right == expected
    assert cost.bits_opened == counted.costs[0].bits_opened
    assert len(killed) == 2
    assert multiprocessing.active_children() == []
