"""The curse of dimensionality: what is lost as one quasi-identifier after another is taken to be known.

C. Aggarwal, "On k-Anonymity and the Curse of Dimensionality", 2005: the more an attacker may know of somebody, the
less rows are alike, and the more of each column goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.models.model import PrivacyModel
from parties.alone.publish.recoding.anonymising import anonymised
from parties.alone.publish.settings import PublishPlan
from smc.errors import InputError


def curve(
    cells: Cells, plan: PublishPlan, models: Sequence[PrivacyModel], lost: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return what the plan loses with its first quasi-identifier, its first two, and so on to all, of which it lost
    `lost`.

    `lost` of each point is the average over its columns, from 0 to 1; None where the models cannot be reached, which
    happens if rows may be left out and fewer columns tell too little apart to leave out the right ones. It takes as
    many searches as there are quasi-identifiers, less one.
    """
    names = [h.column for h in cells.hierarchies]
    points: list[dict[str, Any]] = []
    for number in range(1, len(names)):
        try:
            part = anonymised(first(cells, number), plan, models).report["lost"]
        except InputError:
            points.append({"column": names[number - 1], "lost": None})
            continue
        points.append({"column": names[number - 1], "lost": float(np.mean(list(part.values())))})
    return [*points, {"column": names[-1], "lost": float(np.mean(list(lost.values())))}]


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
