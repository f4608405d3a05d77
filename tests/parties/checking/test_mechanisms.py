"""Every mechanism keeps its promise, and every planted bug is found out.

Seeds are fixed; each check by itself calls a kept promise broken with a probability of 1e-9 at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from parties.alone.sensitivity.draws import drawn
from parties.alone.sensitivity.median import Table
from parties.checking import sensitivity, trees
from parties.checking.mechanism import Mechanism, check, judge, sample
from parties.checking.mechanisms import BROKEN, CIRCUITS, KINDS, MECHANISMS, UNCHECKED, choose, sums
from parties.checking.promise import Promise
from parties.checking.statistics.losses import Finding, Outcomes
from parties.jobs import kinds
from parties.jobs.spending import Adjacency
from protocols.release.choice import choice_law
from protocols.release.laplace import DiscreteLaplace
from smc.engines import Engine
from tests.support.exact_laws import ExactLaw, chosen, shifted

SAMPLES = 1 << 14
BUDGETS = {"0.5": 1 << 16, "2": 1 << 14, "6": 1 << 14}  # and how many samples they take
LOOSE = ("smooth",)  # whose proof leaves more than half of the scale
SHOWN = {"tree": 0.6, "tree-gini": 0.6, "tree-entropy": 0.6}
ONE = Promise(Fraction(1))
Draw = Callable[[Engine, int, int], Outcomes]


def found(mechanism: Mechanism) -> Finding:
    return check(mechanism, SAMPLES, seed=b"check")


@pytest.mark.one_of(4)
@pytest.mark.parametrize(("adjacency", "epsilon"), [*(("add-remove", one) for one in BUDGETS), ("replace", "2")])
@pytest.mark.parametrize("name", CIRCUITS)
def test_what_we_publish_keeps_its_promise_and_not_half_of_it(name: str, adjacency: Adjacency, epsilon: str) -> None:
    """The same answers are those of half the scale where half of epsilon is promised."""
    promise = Promise(Fraction(epsilon), adjacency=adjacency)
    mechanism, less = (MECHANISMS[name](replace(promise, epsilon=promise.epsilon / part)) for part in (1, 2))
    answers = [sample(mechanism, table, BUDGETS[epsilon] // mechanism.cost, b"check") for table in (0, 1)]
    finding = judge(mechanism, *answers)
    assert finding.holds
    if name not in LOOSE:
        # The pair of neighbours is the worst, or near it: a bug would show.
        assert finding.loss > (0.5 if epsilon != "2" else SHOWN.get(name, 0.75)) * mechanism.epsilon
        assert not judge(less, *answers).holds


def planted(name: str, draw: Draw, adjacency: Adjacency = "add-remove") -> Mechanism:
    """A mechanism that says it is a good one, and does something else."""
    return replace(MECHANISMS[name](replace(ONE, adjacency=adjacency)), draw=draw)


def test_the_sensitivity_forgotten() -> None:
    assert not found(planted("sum", sums([100], [110], DiscreteLaplace(Fraction(1))))).holds


def test_a_replacement_taken_for_one_row() -> None:
    draw = sums([20, 30], [21, 29], DiscreteLaplace(Fraction(1)))
    assert not found(planted("histogram", draw, "replace")).holds


def test_the_budget_used_twice() -> None:
    once = MECHANISMS["count"](ONE).draw
    assert not found(planted("count", lambda *run: np.stack([once(*run), once(*run)], axis=1))).holds


def test_noise_redrawn_when_a_step_is_repeated() -> None:
    def redrawn(engine: Engine, table: int, copies: int) -> Outcomes:
        return np.concatenate([MECHANISMS["count"](ONE).draw(engine, table, copies) for _ in range(2)], axis=1)

    assert not found(planted("repeated", redrawn)).holds


def test_a_repeated_step_draws_what_it_drew() -> None:
    answers = sample(MECHANISMS["repeated"](ONE), 0, 1000)
    assert (answers[:, 0] == answers[:, 1]).all()
    assert len(np.unique(answers[:, 0])) > 3


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
@pytest.mark.parametrize("name", BROKEN)
def test_noise_of_the_local_sensitivity(name: str, epsilon: str) -> None:
    """The notes' two mistakes: not even at a delta of 0.1."""
    assert not found(BROKEN[name](replace(ONE, epsilon=Fraction(epsilon)))).holds


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_a_count_with_half_the_scale_is_refuted(epsilon: str) -> None:
    finding = check(BROKEN["half-scale"](replace(ONE, epsilon=Fraction(epsilon))), BUDGETS[epsilon], seed=b"check")
    assert not finding.holds
    assert float(epsilon) < finding.loss <= 2 * float(epsilon)
    if epsilon == "0.5":
        assert finding.loss > 0.8


def test_local_instead_of_smooth() -> None:
    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        grades = Table([sensitivity.STEADY, sensitivity.UNSTEADY][table], 0, sensitivity.HIGH)
        return grades.median + drawn(engine, DiscreteLaplace(Fraction(2 * grades.local)), copies)

    assert not found(planted("smooth", draw)).holds


def test_a_test_without_noise() -> None:
    """Propose-test-release that looks at the distance itself."""

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        passed = np.full(copies, Table([[0, 0, 0, 30, 30], [0, 0, 0, 0, 30]][table], 0, 30).distance(5) > 0)
        return np.stack([passed, passed * drawn(engine, DiscreteLaplace(Fraction(5)), copies)], axis=1)

    assert not found(planted("propose", draw)).holds


def test_repeat_until_valid_is_not_free() -> None:
    """A count below zero is drawn again: how often depends on the count."""

    def valid(engine: Engine, table: int, copies: int) -> Outcomes:
        noisy = sums([0], [1], DiscreteLaplace(Fraction(1)))(engine, table, 4 * copies)
        return noisy[noisy[:, 0] >= 0][:copies]

    finding = check(planted("clamped", valid), 4 * SAMPLES, seed=b"check")
    assert not finding.holds
    assert 1.1 < finding.loss < 1 + np.log(1 + np.exp(-1) - np.exp(-2))  # the right-hand side is the loss exactly


@pytest.mark.parametrize("name", ["top", "top-any"])
def test_the_monotone_rule_where_scores_move_both_ways(name: str) -> None:
    law = choice_law(Fraction(1), 1, monotone=True, candidates=2)
    assert not found(planted(name, choose([(0, 2), (1, 1)], law), "replace")).holds


def test_a_tree_whose_leaves_have_the_whole_epsilon_again() -> None:
    problem = replace(trees.problem_of(Fraction(1), False), epsilon=Fraction(2), leaf_epsilon=Fraction(1))
    tables = trees.tables_of(problem.bonus, False)
    assert not found(planted("tree", trees.draw(problem, tables))).holds


def test_a_tree_that_takes_a_replacement_for_one_row() -> None:
    problem = trees.problem_of(Fraction(1), False)
    tables = trees.tables_of(problem.bonus, True)
    assert not found(planted("tree", trees.draw(problem, tables), "replace")).holds


def exact(name: str, table: int, epsilon: Fraction) -> ExactLaw:
    """The law of what a mechanism opens, from that of its noise."""
    if name == "count":
        return shifted(DiscreteLaplace(1 / epsilon).probabilities(), 20 + table)
    return chosen([(0, 1), (1, 1)][table], choice_law(epsilon, 1, monotone=True, candidates=2).probabilities())


@pytest.mark.parametrize("table", [0, 1])
@pytest.mark.parametrize("name", ["count", "top"])
def test_the_answers_have_the_exact_law(name: str, table: int) -> None:
    """No outcome's share is off by more than it is with probability 1e-9 (Hoeffding, for all outcomes at once)."""
    answers = sample(MECHANISMS[name](ONE), table, SAMPLES, seed=b"law")
    law = exact(name, table, ONE.epsilon)
    tolerance = np.sqrt(np.log(2 * len(law) / 1e-9) / (2 * SAMPLES))
    assert set(np.unique(answers).tolist()) <= set(law)
    for outcome, chance in law.items():
        assert abs(float(np.mean(answers == outcome)) - float(chance)) < tolerance


def test_two_steps_of_the_same_seed_are_the_same() -> None:
    mechanism = MECHANISMS["count"](ONE)
    assert np.array_equal(sample(mechanism, 0, 500, seed=b"a"), sample(mechanism, 0, 500, seed=b"a"))
    assert not np.array_equal(sample(mechanism, 0, 500, seed=b"a"), sample(mechanism, 0, 500, seed=b"b"))
    assert not np.array_equal(sample(mechanism, 0, 500), sample(mechanism, 0, 500))


def test_progress_is_told() -> None:
    heard: list[int] = []
    check(MECHANISMS["top"](ONE), 20_000, on_progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 40_000


def test_every_kind_that_spends_is_checked_or_excused() -> None:
    """What has an epsilon spends; a decision of the release family has none."""
    spending = {name for name in kinds.BUILT_IN if "epsilon" in kinds.find(name).Settings.model_fields}
    assert spending == KINDS.keys() | (UNCHECKED.keys() & set(kinds.BUILT_IN))
    assert {name for names in KINDS.values() for name in names} <= MECHANISMS.keys()
    assert not KINDS.keys() & UNCHECKED.keys()
    assert all(UNCHECKED.values())
