"""Unbiased random rounding of counts to multiples of a base.

`randomly` rounds each cell and total independently, so that totals are no longer sums. `controlled` preserves the sums,
by Cox, "A constructive procedure for unbiased controlled rounding" (1987): along a cycle of cells that are not
multiples, every second one is moved up and the others down, until one is a multiple.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.tabulation import LARGEST, signs
from protocols.arrays import Counts
from smc.errors import InputError

Draw = Callable[[int], int]  # returns a uniform integer from 0 to its argument - 1


def randomly(values: Counts, base: int, draw: Draw = secrets.randbelow) -> Counts:
    """Return each count rounded to an adjacent multiple of the base, at random without bias; multiples stay.

    Args:
        values: counts to round, int64[...]
        base: the base, 2 to 2^53
        draw: source of randomness
    """
    _check(base)
    rest = values % base
    coins = np.array([draw(base) if r else 0 for r in rest.ravel()], dtype=np.int64).reshape(values.shape)
    return values - rest + base * (coins < rest)


def controlled(values: Counts, base: int, draw: Draw = secrets.randbelow) -> Counts:
    """Return each count rounded to an adjacent multiple of the base, with the last row and column still the totals.

    The expectation of each result is the count; multiples stay.

    Args:
        values: table with totals, int64[rows, columns]
        base: the base, 2 to 2^53
        draw: source of randomness
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
    """Return a cycle of cells that are not multiples: neighbours share a row or a column in turn; empty if none is.

    Signed rows and columns add up to 0. So a row or column with one such cell has another one.
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
