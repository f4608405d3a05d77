"""Universal hashing of rows of bits over GF(2^64), modulo x^64 + x^4 + x^3 + x + 1: weighted sums of words.

Weights are public, rows may be secret: no branch and no index depends on them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import (
    WIDE_PRODUCTS,
    high,
    lane0,
    lane1,
    lane2,
    lane3,
    load,
    load4,
    low,
    make,
    make4,
    multiply_high_high,
    multiply_low_low,
)

ZERO = np.uint64(0)
HASHES = 2  # number of hashes of a row, 64 bits each


@njit
def _joined(lanes):  # type: ignore[no-untyped-def]
    return lane0(lanes) ^ lane1(lanes) ^ lane2(lanes) ^ lane3(lanes)


@njit
def _hash_wide(rows, at, weights, first, count):  # type: ignore[no-untyped-def]
    total = make4(ZERO, ZERO)
    for j in range(0, count, 8):
        words, factors = load4(rows, at + j), load4(weights, first + j)
        total = total ^ multiply_low_low(words, factors) ^ multiply_high_high(words, factors)
    return _joined(total)


@njit
def _hash_narrow(rows, at, weights, first, count):  # type: ignore[no-untyped-def]
    total = make(ZERO, ZERO)
    for j in range(0, count, 2):
        words, factors = load(rows, at + j), load(weights, first + j)
        total = total ^ multiply_low_low(words, factors) ^ multiply_high_high(words, factors)
    return total


# unreduced(rows, at, weights, first, count): the sum of products of `count` words, a multiple of 8, as one block.
unreduced = _hash_wide if WIDE_PRODUCTS else _hash_narrow


@njit
def reduced(product):  # type: ignore[no-untyped-def]
    """Reduce a polynomial of degree at most 126, a block, to an element of GF(2^64), u64."""
    top = high(product)
    over = top >> np.uint64(63) ^ top >> np.uint64(61) ^ top >> np.uint64(60)
    top ^= over
    return low(product) ^ top ^ top << np.uint64(1) ^ top << np.uint64(3) ^ top << np.uint64(4)


@njit
def field_product(left, right):  # type: ignore[no-untyped-def]
    """Multiply two elements of GF(2^64).

    Args:
        left: One factor, u64.
        right: The other factor, u64.

    Returns:
        The product, u64.
    """
    return reduced(multiply_low_low(make(left, ZERO), make(right, ZERO)))
