"""Mechanisms of job questions as black boxes: numbers and noise are those of the job's settings and rows.

So the check also covers how a job divides its epsilon, and its sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parties.checking import evidence
from parties.checking.mechanism import Mechanism
from parties.checking.promise import SEEN, Draw, Promise, concentrated, pure
from parties.checking.samples import samples, simulated
from parties.checking.statistics.losses import Outcomes
from parties.jobs.kinds.cluster import Cluster
from parties.jobs.kinds.publish.joint_table import JointTable
from parties.jobs.kinds.quantile import Quantile
from parties.jobs.kinds.release.marginals import Marginals
from parties.jobs.kinds.release.mean import Mean
from parties.jobs.kinds.release.median import Median
from parties.jobs.kinds.release.naive_bayes import NaiveBayes
from parties.jobs.kinds.release.top import Top
from parties.jobs.kinds.release.triangles import Triangles
from parties.jobs.publish.noisy_table import NoisyTable
from parties.jobs.publish.table_settings import JointTableSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Part
from parties.jobs.spending import exact
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from protocols.counts import RowCounts
from protocols.release.ladder import below, ladder
from protocols.release.triangles import answer_law, bound_law, bounded, with_ladder
from smc.engines import Engine
from smc.primitives.bits import from_integers, to_integers

MAX_ROWS = 4
FIRST = 2  # positions of a top list
VERTICES = 1000
GRAPHS = ((1000, 900), (1900, 901))  # neighbouring graphs: number of triangles, and the largest change by an edge
SMALL, SMALL_GRAPHS = 32, ((100, 20), (120, 21))  # vertices, and neighbouring graphs of that size
Lines = Sequence[tuple[int, ...]]  # indices of a row's values, in the schema's order
Judged = Callable[[Numbers, Numbers, Numbers], Outcomes]


def median(promise: Promise) -> Mechanism:
    """Return the test case of the joint median of zeros and ones.

    An added 1, or a 0 that becomes a 1, makes the answer 0 less probable.
    """
    task = _task(Median, promise, _schema(x=2), column="x")
    tables = (((0,), (1,)), ((0,), (1,), (1,)) if promise.adjacency == "add-remove" else ((1,), (1,)))
    return _mechanism("joint-median", tables, promise, _opening(task, tables))


def quantile(promise: Promise) -> Mechanism:
    """Return the test case of the upper quartile of zeros and ones.

    An added 1, or a 0 that becomes a 1, makes the answer 1 e^epsilon times as probable.
    """
    task = _task(Quantile, promise, _schema(x=2), column="x", at=0.75)
    zeros = ((0,),) * (3 if promise.adjacency == "add-remove" else 4)
    tables = (zeros, (*zeros[:3], (1,)))
    return _mechanism("joint-quantile", tables, promise, _opening(task, tables))


def top(promise: Promise) -> Mechanism:
    """Return the test case of the two most frequent of three values: the third value gets one more row."""
    task = _task(Top, promise, _schema(x=3), column="x", first=FIRST)
    tables = (((0,), (1,), (2,)), ((0,), (1,), (2,), (2,)) if promise.adjacency == "add-remove" else ((1,), (2,), (2,)))

    return _mechanism("top-places", tables, promise, _opening(task, tables, FIRST))


def naive_bayes(promise: Promise) -> Mechanism:
    """Return the test case of a naive Bayes classifier of two columns, in which a row counts twice."""
    task = _task(NaiveBayes, promise, _schema(a=2, b=2, c=2), target="c", columns=("a", "b"))
    tables = _neighbours((0, 0, 0), (1, 1, 1), promise)
    return _mechanism("naive-bayes", tables, promise, sums(task.query.parts, wholes(task, tables), evidence.of_laplace))


def mean(promise: Promise) -> Mechanism:
    """Return the test case of the means of two groups of numbers from 0 to 2, from the distances to their bounds."""
    task = _task(Mean, promise, _schema(g=2, x=3), column="x", by=("g",))
    tables = _neighbours((0, 2), (1, 2), promise)
    return _mechanism("mean", tables, promise, sums(task.query.parts, wholes(task, tables), evidence.of_laplace))


def marginals(promise: Promise) -> Mechanism:
    """Return the test case of two marginals with Gaussian noise.

    Its delta is large enough that samples can show a failure.
    """
    task = _task(Marginals, promise, _schema(a=2, b=2, c=2), sets="a,b; b,c", delta=promise.delta)
    tables = _neighbours((0, 0, 0), (1, 1, 1), promise)
    draw = sums(task.query.parts, wholes(task, tables), evidence.of_gaussian)
    return concentrated("marginals", words(tables), promise, draw, task.disclosure.spends)


def grid(promise: Promise) -> Mechanism:
    """Return the test case of the cell counts from which clusters are made.

    A row is in one cell, and a replacement changes two.
    """
    task = _task(Cluster, promise, _schema(x=2, y=2), columns=("x", "y"), bounds=("0:1", "0:1"), k=2, parts=2)
    tables = _neighbours((0, 0), (1, 1), promise)
    return _mechanism("cluster-grid", tables, promise, sums(task.rounds, wholes(task, tables), evidence.of_laplace))


def rounds(promise: Promise) -> Mechanism:
    """Return the test case of two rounds of k-means.

    The differing row lies at a bound, so it changes its cluster's count and sum as much as possible. There is only one
    cluster, so the second round's sums do not depend on the first round's opened values.
    """
    settings = {"columns": ("x",), "bounds": ("0:1",), "k": 1, "method": "in-process", "iterations": 2}
    task = _task(Cluster, promise, _schema(x=2), **settings)
    tables = _neighbours((0,), (1,), promise)
    exact = []
    for sums_at in (own_numbers(task, table) for table in tables):
        places = [task.lloyd.places(((0,) * task.rounds[0].numbers,) * number) for number in range(len(task.rounds))]
        exact.append(np.concatenate([sums_at(clusters).reshape(-1) for clusters in places]))
    return _mechanism("cluster-rounds", tables, promise, sums(task.rounds, exact, weighted(task.rounds)))


def joint_table(promise: Promise) -> Mechanism:
    """Return the test case of a joint table without hidden cells, in which a row counts in a cell and in the total."""
    settings = {"by": "x", "epsilon": float(promise.epsilon), "adjacency": promise.adjacency}
    joint_settings = JointTableSettings.model_validate({**settings, "max_rows": 8 * MAX_ROWS})
    task = JointTable.canonical(joint_settings, _schema(x=2))
    assert isinstance(task, NoisyTable)
    full = [(0,), (1,)] * joint_settings.threshold
    tables = [(*full, *table) for table in _neighbours((0,), (1,), promise)]
    columns = [np.array(table)[:, 0] for table in tables]
    whole = [task.own_rows(RowCounts([], 2, np.zeros((len(values), 0), np.int64), values))[1] for values in columns]
    part = Part(len(whole[0]), task.settings.max_rows, False, task.noise)
    return _mechanism("joint-table", tables, promise, sums([part], whole, evidence.of_laplace))


def triangles(promise: Promise) -> Mechanism:
    """Return the test case of a triangle count with noise of a privately bounded local sensitivity.

    Its delta is large enough that samples can show a failure.
    """
    ends = _schema(x=VERTICES, y=VERTICES)
    task = _task(Triangles, promise, ends, columns=("x", "y"), delta=SEEN)
    delta = exact(SEEN)
    law, shift = bound_law(task.epsilon), bounded(0, VERTICES, task.epsilon, delta)

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        value, most = GRAPHS[table]
        noisy, of = np.unique(most + samples(law, (copies,), rng), return_inverse=True)
        bounds = np.array([bounded(most_shared, VERTICES, task.epsilon, delta) for most_shared in noisy.tolist()])[of]
        answers = np.full(copies, value, dtype=np.int64)
        for bound in np.unique(bounds).tolist():
            these = np.flatnonzero(bounds == bound)
            answers[these] += samples(answer_law(bound, task.epsilon, task.replaced), (len(these),), rng)
        likelier = [
            np.abs(noisy_numbers - first) - np.abs(noisy_numbers - second)
            for noisy_numbers, (first, second) in zip((answers, bounds - shift), zip(*GRAPHS, strict=True), strict=True)
        ]
        scale = float(answer_law(1, task.epsilon, task.replaced).scale / law.scale)
        return np.rint((likelier[0] / bounds / scale + likelier[1]) * evidence.ONE).astype(np.int64)

    return pure("triangles", _graphs(GRAPHS), promise, simulated(draw), SEEN)


def own_ladder(promise: Promise) -> Mechanism:
    """Return the test case of a triangle count by the ladder mechanism; neighbouring graphs have different ladders."""
    task = _task(Triangles, promise, _schema(x=VERTICES, y=VERTICES), columns=("x", "y"))
    law = ladder(SMALL, task.epsilon, 1 + task.replaced)
    ends = [[below(rung, common) for rung in range(1 << law.geometric.digits + 2)] for _, common in SMALL_GRAPHS]

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        value, common = (np.full(copies, number * engine.party) for number in SMALL_GRAPHS[table])
        secrets = [engine.both(from_integers(numbers, 9)) for numbers in (common, 3 * value)]
        first, second = (left ^ right for left, right in secrets)
        (opened,) = engine.reveal(with_ladder(engine, law, first, second))
        thrice = np.array(to_integers(opened, signed=True))
        rungs = [
            np.searchsorted(end, np.abs(thrice // 3 - number))
            for end, (number, _) in zip(ends, SMALL_GRAPHS, strict=True)
        ]
        return rungs[0] - rungs[1]

    return pure("ladder", _graphs(SMALL_GRAPHS), promise, draw)


def wholes(task: Release, tables: Sequence[Lines]) -> list[Numbers]:
    """Return the exact numbers that the job opens, for each of two neighbouring tables.

    Args:
        task: The job.
        tables: Rows of both tables, as indices of values.
    """
    return [own_numbers(task, table) for table in tables]


def sums(parts: Sequence[Part], whole: Sequence[Numbers], judged: Judged) -> Draw:
    """Return a sampler of the attacker's statistic: a table's exact numbers with noise, judged by `judged`.

    Args:
        parts: Groups of numbers with their noise.
        whole: Exact numbers of both tables.
        judged: Statistic of noisy numbers and the exact numbers of both tables.
    """

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        noises = [samples(part.noise.law(part.numbers), (copies, part.numbers), rng) for part in parts if part.noise]
        return judged(whole[table] + np.concatenate(noises, axis=1), whole[0], whole[1])

    return simulated(draw)


def weighted(parts: Sequence[Part]) -> Judged:
    """Return a test statistic for answers with Laplace noise of several scales.

    It compares the distances of each answer from both tables' true numbers, in units of 2^-20 of the answer's scale.
    """
    scales = np.concatenate([np.full(part.numbers, float(part.noise.scale)) for part in parts if part.noise])

    def judged(opened: Numbers, first: Numbers, second: Numbers) -> Outcomes:
        apart = np.abs(opened - first) - np.abs(opened - second)
        return np.rint((apart / scales).sum(axis=1) * (1 << 20)).astype(np.int64)

    return judged


def own_numbers(task: Release, lines: Lines) -> Any:
    """Return one party's private input to a job's protocol, computed from given rows.

    Args:
        task: The job.
        lines: The party's rows: for each row the indices of its values, in the schema's order.
    """
    schema, target = task.schema, task.target
    columns = list(schema.attributes)
    order = [columns.index(name) for name in (*schema.features(target), target)]
    table = np.array(lines, dtype=np.int64).reshape(-1, len(columns))[:, order]
    *domains, classes = (len(schema.attributes[columns[place]]) for place in order)
    return task.own_rows(RowCounts(domains, classes, table[:, :-1], table[:, -1]))


def _opening(task: Release, tables: Sequence[Lines], *places: int) -> Draw:
    """Return a sampler of a question's answers, [copies, *places]; the parties hold alternate rows of a table."""

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        numbers = own_numbers(task, tables[table][engine.party :: 2])
        return np.array(task.query.open(engine, np.repeat(numbers, copies))).reshape(copies, *places)

    return draw


def _task(kind: Any, promise: Promise, schema: Schema, **settings: object) -> Any:
    settings_of_task: Mapping[str, object] = {
        "epsilon": float(promise.epsilon),
        "adjacency": promise.adjacency,
        "max_rows": MAX_ROWS,
        **settings,
    }
    return kind.canonical(kind.Settings.model_validate(settings_of_task), schema)


def _schema(**sizes: int) -> Schema:
    return Schema({name: tuple(map(str, range(size))) for name, size in sizes.items()})


def _neighbours(row: tuple[int, ...], other: tuple[int, ...], promise: Promise) -> tuple[Lines, Lines]:
    """Return neighbouring tables by the promise: no row and `row`, or if rows are replaced `row` and `other`."""
    return ((), (row,)) if promise.adjacency == "add-remove" else ((row,), (other,))


def _graphs(graphs: Sequence[tuple[int, int]]) -> str:
    return " or ".join(f"{value} triangles, {most} at most on an edge" for value, most in graphs)


def words(tables: Sequence[Lines]) -> str:
    """Return the description of two neighbouring tables."""
    first, second = (" ".join("".join(map(str, line)) for line in table) or "none" for table in tables)
    return f"rows {first}, or {second}"


def _mechanism(name: str, tables: Sequence[Lines], promise: Promise, draw: Draw) -> Mechanism:
    return pure(name, words(tables), promise, draw)
