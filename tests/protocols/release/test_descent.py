"""Noisy gradient descent: what a row changes by brute force, the protocol beside a plain reference, and resumed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release import descent
from protocols.release.descent import COARSE, COUNTED, FINE, Change, Descent, Sums, Walk, descend, own_numbers
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import Known


def problem(**fields: Any) -> Descent:
    change = Change(3, 1 << FINE, replaced=False)
    given_: dict[str, Any] = {"steps": 4, "rate": 0.5, "short": 0.5, "regularisation": 0.1, "variance": Fraction(10**6)}
    return Descent(**{"change": change, **given_, "max_rows": 50, "least_rows": 3, **fields})


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([1 << FINE, 12345 << 14, 1 << 22]))
def test_no_row_changes_more_than_the_noise_is_made_for(seed: int, numbers: int, norm: int) -> None:
    """Rows as long as they may be, on top of any sum, rounded as they are; noise for a replacement does for both."""
    rng = np.random.default_rng(seed)

    def longest() -> Any:
        vector = rng.normal(size=numbers) * (rng.random(numbers) < rng.choice([0.1, 1]))
        if not vector.any():
            vector[0] = 1
        found = np.trunc(vector / np.linalg.norm(vector) * norm * (1 - 1e-12)).astype(np.int64)
        assert sum(int(one) ** 2 for one in found) <= norm**2
        return found

    others = rng.integers(-(2**40), 2**40, size=numbers)
    after = own_numbers(others + longest(), 8)
    for before, hidden_by in (
        (own_numbers(others + longest(), 8), (True,)),
        (own_numbers(others, 7), (False, True)),
    ):
        moved = sum(int(one) ** 2 for one in after - before)
        assert all(moved <= Change(numbers, norm, replaced).squared for replaced in hidden_by)


def test_the_spread_is_that_of_noise_alone() -> None:
    """Weights are linear in what is opened if the number of rows stays: a unit in each step, one after the other."""
    made, rows = problem(steps=7), 40 * COUNTED
    units = np.eye(7, dtype=int)
    alone = [made.weights([(int(one), 0, 0, rows) for one in line])[0] for line in units]
    assert made.spread([(0, 0, 0, rows)] * 7) == pytest.approx(1000 * math.sqrt(sum(w * w for w in alone)))
    assert made.spread([(9, 9, 9, rows)] * 7) == made.spread([(0, 0, 0, rows)] * 7)  # it tells nothing of the sums
    assert made.spread([(0, 0, 0, 2 * rows)] * 7) == pytest.approx(made.spread([(0, 0, 0, rows)] * 7) / 2)


def test_the_change_is_no_more_than_it_must_be() -> None:
    """What is added for rounding is little, and it is added: without it the bound would be wrong."""
    for numbers, norm in ((1, 1 << FINE), (100, 1 << FINE), (100, 1 << 27)):
        length = norm / (1 << (FINE - COARSE))
        added = math.sqrt(Change(numbers, norm, False).squared)
        assert added == pytest.approx(math.hypot(length, COUNTED) + math.sqrt(numbers), rel=1e-4)
        assert math.sqrt(Change(numbers, norm, True).squared) == pytest.approx(
            2 * length + math.sqrt(numbers), rel=1e-4
        )
    half = 1 << (FINE - COARSE - 1)
    small = np.full(16, 2, dtype=np.int64)  # of norm 8 only, but all numbers tip over
    moved = own_numbers(np.full(16, half - 1, dtype=np.int64) + small, 1) - own_numbers(np.full(16, half - 1), 1)
    assert (moved**2).sum() == 16
    assert Change(16, 8, replaced=True).squared >= 16


def steep(made: Descent, hessian: Any, wanted: Any, noise: float, seed: int = 1) -> tuple[list[Sums], Any]:
    """What is opened on a parabola, of 40 rows: and the path, as the docstring has it, by matrices."""
    rng, size = np.random.default_rng(seed), len(wanted)
    opened: list[Sums] = []
    weights, velocity, path = np.zeros(size), np.zeros(size), [np.zeros(size)]
    short, last, slopes = np.zeros((size, size)), np.zeros(size), []  # short: a projection
    for step in range(made.steps):
        exact = hessian @ (weights - wanted) * 40 * 2**COARSE
        sums = np.rint(exact + rng.normal(size=size) * noise).astype(int)
        opened.append((*sums.tolist(), 40 * COUNTED))
        slope = sums / 2**COARSE / 40
        variance = float(made.variance) / (40 * 2**COARSE) ** 2
        rest = np.eye(size) - short
        one, other = rest @ slope, rest @ last
        square = max(variance * (one @ one + other @ other) - size * variance**2, size * variance**2)
        if step and one @ other < -3 * math.sqrt(square):
            direction = (one - other) / np.linalg.norm(one - other)
            short = short + np.outer(direction, direction)
            velocity = velocity - direction @ velocity * direction
        scales = made.rate * np.eye(size) + (made.short - made.rate) * short
        pushed = min(step / (step + 3), 0.9) * velocity - scales @ (slope + made.regularisation * weights)
        velocity = np.linalg.solve(np.eye(size) + made.regularisation * scales, pushed)
        weights, last = weights + velocity, slope
        path.append(weights)
        slopes.append(slope)
    return opened, np.array(path)


def test_steps_are_short_where_they_overshoot_and_only_there() -> None:
    """A steep direction that is none of the coordinates, beside flat ones: found, and the flat ones still go fast."""
    size = 6
    top = np.ones(size) / math.sqrt(size)
    hessian, wanted = 0.001 * np.eye(size) + 2 * np.outer(top, top), np.array([3.0, -3, 1, 2, 0, 4])
    made = problem(
        change=Change(size, 1 << FINE, False), steps=60, rate=64.0, short=1.0, regularisation=0.0, variance=Fraction(25)
    )
    opened, path = steep(made, hessian, wanted, 5.0)
    assert made.path(opened) == pytest.approx(path, abs=1e-6)
    walk = Walk(made)
    for sums in opened:
        walk.step(sums)
    ((found,), far) = walk.directions, np.abs(made.weights(opened) - wanted).max()
    assert abs(found @ top) > 0.999
    assert far < 0.6
    slow = replace(made, rate=1.0)  # safe everywhere, but too slow
    assert np.abs(slow.weights(steep(slow, hessian, wanted, 5.0)[0]) - wanted).max() > 2 * far
    blind = replace(made, short=64.0, steps=6)
    assert np.abs(blind.weights(steep(blind, hessian, wanted, 5.0)[0])).max() > 10**3


@pytest.mark.parametrize("regularisation", [0.05, 0.5, 1.0])
def test_no_lambda_is_too_large_for_a_rate(regularisation: float) -> None:
    """The weights of a parabola are where they belong by its equations, and the spread says no more than noise does."""
    hessian, wanted = np.diag([0.25, 0.01, 0.0]), np.array([3.0, -3, 1])
    made = problem(steps=60, rate=64.0, short=8.0, regularisation=regularisation, variance=Fraction(25))
    opened, path = steep(made, hessian, wanted, 5.0)
    assert made.path(opened) == pytest.approx(path, abs=1e-6)
    least = np.linalg.solve(hessian + regularisation * np.eye(3), hessian @ wanted)
    assert made.weights(opened) == pytest.approx(least, abs=0.05)
    assert made.spread(opened) < 0.05


@pytest.mark.parametrize("regularisation", [1e-5, 1.0])
def test_whatever_is_opened_weights_stay_in_their_ball(regularisation: float) -> None:
    """The longest sums there can be, the same way or to and fro, in all of the longest steps: nothing overflows."""
    made = problem(steps=1000, rate=1000.0, short=8.0, regularisation=regularisation)
    rng = np.random.default_rng(1)
    for signs in (np.ones((1000, 4)), rng.choice([-1, 1], (1000, 4)), np.outer((-1) ** np.arange(1000), np.ones(4))):
        with np.errstate(all="raise", under="ignore"):
            path = made.path([tuple(int(one) << 62 for one in line) for line in signs])
        assert np.linalg.norm(path, axis=1).max() <= descent.RADIUS * (1 + 1e-12)
    assert np.linalg.norm(path, axis=1).max() > 1000  # it was far beyond any use


def test_noise_alone_is_no_direction() -> None:
    """0.1 % of steps are three standard deviations off; of 1,800 here, more than 10 in one of 10^5 runs."""
    made = problem(change=Change(20, 1 << FINE, False), steps=60, rate=64.0, short=8.0, variance=Fraction(10**6))
    found = 0
    for seed in range(30):
        walk = Walk(made)
        for sums in steep(made, np.zeros((20, 20)), np.zeros(20), 1000.0, seed)[0]:
            walk.step(sums)
        found += len(walk.directions)
    assert found <= 10


def test_a_number_of_rows_that_is_noise_makes_no_step_long() -> None:
    made = problem(variance=Fraction((12 * COUNTED) ** 2))
    assert made.rows([(0, 0, 0, -10_000)]) == 12
    assert made.rows([(0, 0, 0, -10_000)] * 4) == 6  # no less than twice the public bound
    assert made.rows([(0, 0, 0, 40 * COUNTED)]) == 40
    assert made.rows([(0, 0, 0, 10**6)]) == 100


def gradients(party: int, weights: Any) -> tuple[Any, int]:
    """A party's sums of gradients at some weights: any function of them."""
    wanted = np.array([1.0, -2.0, 0.5]) * (party + 1)
    return np.trunc(np.tanh(weights - wanted) / 2 * (1 << FINE)).astype(np.int64) * 20, 20 + party


def own(made: Descent, party: int) -> Any:
    """A party's numbers after opened sums."""
    return lambda opened: own_numbers(*gradients(party, made.path(opened)[-1]))


def reference(made: Descent, noise: int) -> tuple[tuple[Sums, ...], Any]:
    """The same in the clear, by the rule as it is written."""
    opened, weights, velocity, path = [], np.zeros(3), np.zeros(3), []
    for step in range(made.steps):
        own = [own_numbers(*gradients(party, weights)) for party in (0, 1)]
        opened.append(tuple((own[0] + own[1] + noise).tolist()))
        rows = sum(sums[-1] for sums in opened) / len(opened) / COUNTED
        floor = 1000 / COUNTED / math.sqrt(len(opened))
        rows = min(max(rows, floor, 2 * made.least_rows, 1), 2 * made.max_rows)
        slope = np.array(opened[-1][:-1]) / 2**COARSE / rows
        ahead = weights + min(step / (step + 3), 0.9) * velocity - made.rate * slope
        ahead = ahead / (1 + made.rate * made.regularisation)  # the proximal point of lambda / 2 |w|^2
        weights, velocity = ahead, ahead - weights
        path.append(weights)
    return tuple(opened), np.mean(path[made.steps // 2 :], axis=0)


@pytest.mark.parametrize("noise", [0, -1234, 70_000])
@pytest.mark.parametrize("engine", ["clear", "yao"])
def test_the_protocol_is_the_reference_with_the_same_noise(
    noise: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descent.Descent, "law", Known(noise))
    made, heard = problem(), []

    def party(session: Any) -> Any:
        def on_step(step: int, before: Any) -> None:
            if not session.party:
                heard.append((step, len(before)))

        return descend(make_engine(session, engine), made, own(made, session.party), on_step, ())

    one, other = run_local(party)
    opened, weights = reference(made, noise)
    assert one == other == opened
    assert heard == [(step, step) for step in range(4)]
    assert made.weights(one) == pytest.approx(weights)
    assert made.path(one).shape == (5, 3)


def test_it_goes_on_from_any_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent.Descent, "law", Known(3))
    made = problem()
    whole, _ = reference(made, 3)
    for start in (1, 3, 4):
        found, _ = run_local(
            lambda session: descend(
                make_engine(session, "clear"),
                made,
                own(made, session.party),
                lambda step, before: None,
                whole[:start],  # noqa: B023
            )
        )
        assert found == whole


def test_the_noise_is_of_the_variance_and_near_the_ideal_law() -> None:
    law = problem().law
    assert law.distance * 4 * 4 <= Fraction(1, 2**40)  # four steps of four numbers
    assert law.least < -5000 < 5000 < law.greatest


def test_no_more_than_eight_directions_are_looked_for() -> None:
    """Twelve coordinates turn round one after the other, each far beyond the noise."""
    made = problem(change=Change(12, 1 << FINE, False), steps=24, rate=1.0, short=0.1, variance=Fraction(25))
    walk = Walk(made)
    for turn in range(24):
        sums = np.zeros(12, dtype=int)
        sums[turn // 2] = (-1) ** turn * 10**6
        walk.step((*sums.tolist(), 40 * COUNTED))
    assert len(walk.directions) == 8


@pytest.mark.parametrize(("norm", "bits"), [(61.5, 6 + 1), (63.5, 7 + 1), (1, 6 + 1)])
def test_a_sum_has_the_bits_of_all_rows_and_a_sign(norm: float, bits: int) -> None:
    """One row of 61.5 units is 62 at most; it counts for 32 at least."""
    change = Change(3, round(norm * (1 << (FINE - COARSE))), False)
    assert problem(change=change, max_rows=1, least_rows=1).width == bits


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="steps: 0 steps learn nothing"):
        problem(steps=0).check()
    with pytest.raises(InputError, match="lower max_rows"):
        problem(max_rows=1 << 55).check()
    problem(max_rows=1 << 31).check()
