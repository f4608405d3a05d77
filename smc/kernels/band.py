"""Kernels of random band tables (protocols.alignment.band): a key's value is a sum of some of 128 neighbouring cells.

A cell has an even number of words, w.

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
        values: The value of each key, u64[n, w]; changed.
        pivots: Zeros, u64[cells, 2]; gets the reduced band that begins at each cell.
        table: Values of the cells that no key determines, u64[cells + 128, w]; the first `cells` are filled in.
        failed: One 0, i64[1]; gets the number of keys whose value the others determine otherwise.
    """
    width = values.shape[1]
    for i in range(starts.shape[0]):
        at, band0, band1 = starts[i], bands[i, 0], bands[i, 1]
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
                pivots[at, 0], pivots[at, 1] = band0, band1
                for word in range(width):
                    table[at, word] = values[i, word]
                break
            band0 ^= pivots[at, 0]
            band1 ^= pivots[at, 1]
            for word in range(width):
                values[i, word] ^= table[at, word]
        if not band0 | band1:
            left = ZERO
            for word in range(width):
                left |= values[i, word]
            failed[0] += left != ZERO
    for at in range(pivots.shape[0] - 1, -1, -1):
        if pivots[at, 0]:
            for block in range(at * width, (at + 1) * width, 2):
                store(table, block, _sum(pivots[at, 0] ^ ONE, pivots[at, 1], table, block) ^ load(table, block))


@njit
def _sum(band0, band1, table, first):  # type: ignore[no-untyped-def]
    """Return the sum of a block of each cell whose bit is 1; the first cell's block is at the word `first`."""
    total, width = make(ZERO, ZERO), table.shape[1]
    for bit in range(64):
        one = spread(make(band0 >> np.uint64(bit) & ONE, ZERO))
        total = total ^ (one & load(table, first + width * bit))
    for bit in range(64):
        one = spread(make(band1 >> np.uint64(bit) & ONE, ZERO))
        total = total ^ (one & load(table, first + width * (64 + bit)))
    return total


def read(starts, bands, table, target):  # type: ignore[no-untyped-def]
    """Set target[i] to the sum of a key's band in a table. No branch depends on keys, addresses do.

    Args:
        starts: First cell of each key's band, i64[n].
        bands: The bits of each band, u64[n, 2].
        table: u64[cells, w].
        target: Filled in, u64[n, w].
    """
    width = table.shape[1]
    for i in range(starts.shape[0]):
        for block in range(0, width, 2):
            store(target, width * i + block, _sum(bands[i, 0], bands[i, 1], table, width * starts[i] + block))


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


def stretch(keys, first, schedule, target):  # type: ignore[no-untyped-def]
    """Set target[i] to AES of the numbers from `first` on under the key keys[i].

    Args:
        keys: u64[n, 2].
        first: The number in the first block.
        schedule: Scratch for the AES round keys, u64[22].
        target: Filled in, u64[n, w].
    """
    width = target.shape[1]
    for i in range(keys.shape[0]):
        expand_key(load(keys, 2 * i), schedule)
        for block in range(0, width, 2):
            (image,) = encrypt(schedule, (make(first + np.uint64(block // 2), ZERO),))
            store(target, width * i + block, image)
