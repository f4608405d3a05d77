"""AIM: marginals chosen one after the other by the error of a model that learns from them.

McKenna, Mullins, Sheldon, Miklau, "AIM: an adaptive and iterative mechanism for differentially private synthetic data"
(PVLDB 15, 2022). Single columns are measured first. Then each round chooses the marginal r with the greatest

    w_r (|n_r - e_r|_1 - sqrt(2 / pi) sigma cells_r),

by the exponential mechanism. The score is the distance between the model's estimate e_r and the joint counts n_r, less
the expected error of a measurement, times the weight w_r of r for the requested marginals. The chosen marginal is
measured, and the model learns from it. If its estimate then moves by no more than noise would move it, sigma is halved
and epsilon doubled (annealing). The last round spends the rest of rho. The model's size is bounded by a limit that
grows with the spent share of rho; marginals that would exceed it are not candidates.

Distributed: the joint counts are added on shares once. A score is a sum of absolute differences from public numbers:
adders and inverted bits, no product of two secrets. The protocol opens the index of each chosen marginal, and its
counts with noise. `protocols.release.selection` states the privacy loss.

The rounds depend on opened values, so their number is not known in advance. It is at most the number of rounds at the
first sigma and epsilon, which `count_at_most` counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from protocols.release import selection
from protocols.release.exponential import Powers, chosen, split_scores
from protocols.release.joint_tables import JointTables
from protocols.release.selection import Estimates, MarginalModel, Measured, OnMeasurement, State, Workload
from smc.counting import CountingEngine
from smc.engines import Bits, Engine

MEASURING = Fraction(9, 10)  # share of a round's rho for measuring; the rest is for choosing
ROUNDS_PER_COLUMN = 16  # number of rounds for the first sigma and epsilon, per column


@dataclass(frozen=True)
class AimProblem:
    """Public settings of a run: the workload, the weight of each marginal in the choice, and most cells of a model."""

    work: Workload
    weights: tuple[int, ...]
    most_cells: int

    @property
    def rounds(self) -> int:
        """Number of measurements, single columns among them, that rho allows if none changes sigma and epsilon."""
        return ROUNDS_PER_COLUMN * len(self.work.domains)

    @property
    def most_counts(self) -> int:
        """Greatest number of cells that a run opens; a cell that is opened twice counts twice."""
        return self.rounds * max(self.work.sizes)

    @property
    def first(self) -> tuple[Fraction, Fraction]:
        """Sigma of the measurements and epsilon of the choice in the first round."""
        return self._parts(self.work.rho / self.rounds)

    def spent(self, state: State) -> Fraction:
        """Return the rho that all measurements and choices so far have spent."""
        return sum((self._price(one.sigma, one.epsilon) for one in state), Fraction(0))

    def next(self, state: State, moved: bool) -> tuple[Fraction, Fraction] | None:
        """Return sigma and epsilon of the next round; None if too little rho remains.

        The last round spends all the rest.

        Args:
            state: Measurements so far, with one at least; public.
            moved: True if the last measurement moved its estimate by more than noise. False halves sigma and doubles
                epsilon.
        """
        left = self.work.rho - self.spent(state)
        last = state[-1]
        sigma, epsilon = (last.sigma, last.epsilon) if last.epsilon else self.first
        if not moved:
            sigma, epsilon = sigma / 2, 2 * epsilon
        price = self._price(sigma, epsilon)
        if left < self._least:
            return None
        return (sigma, epsilon) if left >= 2 * price else self._parts(left)

    @property
    def _least(self) -> Fraction:
        """Least rho of a round: half of that of the first one."""
        return self.work.rho / (2 * self.rounds)

    def _parts(self, rho: Fraction) -> tuple[Fraction, Fraction]:
        return self.work.sigma(MEASURING * rho), self.work.choice_epsilon((1 - MEASURING) * rho)

    def _price(self, sigma: Fraction, epsilon: Fraction) -> Fraction:
        return self.work.price(sigma) + self.work.choice_price(epsilon)


def weights(sets: Sequence[tuple[int, ...]], wanted: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return a weight for each marginal: how often its columns occur in the wanted sets, without common factors.

    Args:
        sets: Columns of each marginal; public.
        wanted: Column sets that you want to be accurate; public.
    """
    times = Counter(column for one in wanted for column in one)
    found = [sum(times[column] for column in one) for one in sets]
    divisor = math.gcd(*found)
    return tuple(weight // divisor for weight in found)


def aim(
    engine: Engine,
    plan: AimProblem,
    own: selection.Counts,
    model: MarginalModel,
    on_step: OnMeasurement,
    start: State = (),
) -> State:
    """Run AIM and return all measurements, which both parties open.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        plan: Public problem of the run: workload, weights and model size.
        own: This party's counts of all marginals, int64[cells], one marginal after the other; private.
        model: Estimates marginals from measurements. Both parties use the estimates of party 0.
        on_step: Called before each step with the measurements so far.
        start: Measurements of an interrupted run, to continue from there; public. Default: a new run.

    Raises:
        InputError: A count is negative or too large, or rho leaves too little epsilon for a choice.
        ProtocolError: The peer sent an estimate that is not a number of rows.
    """
    work = plan.work
    tables = JointTables(engine, own, work.sizes, work.max_rows)
    state = start
    if not state:
        on_step(state)
        state = selection.measure(engine, work, tables, work.singles, plan.first[0], Fraction(0), plan.most_counts)
    before: Estimates | None = None
    while len(work.sets) > len(work.domains) and plan.spent(state) < work.rho:
        if before is None and len(state) > len(work.domains):  # a run that goes on
            before = selection.agreed_estimates(engine, work, model, state[:-1])
        estimates = selection.agreed_estimates(engine, work, model, state)
        step = plan.next(state, _moved(work, state[-1], before, estimates))
        if step is None:
            break
        on_step(state)
        worst = _chosen(engine, plan, tables, model, state, estimates, *step)
        state += selection.measure(engine, work, tables, [worst], *step, plan.most_counts)
        before = estimates
    return state


def _moved(work: Workload, last: Measured, before: Estimates | None, now: Estimates) -> bool:
    """Return whether the last measurement moved the estimate of its marginal by more than noise alone would.

    `before` and `now` are the estimates without it and with it.
    """
    if before is None or not last.epsilon:
        return True
    moved = int(np.abs(now[last.table] - before[last.table]).sum())
    return moved > expected_noise(last.sigma, work.sizes[last.table])


def expected_noise(sigma: Fraction, cells: int) -> float:
    """Return the expected error of a measurement over all cells: sqrt(2 / pi) sigma for each.

    Args:
        sigma: Sigma of the noise, in rows.
        cells: Number of cells of the marginal.
    """
    return math.sqrt(2 / math.pi) * float(sigma) * cells


def candidates(plan: AimProblem, model: MarginalModel, state: State) -> list[int]:
    """Return the indices of the marginals that a round may choose: with each of them the model stays small enough.

    The limit is the largest model size, times the spent share of rho. If no marginal fits, single columns may be
    chosen.

    Args:
        plan: Public problem of the run: workload, weights and model size.
        model: Gives the size of a model for each further marginal.
        state: Measurements so far; public.
    """
    work = plan.work
    most = plan.most_cells * plan.spent(state) / work.rho
    sizes = model.sizes([work.sets[one.table] for one in state], work.sets)
    found = [number for number, size in enumerate(sizes) if size <= most]
    return found or list(work.singles)


def _chosen(
    engine: Engine,
    plan: AimProblem,
    tables: JointTables,
    model: MarginalModel,
    state: State,
    estimates: Estimates,
    sigma: Fraction,
    epsilon: Fraction,
) -> int:
    some = candidates(plan, model, state)
    return some[choice(engine, plan, tables, some, estimates, sigma, epsilon)]


def choice(
    engine: Engine,
    plan: AimProblem,
    tables: JointTables,
    some: Sequence[int],
    estimates: Estimates,
    sigma: Fraction,
    epsilon: Fraction,
) -> int:
    """Return the position of the chosen marginal among the candidates.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        plan: Public problem of the run: workload, weights and model size.
        tables: Joint counts of all marginals; secret.
        some: Indices of the candidates, one at least; public.
        estimates: Estimated cells of all marginals, int64[cells] each; public and equal at both parties.
        sigma: Sigma of the measurement that follows, in rows.
        epsilon: Epsilon of the choice, its bounded range: all factors of probability are within e^epsilon.

    Raises:
        InputError: Epsilon is too small.
    """
    with engine.session.phase("choice"):
        scores, law = compared(engine, plan, tables, some, estimates, sigma, epsilon)
        return chosen(engine, split_scores(engine, scores, law), law)


def compared(
    engine: Engine,
    plan: AimProblem,
    tables: JointTables,
    some: Sequence[int],
    estimates: Estimates,
    sigma: Fraction,
    epsilon: Fraction,
) -> tuple[Bits, Powers]:
    """Return the secret scores of the candidate marginals, [bits, candidates], and the law by which one is chosen.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        plan: Public problem of the run: workload, weights and model size.
        tables: Joint counts of all marginals; secret.
        some: Indices of the candidates, one at least; public.
        estimates: Estimated cells of all marginals, int64[cells] each; public and equal at both parties.
        sigma: Sigma of the measurement that follows, in rows. Its expected error is subtracted from a distance.
        epsilon: Epsilon of the choice, its bounded range: all factors of probability are within e^epsilon.

    Raises:
        InputError: Epsilon is too small.
    """
    work = plan.work
    distances = tables.distances(some, [estimates[number] for number in some])
    law, most = selection.score_powers(work, epsilon, plan.rounds)
    heaviest = max(plan.weights[number] for number in some)
    scales = [max(1, most * plan.weights[number] // heaviest) for number in some]
    cells = [work.sizes[number] for number in some]  # half of them belongs to a distance
    less = [round(scale * (expected_noise(sigma, many) - many / 2)) for scale, many in zip(scales, cells, strict=True)]
    return selection.weighted(engine, distances, scales, less), law


def count(engine: CountingEngine, plan: AimProblem, rounds: int, cells: int) -> None:
    """Count the cost of a run with a given number of rounds, each with all marginals as candidates.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        plan: Public problem of the run: workload, weights and model size.
        rounds: Number of rounds after the single columns.
        cells: Least cells of the marginal of each round. The smallest marginal with that many cells or more is counted.
    """
    tables = _begun(engine, plan)
    for _ in range(rounds):
        _round(engine, plan, tables, cells)


def count_at_most(engine: CountingEngine, plan: AimProblem, one_by_one: bool = True) -> None:
    """Count a run of the greatest possible number of rounds, each with the largest marginal.

    One round more is counted, because noise of a smaller sigma can cost more gates. A round at half of sigma takes the
    rho of four rounds, so it costs less than these. The last round takes the rho of two rounds at most.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        plan: Public problem of the run: workload, weights and model size.
        one_by_one: True counts round by round, as silent OT needs. False counts the first round, then one of the others
            times their number, because they send equal amounts; faster.
    """
    work, tables = plan.work, _begun(engine, plan)
    rounds = plan.rounds - len(work.singles) + 1 if len(work.sets) > len(work.singles) else 0
    for _ in range(rounds if one_by_one else min(rounds, 1)):
        _round(engine, plan, tables, max(work.sizes))
    if rounds > 1 and not one_by_one:
        with engine.repeated(rounds - 1):
            _round(engine, plan, tables, max(work.sizes))


def _begun(engine: CountingEngine, plan: AimProblem) -> JointTables:
    """Count the cost of adding the tables and measuring the single columns; return the tables."""
    work = plan.work
    tables = JointTables(engine, np.zeros(sum(work.sizes), dtype=np.int64), work.sizes, work.max_rows)
    selection.measure(engine, work, tables, work.singles, plan.first[0], Fraction(0), plan.most_counts)
    return tables


def _round(engine: CountingEngine, plan: AimProblem, tables: JointTables, cells: int) -> None:
    work, every = plan.work, range(len(plan.work.sets))
    measured = min((table for table in every if work.sizes[table] >= cells), key=lambda table: work.sizes[table])
    estimates = selection.sent_estimates(engine, work, np.zeros(sum(work.sizes), dtype=np.int64))
    choice(engine, plan, tables, every, estimates, *plan.first)
    selection.measure(engine, work, tables, [measured], *plan.first, plan.most_counts)
