"""A tree that two links' parties compute in shards."""

from __future__ import annotations

from typing import Any

import numpy as np

from parties.jobs.execution.sharding import sharded
from parties.link.opening import Link
from protocols.counts import RowCounts
from protocols.id3 import Problem, Tree, id3
from smc.engines import Profile, engine_of

PROBLEM = Problem((3, 2, 4, 3), 2, 40, delta=0.05)
PROFILE = Profile("mixed", shards=3)


def rows(party: int) -> RowCounts:
    rng = np.random.default_rng(party)
    cells = np.stack([rng.integers(0, size, 40) for size in PROBLEM.domains], axis=1)
    return RowCounts(PROBLEM.domains, PROBLEM.classes, cells, (cells.sum(axis=1) + rng.integers(0, 2, 40)) % 2)


def program(link: Link) -> tuple[Tree, Any]:
    session = link.session()
    engine = engine_of(session, PROFILE)
    with sharded(link, engine, PROFILE):
        return id3(engine, PROBLEM, rows(session.party)), session.meter.total
