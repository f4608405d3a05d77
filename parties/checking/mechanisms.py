"""All checked mechanisms, each on a pair of neighbouring tables that it distinguishes well.

One row changes a number or a score as much as it can, in the most costly direction. So the measured loss comes close to
the promise, unless a delta leaves room, and a broken promise is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from parties.checking import evidence, qualities, questions, regressions, sensitivity, synthesis, trees
from parties.checking.mechanism import Mechanism
from parties.checking.promise import Draw, Promise, concentrated, pure
from parties.checking.statistics.losses import Outcomes
from protocols.release.choice import choice_law, noisy_choice
from protocols.release.gaussian import discrete_gaussian
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from protocols.release.numbers import noisy_sums
from protocols.release.response import offset_law, respond
from smc.engines import Engine
from smc.primitives.prg import KEY_BYTES, Prg

WIDTH = 8  # bits of each party's numbers
ANSWERS = 3  # answers of a randomised response
BOUND = 10  # bound of a summed value


def count(promise: Promise) -> Mechanism:
    """Return the test case of a noisy count."""
    return pure("count", "20 rows that count, or 21", promise, sums([20], [21], _laplace(1, promise)))


def clamped(promise: Promise) -> Mechanism:
    """Return the test case of a noisy count that is limited to 0 to 40, which costs no epsilon (post-processing)."""
    draw = sums([0], [1], _laplace(1, promise))
    return pure(
        "clamped",
        "no row that counts, or one; the answer is moved into 0 to 40",
        promise,
        lambda engine, table, copies: np.clip(draw(engine, table, copies), 0, 40),
    )


def total(promise: Promise) -> Mechanism:
    """Return the test case of a noisy sum of bounded values."""
    law = _laplace(BOUND, promise)
    return pure("sum", f"values from 0 to {BOUND}: {BOUND} in one row more", promise, sums([100], [110], law))


def histogram(promise: Promise) -> Mechanism:
    """Return the test case of noisy counts of disjoint cells: a row is in one cell, and a replacement changes two."""
    moved = promise.rows - 1
    tables = f"cells of 20 and 30 rows, or of 21 and {30 - moved}"
    return pure("histogram", tables, promise, sums([20, 30], [21, 30 - moved], _laplace(promise.rows, promise)))


def gaussian(promise: Promise) -> Mechanism:
    """Return the test case of a count with Gaussian noise, with the rho that the budget allows for epsilon, delta."""
    opened = sums([20], [21], discrete_gaussian(1 / (2 * Fraction(promise.rho))))

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        return evidence.of_gaussian(opened(engine, table, copies), np.array([20]), np.array([21]))

    return concentrated("gaussian", "20 rows that count, or 21", promise, draw)


def repeated(promise: Promise) -> Mechanism:
    """Return the test case of a noisy count whose step is repeated after an interruption.

    Both parties contribute the earlier randomness again.
    """
    draw = sums([20], [21], _laplace(1, promise))

    def twice(engine: Engine, table: int, copies: int) -> Outcomes:
        secret = engine.session.prg.bytes(KEY_BYTES).tobytes()
        answers = []
        for _ in range(2):
            with engine.session.contribute(Prg(secret)):
                answers.append(draw(engine, table, copies))
        return np.stack(answers, axis=1)

    return pure("repeated", "20 rows that count, or 21; both answers are seen", promise, twice)


def top(promise: Promise) -> Mechanism:
    """Return the test case of report noisy max on counts.

    An added row can only raise scores, so half of the noise is enough. This does not hold for a replaced row.
    """
    law = choice_law(promise.epsilon, 1, monotone=not promise.replaced, candidates=2)
    other = (1, 1)
    start = (0, promise.rows)
    return pure("top", f"scores {start}, or {other}", promise, choose([start, other], law))


def top_any(promise: Promise) -> Mechanism:
    """Return the test case of report noisy max where a row may raise one score and lower another."""
    law = choice_law(promise.epsilon, 1, monotone=False, candidates=2)
    return pure("top-any", "scores (0, 2), or (1, 1)", promise, choose([(0, 2), (1, 1)], law))


def response(promise: Promise) -> Mechanism:
    """Return the test case of randomised response with three possible answers."""
    law = offset_law(promise.epsilon, ANSWERS)

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        bits = np.full((2, copies), 0, dtype=np.uint8)
        bits[0] = table if engine.party else 0
        left, right = engine.both(bits)
        return respond(engine, left ^ right, ANSWERS, law)

    return pure("response", f"the first of {ANSWERS} answers, or the second", promise, draw)


def half_scale(promise: Promise) -> Mechanism:
    """Return a test case that must fail: a noisy count with half the noise of its guarantee, so twice the loss."""
    draw = sums([20], [21], DiscreteLaplace(1 / (2 * promise.epsilon)))
    return pure("half-scale", "20 rows that count, or 21", promise, draw)


CIRCUITS: dict[str, Callable[[Promise], Mechanism]] = {
    "count": count,
    "clamped": clamped,
    "sum": total,
    "histogram": histogram,
    "gaussian": gaussian,
    "repeated": repeated,
    "top": top,
    "top-any": top_any,
    "response": response,
    "tree": trees.mechanism,
    "tree-gini": partial(qualities.mechanism, "gini"),
    "tree-entropy": partial(qualities.mechanism, "entropy"),
    "propose": sensitivity.propose,
    "bound": sensitivity.bound,
    "smooth": sensitivity.smooth,
    "median": sensitivity.median,
}
JOBS: dict[str, Callable[[Promise], Mechanism]] = {  # mechanisms as jobs set them up
    "joint-median": questions.median,
    "joint-quantile": questions.quantile,
    "top-places": questions.top,
    "mean": questions.mean,
    "naive-bayes": questions.naive_bayes,
    "marginals": questions.marginals,
    "joint-table": questions.joint_table,
    "triangles": questions.triangles,
    "ladder": questions.own_ladder,
    "aim": synthesis.by_aim,
    "mst": synthesis.by_mst,
    "cluster-grid": questions.grid,
    "cluster-rounds": questions.rounds,
    "gradient": regressions.gradient,
    "joint-output": regressions.joint_output,
    "joint-choice": regressions.joint_choice,
    "joint-coordinates": regressions.joint_coordinates,
    "objective": regressions.objective,
    "output": regressions.output,
}
MECHANISMS = CIRCUITS | JOBS
KINDS = {  # kinds of jobs that spend a table's budget, and the mechanisms checked for them
    "id3": ("tree", "tree-gini", "tree-entropy"),
    "release count": ("count", "gaussian"),
    "release histogram": ("histogram",),
    "release table": ("histogram",),
    "release sum": ("sum",),
    "release mean": ("mean",),
    "release deviation": ("mean",),
    "release correlation": ("mean",),
    "release risks": ("histogram",),
    "release rates": ("sum",),
    "release difference": ("mean",),
    "release median": ("joint-median",),
    "release top": ("top-places",),
    "release choose": ("joint-choice",),
    "release edges": ("histogram",),
    "evaluate report": ("histogram",),
    "evaluate error": ("sum",),
    "survive curve": ("histogram",),
    "survive cox": ("gaussian",),
    "regress logistic": ("gaussian",),
    "regress poisson": ("gaussian",),
    "quantile": ("joint-quantile",),
    "rules": ("top-places", "histogram"),
    "scorecard": ("naive-bayes",),
    "test chi2": ("histogram",),
    "test proportions": ("histogram",),
    "test trend": ("histogram",),
    "test welch": ("sum",),
    "release triangles": ("triangles", "ladder"),
    "release naive-bayes": ("naive-bayes",),
    "release marginals": ("marginals",),
    "cluster": ("cluster-grid", "cluster-rounds"),
    "boost": ("gaussian",),
    "regress joint": ("gradient", "joint-output", "joint-choice", "joint-coordinates"),
    "synthesise": ("aim", "mst"),
    "publish joint-table": ("joint-table",),
}
UNCHECKED = {  # unchecked mechanisms with the reason: samples would show nothing new, or are too few
    "release alone --function": "the noise is that of the way",
    "counts of synthesise": "the noise is that of marginals",
}
BROKEN: dict[str, Callable[[Promise], Mechanism]] = {  # deliberately broken mechanisms, which the checks must find
    "fixed-local": sensitivity.fixed_local,
    "local": sensitivity.local,
    "half-scale": half_scale,
}


def _laplace(sensitivity: int, promise: Promise) -> Law:
    return DiscreteLaplace(Fraction(sensitivity) / promise.epsilon)


def sums(first: Sequence[int], second: Sequence[int], law: Law) -> Draw:
    """Return a sampler of a table's joint numbers with noise, all published together; half of each is party 1's.

    Args:
        first: Exact numbers of table 0.
        second: Exact numbers of table 1.
        law: Law of the noise.
    """

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        whole = np.array([first, second][table], dtype=np.int64)
        numbers = whole // 2 if engine.party else whole - whole // 2
        return noisy_sums(engine, np.tile(numbers, copies), WIDTH, law).reshape(copies, len(whole))

    return draw


def choose(tables: Sequence[Sequence[int]], law: Law) -> Draw:
    """Return a sampler of the candidate with the largest noisy score.

    Args:
        tables: Scores of the candidates, for each table.
        law: Law of the noise on each score.
    """

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        whole = np.array(tables[table], dtype=np.int64)
        numbers = whole // 2 if engine.party else whole - whole // 2
        return noisy_choice(engine, np.repeat(numbers[:, None], copies, axis=1), WIDTH, law)

    return draw
