"""Curse of dimensionality: information loss as the number of quasi-identifiers grows.

C. Aggarwal, "On k-Anonymity and the Curse of Dimensionality", 2005: the more an attacker may know about a person, the
fewer rows are alike, and the more of each column is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.models.model import PrivacyModel
from parties.alone.publish.recoding.anonymising import algorithm_of, anonymised
from parties.alone.publish.settings import PublishPlan
from smc.errors import InputError

POINTS = 12  # most points of the curve


def curve(
    cells: Cells,
    plan: PublishPlan,
    models: Sequence[PrivacyModel],
    lost: Mapping[str, float],
    doing: Callable[[str], object] = lambda step: None,
) -> list[dict[str, Any]]:
    """Return the information loss with the first quasi-identifier, the first two, and so on to all.

    A loss is the average over the columns, from 0 to 1. It is None where the models cannot be satisfied. That may
    happen with suppression: fewer columns may separate too few rows to suppress the right ones. The search runs once
    for each point except the last. With more than `POINTS` quasi-identifiers, only some numbers of them are tried.

    Args:
        cells: the table
        plan: the plan
        models: the models to be satisfied
        lost: loss of each column with all quasi-identifiers
        doing: called with a description before each search
    """
    names = [h.column for h in cells.hierarchies]
    plan = plan.model_copy(update={"algorithm": algorithm_of(cells, plan)})
    means: dict[int, float | None] = {}
    for number in sorted(set(np.linspace(1, len(names), min(POINTS, len(names))).round().astype(int).tolist())):
        if number == len(names):
            means[number] = float(np.mean(list(lost.values())))
            continue
        doing(f"information loss with {number} of {len(names)} columns")
        try:
            means[number] = float(np.mean(list(anonymised(first(cells, number), plan, models).report["lost"].values())))
        except InputError:
            means[number] = None
    return [{"number": number, "column": names[number - 1], "lost": mean} for number, mean in means.items()]


def first(cells: Cells, number: int) -> Cells:
    """Return the table with only its first quasi-identifiers.

    Args:
        cells: Distinct rows of the table, coded.
        number: Number of quasi-identifiers to keep.
    """
    columns, counts = reduced(np.concatenate([cells.quasi[:number], cells.sensitive]), cells.counts)
    public = None if cells.public is None else reduced(cells.public[0][:number], cells.public[1])
    return Cells(
        cells.hierarchies[:number], cells.sensitive_hierarchies, columns[:number], columns[number:], counts, public
    )
