"""A million samples against the exact law, and what Mironov's attack sees of two samplers.

That the bits which the samples are made of are uniform as soon as one party's are: tests/smc/engines/test_random.py.

False alarms: every assertion on samples fails with probability at most 10^-8 for an honest sampler; there are fewer
than 20 of them, and the seeds are fixed.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from protocols.release.gaussian import discrete_gaussian
from protocols.release.geometric import OneSidedGeometric
from protocols.release.inversion import InvertedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, netlist
from protocols.release.response import offset_law
from smc.circuit import evaluate
from smc.primitives.prg import Prg

SAMPLES = 1_000_000
PART = 50_000
LEAST_EXPECTED = 20  # samples in a cell of the chi-square statistic


def samples(law: Law, seed: bytes) -> np.ndarray:
    """A million, by the clear evaluator."""
    prg, made = Prg(seed), netlist(law, "depth")
    weights = 1 << np.arange(law.width, dtype=np.int64)
    if law.least < 0:
        weights[-1] *= -1
    parts = []
    for _ in range(SAMPLES // PART):
        random = prg.bits(law.bits, PART)
        (drawn,) = evaluate(made, [random])
        parts.append(weights @ drawn.astype(np.int64))
    return np.concatenate(parts)


def limit(freedom: int, false_alarms: float = 1e-8) -> float:
    """What chi-square exceeds with at most this probability (Laurent, Massart, Annals of Statistics 28, 2000)."""
    t = -math.log(false_alarms)
    return freedom + 2 * math.sqrt(freedom * t) + 2 * t


def chi_square(found: np.ndarray, law: dict[int, Fraction]) -> tuple[float, int]:
    """The statistic over values with enough expected samples, the others in one cell; and its degrees of freedom."""
    expected = {value: float(mass) * len(found) for value, mass in law.items()}
    common = [value for value, count in expected.items() if count >= LEAST_EXPECTED]
    counts = {value: int(count) for value, count in zip(*np.unique(found, return_counts=True), strict=True)}
    pairs = [(counts.get(value, 0), expected[value]) for value in common]
    rest = len(found) - sum(count for count, _ in pairs), len(found) - sum(count for _, count in pairs)
    if rest[1] >= LEAST_EXPECTED:
        pairs.append(rest)
    return sum((count - wanted) ** 2 / wanted for count, wanted in pairs), len(pairs) - 1


LAWS: list[Law] = [
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(10)),
    OneSidedGeometric(Fraction(3, 2)),
    InvertedGeometric(Fraction(7, 5)),
    discrete_gaussian(9),
    discrete_gaussian(1600),
    offset_law(Fraction(1), 3),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{type(law).__name__} to {law.greatest}")
def test_a_million_samples_have_the_exact_law(law: Law) -> None:
    statistic, freedom = chi_square(samples(law, b"a million sample"), law.probabilities())
    assert freedom > 1
    assert statistic < limit(freedom)


def test_the_chi_square_sees_a_scale_that_is_off_by_a_fiftieth() -> None:
    found = samples(DiscreteLaplace(Fraction(51, 50)), b"a million sample")
    statistic, freedom = chi_square(found, DiscreteLaplace(Fraction(1)).probabilities())
    assert statistic > 4 * limit(freedom)


def planted_laplace(value: float, uniform: np.ndarray) -> np.ndarray:
    """The textbook's sampler of double precision, as libraries had it: value + sign ln(u)."""
    sign = np.where(uniform < 0.5, -1.0, 1.0)
    return value + sign * np.log(1 - 2 * np.abs(uniform - 0.5))


def attainable(value: float, outputs: np.ndarray) -> np.ndarray:
    """Mironov's attack: whether some double u makes the planted sampler open this output for this value.

    The noise must be one of the doubles that the logarithm takes near the exponential of what is left; all candidates
    within a few last places are tried.
    """
    found = np.zeros(len(outputs), dtype=bool)
    noise = outputs - value
    sign = np.sign(noise)
    for guess in (noise, np.nextafter(noise, -np.inf), np.nextafter(noise, np.inf)):
        near = np.exp(-np.abs(guess))
        u = np.where(sign > 0, near / 2, 1 - near / 2)
        for step in range(-6, 7):
            tried = u + step * 2.0**-53
            found |= planted_laplace(value, np.clip(tried, 2.0**-53, 1 - 2.0**-53)) == outputs
    return found


def test_the_attack_on_floating_point_tells_neighbours_apart() -> None:
    rng = np.random.default_rng(2012)
    uniform = rng.integers(1, 1 << 53, 20_000) * 2.0**-53
    uniform = uniform[np.abs(uniform - 0.5) > 2.0**-20]
    outputs = planted_laplace(1.0, uniform)
    outputs = outputs[np.abs(outputs) < 0.5]
    assert len(outputs) > 1000
    assert attainable(1.0, outputs).all()
    assert attainable(0.0, outputs).mean() < 0.3  # the rest of them prove that the value was 1, not 0


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(1)), discrete_gaussian(9)], ids=["laplace", "gaussian"])
def test_every_output_of_ours_is_attainable_from_neighbours_at_nearly_the_same_price(law: Law) -> None:
    """All that can be opened for n can be for n + 1, but for the ends of the range, which weigh nothing."""
    table = law.probabilities()
    for value, mass in table.items():
        if value - 1 in table:
            ratio = math.log(mass / table[value - 1])
            if isinstance(law, DiscreteLaplace):
                assert abs(ratio) <= 1 + float(law.distance) * 4 / float(min(mass, table[value - 1]))
        else:
            assert mass < Fraction(1, 1 << 38)
