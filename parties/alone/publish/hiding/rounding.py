"""Counts rounded to multiples of a base, by coins whose mean is the count.

`randomly`: each cell and total for itself, so that totals are no longer sums. `controlled`: the table stays one, by
Cox, "A constructive procedure for unbiased controlled rounding" (1987): along a cycle of cells that are no multiples,
every second one is moved up and the others down, until one is a multiple.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.tabulation import LARGEST, signs
from parties.base.arrays import Counts
from smc.errors import InputError

Draw = Callable[[int], int]  # a whole number from 0 to one below, each as likely


def randomly(values: Counts, base: int, draw: Draw = secrets.randbelow) -> Counts:
    """Return a multiple of the base next to each count, int64 of the same shape. A multiple stays as it is."""
    _check(base)
    rest = values % base
    coins = np.array([draw(base) if r else 0 for r in rest.ravel()], dtype=np.int64).reshape(values.shape)
    return values - rest + base * (coins < rest)


def controlled(values: Counts, base: int, draw: Draw = secrets.randbelow) -> Counts:
    """Return a multiple of the base next to each count, int64[rows, columns], so that the last are still the totals.

    Each is the count on average, and a multiple stays as it is.
    """
    _check(base)
    rest = values % base
    sign = signs((values.shape[0], values.shape[1]))
    start = values - rest
    while len(cycle := _cycle((rest > 0) & (rest < base))):
        places = tuple(np.array(cycle).T)
        step = sign[places] * np.where(np.arange(len(cycle)) % 2, -1, 1)
        upwards, left = step > 0, rest[places]
        forth = int(np.where(upwards, base - left, left).min())
        back = int(np.where(upwards, left, base - left).min())
        rest[places] += step * (forth if draw(forth + back) < back else -back)
    return start + rest


def _cycle(between: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Find cells that are no multiples, each in the row or column of the next by turns; none if all are multiples.

    Signed, rows and columns add up to 0: so where there is one such cell in a row or column, there is another.
    """
    if not between.any():
        return []
    if between.shape[1] == 1:
        return [(int(r), 0) for r in np.flatnonzero(between[:, 0])[:2]]
    row, column = (int(x) for x in np.unravel_index(int(between.argmax()), between.shape))
    edges, rows = [(row, column)], {row: 0}
    columns: dict[int, int] = {}
    while True:
        if column in columns:
            return edges[columns[column] :]
        columns[column] = len(edges)
        row = _other(between[:, column], row)
        edges.append((row, column))
        if row in rows:
            return edges[rows[row] :]
        rows[row] = len(edges)
        column = _other(between[row], column)
        edges.append((row, column))


def _other(line: NDArray[np.bool_], known: int) -> int:
    first = int(line.argmax())
    return first if first != known else known + 1 + int(line[known + 1 :].argmax())


def _check(base: int) -> None:
    if base < 2:
        raise InputError(f"the base must be at least 2, not {base}")
    if base > LARGEST:
        raise InputError(f"the base must be at most 2^53, not {base}")
