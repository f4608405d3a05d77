"""The attack on noise in floating point, and that it finds nothing in ours.

Mironov, "On significance of the least significant bits for differential privacy" (CCS 2012): the textbook's sampler,
x + b ln(u) in doubles, reaches only some doubles, and which ones depends on x. Who knows two candidates for x
asks of an answer whether the sampler could have given it with the one and with the other.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from parties.checking.mechanism import Mechanism, check, sample
from parties.checking.mechanisms import MECHANISMS, sums
from parties.checking.promise import Promise
from parties.checking.statistics.losses import Outcomes
from protocols.release.laplace import DiscreteLaplace
from smc.engines import Engine

SAMPLES = 1 << 16
UNIT = 2.0**-53  # the grid of uniform doubles
TABLES = (0.0, 1.0)  # two neighbouring counts
Doubles = NDArray[np.float64]


def noisy(value: float, sign: Doubles, uniform: Doubles) -> Doubles:
    """A value with Laplace noise of the scale 1, as a textbook says."""
    return value + sign * np.log(uniform)


def textbook(engine: Engine, table: int, copies: int) -> Outcomes:
    """Answers of the textbook's sampler, as the bits of the doubles."""
    prg = engine.session.prg
    uniform = ((prg.words(copies) >> np.uint64(11)).astype(np.float64) + 1) * UNIT
    sign = np.where(prg.bits(copies), 1.0, -1.0)
    return noisy(TABLES[table], sign, uniform).view(np.int64)


def reachable(answers: Doubles, value: float) -> NDArray[np.bool_]:
    """Whether the textbook's sampler gives the answer for this value, with a uniform number that comes near."""
    sign = np.where(answers < value, 1.0, -1.0)
    near = np.rint(np.exp(-np.abs(answers - value)) / UNIT)
    found = np.zeros(len(answers), dtype=np.bool_)
    for step in range(-8, 9):
        uniform = np.clip(near + step, 1, 1 / UNIT) * UNIT
        found |= noisy(value, sign, uniform) == answers
    return found


def attacked(mechanism: Mechanism) -> Mechanism:
    """What the attacker makes of an answer: could it be the one's, could it be the other's. That is post-processing."""

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        answers = mechanism.draw(engine, table, copies).reshape(-1)
        doubles = answers.view(np.float64) if mechanism.draw is textbook else answers.astype(np.float64)
        return np.stack([reachable(doubles, value) for value in TABLES], axis=1).astype(np.int64)

    return replace(mechanism, draw=draw)


def planted() -> Mechanism:
    return replace(MECHANISMS["count"](Promise(Fraction(1))), draw=textbook)


def ours() -> Mechanism:
    return replace(MECHANISMS["count"](Promise(Fraction(1))), draw=sums([0], [1], DiscreteLaplace(Fraction(1))))


@pytest.mark.parametrize("table", [0, 1])
def test_the_attack_knows_its_own_sampler(table: int) -> None:
    answers = sample(planted(), table, 20_000, seed=b"doubles").view(np.float64)
    assert reachable(answers, TABLES[table]).mean() > 0.999


def test_the_last_digits_of_a_double_tell_neighbours_apart() -> None:
    finding = check(attacked(planted()), SAMPLES, seed=b"doubles")
    assert finding.loss > 3
    assert not finding.holds


def test_the_last_digits_of_ours_tell_nothing() -> None:
    finding = check(attacked(ours()), SAMPLES, seed=b"doubles")
    assert finding.holds
