"""Complementary suppression in a table with secret counts, from the public pattern of small cells alone.

The pattern is the only information: a cell that is not small has at least T rows. The reader's uncertainty is as in a
table of one party: each small cell could be anything from 0 to T. So it must be able to increase by T and to decrease
to 0, for all counts that fit the pattern. Only cells with T certain rows give room for this. Where a cell decreases, so
can its own totals, which have at least as many rows.

Linear programmes make one cell safe after the other. The integer programme of
`parties.alone.publish.hiding.suppression` hides slightly fewer cells, but may take half a minute while the peer waits.

A small total must be able to decrease together with each small cell that it sums, because any of these may have rows.

If a party's own counts also have a pattern (the rule against the peer, zeros hidden), all of this holds for its own
table too, which the peer obtains by subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.suppression import Mask, Move, protect
from parties.alone.publish.hiding.tabulation import with_totals
from protocols.publish.small_cells import ENOUGH, FEW, NONE, States

Place = tuple[int, int]


def hide_by_pattern(states: States, threshold: int, zeros_shown: bool) -> Mask:
    """Return the cells to hide, bool[rows, columns]: small cells, and complementary cells.

    All cells are hidden if the grand total is small.

    Args:
        states: state of each cell, totals last, int64[rows, columns]
        threshold: T
        zeros_shown: whether empty cells are published, so that a small cell has at least one row

    Raises:
        InputError: SciPy, which has the solver, is not installed
    """
    few = states == FEW
    if not few.any():
        return few
    if few[-1, -1]:
        return np.ones_like(few)
    least = np.where(states == ENOUGH, threshold, np.where(few & zeros_shown, 1, 0))
    cost = with_totals(np.where(states == NONE, 1, np.maximum(least, 1))[_inner(states.shape)]).ravel()
    moves = list(_moves(states, least, threshold))
    return protect(few, cost / cost.max(), moves)


def _moves(states: States, least: NDArray[np.int64], threshold: int) -> Iterator[Move]:
    few = states == FEW
    up = threshold - int(least[few].max())
    down = threshold - 1
    rows, columns = _inner(states.shape)
    for row, column in np.argwhere(few).tolist():
        yield Move((_number((row, column), states.shape),), 1, np.minimum(least / up, 1.0).ravel())
    for row, column in np.argwhere(few[rows, columns]).tolist():
        totals = _totals((row, column), states.shape)
        room = np.minimum(least / down, 1.0)
        for place in ((row, column), *totals):
            room[place] = 1.0
        cell = _number((row, column), states.shape)
        yield Move((cell,), -1, room.ravel())
        for total in totals:
            if few[total]:
                yield Move((cell, _number(total, states.shape)), -1, room.ravel())


def _inner(shape: tuple[int, ...]) -> tuple[slice, slice]:
    return slice(0, shape[0] - 1), slice(0, shape[1] - (shape[1] > 1))


def _totals(cell: Place, shape: tuple[int, ...]) -> list[Place]:
    row, column = cell
    rows, columns = shape[0] - 1, shape[1] - 1
    return [(rows, column)] if not columns else [(rows, column), (row, columns), (rows, columns)]


def _number(place: Place, shape: tuple[int, ...]) -> int:
    return place[0] * shape[1] + place[1]
