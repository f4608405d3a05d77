"""Every numba kernel of the engine: integer loops over rows, without the GIL, compiled once and cached.

A 128-bit label is two little-endian 64-bit words (low, high). Kernels never branch or index on a
secret: choices become all-zero or all-one masks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

_ONE = np.uint64(1)


def _kernel(function: Callable[..., None]) -> Callable[..., None]:
    """Compile on first use; keep the machine code in a file where some directory for it can be written."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no place for its cache
        return njit(nogil=True)(function)


@_kernel
def xor_rows(state, gates):  # type: ignore[no-untyped-def]
    """state[out] = state[left] ^ state[right] for every gate (out, left, right), in order.

    `state` is [slots, columns] of any unsigned dtype, `gates` int32[n, 3].
    """
    columns = state.shape[1]
    for i in range(gates.shape[0]):
        out, left, right = gates[i, 0], gates[i, 1], gates[i, 2]
        for j in range(columns):
            state[out, j] = state[left, j] ^ state[right, j]


@_kernel
def gather_garbler(state, gates, delta, blocks):  # type: ignore[no-untyped-def]
    """For each AND gate and instance write the four hash inputs A0, A1, B0, B1 to `blocks`.

    `state` is uint64[slots, 2 b], `gates` int32[g, 3], `blocks` uint64[>= 4 g b, 2].
    """
    d0, d1 = delta[0], delta[1]
    n = 0
    for i in range(gates.shape[0]):
        left, right = gates[i, 1], gates[i, 2]
        for j in range(0, state.shape[1], 2):
            a0, a1 = state[left, j], state[left, j + 1]
            b0, b1 = state[right, j], state[right, j + 1]
            blocks[n, 0] = a0
            blocks[n, 1] = a1
            blocks[n + 1, 0] = a0 ^ d0
            blocks[n + 1, 1] = a1 ^ d1
            blocks[n + 2, 0] = b0
            blocks[n + 2, 1] = b1
            blocks[n + 3, 0] = b0 ^ d0
            blocks[n + 3, 1] = b1 ^ d1
            n += 4


@_kernel
def gather_evaluator(state, gates, blocks):  # type: ignore[no-untyped-def]
    """For each AND gate and instance write the two hash inputs A, B to `blocks`."""
    n = 0
    for i in range(gates.shape[0]):
        left, right = gates[i, 1], gates[i, 2]
        for j in range(0, state.shape[1], 2):
            blocks[n, 0] = state[left, j]
            blocks[n, 1] = state[left, j + 1]
            blocks[n + 1, 0] = state[right, j]
            blocks[n + 1, 1] = state[right, j + 1]
            n += 2


@_kernel
def xor_tweak(blocks, out, count, first, repeat):  # type: ignore[no-untyped-def]
    """out[i] = blocks[i] ^ (first + i // repeat): the tweak step of the hash, for i < count."""
    tweak = np.uint64(first)
    n = 0
    while n < count:
        for k in range(n, n + repeat):
            out[k, 0] = blocks[k, 0] ^ tweak
            out[k, 1] = blocks[k, 1]
        n += repeat
        tweak += _ONE


@_kernel
def finish_garbler(state, gates, delta, once, twice, tables):  # type: ignore[no-untyped-def]
    """Half-gates (Zahur, Rosulek, Evans 2015): output zero labels into `state`, two rows a gate into `tables`.

    `once` = pi(x) and `twice` = pi(pi(x) ^ i) for the blocks of `gather_garbler`; their XOR is the hash.
    `tables` is uint64[g b, 4]: generator half, evaluator half.
    """
    d0, d1 = delta[0], delta[1]
    n = 0
    t = 0
    for i in range(gates.shape[0]):
        out, left, right = gates[i, 0], gates[i, 1], gates[i, 2]
        for j in range(0, state.shape[1], 2):
            a0, a1 = state[left, j], state[left, j + 1]
            pa = np.uint64(0) - (a0 & _ONE)
            pb = np.uint64(0) - (state[right, j] & _ONE)
            ha0 = once[n, 0] ^ twice[n, 0]
            ha1 = once[n, 1] ^ twice[n, 1]
            hb0 = once[n + 2, 0] ^ twice[n + 2, 0]
            hb1 = once[n + 2, 1] ^ twice[n + 2, 1]
            g0 = ha0 ^ once[n + 1, 0] ^ twice[n + 1, 0] ^ (pb & d0)
            g1 = ha1 ^ once[n + 1, 1] ^ twice[n + 1, 1] ^ (pb & d1)
            e0 = hb0 ^ once[n + 3, 0] ^ twice[n + 3, 0]
            e1 = hb1 ^ once[n + 3, 1] ^ twice[n + 3, 1]
            tables[t, 0] = g0
            tables[t, 1] = g1
            tables[t, 2] = e0 ^ a0
            tables[t, 3] = e1 ^ a1
            state[out, j] = ha0 ^ (pa & g0) ^ hb0 ^ (pb & e0)
            state[out, j + 1] = ha1 ^ (pa & g1) ^ hb1 ^ (pb & e1)
            n += 4
            t += 1


@_kernel
def finish_evaluator(state, gates, once, twice, tables):  # type: ignore[no-untyped-def]
    """Half-gates evaluation: the active output labels into `state`, from `tables` and the hashes."""
    n = 0
    t = 0
    for i in range(gates.shape[0]):
        out, left, right = gates[i, 0], gates[i, 1], gates[i, 2]
        for j in range(0, state.shape[1], 2):
            a0, a1 = state[left, j], state[left, j + 1]
            sa = np.uint64(0) - (a0 & _ONE)
            sb = np.uint64(0) - (state[right, j] & _ONE)
            ha0 = once[n, 0] ^ twice[n, 0]
            ha1 = once[n, 1] ^ twice[n, 1]
            hb0 = once[n + 1, 0] ^ twice[n + 1, 0]
            hb1 = once[n + 1, 1] ^ twice[n + 1, 1]
            state[out, j] = ha0 ^ (sa & tables[t, 0]) ^ hb0 ^ (sb & (tables[t, 2] ^ a0))
            state[out, j + 1] = ha1 ^ (sa & tables[t, 1]) ^ hb1 ^ (sb & (tables[t, 3] ^ a1))
            n += 2
            t += 1


@_kernel
def transpose_128(rows, out):  # type: ignore[no-untyped-def]
    """Bit-matrix transpose: uint8[128, n / 8] (bit i of a row = bit i % 8 of byte i // 8) to uint64[n, 2].

    Works on 8 x 8 bit blocks with the three-step swap of Warren (Hacker's Delight, 7-3).
    """
    for byte in range(rows.shape[1]):
        for word in range(2):
            a = np.zeros(8, dtype=np.uint64)
            for group in range(8):
                x = np.uint64(0)
                base = 64 * word + 8 * group
                for k in range(8):
                    x |= np.uint64(rows[base + k, byte]) << np.uint64(8 * k)
                t = (x ^ (x >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
                x = x ^ t ^ (t << np.uint64(7))
                t = (x ^ (x >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
                x = x ^ t ^ (t << np.uint64(14))
                t = (x ^ (x >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
                x = x ^ t ^ (t << np.uint64(28))
                for k in range(8):
                    a[k] |= ((x >> np.uint64(8 * k)) & np.uint64(0xFF)) << np.uint64(8 * group)
            for k in range(8):
                out[8 * byte + k, word] = a[k]
