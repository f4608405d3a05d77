"""Of equals each is chosen as often as any other, wherever it stands in the schema."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from protocols.release.choice import choice_law, noisy_choice
from protocols.release.median import noisy_median
from protocols.release.top import noisy_top, top_law
from smc.engines import Engine, make_engine
from smc.local import run_local
from smc.session import Session

TIMES = 2000
VOTES = (10, 10, 2)
EPSILON = Fraction(2)
Indices = NDArray[np.int64]


def firsts(program: Callable[[Engine, Indices], Indices]) -> Indices:
    """Return how often each candidate is chosen, of party 0's votes."""
    own = np.repeat(np.array(VOTES)[:, None], TIMES, axis=1)

    def both(session: Session) -> list[int]:
        engine = make_engine(session, "clear")
        return program(engine, own * (session.party == 0)).tolist()

    left, right = run_local(both, kernels=())
    assert left == right
    return np.bincount(left, minlength=len(VOTES))


def choice(engine: Engine, own: Indices) -> Indices:
    return noisy_choice(engine, own, 5, choice_law(EPSILON, 1, True, len(VOTES) * TIMES))


def top(engine: Engine, own: Indices) -> Indices:
    return noisy_top(engine, own, 1, 5, top_law(EPSILON, 1, len(VOTES), batch=TIMES))[0]


def median(engine: Engine, own: Indices) -> Indices:
    """A quality of 10, 10 and 2, as the number of lesser values from 12 down."""
    below = 12 * (own.max() > 0) - own
    return noisy_median(engine, below, 0 * below, 5, choice_law(EPSILON, 1, True, len(VOTES) * TIMES))


@pytest.mark.parametrize("program", [choice, top, median])
def test_equals_are_chosen_alike(program: Callable[[Engine, Indices], Indices]) -> None:
    """By the index the first of two would win 88 % of the time: one in 1 + e^-2, which is the tie beside the win."""
    chosen = firsts(program)
    assert chosen[2] < TIMES / 100
    assert abs(chosen[0] - chosen[1]) < 5 * np.sqrt(TIMES)
