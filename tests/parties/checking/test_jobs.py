"""Jobs keep their promises as they set their noise up, and a job that reckons wrongly is found out.

Seeds are fixed; each check by itself calls a kept promise broken with a probability of 1e-9 at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from parties.alone.perturbation import perturbed
from parties.checking import evidence, questions, regressions
from parties.checking.mechanism import Mechanism, check, judge, sample
from parties.checking.mechanisms import JOBS
from parties.checking.promise import Promise
from parties.checking.samples import samples, simulated
from parties.checking.statistics.losses import Finding, Outcomes
from parties.jobs.publish.noisy_table import NoisyTable
from parties.jobs.release.noise import laplace
from parties.jobs.release.question import Part
from protocols.arrays import Numbers
from protocols.release.choice import choice_law
from protocols.release.gaussian import discrete_gaussian
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from protocols.release.selection import Workload

SAMPLES = 1 << 14
DRAWN = 1 << 15  # of a law
BUDGETS = {"0.5": 1 << 16, "2": 1 << 14}  # and how many samples they take
LOOSE = ("joint-choice", "joint-coordinates", "ladder")  # no tables show much more than half of their loss
SHOWN = {"cluster-rounds": 0.65, "joint-output": 0.65, "objective": 0.6, "aim": 0.7, "mst": 0.7}
ONE, THREE = Promise(Fraction(1)), Promise(Fraction(3))


def found(mechanism: Mechanism, samples: int = SAMPLES) -> Finding:
    return check(mechanism, samples, seed=b"jobs")


@pytest.mark.one_of(2)
@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("name", JOBS)
def test_jobs_keep_their_promises_and_not_half_of_them(name: str, epsilon: str) -> None:
    """The same answers are those of half the scale where half of epsilon is promised."""
    promise = Promise(Fraction(epsilon))
    mechanism, less = (JOBS[name](replace(promise, epsilon=promise.epsilon / part)) for part in (1, 2))
    answers = [sample(mechanism, table, BUDGETS[epsilon] // mechanism.cost, b"jobs") for table in (0, 1)]
    finding = judge(mechanism, *answers)
    assert finding.holds
    if name not in LOOSE:
        assert finding.loss > (0.5 if epsilon != "2" else SHOWN.get(name, 0.75)) * mechanism.epsilon  # a bug would show
        assert not judge(less, *answers).holds


@pytest.mark.campaign
@pytest.mark.parametrize("epsilon", ["0.25", "1", "3"])
@pytest.mark.parametrize("name", JOBS)
def test_jobs_keep_their_promises_of_replacements(name: str, epsilon: str) -> None:
    promise = Promise(Fraction(epsilon), adjacency="replace")
    assert found(JOBS[name](promise), 1 << 16).holds


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


@pytest.mark.parametrize("name", ["aim", "mst"])
def test_a_choice_of_marginals_that_takes_a_replacement_for_one_row(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    promise = replace(THREE, adjacency="replace")
    assert found(JOBS[name](promise)).holds
    monkeypatch.setattr(Workload, "change", 1)
    assert not found(JOBS[name](promise)).holds


def test_totals_of_a_joint_table_that_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of the cells alone: a row is in the total, too."""
    monkeypatch.setattr(NoisyTable, "noise", laplace(ONE.epsilon, 1, "add-remove"))
    assert not found(JOBS["joint-table"](ONE)).holds


def test_a_bound_of_triangles_that_is_not_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is too small every other time: then the number is told with too little noise."""
    monkeypatch.setattr(questions, "bounded", lambda noisy, *rest: min(max(noisy // 4, 1), questions.VERTICES - 2))
    assert not found(JOBS["triangles"](ONE)).holds


def test_a_ladder_whose_rungs_cost_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the scale: what is on the next rung of the neighbour is told apart by more than epsilon."""
    made = questions.ladder
    monkeypatch.setattr(questions, "ladder", lambda vertices, epsilon, changes: made(vertices, 3 * epsilon, changes))
    assert not found(JOBS["ladder"](ONE)).holds


def test_a_score_that_counts_for_one() -> None:
    """A choice among weights with the noise of scores from 0 to 1, not to `BEST`."""
    method, scores = regressions.choosing(ONE)
    law = choice_law(ONE.epsilon, 1, monotone=True, candidates=len(scores[0]))
    assert method.law.scale == method.BEST * law.scale
    draw = simulated(regressions.greatest(scores, law))
    assert not found(replace(JOBS["joint-choice"](ONE), draw=draw)).holds


def test_curvature_that_costs_nothing() -> None:
    """Objective perturbation with all of epsilon for the noise: ln(1 + 2c/(n lambda) + ...) forgotten."""
    loss, regularisation = regressions.corner(1.0)
    draw = simulated(regressions.minimisers(loss, regularisation, 1.0))
    assert not found(replace(JOBS["objective"](ONE), draw=draw), 1 << 17).holds


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
    drawn, exact = samples(law, (DRAWN,), np.random.default_rng(1)), law.probabilities()
    tolerance = np.sqrt(np.log(2 * len(exact) / 1e-9) / (2 * DRAWN))
    values, counts = np.unique(drawn, return_counts=True)
    often = dict(zip(values.tolist(), (counts / DRAWN).tolist(), strict=True))
    assert set(often) <= set(exact)
    assert all(abs(often.get(value, 0.0) - float(chance)) < tolerance for value, chance in exact.items())
    spread = sum(float(chance) * value**2 for value, chance in exact.items())
    assert float((drawn**2).mean()) == pytest.approx(spread, rel=0.1)
