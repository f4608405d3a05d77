"""Kernels on labels and hashes. No branch and no index depends on a secret."""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import expand_key
from smc.kernels.block import counters4, load, load4, make, store
from smc.kernels.hash_keys import NO_KEYS, hash_two, key_row, load_keys, run_length


def expand(key, schedule):  # type: ignore[no-untyped-def]
    """Write the round keys of an AES-128 key.

    Args:
        key: The key, u64[2].
        schedule: Filled in, u64[22].
    """
    expand_key(load(key, 0), schedule)


@njit
def _hash_run(keys, first, source, target, start, stop):  # type: ignore[no-untyped-def]
    whole = start + (stop - start & ~7)
    for i in range(start, whole, 8):
        t, t2 = counters4(first + np.uint64(i)), counters4(first + np.uint64(i + 4))
        h, g = hash_two(keys, load4(source, 2 * i), load4(source, 2 * i + 8), t, t2)
        store(target, 2 * i, h)
        store(target, 2 * i + 8, g)
    for i in range(whole, stop):
        t = make(first + np.uint64(i), np.uint64(0))
        h, g = hash_two(keys, load(source, 2 * i), load(source, 2 * i), t, t)
        store(target, 2 * i, h)


def hash_blocks(keys, first, source, target):  # type: ignore[no-untyped-def]
    """Set target[i] = H(source[i], first + i).

    Args:
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        first: The first number, a multiple of 8.
        source: The inputs, u64[n, 2].
        target: Filled in, u64[n, 2].
    """
    count = source.shape[0]
    group = NO_KEYS
    i = 0
    while i < count:
        number = first + np.uint64(i)
        group = load_keys(keys, number, group)
        end = i + run_length(number, count - i)
        _hash_run(keys[key_row(number)], first, source, target, i, end)
        i = end


def add_delta(labels, bits, delta):  # type: ignore[no-untyped-def]
    """Set labels[i] ^= bits[i] * delta.

    Args:
        labels: Changed in place, u64[n, 2].
        bits: 0 and 1, u8[n].
        delta: The difference, u64[2].
    """
    for i in range(bits.shape[0]):
        mask = np.uint64(0) - np.uint64(bits[i])
        labels[i, 0] ^= mask & delta[0]
        labels[i, 1] ^= mask & delta[1]
