"""Rounds of sums at moving centroids: what is opened, what is told, and that a run goes on from any round."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from protocols.release.clusters import Rounds, change, noisy_lloyd, shares
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session
from tests.support.questions import Known

LAWS = [None, Known(3), Known(-2)]


def ran(begun: Rounds = ()) -> tuple[Rounds, list[Rounds]]:
    """Own sums are where the centroids are, those of party 1 one more; centroids are the last opened numbers, halved"""

    def places(opened: Sequence[Any]) -> np.ndarray:
        return np.array(opened[-1] if opened else [-4, 3, 0, 7]).reshape(2, 2) // 2

    def both(session: Session) -> tuple[Rounds, list[Rounds]]:
        told: list[Rounds] = []
        engine = engine_of(session, Profile("clear"))
        return noisy_lloyd(engine, lambda at: at + engine.party, places, LAWS, 5, told.append, begun), told

    one, other = run_local(both)
    assert one == other
    return one


def test_every_round_opens_the_sums_where_the_last_one_has_led() -> None:
    rounds, told = ran()
    assert rounds == ((-3, 3, 1, 7), (0, 6, 4, 10), (-1, 5, 3, 9))
    assert told == [rounds[:i] for i in range(3)]
    for i in range(1, 4):
        assert ran(rounds[:i]) == (rounds, [rounds[:j] for j in range(i, 3)])


@pytest.mark.parametrize(
    ("rounds", "growth", "wanted"), [(1, 3, [1]), (3, 3, [2 / 6, 1 / 6, 3 / 6]), (2, 1, [0.5, 0.5])]
)
def test_later_rounds_have_more_and_the_first_the_mean(rounds: int, growth: int, wanted: list[float]) -> None:
    found = shares(Fraction(1), rounds, Fraction(growth))
    assert sum(found) == 1
    assert [float(share) for share in found] == pytest.approx(wanted, abs=2e-6)
    assert all((share * 10**6).denominator == 1 for share in found)


def test_a_row_that_is_replaced_changes_twice_as_much() -> None:
    assert change(2, True) == 2 * change(2, False)
