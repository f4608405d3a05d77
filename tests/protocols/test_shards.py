"""Trees computed in shards: the same tree, costs foreseen to the byte, and nothing lost with a shard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protocols.cost_model import with_tree
from protocols.counts import RowCounts
from protocols.id3 import Problem, Tree, id3
from protocols.rules import Rules
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.session import Session
from tests.support.shards import Meeting

PROFILES = [Profile("yao"), Profile("mixed", garbling="three-halves"), Profile("lean", "ferret"), Profile("gmw")]
PROBLEM = Problem((3, 2, 4, 3), 3, 40, delta=0.05)


def public(cost: Cost) -> dict[str, Any]:
    fields: dict[str, Any] = cost.as_dict()
    del fields["seconds"]
    return fields


def run(problem: Problem, profile: Profile, seed: int = 5, meeting: Meeting | None = None) -> tuple[Tree, list[Meter]]:
    rng = np.random.default_rng(seed)
    meters = [Meter(), Meter()]
    data = [
        (
            np.stack([rng.integers(0, size, 40) for size in problem.domains], axis=1),
            rng.integers(0, problem.classes, 40),
        )
        for _ in (0, 1)
    ]

    def both(session: Session) -> Tree:
        meters[session.party] = session.meter
        engine = engine_of(session, profile) if profile.shards == 1 else (meeting or met).engine_of(session, profile)
        return id3(engine, problem, RowCounts(problem.domains, problem.classes, *data[session.party]))

    met = Meeting()
    tree, same = run_local(both)
    assert tree == same
    return tree, meters


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM,
        replace(PROBLEM, rules=Rules(k=2, against="public")),
        replace(PROBLEM, criterion="gini", prune="mdl"),
    ],
    ids=["plain", "rules", "gini, pruned"],
)
def test_the_tree_is_the_same_and_its_costs_are_foreseen(profile: Profile, problem: Problem) -> None:
    alone, _ = run(problem, profile)
    several = replace(profile, shards=3)
    tree, meters = run(problem, several)
    assert tree == alone
    counted = forecast(lambda engine: with_tree(engine, problem, tree), several)
    for party in (0, 1):
        assert public(counted.costs[party]) == public(meters[party].total)
        assert {path: public(cost) for path, cost in counted.meters[party].phases.items()} == {
            path: public(cost) for path, cost in meters[party].phases.items()
        }
