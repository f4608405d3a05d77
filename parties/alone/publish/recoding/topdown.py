"""Top-down: bisection between two distant rows, each row going to the nearer one, while both sides can fit.

J. Xu et al., "Utility-Based Anonymization Using Local Recoding", 2006. The distance of two rows is the normalised
certainty penalty of a class of both, so classes have a small perimeter; they may overlap. A part below 2k rows is not
cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.cells import Cells
from parties.alone.publish.models.model import KAnonymity, PrivacyModel, fitting
from parties.alone.publish.recoding.fulldomain import unreachable
from parties.alone.publish.recoding.partition import OVERLAPS, Partition
from parties.alone.publish.recoding.space import Part, Space, halves
from smc.errors import InputError

ROUNDS = 3  # of the search for two distant rows, each time the farthest from the one found last


def topdown(cells: Cells, models: Sequence[PrivacyModel], numeric: Sequence[bool] = ()) -> Partition:
    """Return the classes of the top-down algorithm.

    Args:
        cells: Distinct rows of the table, coded.
        models: Privacy models that each class must satisfy.
        numeric: For each column whether it is cut as numbers.

    Raises:
        InputError: The table has no rows or does not fit as one class, or a model bounds presence.
    """
    if not cells.rows:
        raise InputError("the table has no rows; give a table with rows")
    if any(model.name == "presence" for model in models):
        raise InputError(OVERLAPS)
    space = Space(cells, models, numeric or [False] * len(cells.hierarchies))
    k = max([model.k for model in models if isinstance(model, KAnonymity)], default=1)
    whole = space.of_parts([space.whole])
    if not fitting(whole, models).all():
        raise unreachable(whole, models, 0)
    open_, closed = [space.whole], []
    while open_:
        part = open_.pop()
        parts = _bisected(space, part, k)
        if parts and fitting(space.of_parts(parts), models).all():
            open_ += parts
        else:
            closed.append(part)
    return space.around(closed)


def _bisected(space: Space, part: Part, k: int) -> list[Part]:
    """Return two parts of at least k rows each; none if the part is too small, or all its rows are equal."""
    rows = int(part[1].sum())
    if rows < 2 * k:
        return []
    first = 0
    for _ in range(ROUNDS):
        second = int(np.argmax(_penalties(space, part, first)))
        first, second = second, first
    near, far = _penalties(space, part, first), _penalties(space, part, second)
    if near[second] == 0:
        return []
    nearer = near - far
    cut = int(part[1][nearer < 0].sum())
    return halves(part, np.argsort(nearer, kind="stable"), min(max(cut, k), rows - k))


def _penalties(space: Space, part: Part, member: int) -> NDArray[np.float64]:
    """Return the penalty of the class of the member with index `member` and one other, for each member of a part."""
    penalties = np.zeros(len(part[0]))
    for hierarchy, column, values, width in zip(
        space.cells.hierarchies, space.cells.quasi, space.numbers, space.widths, strict=True
    ):
        codes = column[part[0]]
        if values is not None and width is not None:
            penalties += np.abs(values[codes] - values[codes[member]]) / width
            continue
        apart = np.ones(len(codes), dtype=bool)
        for level, group in enumerate(hierarchy.groups):
            groups = group[codes]
            meet = apart & (groups == groups[member])
            penalties[meet] += hierarchy.penalties[level][groups[member]]
            apart &= ~meet
    return penalties
