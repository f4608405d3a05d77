"""Cells to hide of a table whose counts nobody has: by the public pattern of small cells alone.

What is known of the counts is what the pattern says: a cell that is not small has at least T rows. A reader is left as
much in doubt as of a table of one's own: each small cell could be anything from 0 to T. So it must be able to go up
by T and down by what it has, whatever the counts are that fit the pattern. Only cells of which T rows are certain make
room for it; and where a cell goes down, so can its own totals, which have at least as many rows.

Linear programmes make one cell safe after the other. The integer programme of
`parties.alone.publish.hiding.suppression` hides a few cells less, but takes from no time to half a minute, while the
peer waits.

A small total goes down with the small cells that it is the sum of, whichever of them have rows: so with each of them.

If a party's own counts have the pattern of its own (the rule against the peer, zeros hidden), all of this holds for its
own table too, which is what is left for the peer, who can subtract.
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
    """Return cells to hide, bool[rows, columns]: small ones and others. States int64[rows, columns], totals last.

    All of them if the whole table is small. `InputError` if SciPy, which has the solver, is not installed.
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
    """Return the cells of a grid that are no totals."""
    return slice(0, shape[0] - 1), slice(0, shape[1] - (shape[1] > 1))


def _totals(cell: Place, shape: tuple[int, ...]) -> list[Place]:
    """Return the totals that a cell is part of."""
    row, column = cell
    rows, columns = shape[0] - 1, shape[1] - 1
    return [(rows, column)] if not columns else [(rows, column), (row, columns), (rows, columns)]


def _number(place: Place, shape: tuple[int, ...]) -> int:
    return place[0] * shape[1] + place[1]
