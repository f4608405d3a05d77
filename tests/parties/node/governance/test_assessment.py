"""What results may tell of a row: the weakest rule of several jobs, and how sure noise lets somebody be."""

from __future__ import annotations

import math
from typing import Any

import pytest

from parties.node.governance.activities import Job
from parties.node.governance.assessment import _weakest, surest


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
    assert ("the peer can take its own away" in found["tells"]) == taken_away
    assert (f"one of at least {weakest[0]}" in found["tells"]) == (weakest[0] > 1)
    assert ("may speak of a single row" in found["tells"]) == (weakest[0] == 1)


@pytest.mark.parametrize("odds", [1, 2, 9])
def test_noise_bounds_the_odds(odds: int) -> None:
    """By e^epsilon to 1, of who thought 1 : 1."""
    assert surest(math.log(odds)) == pytest.approx(odds / (odds + 1))
