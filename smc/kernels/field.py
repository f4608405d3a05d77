"""Kernels of GF(2^128), modulo x^128 + x^7 + x^2 + x + 1: bit i of a block's words is the coefficient of x^i.

No branch and no index depends on a value.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import high, load, low, make, multiply_high_high, multiply_high_low, multiply_low_low, store

ZERO, ONE, TWO, SEVEN = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(7)


@njit
def _over(word):  # type: ignore[no-untyped-def]
    """Return the bits of word * (x^7 + x^2 + x + 1) from x^64 on."""
    return word >> np.uint64(63) ^ word >> np.uint64(62) ^ word >> np.uint64(57)


@njit
def _times_modulus(word):  # type: ignore[no-untyped-def]
    """Return the bits of word * (x^7 + x^2 + x + 1) below x^64."""
    return word ^ word << ONE ^ word << TWO ^ word << SEVEN


@njit
def product(left, right):  # type: ignore[no-untyped-def]
    """Multiply two elements of GF(2^128).

    Args:
        left: One factor, a block.
        right: The other factor, a block.

    Returns:
        The product, a block.
    """
    lows, highs = multiply_low_low(left, right), multiply_high_high(left, right)
    middle = multiply_high_low(left, right) ^ multiply_high_low(right, left)
    third, fourth = low(highs) ^ high(middle), high(highs)
    third ^= _over(fourth)
    first = low(lows) ^ _times_modulus(third)
    return make(first, high(lows) ^ low(middle) ^ _times_modulus(fourth) ^ _over(third))


def add_products(factor, source, target):  # type: ignore[no-untyped-def]
    """Set target[i] ^= factor * source[i].

    Args:
        factor: u64[2].
        source: u64[n, 2].
        target: Changed in place, u64[n, 2].
    """
    left = load(factor, 0)
    for i in range(source.shape[0]):
        store(target, 2 * i, load(target, 2 * i) ^ product(left, load(source, 2 * i)))


def evaluate(point, coefficients, target):  # type: ignore[no-untyped-def]
    """Set target[i] to the polynomial i at a point: the sum of coefficients[i * m + j] * point^j for j < m.

    Args:
        point: u64[2].
        coefficients: m of each polynomial, u64[n * m, 2].
        target: Filled in, u64[n, 2].
    """
    at, count = load(point, 0), coefficients.shape[0] // max(1, target.shape[0])
    for i in range(target.shape[0]):
        value = make(ZERO, ZERO)
        for j in range((i + 1) * count - 1, i * count - 1, -1):
            value = product(value, at) ^ load(coefficients, 2 * j)
        store(target, 2 * i, value)
