"""Sample and aggregate: any function of rows, computed on disjoint blocks of them, as numbers for a private median.

Which block a row is in depends on its place and on chance, never on what it says; so a row that is replaced changes the
number of one block. A function is not trusted to be total: a block for which it fails, or gives no finite number,
counts as the lower bound, for an error that depends on one row would tell about it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from parties.alone.sensitivity.median import Table
from smc.errors import InputError

Function = Callable[[NDArray[np.int64]], float]
FUNCTIONS: dict[str, Function] = {
    "mean": np.mean,
    "median": np.median,
    "deviation": np.std,
    "least": np.min,
    "greatest": np.max,
}


def block_table(numbers: NDArray[np.int64], function: Function, blocks: int, low: int, high: int) -> Table:
    """Return the function's number of each block, rounded, within the bounds. `InputError` for an empty block."""
    if not 1 <= blocks <= len(numbers):
        raise InputError(
            f"blocks: {blocks:,} blocks of {len(numbers):,} rows: there must be from 1 block to as many as rows"
        )
    order = np.argsort(np.frombuffer(os.urandom(8 * len(numbers)), dtype=np.uint64), kind="stable")
    block_numbers = [_number(function, numbers[part], low, high) for part in np.array_split(order, blocks)]
    return Table(block_numbers, low, high)


def _number(function: Function, rows: NDArray[np.int64], low: int, high: int) -> int:
    try:
        result = float(function(rows))
    except Exception:  # whatever it is, it must not be seen
        return low
    return round(min(max(result, low), high)) if math.isfinite(result) else low
