"""Sample and aggregate: any function of rows, computed on disjoint blocks, as numbers for a private median.

The block of a row depends on its position and on chance, never on its content. So replacing one row changes one block's
number. If a function fails or returns no finite number for a block, the lower bound is taken: an error that depends on
one row would disclose the row.
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
    """Return the function's result of each block, rounded, within the bounds.

    Args:
        numbers: rows, int64[n]
        function: the function
        blocks: number of blocks, at most as many as rows
        low: lower bound of a result
        high: upper bound of a result

    Raises:
        InputError: a block would be empty
    """
    if not 1 <= blocks <= len(numbers):
        raise InputError(f"blocks: {blocks:,} blocks of {len(numbers):,} rows: choose from 1 to the number of rows")
    order = np.argsort(np.frombuffer(os.urandom(8 * len(numbers)), dtype=np.uint64), kind="stable")
    block_numbers = [_number(function, numbers[part], low, high) for part in np.array_split(order, blocks)]
    return Table(block_numbers, low, high)


def _number(function: Function, rows: NDArray[np.int64], low: int, high: int) -> int:
    try:
        result = float(function(rows))
    except Exception:  # any error must stay hidden: it may depend on one row
        return low
    return round(min(max(result, low), high)) if math.isfinite(result) else low
