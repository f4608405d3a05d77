"""Expected cost of a synthesis: rounds of AIM, and processor seconds for fitting models.

The number of rounds depends on the rows: it grows with the share of their structure that stands out of the noise. With
a bound n on a party's rows, the first sigma and c cells a marginal on average, a run has about
d (0.7 + 0.8 ln(1 + n / (sigma c))) rounds for d columns. A step of a fit takes time for each clique of the model's tree
and for each cell; AIM lets the tree grow with the rounds. The constants are fitted to eleven runs on seven public
tables.
"""

from __future__ import annotations

import math

from protocols.release.aim import AimProblem
from protocols.synthesis.graphical import STEPS
from protocols.synthesis.relaxed_projection import RelaxedProjection

ROUNDS, MORE_ROUNDS = 0.7, 0.8  # rounds per column
FEW_STEPS = 100  # steps of a fit, for each round per column: little signal needs few steps
CLIQUE_SECONDS, CELL_SECONDS = 14e-6, 12e-9  # of a step, on the usual machine
RELAXED_SECONDS = 4.5e-9  # of a step, for each relaxed row and measured cell
CLIQUES = 0.85  # cliques of a tree per column
SPANNING = 1.3  # rounds per column up to which the tree still consists of pairs
GROWTH = 0.1  # share of the allowed cells that the tree gains for each further round per column
MOST_CELLS = 5  # limit of the tree's cells, as a multiple of those of all sets


def rounds(plan: AimProblem) -> int:
    """Return the expected number of AIM's rounds after the single columns."""
    work, columns = plan.work, len(plan.work.domains)
    more = work.sizes[columns:]
    if not more:
        return 0
    signal = work.max_rows * len(more) / (float(plan.first[0]) * sum(more))
    return min(plan.rounds - columns, round(columns * (ROUNDS + MORE_ROUNDS * math.log1p(signal))))


def aim_seconds(plan: AimProblem) -> float:
    """Return the seconds for AIM's models: one for the single columns and one for each round."""
    work, columns, round_count = plan.work, len(plan.work.domains), rounds(plan)
    share, mean = round_count / columns, sum(work.sizes) / len(work.sizes)
    grown = GROWTH * plan.most_cells * max(0.0, share - SPANNING)
    cells = min(MOST_CELLS * sum(work.sizes), columns * mean + grown)
    return (round_count + 1) * fit_seconds(columns, cells, min(1.0, FEW_STEPS * share / STEPS))


def fit_seconds(columns: int, cells: float, share: float = 1.0) -> float:
    """Return the expected seconds for the fit of one graphical model.

    Args:
        columns: Number of columns.
        cells: Cells of the tree.
        share: Part of the maximum number of steps.
    """
    return share * STEPS * (CLIQUES * columns * CLIQUE_SECONDS + cells * CELL_SECONDS)


def seconds(plan: AimProblem, select: str, generator: str) -> float:
    """Return the seconds for all models of a run on the usual machine: for selection and for generation.

    Args:
        plan: The plan of AIM.
        select: Method of selection, `aim` or `mst`.
        generator: Generator, `graphical` or `relaxed`.
    """
    work, columns = plan.work, len(plan.work.domains)
    pairs = columns * sum(work.sizes) / len(work.sizes)
    round_count = rounds(plan) if select == "aim" else columns - 1
    chosen = aim_seconds(plan) if select == "aim" else fit_seconds(columns, sum(work.domains))
    if generator == "graphical":
        return chosen + (
            2 * aim_seconds(plan) / (round_count + 1) if select == "aim" else 2 * fit_seconds(columns, pairs)
        )
    cells = sum(work.domains) + round_count * sum(work.sizes) / len(work.sizes)
    relaxed = RelaxedProjection()
    return chosen + relaxed.steps * relaxed.size * cells * RELAXED_SECONDS
