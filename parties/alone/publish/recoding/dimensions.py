"""The curse of dimensionality: what is lost as one quasi-identifier after another is taken to be known.

C. Aggarwal, "On k-Anonymity and the Curse of Dimensionality", 2005: the more an attacker may know of somebody, the
less rows are alike, and the more of each column goes.
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

POINTS = 12  # of the curve


def curve(
    cells: Cells,
    plan: PublishPlan,
    models: Sequence[PrivacyModel],
    lost: Mapping[str, float],
    doing: Callable[[str], object] = lambda step: None,
) -> list[dict[str, Any]]:
    """Return what the plan loses with its first quasi-identifier, its first two, and so on to all, of which it lost
    `lost`; of more than `POINTS` quasi-identifiers, with some of these numbers.

    `lost` of each point is the average over its columns, from 0 to 1; None where the models cannot be reached, which
    happens if rows may be left out and fewer columns tell too little apart to leave out the right ones. It takes as
    many searches as there are points, less one. `doing` is told of each.
    """
    names = [h.column for h in cells.hierarchies]
    plan = plan.model_copy(update={"algorithm": algorithm_of(cells, plan)})
    means: dict[int, float | None] = {}
    for number in sorted(set(np.linspace(1, len(names), min(POINTS, len(names))).round().astype(int).tolist())):
        if number == len(names):
            means[number] = float(np.mean(list(lost.values())))
            continue
        doing(f"what is lost with {number} of {len(names)} columns")
        try:
            means[number] = float(np.mean(list(anonymised(first(cells, number), plan, models).report["lost"].values())))
        except InputError:
            means[number] = None
    return [{"number": number, "column": names[number - 1], "lost": mean} for number, mean in means.items()]


def first(cells: Cells, number: int) -> Cells:
    """Return the table as if it had only so many quasi-identifiers."""
    columns, counts = reduced(np.concatenate([cells.quasi[:number], cells.sensitive]), cells.counts)
    public = None if cells.public is None else reduced(cells.public[0][:number], cells.public[1])
    return Cells(
        cells.hierarchies[:number],
        cells.sensitive_hierarchies,
        columns[:number],
        columns[number:],
        counts,
        public,
    )
