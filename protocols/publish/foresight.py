"""What a joint Mondrian will cost: its conversation follows from the problem and the cuts, so no rows are needed."""

from __future__ import annotations

import numpy as np

from protocols.publish.cuts import Cut, Cuts, open_boxes, widest_first
from protocols.publish.mondrian import mondrian
from protocols.publish.openings import answers
from protocols.publish.problem import Problem
from smc.counting import CountingEngine


def with_cuts(engine: CountingEngine, problem: Problem, cuts: Cuts) -> None:
    """Count the run that ends with these cuts."""
    engine.answers = answers(problem.domains, len(problem.columns), cuts)
    mondrian(engine, problem, np.zeros((0, len(problem.columns) + 1), dtype=np.int64))


def with_classes(engine: CountingEngine, problem: Problem, classes: int) -> None:
    """Count a run that ends with so many classes, or with as many as the rows allow, as `halving` finds them."""
    most = max(1, 2 * problem.max_rows // problem.k)
    with_cuts(engine, problem, halving(problem.domains, min(most, classes)))


def halving(domains: tuple[int, ...], classes: int) -> Cuts:
    """Cuts in the middle of the widest attribute until there are so many classes, or nothing is left to cut."""
    cuts: Cuts = ()
    left = classes - 1
    while boxes := open_boxes(domains, cuts):
        level: list[Cut | None] = []
        for box in boxes:
            order = widest_first(domains, box)
            level.append(Cut(order[0], sum(box[order[0]]) // 2) if order and left > 0 else None)
            left -= level[-1] is not None
        cuts = (*cuts, tuple(level))
    return cuts
