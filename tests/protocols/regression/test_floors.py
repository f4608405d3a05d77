"""Whether a minimiser is found does not depend on the rows, from the floors of lambda and Huber's h on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.regression.features import Column, Features
from protocols.regression.losses import Huber, Logistic, Loss
from protocols.regression.minimiser import LEAST_HUBER, LEAST_LAMBDA, TOLERANCE, minimise
from protocols.regression.rows import TrainingRows

FEATURES = Features(
    (
        Column("kind", ("a", "b", "c")),
        Column("size", tuple("01234"), tuple(Fraction(i - 2, 2) for i in range(5))),
    )
)
LINES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans(), st.integers(1, 10**6)), max_size=12)


@settings(max_examples=150, deadline=None)
@given(lines=LINES, lost=st.sampled_from([Logistic(), Huber(LEAST_HUBER), Huber(0.5)]))
def test_every_table_has_a_minimiser(lines: list[tuple[int, int, bool, int]], lost: Loss) -> None:
    codes = np.array([line[:2] for line in lines], dtype=np.int64).reshape(len(lines), 2)
    signs = np.array([1.0 if line[2] else -1.0 for line in lines])
    counts = np.array([line[3] for line in lines], dtype=np.int64)
    assert minimise(TrainingRows(FEATURES, codes, signs, counts), lost, LEAST_LAMBDA).gradient <= TOLERANCE


@pytest.mark.parametrize("lost", [Logistic(), Huber(LEAST_HUBER), Huber(0.5)])
def test_the_floors_leave_rounding_room(lost: Loss) -> None:
    """What the module's first lines say of margins and slopes."""
    radius = np.sqrt(2 * lost.at_zero / LEAST_LAMBDA)
    assert 2.0**-53 * radius * lost.smoothness <= TOLERANCE / 400
