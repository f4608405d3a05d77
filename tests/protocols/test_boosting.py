"""The best split by logarithms of gains, beside gains as fractions of the same sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import boosting
from protocols.boosting import FINE, ORDER, Gains, best_splits
from smc.circuit import Builder, evaluate
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.primitives import bits as bitpack

pytestmark = pytest.mark.slow

ONE = 1 << FINE


def chosen(gains: Gains, sides: Any, engine: str = "clear") -> list[int]:
    rounded = [[gains.rounded(sums) for sums in side] for side in sides]
    both = run_local(lambda session: best_splits(make_engine(session, engine), gains, *rounded[session.party]))
    assert both[0].tolist() == both[1].tolist()
    return both[0].tolist()


def gain(gains: Gains, sides: Any, node: int, candidate: int) -> Fraction | None:
    """The gain of the rounded sums, by the definition; None if a child has too little."""
    rounded = [[gains.rounded(one) for one in side] for side in sides]
    unit = 1 << gains.point
    g, h = (Fraction(int(rounded[0][i][node] + rounded[1][i][node]), unit) for i in (0, 1))
    gl, hl = (Fraction(int(rounded[0][i][node, candidate] + rounded[1][i][node, candidate]), unit) for i in (2, 3))
    penalty = Fraction(gains.units(gains.regularisation), unit)
    least = Fraction(gains.units(gains.least + gains.regularisation), unit)
    below, above = hl + penalty, h - hl + penalty
    if min(below, above) < least:
        return None
    return gl**2 / below + (g - gl) ** 2 / above - g**2 / (below + above)


def sums(draw: Any, nodes: int, candidates: int, most: int) -> Any:
    """A party's sums: curvatures of children up to `most`, slopes no greater than rows."""
    left, right = (draw.integers(0, most, (nodes, candidates)) for _ in range(2))
    curvature = (left + right).max(axis=1)
    left = np.minimum(left, curvature[:, None])
    slope = draw.integers(-curvature, curvature + 1)
    return slope, curvature, draw.integers(-left, left + 1), left


@given(
    seed=st.integers(0, 10**6),
    nodes=st.integers(1, 3),
    candidates=st.integers(1, 20),
    most=st.sampled_from([3, ONE, 50 * ONE, 20_000 * ONE]),
    penalty=st.sampled_from([0.0, 1.0, 7.5]),
    gamma=st.sampled_from([0.0, 0.5, 40.0]),
)
@settings(max_examples=60, deadline=None)
def test_the_best_is_nearly_the_best(
    seed: int, nodes: int, candidates: int, most: int, penalty: float, gamma: float
) -> None:
    gains = Gains(65_535, penalty, 1.0, gamma)
    draw = np.random.default_rng(seed)
    sides = [sums(draw, nodes, candidates, most) for _ in range(2)]
    for node, candidate in enumerate(chosen(gains, sides)):
        known = [gain(gains, sides, node, other) for other in range(candidates)]
        best = max((one for one in known if one is not None), default=Fraction(0))
        if candidate < 0:
            assert float(best) <= gamma / ORDER
            continue
        found = known[candidate]
        assert found is not None
        assert float(found) >= ORDER * float(best) * (1 - 1e-9)
        assert float(found) >= gamma * ORDER


def test_logarithms_are_as_near_as_is_said() -> None:
    builder = Builder()
    zeros, mantissa = boosting.log2(builder.input(31))
    builder.output(zeros)
    builder.output(mantissa)
    numbers = np.unique(np.concatenate([np.arange(1, 5000), 2 ** np.arange(31), 2 ** np.arange(1, 32) - 1]))
    outputs = evaluate(builder.build(), [bitpack.from_integers(numbers, 31)])
    zeros_of, mantissas = (bitpack.to_words(output).astype(np.int64) for output in outputs)
    logs = 30 - zeros_of + mantissas / (1 << boosting.KEPT)
    assert np.abs(logs - np.log2(numbers)).max() <= -np.log2(ORDER) / 8


@pytest.mark.parametrize("engine", ["yao", "gmw", "mixed", "lean"])
def test_every_engine_chooses_the_same(engine: str) -> None:
    gains, draw = Gains(1000, 1.0, 2.0, 0.25), np.random.default_rng(5)
    sides = [sums(draw, 4, 11, 90 * ONE) for _ in range(2)]
    assert chosen(gains, sides, engine) == chosen(gains, sides)


def test_equal_candidates_and_small_children() -> None:
    """The first of equals; none where a child has too little curvature, or nothing is won."""

    def side(left: list[list[int]]) -> Any:
        numbers = np.array(left, dtype=np.int64) * ONE
        return np.zeros(2, dtype=np.int64), np.full(2, 8 * ONE), numbers, np.full(numbers.shape, 4 * ONE)

    gains = Gains(100)
    sides = [side([[1, 3, 3, 3], [0, 0, 0, 0]])] * 2
    assert chosen(gains, sides) == [1, -1]
    assert chosen(Gains(100, least=8.0), sides) == [1, -1]
    assert chosen(Gains(100, least=8.01), sides) == [-1, -1]
    exact = gain(gains, sides, 0, 1)
    assert exact is not None
    assert chosen(Gains(100, gamma=float(exact) * 0.97), sides) == [1, -1]
    assert chosen(Gains(100, gamma=float(exact) * 1.03), sides) == [-1, -1]


def test_what_does_not_fit_is_refused() -> None:
    assert Gains(2**28).point == 1
    with pytest.raises(InputError, match="max_rows: sums of so many rows"):
        Gains(2**31)
    with pytest.raises(InputError, match="min_child_weight"):
        Gains(10, 0.0, 0.0)
