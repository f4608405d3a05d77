"""Choices of marginals as black boxes: one choice of epsilon for each of the two selection methods of `synthesise`.

The scores are computed once, by the protocol's own circuits, from its settings and weights; the choices follow from
their law. The added or replaced row moves one pair of columns towards its public estimate in every cell that it
changes, and another pair away from its own. So the scores move towards each other as much as possible. The pair whose
score grows is rarely chosen on both tables, so its probability grows by nearly e^epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np

from parties.checking.mechanism import Mechanism
from parties.checking.promise import Promise
from parties.checking.questions import Lines, own_numbers, words
from parties.checking.samples import Simulated, simulated
from parties.checking.statistics.losses import Outcomes
from parties.jobs.kinds.synthesise import Synthesise
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from protocols.release import aim, mst
from protocols.release.exponential import Powers
from protocols.release.joint_tables import JointTables
from protocols.release.selection import Estimates
from smc.engines import Bits, Engine, make_engine
from smc.local import run_local
from smc.primitives import bits as bitpack
from smc.session import Session

SCHEMA = Schema(dict.fromkeys("abc", ("0", "1")))
NEARER, FARTHER = ("a", "b"), ("a", "c")
ROWS = 3  # rows of either kind, in both tables
MAX_ROWS = 4096
FAR = 100  # distance by which both are farther from their estimates than the third pair, which is never chosen
ODDS = Fraction(3, 2)  # log odds of the pair whose score grows, on the second table
Compared: TypeAlias = Callable[[Engine, JointTables, Estimates], tuple[Bits, Powers]]


def by_aim(promise: Promise) -> Mechanism:
    """Return the test case of the first choice of AIM, between two pairs of columns."""
    task = _task(promise, "aim")
    rounds = task.plan.rounds
    rho = promise.epsilon**2 / 8 * rounds / (1 - aim.MEASURING)  # total rho for which a round's choice gets epsilon
    plan = replace(task.plan, work=replace(task.work, rho=rho))
    some = [task.sets.index(pair) for pair in (NEARER, FARTHER)]
    sigma, epsilon = plan.first

    def compared(engine: Engine, tables: JointTables, estimates: Estimates) -> tuple[Bits, Powers]:
        return aim.compared(engine, plan, tables, some, estimates, sigma, epsilon)

    return _mechanism("aim", task, promise, compared)


def by_mst(promise: Promise) -> Mechanism:
    """Return the test case of the first choice of a noisy maximum spanning tree, among all pairs of columns."""
    task = _task(promise, "mst")
    work = task.work

    def compared(engine: Engine, tables: JointTables, estimates: Estimates) -> tuple[Bits, Powers]:
        return mst.compared(engine, work, tables, estimates, promise.epsilon)

    return _mechanism("mst", task, promise, compared)


def _mechanism(name: str, task: Synthesise, promise: Promise, compared: Compared) -> Mechanism:
    scores, law = choosing(task, promise, compared)
    draw = simulated(_powers(scores, law))
    return Mechanism(name, words(_tables(promise)), float(promise.epsilon), 0.0, draw)


def _powers(scores: list[Numbers], law: Powers) -> Simulated:
    """Return a sampler of the exponential mechanism's choices from the scores of either table."""
    chances = [[float(chance) for chance in law.probabilities(row.tolist())] for row in scores]

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        return rng.choice(len(chances[table]), copies, p=chances[table])

    return draw


def choosing(task: Synthesise, promise: Promise, compared: Compared) -> tuple[list[Numbers], Powers]:
    """Return the scores among which a synthesis job chooses, for both tables, and the noise distribution of the choice.

    Args:
        task: The task.
        promise: The promise.
        compared: Protocol part that returns the scores and their law.
    """
    counts = [own_numbers(task, table) for table in _tables(promise)]
    ahead = round(2 * task.work.moved * ODDS / promise.epsilon)
    estimates = np.split(_estimates(task, counts[0], counts[1], ahead), np.cumsum(task.work.sizes)[:-1])

    def program(session: Session, whole: Numbers) -> tuple[Numbers, Powers]:
        engine = make_engine(session, "clear")
        share = whole // 2 if session.party else whole - whole // 2
        bits, law = compared(engine, JointTables(engine, share, task.work.sizes, MAX_ROWS), estimates)
        return bitpack.to_words(engine.reveal(bits)[0]).astype(np.int64), law

    (first, law), (second, _) = (run_local(partial(program, whole=numbers))[0] for numbers in counts)
    return [first, second], law


def _estimates(task: Synthesise, first: Numbers, second: Numbers, ahead: int) -> Numbers:
    """Return estimates of all marginals: nearly exact, but for the two pairs far off, on the row's side.

    On the second table the nearer pair is `ahead` rows farther from its estimate than the other pair.
    """
    estimates = np.maximum(first, second)
    starts = np.cumsum([0, *task.work.sizes])
    for pair, towards in ((NEARER, 1), (FARTHER, -1)):
        place = task.sets.index(pair)
        cells = slice(starts[place], starts[place + 1])
        moved = towards * np.sign(second[cells] - first[cells])
        estimates[cells] = np.where(moved > 0, 2 * ROWS, np.where(moved < 0, 0, estimates[cells]))
        unmoved = starts[place] + np.flatnonzero(moved == 0)[0]
        estimates[unmoved] += FAR
        distance = np.abs(2 * (second[cells] - estimates[cells]) - 1).sum()  # twice the distance
        estimates[unmoved] += (4 * FAR + 2 * ahead * (pair == NEARER) - distance) // 2
    return estimates


def _tables(promise: Promise) -> tuple[Lines, Lines]:
    rows = ((0, 0, 0), (1, 1, 1)) * ROWS
    return (rows, (*rows, (0, 0, 0))) if promise.adjacency == "add-remove" else ((*rows, (1, 1, 1)), (*rows, (0, 0, 0)))


def _task(promise: Promise, select: str) -> Synthesise:
    privacy = {"epsilon": float(promise.epsilon), "delta": 1e-9, "adjacency": promise.adjacency, "max_rows": MAX_ROWS}
    settings = Synthesise.Settings.model_validate({**privacy, "select": select, "columns": tuple(SCHEMA.attributes)})
    return Synthesise.canonical(settings, SCHEMA)
