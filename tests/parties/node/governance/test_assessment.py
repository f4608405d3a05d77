"""What results may tell of a row: the weakest rule of several jobs, and how sure noise lets somebody be."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from parties.jobs.spending import PureLoss, exact
from parties.node.budget.account import Charge
from parties.node.governance.activities import Job, Log
from parties.node.governance.assessment import _budgets, _weakest, surest
from parties.node.governance.processing import Evidence
from parties.node.settings import NodeFile
from parties.sources.settings import TableSettings


@pytest.mark.parametrize(
    ("rules", "weakest", "taken_away"),
    [
        ([{"k": 5, "against": "peer"}], (5, 1, 1, "peer", 0.2), False),
        ([{"k": 5, "against": "public"}], (5, 1, 1, "public", 0.2), True),
        ([{"k": 5, "against": "peer"}, {"k": 8, "against": "public"}], (5, 1, 1, "public", 0.2), True),
        ([{"k": 4, "l": 3.0, "t": 0.2}, {"k": 8, "l": 2.0, "t": 0.3}], (4, 2.0, 0.3, "peer", 0.25), False),
        ([{"l": 2.0, "against": "public"}], (1, 2.0, 1, "public", 1.0), False),
        ([{"k": 2}, {"t": 0.5}], (1, 1, 1, "peer", 1.0), False),
    ],
)
def test_the_weakest_rule_counts(rules: list[dict[str, Any]], weakest: tuple[Any, ...], taken_away: bool) -> None:
    """Of all jobs, each rule by itself; what holds of both parties' rows together is less against the peer."""
    found = _weakest([Job({"parameters": one}, "") for one in rules])
    assert tuple(found[name] for name in ("k", "l", "t", "against", "linked")) == weakest
    assert ("the peer can subtract its own" in found["tells"]) == taken_away
    assert (f"one of at least {weakest[0]}" in found["tells"]) == (weakest[0] > 1)
    assert ("may describe a single row" in found["tells"]) == (weakest[0] == 1)


@pytest.mark.parametrize("odds", [1, 2, 9])
def test_noise_bounds_the_odds(odds: int) -> None:
    """By e^epsilon to 1, of who thought 1 : 1."""
    assert surest(math.log(odds)) == pytest.approx(odds / (odds + 1))


def test_the_budget_is_that_of_the_rows() -> None:
    """What was spent under a former name counts, and so does what was spent under another name of the same rows."""
    own = {"schema": "s.toml", "max_rows": 100}
    spelled = {"a": {"source": "/a.csv", "budget": {"epsilon": 2}}, "b": {"source": "/a.csv", "same_rows_as": "a"}}
    spelled |= {"z": {"source": "/z.csv"}}
    file = NodeFile(tables={name: TableSettings.model_validate(own | table) for name, table in spelled.items()})
    at, uses = datetime.now(UTC), (PureLoss("coins", exact(0.25), adjacency="add-remove"),)
    charges = [Charge(at, table, "bob", str(job), uses) for job, table in enumerate(("a", "b", "old", "z", "gone"))]
    log = Log(charges=charges, starts=[{"rows": {"old": [["/a.csv", None]]}}, {"tables": ["gone"]}])
    evidence = Evidence(file, {}, [], log, None, at.isoformat(), "smc 1")
    found = {budget["table"]: (budget["spent"], budget["jobs"]) for budget in _budgets(evidence)}
    assert found == {"a": (0.75, 3), "b": (0.75, 3), "z": (0.25, 1), "gone": (0.25, 1)}
