"""Three-halves garbling (Rosulek, Roy, CRYPTO 2021): kernels that walk a piece of a circuit for all instances.

A label X has two halves: X_L is its low word and X_R its high word. Its colour (permutation bit) is the lowest bit of
X_L. Let A_i, B_j be the labels of colour i, j, and let H be 64 bits and h one more bit of the hash. The evaluator
computes

    C_L = H(A_i) + H(A_i + B_j) + i G_0 + (i+j) G_2 + L-half of (r_1 S_1 + r_2 S_2 + S_ij)(A_i, B_j)
    C_R = H(B_j) + H(A_i + B_j) + j G_1 + (i+j) G_2 + R-half of the same
    r_1 = h(A_i) + h(A_i + B_j) + z_0 + i z_2 + (i+j) z_4
    r_2 = h(B_j) + h(A_i + B_j) + z_1 + j z_3 + (i+j) z_4

    S_1 (A, B) = (A_L + A_R + B_L, A_L + B_R)      S_2 (A, B) = (A_L + B_R, A_R + B_L + B_R)
    S_ij(A, B) = ((1+i) B_L, (1+j) A_R)

A gate's row is G_0, G_1, G_2 of 8 bytes each and a byte with the five bits z: 25 bytes. The garbler draws r_1, r_2 for
i = j = 0 at random. Those of the other three colour pairs follow from the position of the one in the gate's truth
table, so every r that the evaluator can see is uniform. `program` and the numbers of gates are those of
`smc.kernels.gate_walk`. The hashes of A, B and A + B have different tweaks.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt
from smc.kernels.block import (
    counters4,
    halves,
    high_twice,
    in_fours,
    load,
    load4,
    load_bytes,
    load_bytes4,
    load_words,
    load_words4,
    low_twice,
    make,
    make4,
    shift_right,
    spread,
    store,
    store_lows,
    swap,
)
from smc.kernels.gate_walk import LEFT, RIGHT, gather4, scatter4, walk_by

SECOND = np.uint64(1)  # in the high word: tweaks of the second and third hash of a gate
THIRD = np.uint64(2)
ZERO = np.uint64(0)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit
def _control(r1, r2, i, j, a, b, low_mask, ones):  # type: ignore[no-untyped-def]
    """Compute (r_1 S_1 + r_2 S_2 + S_ij)(A, B); r and colours are masks."""
    high_mask = low_mask ^ ones
    s1 = low_twice(a) ^ b ^ (swap(a) & low_mask)
    s2 = a ^ high_twice(b) ^ (swap(b) & high_mask)
    return (r1 & s1) ^ (r2 & s2) ^ (halves(b, a) & (halves(i, j) ^ ones))


@njit
def _pair(ha, hb, hab):  # type: ignore[no-untyped-def]
    """Compute (H(A) + H(A + B), H(B) + H(A + B)), H being the low word."""
    return halves(ha, low_twice(hb)) ^ low_twice(hab)


@njit
def _bit(value):  # type: ignore[no-untyped-def]
    """Return h of a hash as a mask: the lowest bit of the high word."""
    return spread(swap(value))


@njit
def _garble(keys, delta, a, b, random, tweaks, bits, low_mask, ones):  # type: ignore[no-untyped-def]
    """Return the zero labels of ANDs of zero labels a, b; (G_0, G_1); G_2 in the low words; z in the lowest bits."""
    t, t2, t3 = tweaks
    pa, pb = spread(a), spread(b)
    a0, b0 = a ^ (pa & delta), b ^ (pb & delta)
    a1, b1, ab0 = a0 ^ delta, b0 ^ delta, a0 ^ b0
    x0, x1, y0, y1, w0, w1 = encrypt(keys, (a0, a1, b0, b1, ab0, ab0 ^ delta))
    u0, u1, v0, v1, s0, s1 = encrypt(keys, (x0 ^ t, x1 ^ t, y0 ^ t2, y1 ^ t2, w0 ^ t3, w1 ^ t3))
    ha0, ha1, hb0, hb1, hab0, hab1 = x0 ^ u0, x1 ^ u1, y0 ^ v0, y1 ^ v1, w0 ^ s0, w1 ^ s1
    ia, jb = pa ^ ones, pb ^ ones  # the colours at which the product is 1
    r1, r2 = spread(random), spread(shift_right(random, 1))
    none = pa ^ pa
    row00 = _pair(ha0, hb0, hab0) ^ _control(r1, r2, none, none, a0, b0, low_mask, ones) ^ (pa & pb & delta)
    row11 = _pair(ha1, hb1, hab0) ^ _control(r1 ^ ia, r2 ^ jb, ones, ones, a1, b1, low_mask, ones) ^ (ia & jb & delta)
    row01 = (
        _pair(ha0, hb1, hab1) ^ _control(r1 ^ ia ^ jb, r2 ^ ia, none, ones, a0, b1, low_mask, ones) ^ (pa & jb & delta)
    )
    z = (r1 ^ _bit(ha0 ^ hab0)) & bits[0]
    z = z ^ (r2 ^ _bit(hb0 ^ hab0)) & bits[1]
    z = z ^ (ia ^ _bit(ha0 ^ ha1)) & bits[2]
    z = z ^ (jb ^ _bit(hb0 ^ hb1)) & bits[3]
    z = z ^ (ia ^ jb ^ _bit(hab0 ^ hab1)) & bits[4]
    return row00, row00 ^ row11, row00 ^ row01, z


@njit
def _evaluate(keys, a, b, wide, narrow, z, tweaks, low_mask, ones):  # type: ignore[no-untyped-def]
    t, t2, t3 = tweaks
    x, y, w = encrypt(keys, (a, b, a ^ b))
    u, v, s = encrypt(keys, (x ^ t, y ^ t2, w ^ t3))
    ha, hb, hab = x ^ u, y ^ v, w ^ s
    i, j = spread(a), spread(b)
    differ = i ^ j
    z4 = differ & spread(shift_right(z, 4))
    r1 = spread(z) ^ (i & spread(shift_right(z, 2))) ^ z4 ^ _bit(ha ^ hab)
    r2 = spread(shift_right(z, 1)) ^ (j & spread(shift_right(z, 3))) ^ z4 ^ _bit(hb ^ hab)
    table = (halves(i, j) & wide) ^ (differ & low_twice(narrow))
    return _pair(ha, hb, hab) ^ table ^ _control(r1, r2, i, j, a, b, low_mask, ones)


@njit
def _bits4():  # type: ignore[no-untyped-def]
    return (
        make4(np.uint64(1), ZERO),
        make4(np.uint64(2), ZERO),
        make4(np.uint64(4), ZERO),
        make4(np.uint64(8), ZERO),
        make4(np.uint64(16), ZERO),
    )


@njit
def _bits1():  # type: ignore[no-untyped-def]
    return (
        make(np.uint64(1), ZERO),
        make(np.uint64(2), ZERO),
        make(np.uint64(4), ZERO),
        make(np.uint64(8), ZERO),
        make(np.uint64(16), ZERO),
    )


@njit
def _tweaks4(tweak):  # type: ignore[no-untyped-def]
    t = counters4(tweak)
    return t, t ^ make4(ZERO, SECOND), t ^ make4(ZERO, THIRD)


@njit
def _tweaks1(tweak):  # type: ignore[no-untyped-def]
    t = make(tweak, ZERO)
    return t, t ^ make(ZERO, SECOND), t ^ make(ZERO, THIRD)


@njit
def _garble_run(keys, state, o, a, b, start, stop, tweak, row, more):  # type: ignore[no-untyped-def]
    delta, random, wide, narrow, control = more
    whole = start + in_fours(stop - start)
    delta4, delta1 = make4(delta[0], delta[1]), make(delta[0], delta[1])
    low4, low1, ones4, ones1 = make4(ONES, ZERO), make(ONES, ZERO), make4(ONES, ONES), make(ONES, ONES)
    for n in range(start, whole, 4):
        j = 2 * n
        c, g01, g2, z = _garble(
            keys, delta4, load4(state, a + j), load4(state, b + j), load_bytes4(random, row + n),
            _tweaks4(tweak + np.uint64(n)), _bits4(), low4, ones4,
        )  # fmt: skip
        store(state, o + j, c)
        store(wide, 2 * row + j, g01)
        store_lows(narrow, row + n, g2)
        store_lows(control, row + n, z)
    for n in range(whole, stop):
        j = 2 * n
        c, g01, g2, z = _garble(
            keys, delta1, load(state, a + j), load(state, b + j), load_bytes(random, row + n),
            _tweaks1(tweak + np.uint64(n)), _bits1(), low1, ones1,
        )  # fmt: skip
        store(state, o + j, c)
        store(wide, 2 * row + j, g01)
        store_lows(narrow, row + n, g2)
        store_lows(control, row + n, z)


@njit
def _garble_four(keys, state, program, i, tweak, row, more):  # type: ignore[no-untyped-def]
    """Garble four gates, see `walk_by`; their rows are laid out as those of four instances of one gate."""
    delta, random, wide, narrow, control = more
    c, g01, g2, z = _garble(
        keys, make4(delta[0], delta[1]), gather4(state, program, i, LEFT), gather4(state, program, i, RIGHT),
        load_bytes4(random, row), _tweaks4(tweak), _bits4(), make4(ONES, ZERO), make4(ONES, ONES),
    )  # fmt: skip
    scatter4(state, program, i, c)
    store(wide, 2 * row, g01)
    store_lows(narrow, row, g2)
    store_lows(control, row, z)


_garble_walk = walk_by(_garble_run, _garble_four)


def garble(state, program, start, stop, keys, delta, tweak, stride, random, wide, narrow, control):  # type: ignore[no-untyped-def]
    """Garble gates of a program for all instances, n = ANDs * instances table rows.

    Args:
        state: Zero labels by slot, u64[slots, 2 instances]; changed in place.
        program: The gates, i32[gates, 4].
        start: The first gate.
        stop: The gate after the last.
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        delta: The garbler's difference, u64[2].
        tweak: The first AND gate's number, a multiple of 8.
        stride: Numbers from an AND gate to the next.
        random: Two fresh random bits a row, u8[n].
        wide: Gets G_0 and G_1, u64[2 n].
        narrow: Gets G_2, u64[n].
        control: Gets the bits z, u8[n].
    """
    more = delta, random, wide, narrow, control
    _garble_walk(state, program, start, stop, keys, tweak, stride, more)


@njit
def _evaluate_run(keys, state, o, a, b, start, stop, tweak, row, more):  # type: ignore[no-untyped-def]
    wide, narrow, control = more
    whole = start + in_fours(stop - start)
    low4, low1, ones4, ones1 = make4(ONES, ZERO), make(ONES, ZERO), make4(ONES, ONES), make(ONES, ONES)
    for n in range(start, whole, 4):
        j = 2 * n
        c = _evaluate(
            keys, load4(state, a + j), load4(state, b + j),
            load4(wide, 2 * row + j), load_words4(narrow, row + n), load_bytes4(control, row + n),
            _tweaks4(tweak + np.uint64(n)), low4, ones4,
        )  # fmt: skip
        store(state, o + j, c)
    for n in range(whole, stop):
        j = 2 * n
        c = _evaluate(
            keys, load(state, a + j), load(state, b + j),
            load(wide, 2 * row + j), load_words(narrow, row + n), load_bytes(control, row + n),
            _tweaks1(tweak + np.uint64(n)), low1, ones1,
        )  # fmt: skip
        store(state, o + j, c)


@njit
def _evaluate_four(keys, state, program, i, tweak, row, more):  # type: ignore[no-untyped-def]
    wide, narrow, control = more
    c = _evaluate(
        keys, gather4(state, program, i, LEFT), gather4(state, program, i, RIGHT),
        load4(wide, 2 * row), load_words4(narrow, row), load_bytes4(control, row),
        _tweaks4(tweak), make4(ONES, ZERO), make4(ONES, ONES),
    )  # fmt: skip
    scatter4(state, program, i, c)


_evaluate_walk = walk_by(_evaluate_run, _evaluate_four)


def evaluate(state, program, start, stop, keys, tweak, stride, wide, narrow, control):  # type: ignore[no-untyped-def]
    """Evaluate gates of a program for all instances, n = ANDs * instances table rows.

    Args:
        state: Active labels by slot, u64[slots, 2 instances]; changed in place.
        program: The gates, i32[gates, 4].
        start: The first gate.
        stop: The gate after the last.
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        tweak: The first AND gate's number, equal to the garbler's.
        stride: Numbers from an AND gate to the next.
        wide: G_0 and G_1, u64[2 n].
        narrow: G_2, u64[n].
        control: The bits z, u8[n].
    """
    _evaluate_walk(state, program, start, stop, keys, tweak, stride, (wide, narrow, control))
