"""Half-gates (Zahur, Rosulek, Evans, EUROCRYPT 2015): kernels that walk a piece of a circuit for all instances.

A gate of `program` is (kind, out, left, right), kind 1 for AND; a row of `state`, u64[slots, 2 instances], holds the
labels of a slot. AND number n of the whole circuit and instance j hash under the tweaks n0 + n * instances + j and
that plus 2^32. Its two table rows of `instances` blocks each follow those of the AND before it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt
from smc.kernels.block import counters4, in_fours, load, load4, make, make4, spread, store, xor_row

SECOND = np.uint64(1 << 32)  # tweak of the second hash of a gate


@njit
def _garble(keys, delta, a, b, tweak, second):  # type: ignore[no-untyped-def]
    """Output zero labels, generator rows and evaluator rows."""
    p0, p1, p2, p3 = encrypt(keys, (a, a ^ delta, b, b ^ delta))
    tweak2 = tweak ^ second
    q0, q1, q2, q3 = encrypt(keys, (p0 ^ tweak, p1 ^ tweak, p2 ^ tweak2, p3 ^ tweak2))
    ha, hb = p0 ^ q0, p2 ^ q2
    pb = spread(b)
    generator = ha ^ p1 ^ q1 ^ (pb & delta)
    half = hb ^ p3 ^ q3
    return ha ^ (spread(a) & generator) ^ hb ^ (pb & half), generator, half ^ a


@njit
def _evaluate(keys, a, b, generator, evaluator, tweak, second):  # type: ignore[no-untyped-def]
    p0, p1 = encrypt(keys, (a, b))
    q0, q1 = encrypt(keys, (p0 ^ tweak, p1 ^ tweak ^ second))
    return p0 ^ q0 ^ p1 ^ q1 ^ (spread(a) & generator) ^ (spread(b) & (evaluator ^ a))


def garble(state, program, start, stop, keys, delta, tweak, tables):  # type: ignore[no-untyped-def]
    """Gates start .. stop - 1 of the program; table rows go to `tables`, u64[4 * ANDs * instances] or more."""
    columns = state.shape[1]
    whole = 2 * in_fours(columns >> 1)
    delta4, delta1 = make4(delta[0], delta[1]), make(delta[0], delta[1])
    second4, second1 = make4(SECOND, np.uint64(0)), make(SECOND, np.uint64(0))
    t = 0
    for i in range(start, stop):
        out, left, right = program[i, 1], program[i, 2], program[i, 3]
        if program[i, 0] == 0:
            xor_row(state, out, left, right)
            continue
        o, a, b = out * columns, left * columns, right * columns
        for j in range(0, whole, 8):
            t4 = counters4(tweak + np.uint64(j >> 1))
            c, generator, evaluator = _garble(keys, delta4, load4(state, a + j), load4(state, b + j), t4, second4)
            store(state, o + j, c)
            store(tables, t + j, generator)
            store(tables, t + columns + j, evaluator)
        for j in range(whole, columns, 2):
            c, generator, evaluator = _garble(
                keys,
                delta1,
                load(state, a + j),
                load(state, b + j),
                make(tweak + np.uint64(j >> 1), np.uint64(0)),
                second1,
            )
            store(state, o + j, c)
            store(tables, t + j, generator)
            store(tables, t + columns + j, evaluator)
        t += 2 * columns
        tweak += np.uint64(columns >> 1)


def evaluate(state, program, start, stop, keys, tweak, tables):  # type: ignore[no-untyped-def]
    """The same gates for the evaluator, whose state holds active labels."""
    columns = state.shape[1]
    whole = 2 * in_fours(columns >> 1)
    second4, second1 = make4(SECOND, np.uint64(0)), make(SECOND, np.uint64(0))
    t = 0
    for i in range(start, stop):
        out, left, right = program[i, 1], program[i, 2], program[i, 3]
        if program[i, 0] == 0:
            xor_row(state, out, left, right)
            continue
        o, a, b = out * columns, left * columns, right * columns
        for j in range(0, whole, 8):
            c = _evaluate(
                keys,
                load4(state, a + j),
                load4(state, b + j),
                load4(tables, t + j),
                load4(tables, t + columns + j),
                counters4(tweak + np.uint64(j >> 1)),
                second4,
            )
            store(state, o + j, c)
        for j in range(whole, columns, 2):
            c = _evaluate(
                keys,
                load(state, a + j),
                load(state, b + j),
                load(tables, t + j),
                load(tables, t + columns + j),
                make(tweak + np.uint64(j >> 1), np.uint64(0)),
                second1,
            )
            store(state, o + j, c)
        t += 2 * columns
        tweak += np.uint64(columns >> 1)
