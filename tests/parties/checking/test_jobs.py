"""Jobs keep their promises as they set their noise up, and a job that reckons wrongly is found out.

Seeds are fixed; each check by itself calls a kept promise broken with a probability of 1e-9 at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from parties.analysis.losses import Finding, Outcomes
from parties.checking import evidence, questions, regressions
from parties.checking.mechanism import Mechanism, check
from parties.checking.mechanisms import JOBS
from parties.checking.promise import Promise
from parties.checking.samples import samples, simulated
from parties.jobs.release.kind import Numbers
from parties.jobs.release.noise import laplace
from parties.jobs.release.sums import Part
from parties.regression.perturbation import perturbed
from protocols.release.gaussian import discrete_gaussian
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law

USUAL = 1 << 15
SAMPLES = {"joint-median": 1 << 14, "top-places": 1 << 14, "objective": 1 << 17, "cluster-rounds": 1 << 16}
SHOWN = {
    "top-places": 0.75,
    "naive-bayes": 0.7,
    "mean": 0.75,
    "cluster-rounds": 0.6,
    "objective": 0.5,
}  # of many small parts
ONE, THREE = Promise(Fraction(1)), Promise(Fraction(3))


def found(mechanism: Mechanism) -> Finding:
    return check(mechanism, SAMPLES.get(mechanism.name, USUAL), seed=b"jobs")


@pytest.mark.parametrize("name", JOBS)
def test_jobs_keep_their_promises(name: str) -> None:
    mechanism = JOBS[name](ONE)
    finding = found(mechanism)
    assert finding.holds
    if not mechanism.delta:
        assert finding.loss > SHOWN.get(name, 0.8)  # a bug would show


@pytest.mark.parametrize("name", JOBS)
def test_half_the_scale(name: str) -> None:
    """Of noise with a delta at epsilon 3, of which less is lost by what samples do not show."""
    promise = THREE if JOBS[name](ONE).delta else ONE
    louder = JOBS[name](replace(promise, epsilon=2 * promise.epsilon))
    assert not found(replace(JOBS[name](promise), draw=louder.draw)).holds


@pytest.mark.campaign
@pytest.mark.parametrize("epsilon", ["0.25", "1", "3"])
@pytest.mark.parametrize("name", JOBS)
def test_jobs_keep_their_promises_of_replacements(name: str, epsilon: str) -> None:
    promise = Promise(Fraction(epsilon), adjacency="replace")
    assert found(JOBS[name](promise)).holds


def planted(mechanism: Mechanism, parts: Sequence[Part], whole: Sequence[Numbers]) -> Mechanism:
    return replace(mechanism, draw=questions.sums(parts, whole, questions.weighted(parts)))


def test_columns_that_are_not_counted() -> None:
    """Naive Bayes with the noise of one count: a row changes three."""
    part = Part(6, 4, False, laplace(Fraction(1), 1, "add-remove"))
    whole = [np.zeros(6, dtype=np.int64), np.array([1, 0, 1, 0, 1, 0])]
    assert not found(planted(JOBS["naive-bayes"](ONE), [part], whole)).holds
    honest = replace(part, noise=laplace(Fraction(1), 3, "add-remove"))
    assert found(planted(JOBS["naive-bayes"](ONE), [honest], whole)).holds


def test_rounds_that_each_have_the_whole_epsilon() -> None:
    unit, numbers = 1 << 10, np.array([1 << 10] * 4)
    parts = [Part(2, unit, True, laplace(Fraction(1), 2 * unit, "add-remove"))] * 2
    assert not found(planted(JOBS["cluster-rounds"](ONE), parts, [0 * numbers, numbers])).holds


def test_coordinates_that_are_not_counted() -> None:
    """Noise of the number of a cluster's rows alone; its sum changes, too."""
    unit, numbers = 1 << 10, np.array([1 << 10] * 4)
    parts = [Part(2, unit, True, laplace(Fraction(1, 2), unit, "add-remove"))] * 2
    assert not found(planted(JOBS["cluster-rounds"](ONE), parts, [0 * numbers, numbers])).holds


def test_steps_that_each_have_the_whole_rho() -> None:
    once = JOBS["gradient"](THREE)
    whole = [np.zeros(1, dtype=np.int64), np.array([100])]
    rho = 0.25  # about what epsilon 3 allows at a delta of 1e-5
    law = discrete_gaussian(Fraction(100**2) / Fraction(2 * rho))
    assert not found(replace(once, draw=simulated(regressions.steps(law, 3, *whole)))).holds


def test_marginals_of_which_one_is_counted() -> None:
    mechanism, whole = JOBS["marginals"](THREE), [np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)]
    law = discrete_gaussian(Fraction(1) / Fraction(2 * 0.25))

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        return evidence.of_gaussian(whole[table] + samples(law, (copies, 2), rng), *whole)

    assert not found(replace(mechanism, draw=simulated(draw))).holds


def test_curvature_that_costs_nothing() -> None:
    """Objective perturbation with all of epsilon for the noise: ln(1 + 2c/(n lambda) + ...) forgotten."""
    loss, regularisation = regressions.corner(1.0)
    draw = simulated(regressions.minimisers(loss, regularisation, 1.0))
    assert not found(replace(JOBS["objective"](ONE), draw=draw)).holds


def test_half_the_sensitivity_of_a_minimiser() -> None:
    """1 / (n lambda): right for a row more, and half of what one replaced does."""
    draw = simulated(regressions.noisy_minimisers(1.0, regressions.corner(1.0)[1], share=0.5))
    assert not found(replace(JOBS["output"](ONE), draw=draw)).holds


@pytest.mark.parametrize("seed", range(20))
def test_the_event_of_a_minimiser_is_that_of_the_minimiser(seed: int) -> None:
    """What `perturbed` finds with the same randomness lies between the same places."""
    loss, regularisation = regressions.corner(1.0)
    left = regressions.left_epsilon(1.0, loss, 1, regularisation)
    places = np.linspace(-1 - loss.h, 1 + loss.h, regressions.POINTS)
    draw = regressions.minimisers(loss, regularisation, left)
    for table, rows in enumerate(regressions.ALONE):
        told = int(draw(np.random.default_rng(seed), table, 1)[0])
        weight = perturbed(rows, loss, regularisation, 1.0, "objective", np.random.default_rng(seed)).weights[0]
        assert told == int(np.searchsorted(places, weight))


@pytest.mark.parametrize(
    "law",
    [DiscreteLaplace(Fraction(2)), OneSidedGeometric(Fraction(3, 2)), discrete_gaussian(4), discrete_gaussian(1100)],
    ids=["laplace", "geometric", "table", "sum"],
)
def test_samples_have_the_law_of_the_circuit(law: Law) -> None:
    """No value's share is off by more than it is with probability 1e-9 (Hoeffding, for all at once)."""
    drawn, exact = samples(law, (USUAL,), np.random.default_rng(1)), law.probabilities()
    tolerance = np.sqrt(np.log(2 * len(exact) / 1e-9) / (2 * USUAL))
    values, counts = np.unique(drawn, return_counts=True)
    often = dict(zip(values.tolist(), (counts / USUAL).tolist(), strict=True))
    assert set(often) <= set(exact)
    assert all(abs(often.get(value, 0.0) - float(chance)) < tolerance for value, chance in exact.items())
    spread = sum(float(chance) * value**2 for value, chance in exact.items())
    assert float((drawn**2).mean()) == pytest.approx(spread, rel=0.1)
