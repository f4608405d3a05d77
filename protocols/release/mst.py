"""The marginals of a noisy maximum spanning tree: all single columns, and pairs that join them all.

McKenna, Miklau, Sheldon, "Winning the NIST contest: a scalable and general approach to differentially private synthetic
data" (Journal of Privacy and Confidentiality 11, 2021). A third of rho measures the single columns. From them a model
estimates each pair of columns as if the columns were independent. The score of a pair is the distance of its counts
from this estimate. Another third chooses d - 1 pairs, one after the other, among the pairs that connect columns not
connected yet (Kruskal). The last third measures them.

The distances and the weights of the choices are computed once, on shares. The protocol opens the chosen pairs and the
noisy counts. `protocols.release.selection` states the privacy loss.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from protocols.release import selection
from protocols.release.exponential import Powers, chosen, split_scores
from protocols.release.joint_tables import JointTables
from protocols.release.selection import MarginalModel, OnMeasurement, State, Workload
from smc.counting import CountingEngine
from smc.engines import Bits, Engine


def steps(work: Workload) -> int:
    """Return the number of steps of a run: the first measures single columns, the second pairs, if there are any."""
    return 1 + (len(work.domains) > 1)


def mst(
    engine: Engine,
    work: Workload,
    own: selection.Counts,
    model: MarginalModel,
    on_step: OnMeasurement,
    start: State = (),
) -> State:
    """Run the spanning tree and return all measurements, which both parties open.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        work: Public workload: domains, marginals, bound on rows and rho.
        own: This party's counts of all marginals, int64[cells], one marginal after the other; private.
        model: Estimates marginals from measurements. Both parties use the estimates of party 0.
        on_step: Called before each step with the measurements so far.
        start: Measurements of an interrupted run, to continue from there; public. Default: a new run.

    Raises:
        InputError: A count is negative or too large, or rho leaves too little epsilon for a choice.
        ProtocolError: The peer sent an estimate that is not a number of rows.
    """
    columns = len(work.domains)
    third = work.rho / 3
    tables = JointTables(engine, own, work.sizes, work.max_rows)
    state = start
    if not state:
        on_step(state)
        state = selection.measure(engine, work, tables, work.singles, work.sigma(third / columns), Fraction(0))
    if columns > 1 and len(state) == columns:
        on_step(state)
        epsilon = work.choice_epsilon(third / (columns - 1))
        pairs = _tree(engine, work, tables, selection.agreed_estimates(engine, work, model, state), epsilon)
        state += selection.measure(engine, work, tables, pairs, work.sigma(third / (columns - 1)), epsilon)
    return state


def _tree(
    engine: Engine, work: Workload, tables: JointTables, estimates: selection.Estimates, epsilon: Fraction
) -> list[int]:
    """Return the indices of the chosen pairs, in the order of the choices."""
    pairs = _pairs(work)
    parts = list(range(len(work.domains)))  # connected columns have equal numbers
    found: list[int] = []
    with engine.session.phase("choice"):
        scores, law = compared(engine, work, tables, estimates, epsilon)
        powers = split_scores(engine, scores, law)
        while len(set(parts)) > 1:
            free = [i for i, pair in enumerate(pairs) if len({parts[column] for column in work.sets[pair]}) == 2]
            place = free[chosen(engine, powers.take(np.array(free)), law)]
            found.append(pairs[place])
            one, other = (parts[column] for column in work.sets[pairs[place]])
            parts = [one if part == other else part for part in parts]
    return found


def _pairs(work: Workload) -> list[int]:
    return [number for number, one in enumerate(work.sets) if len(one) == 2]


def compared(
    engine: Engine, work: Workload, tables: JointTables, estimates: selection.Estimates, epsilon: Fraction
) -> tuple[Bits, Powers]:
    """Return the secret scores of all pairs, [bits, pairs], and the weights of each choice.

    A score is the distance of its pair times an even number, because a distance includes half of the number of cells.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        work: Public workload: domains, marginals, bound on rows and rho.
        tables: Joint counts of all marginals; secret.
        estimates: Estimated cells of all marginals, int64[cells] each; public and equal at both parties.
        epsilon: Range of each choice.

    Raises:
        InputError: Epsilon is too small.
    """
    pairs = _pairs(work)
    law, most = selection.score_powers(work, epsilon, len(work.domains))
    distances = tables.distances(pairs, [estimates[pair] for pair in pairs])
    half = most // 2
    scores = selection.weighted(
        engine, distances, [2 * half] * len(pairs), [-half * work.sizes[pair] for pair in pairs]
    )
    return scores, law


def count(engine: CountingEngine, work: Workload) -> None:
    """Count a run in which the chosen pairs have the most cells; all other costs are equal in every run.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        work: Public workload: domains, marginals, bound on rows and rho.
    """
    columns, zeros = len(work.domains), np.zeros(sum(work.sizes), dtype=np.int64)
    tables = JointTables(engine, zeros, work.sizes, work.max_rows)
    selection.measure(engine, work, tables, work.singles, work.sigma(work.rho / 3 / columns), Fraction(0))
    if columns == 1:
        return
    estimates = selection.sent_estimates(engine, work, zeros)
    share = work.rho / 3 / (columns - 1)
    scores, law = compared(engine, work, tables, estimates, work.choice_epsilon(share))
    powers = split_scores(engine, scores, law)
    for _ in range(columns - 1):
        chosen(engine, powers, law)
    largest = sorted(_pairs(work), key=lambda pair: work.sizes[pair])[1 - columns :]
    selection.measure(engine, work, tables, largest, work.sigma(share), Fraction(0))
