"""What a synthesis is likely to take: rounds of AIM, and a processor's seconds of fitting models.

How many rounds there are is up to the rows: the more, the more of what they say stands out of the noise. With a bound n
on a party's rows, the first sigma and c cells a marginal on the average, a run has about d (0.7 + 0.8 ln(1 + n / (sigma
c))) rounds of d columns. A step of a fit takes some time for each clique of the model's tree and for each cell; AIM
lets the tree grow with the rounds. The numbers are fitted to eleven runs on seven public tables.
"""

from __future__ import annotations

import math

from parties.alone.synthesis.graphical import STEPS
from parties.alone.synthesis.relaxed_projection import RelaxedProjection
from protocols.release.aim import AimProblem

ROUNDS, MORE_ROUNDS = 0.7, 0.8  # a column
FEW_STEPS = 100  # of a fit, for each round a column: where little stands out, little is to be learnt
CLIQUE_SECONDS, CELL_SECONDS = 14e-6, 12e-9  # of a step, on the usual machine
RELAXED_SECONDS = 4.5e-9  # the same of a relaxed row and a cell of what was measured
CLIQUES = 0.85  # of a tree, a column
SPANNING = 1.3  # rounds a column with which the tree is still one of pairs
GROWTH, MOST_CELLS = (
    0.1,
    5,
)  # of its cells: a part of those allowed for each round a column more; times those of all sets


def rounds(plan: AimProblem) -> int:
    """Return how many rounds AIM is likely to have after the single columns."""
    work, columns = plan.work, len(plan.work.domains)
    more = work.sizes[columns:]
    if not more:
        return 0
    signal = work.max_rows * len(more) / (float(plan.first[0]) * sum(more))
    return min(plan.rounds - columns, round(columns * (ROUNDS + MORE_ROUNDS * math.log1p(signal))))


def aim_seconds(plan: AimProblem) -> float:
    """Return what the models of AIM take, one for the single columns and one a round."""
    work, columns, many = plan.work, len(plan.work.domains), rounds(plan)
    share, mean = many / columns, sum(work.sizes) / len(work.sizes)
    grown = GROWTH * plan.most_cells * max(0.0, share - SPANNING)
    cells = min(MOST_CELLS * sum(work.sizes), columns * mean + grown)
    return (many + 1) * fit_seconds(columns, cells, min(1.0, FEW_STEPS * share / STEPS))


def fit_seconds(columns: int, cells: float, share: float = 1.0) -> float:
    """Return what a fit takes of a tree with so many cells, of a share of all steps there can be."""
    return share * STEPS * (CLIQUES * columns * CLIQUE_SECONDS + cells * CELL_SECONDS)


def seconds(plan: AimProblem, select: str, generator: str) -> float:
    """Return what all models of a run take on the usual machine: to choose by, and to make rows of."""
    work, columns = plan.work, len(plan.work.domains)
    pairs = columns * sum(work.sizes) / len(work.sizes)
    many = rounds(plan) if select == "aim" else columns - 1
    chosen = aim_seconds(plan) if select == "aim" else fit_seconds(columns, sum(work.domains))
    if generator == "graphical":
        return chosen + (2 * aim_seconds(plan) / (many + 1) if select == "aim" else 2 * fit_seconds(columns, pairs))
    cells = sum(work.domains) + many * sum(work.sizes) / len(work.sizes)
    relaxed = RelaxedProjection()
    return chosen + relaxed.steps * relaxed.size * cells * RELAXED_SECONDS
