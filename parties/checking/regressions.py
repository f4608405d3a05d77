"""Linear classifiers as black boxes: noise on the objective, on the minimiser, on the gradients.

In the checks of one party, the classifier has one weight and the table one row under Huber's loss, in one class or the
other, so that a model depends on this row alone. Lambda places the minimiser of the first table where the corner of the
loss begins: beyond it one table's objective is curved and the other's is not. So objective perturbation shows both of
its costs there: for the slopes, which are 2 apart, and for the curvature.

An event there is "the minimiser is at most t". Since the objective is convex, that is "the gradient at t, with its
noise, is not negative", so no minimiser has to be computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.perturbation import GRID, left_epsilon, noises, sensitivity
from parties.checking import evidence
from parties.checking.mechanism import Mechanism
from parties.checking.promise import Promise, concentrated
from parties.checking.samples import Simulated, samples, simulated
from parties.checking.statistics.losses import Outcomes
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.regress.choice import Choice
from parties.jobs.regress.coordinates import Coordinates
from parties.jobs.regress.gradient import Gradient
from parties.jobs.regress.output import Output
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from protocols.regression.features import Features
from protocols.regression.losses import Huber
from protocols.regression.minimiser import minimise
from protocols.regression.rows import RowStream, TrainingRows
from protocols.release.laws import Law

CURVED = 2 / 5  # part of epsilon that the curvature takes in the checked objective
POINTS = 40  # values of t in events
AT_ONCE = 1 << 8  # choices among many candidates that are drawn at once
STEPS = 3  # steps of gradient descent
LEAST_ROWS = 100  # rows of a table that is minimised
CORNER = 0.01  # half the corner's width of the jointly minimised loss
SCHEMA = Schema({"x": ("-1", "1"), "c": ("0", "1")})
NOTHING, ONCE = np.zeros((1, 0), dtype=np.int64), np.ones(1, dtype=np.int64)
ALONE = tuple(TrainingRows(Features(()), NOTHING, np.array([sign]), ONCE) for sign in (1.0, -1.0))
WORDS = "a row of the one class, or of the other"


def corner(epsilon: float) -> tuple[Huber, float]:
    """Return the loss function, and lambda times the rows, for which the curvature takes the share `CURVED` of epsilon.

    That share is 2 ln(1 + c / (n lambda)).
    """
    ratio = math.expm1(CURVED * epsilon / 2)
    loss = Huber(1 / (1 + 2 * ratio))
    return loss, 1 / (1 - loss.h)


def objective(promise: Promise) -> Mechanism:
    """Return the test case of a linear model by objective perturbation."""
    epsilon = float(promise.epsilon)
    loss, regularisation = corner(epsilon)
    draw = minimisers(loss, regularisation, left_epsilon(epsilon, loss, 1, regularisation))
    return Mechanism("objective", WORDS, epsilon, 0.0, simulated(draw))


def minimisers(loss: Huber, regularisation: float, left: float) -> Simulated:
    """Return a sampler of linear models by objective perturbation: the interval that holds the minimiser.

    Args:
        loss: The loss.
        regularisation: Lambda times the rows.
        left: Epsilon that remains for the noise.
    """
    thresholds = np.linspace(-1 - loss.h, 1 + loss.h, POINTS)
    slopes = [[float(rows.gradient(loss, regularisation, np.array([t]))[0]) for t in thresholds] for rows in ALONE]

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        tilts = noises(copies, 1, 2 / left, rng)[:, 0]
        return np.searchsorted(np.array(slopes[table]), -tilts).astype(np.int64)

    return draw


def output(promise: Promise) -> Mechanism:
    """Return the test case of a linear model by output perturbation."""
    epsilon = float(promise.epsilon)
    return Mechanism("output", WORDS, epsilon, 0.0, simulated(noisy_minimisers(epsilon, corner(1.0)[1])))


def noisy_minimisers(epsilon: float, regularisation: float, share: float = 1.0) -> Simulated:
    """Return a sampler of the weights of a linear model by output perturbation.

    Args:
        epsilon: Privacy loss.
        regularisation: Lambda times the rows.
        share: Scale of the noise, as a multiple of the right one.
    """
    loss = corner(1.0)[0]
    exact = [float(minimise(rows, loss, regularisation).weights[0]) for rows in ALONE]
    scale = share * sensitivity(1, regularisation) / epsilon

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        return np.rint((exact[table] + noises(copies, 1, scale, rng)[:, 0]) / GRID).astype(np.int64)

    return draw


def gradient(promise: Promise) -> Mechanism:
    """Return the test case of noisy gradient descent by two parties, with a row of the largest gradient in every step.

    The sensitivity does not depend on the weights, so they are 0 throughout.
    """
    task = _task(promise, method="gradient", loss="huber", steps=STEPS, clip=1.0)
    tables = ((), ((1, 1),)) if promise.adjacency == "add-remove" else (((1, 0),), ((1, 1),))
    sums = [task.method.own(_rows(task, table)).sums([]) for table in tables]
    words = "no row, or one" if promise.adjacency == "add-remove" else WORDS
    assert isinstance(task.method, Gradient)
    draw = steps(task.method.problem.law, STEPS, *sums)
    return concentrated("gradient", words, promise, simulated(draw), task.disclosure.spends)


def joint_output(promise: Promise) -> Mechanism:
    """Return the test case of the sum of two parties' weights by output perturbation.

    The tables differ by a row of the other class, or by one more row.
    """
    task = _task(promise, method="output", loss="huber", huber=CORNER, least_rows=LEAST_ROWS, **{"lambda": 1.0})
    first = ((1, 1), *((1, 0),) * (LEAST_ROWS - 1))
    second = ((1, 1), *(first if promise.adjacency == "add-remove" else first[:-1]))
    outputs = [task.method.own(_rows(task, table)) for table in (first, second)]
    words = f"{LEAST_ROWS} rows, one of them of the second class, or two of {len(second)}"
    assert isinstance(task.method, Output)
    draw = steps(task.method.noise.law(task.method.numbers), 1, *outputs)
    return concentrated("joint-output", words, promise, simulated(draw), task.disclosure.spends)


def joint_choice(promise: Promise) -> Mechanism:
    """Return the test case of a noisy choice among the weights of a grid.

    The added row favours one end of the grid, or a row changes the end that it favours. Neighbours on the grid have
    nearly equal scores, so no table shows much more than half of the loss.
    """
    method, scores = choosing(promise)
    words = "no row, or one" if promise.adjacency == "add-remove" else WORDS
    draw = simulated(greatest(scores, method.law))
    return Mechanism("joint-choice", words, float(promise.epsilon), 0.0, draw, cost=16)


def choosing(promise: Promise) -> tuple[Choice, list[Numbers]]:
    """Return the method of a job that chooses a weight, and the scores of all weights for each table."""
    task = _task(promise, method="choice", loss="huber", delta=None, max_rows=1, **{"lambda": 1.0})
    tables = ((), ((1, 1),)) if promise.adjacency == "add-remove" else (((1, 0),), ((1, 1),))
    assert isinstance(task.method, Choice)
    return task.method, [task.method.own(_rows(task, table))[:, 0] for table in tables]


def joint_coordinates(promise: Promise) -> Mechanism:
    """Return the test case of two weights that are chosen one after the other.

    The tables differ by a third row of the same class, or by the class of the third of three rows.
    """
    method, scores = choosing_twice(promise)
    words = "two rows, or a third like them"
    words = words if promise.adjacency == "add-remove" else "three rows alike, or one of them in the other class"
    return Mechanism("joint-coordinates", words, float(promise.epsilon), 0.0, simulated(twice(scores, method.law)))


def choosing_twice(promise: Promise) -> tuple[Coordinates, list[tuple[Numbers, Numbers]]]:
    """Return the method of a job that chooses two weights, and each table's scores of the first, then of the second."""
    task = _task(promise, method="choice", delta=None, max_rows=3, steps=2)
    alike, method = ((1, 1),) * 2, task.method
    tables = (alike, (*alike, (1, 1))) if promise.adjacency == "add-remove" else ((*alike, (1, 0)), (*alike, (1, 1)))
    assert isinstance(method, Coordinates)
    scores = []
    for table in tables:
        rows = _rows(task, table)
        score = method.own(RowStream(task.features, lambda rows=rows: iter((rows,)), len(table)))  # type: ignore[misc]
        first = score.sums([])
        after = [score.sums([(index,)]) for index in range(len(first))]
        scores.append((first, np.array(after)))
    return method, scores


def twice(scores: Sequence[tuple[Numbers, Numbers]], law: Law) -> Simulated:
    """Return a sampler of two choices: for each, whether it favours the differing row, opposes it, or is neutral.

    Args:
        scores: int64[candidates] and int64[first choice, candidates], by table.
        law: Law of the noise on each score.
    """
    first_says, second_says = (part[1] - part[0] for part in zip(*scores, strict=True))

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        first, after = scores[table]
        winner = (first + samples(law, (copies, len(first)), rng)).argmax(axis=1)
        second = (after[winner] + samples(law, (copies, len(first)), rng)).argmax(axis=1)
        return 3 * (first_says[winner] + 1) + second_says[winner, second] + 1

    return draw


def greatest(scores: Sequence[Numbers], law: Law) -> Simulated:
    """Return a simulation of report noisy max on two neighbouring tables.

    An answer is the index of the candidate with the largest noisy score; at a tie the lowest index.

    Args:
        scores: Exact scores of the candidates for each of the two tables, int64[candidates] each.
        law: Distribution of the noise on each score.
    """

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        numbers = scores[table]
        parts = range(0, copies, AT_ONCE)
        return np.concatenate(
            [
                (numbers + samples(law, (min(AT_ONCE, copies - start), len(numbers)), rng)).argmax(axis=1)
                for start in parts
            ]
        )

    return draw


def steps(law: Any, openings: int, first: Numbers, second: Numbers) -> Simulated:
    """Return a sampler of the attacker's statistic of numbers opened several times, each time with fresh noise.

    Args:
        law: Law of the noise.
        openings: Number of openings.
        first: Exact numbers of the first table.
        second: Exact numbers of the second table.
    """

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        noise = samples(law, (openings, copies, len(first)), rng).sum(axis=0)
        return evidence.of_gaussian(openings * (first, second)[table] + noise, openings * first, openings * second)

    return draw


def _task(promise: Promise, **settings: object) -> RegressJoint:
    settings_of_task = {
        "target": "c",
        "numeric": ("x",),
        "epsilon": float(promise.epsilon),
        "delta": promise.delta,
        "adjacency": promise.adjacency,
        "max_rows": LEAST_ROWS + 1,
        **settings,
    }
    return RegressJoint.canonical(RegressJoint.Settings.model_validate(settings_of_task), SCHEMA)


def _rows(task: RegressJoint, lines: Any) -> TrainingRows:
    table = np.array(lines, dtype=np.int64).reshape(-1, 2)
    signs = np.where(table[:, 1] == 1, 1.0, -1.0)
    return TrainingRows(task.method.space, table[:, :1], signs, np.ones(len(table), dtype=np.int64))
