"""Kernels of random band tables (protocols.alignment.band): a key's value is a sum of some of 128 neighbouring cells.

The elimination branches on the own keys' digests. The other party sees of it at most the time of all keys together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt, expand_key
from smc.kernels.block import load, make, spread, store
from smc.kernels.field import product

ZERO, ONE = np.uint64(0), np.uint64(1)


@njit
def _zeros_below(word):  # type: ignore[no-untyped-def]
    """Return the number of zero bits below the lowest bit of a word that is not 0."""
    count = 0
    for size in (32, 16, 8, 4, 2, 1):
        if not word & ((ONE << np.uint64(size)) - ONE):
            word >>= np.uint64(size)
            count += size
    return count


def solve(starts, bands, values, pivots, table, failed):  # type: ignore[no-untyped-def]
    """Fill a table so that the band of each key sums to its value, by elimination key by key.

    Args:
        starts: First cell of each key's band, i64[n]; ascending starts are fastest.
        bands: The bits of each band, u64[n, 2].
        values: The value of each key, u64[n, 2].
        pivots: Zeros, u64[cells, 2]; gets the reduced band that begins at each cell.
        table: Zeros, u64[cells + 128, 2]; the first `cells` are filled in.
        failed: One 0, i64[1]; gets the number of keys whose value the others determine otherwise.
    """
    for i in range(starts.shape[0]):
        at, band0, band1 = starts[i], bands[i, 0], bands[i, 1]
        value0, value1 = values[i, 0], values[i, 1]
        while band0 | band1:
            if not band0:
                band0, band1 = band1, ZERO
                at += 64
            shift = np.uint64(_zeros_below(band0))
            if shift:
                band0 = band0 >> shift | band1 << (np.uint64(64) - shift)
                band1 >>= shift
                at += np.int64(shift)
            if not pivots[at, 0]:
                pivots[at, 0], pivots[at, 1], table[at, 0], table[at, 1] = band0, band1, value0, value1
                break
            band0 ^= pivots[at, 0]
            band1 ^= pivots[at, 1]
            value0 ^= table[at, 0]
            value1 ^= table[at, 1]
        if not band0 | band1 and value0 | value1:
            failed[0] += 1
    for at in range(pivots.shape[0] - 1, -1, -1):
        if pivots[at, 0]:
            store(table, 2 * at, _sum(pivots[at, 0] ^ ONE, pivots[at, 1], table, at) ^ load(table, 2 * at))


@njit
def _sum(band0, band1, table, at):  # type: ignore[no-untyped-def]
    """Return the sum of the cells from `at` on whose bits are 1."""
    total = make(ZERO, ZERO)
    for bit in range(64):
        one = spread(make(band0 >> np.uint64(bit) & ONE, ZERO))
        total = total ^ (one & load(table, 2 * (at + bit)))
    for bit in range(64):
        one = spread(make(band1 >> np.uint64(bit) & ONE, ZERO))
        total = total ^ (one & load(table, 2 * (at + 64 + bit)))
    return total


def read(starts, bands, table, target):  # type: ignore[no-untyped-def]
    """Set target[i] to the sum of a key's band in a table. No branch depends on keys, addresses do.

    Args:
        starts: First cell of each key's band, i64[n].
        bands: The bits of each band, u64[n, 2].
        table: u64[cells, 2].
        target: Filled in, u64[n, 2].
    """
    for i in range(starts.shape[0]):
        store(target, 2 * i, _sum(bands[i, 0], bands[i, 1], table, starts[i]))


def blind(factor, values, names, schedule, target):  # type: ignore[no-untyped-def]
    """Set target[i] = AES(t, names[i]) ^ names[i] under the key t = target[i] ^ factor * values[i].

    The product is that of GF(2^128).

    Args:
        factor: u64[2]; zeros if the key is target[i].
        values: u64[n, 2].
        names: u64[n, 2].
        schedule: Scratch for the AES round keys, u64[22].
        target: Changed in place, u64[n, 2].
    """
    left = load(factor, 0)
    for i in range(target.shape[0]):
        expand_key(load(target, 2 * i) ^ product(left, load(values, 2 * i)), schedule)
        name = load(names, 2 * i)
        (image,) = encrypt(schedule, (name,))
        store(target, 2 * i, image ^ name)
