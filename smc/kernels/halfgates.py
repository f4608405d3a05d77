"""Half-gates (Zahur, Rosulek, Evans, EUROCRYPT 2015): kernels that walk a piece of a circuit for all instances.

`program`, `state` and the numbers of gates are those of `smc.kernels.gate_walk`. The tweaks of a gate are its number
and its number plus 2^64. Its two table rows of `instances` blocks each follow those of the previous AND.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt
from smc.kernels.block import (
    counters4,
    in_fours,
    join4,
    lane0,
    lane1,
    lane2,
    lane3,
    load,
    load4,
    make,
    make4,
    spread,
    store,
)
from smc.kernels.gate_walk import LEFT, RIGHT, gather4, scatter4, walk_by

ZERO = np.uint64(0)
SECOND = np.uint64(1)  # in the high word: tweak of the second hash of a gate


@njit
def _garble(keys, delta, a, b, tweak, second):  # type: ignore[no-untyped-def]
    """Return the zero labels of AND gates with zero labels a and b, their generator rows and their evaluator rows."""
    p0, p1, p2, p3 = encrypt(keys, (a, a ^ delta, b, b ^ delta))
    tweak2 = tweak ^ second
    q0, q1, q2, q3 = encrypt(keys, (p0 ^ tweak, p1 ^ tweak, p2 ^ tweak2, p3 ^ tweak2))
    ha, hb = p0 ^ q0, p2 ^ q2
    pb = spread(b)
    generator = ha ^ p1 ^ q1 ^ (pb & delta)  # Figure 2, GbAnd, first half gate: T_G
    half = hb ^ p3 ^ q3  # second half gate: T_E xor W_a
    return ha ^ (spread(a) & generator) ^ hb ^ (pb & half), generator, half ^ a


@njit
def _evaluate(keys, a, b, generator, evaluator, tweak, second):  # type: ignore[no-untyped-def]
    p0, p1 = encrypt(keys, (a, b))
    q0, q1 = encrypt(keys, (p0 ^ tweak, p1 ^ tweak ^ second))
    return p0 ^ q0 ^ p1 ^ q1 ^ (spread(a) & generator) ^ (spread(b) & (evaluator ^ a))


@njit
def _garble_run(keys, state, o, a, b, start, stop, tweak, row, more):  # type: ignore[no-untyped-def]
    """Garble one gate, see `walk_by`; generators, evaluators: first words of instance 0 in the two rows."""
    delta, tables = more
    generators, evaluators = 4 * row, 4 * row + state.shape[1]
    whole = start + in_fours(stop - start)
    delta4, delta1 = make4(delta[0], delta[1]), make(delta[0], delta[1])
    second4, second1 = make4(ZERO, SECOND), make(ZERO, SECOND)
    for n in range(start, whole, 4):
        j = 2 * n
        t4 = counters4(tweak + np.uint64(n))
        c, generator, evaluator = _garble(keys, delta4, load4(state, a + j), load4(state, b + j), t4, second4)
        store(state, o + j, c)
        store(tables, generators + j, generator)
        store(tables, evaluators + j, evaluator)
    for n in range(whole, stop):
        j = 2 * n
        t1 = make(tweak + np.uint64(n), ZERO)
        c, generator, evaluator = _garble(keys, delta1, load(state, a + j), load(state, b + j), t1, second1)
        store(state, o + j, c)
        store(tables, generators + j, generator)
        store(tables, evaluators + j, evaluator)


@njit
def _garble_four(keys, state, program, i, tweak, row, more):  # type: ignore[no-untyped-def]
    """Garble four gates, see `walk_by`; the two rows of a gate are neighbours."""
    delta, tables = more
    a, b = gather4(state, program, i, LEFT), gather4(state, program, i, RIGHT)
    c, generator, evaluator = _garble(keys, make4(delta[0], delta[1]), a, b, counters4(tweak), make4(ZERO, SECOND))
    scatter4(state, program, i, c)
    at = 4 * row
    store(tables, at, lane0(generator))
    store(tables, at + 2, lane0(evaluator))
    store(tables, at + 4, lane1(generator))
    store(tables, at + 6, lane1(evaluator))
    store(tables, at + 8, lane2(generator))
    store(tables, at + 10, lane2(evaluator))
    store(tables, at + 12, lane3(generator))
    store(tables, at + 14, lane3(evaluator))


_garble_walk = walk_by(_garble_run, _garble_four)


def garble(state, program, start, stop, keys, delta, tweak, stride, tables):  # type: ignore[no-untyped-def]
    """Garble gates of a program for all instances.

    Args:
        state: Zero labels by slot, u64[slots, 2 instances]; changed in place.
        program: The gates, i32[gates, 4].
        start: The first gate.
        stop: The gate after the last.
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        delta: The garbler's difference, u64[2].
        tweak: The first AND gate's number, a multiple of 8.
        stride: Numbers from an AND gate to the next.
        tables: Gets the table rows, u64[4 * ANDs * instances] or more.
    """
    _garble_walk(state, program, start, stop, keys, tweak, stride, (delta, tables))


@njit
def _evaluate_run(keys, state, o, a, b, start, stop, tweak, row, tables):  # type: ignore[no-untyped-def]
    generators, evaluators = 4 * row, 4 * row + state.shape[1]
    whole = start + in_fours(stop - start)
    second4, second1 = make4(ZERO, SECOND), make(ZERO, SECOND)
    for n in range(start, whole, 4):
        j = 2 * n
        generator, evaluator = load4(tables, generators + j), load4(tables, evaluators + j)
        t4 = counters4(tweak + np.uint64(n))
        c = _evaluate(keys, load4(state, a + j), load4(state, b + j), generator, evaluator, t4, second4)
        store(state, o + j, c)
    for n in range(whole, stop):
        j = 2 * n
        generator, evaluator = load(tables, generators + j), load(tables, evaluators + j)
        t1 = make(tweak + np.uint64(n), ZERO)
        c = _evaluate(keys, load(state, a + j), load(state, b + j), generator, evaluator, t1, second1)
        store(state, o + j, c)


@njit
def _evaluate_four(keys, state, program, i, tweak, row, tables):  # type: ignore[no-untyped-def]
    at = 4 * row
    generator = join4(load(tables, at), load(tables, at + 4), load(tables, at + 8), load(tables, at + 12))
    evaluator = join4(load(tables, at + 2), load(tables, at + 6), load(tables, at + 10), load(tables, at + 14))
    a, b = gather4(state, program, i, LEFT), gather4(state, program, i, RIGHT)
    scatter4(state, program, i, _evaluate(keys, a, b, generator, evaluator, counters4(tweak), make4(ZERO, SECOND)))


_evaluate_walk = walk_by(_evaluate_run, _evaluate_four)


def evaluate(state, program, start, stop, keys, tweak, stride, tables):  # type: ignore[no-untyped-def]
    """Evaluate gates of a program for all instances.

    Args:
        state: Active labels by slot, u64[slots, 2 instances]; changed in place.
        program: The gates, i32[gates, 4].
        start: The first gate.
        stop: The gate after the last.
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        tweak: The first AND gate's number, equal to the garbler's.
        stride: Numbers from an AND gate to the next.
        tables: The table rows, u64[4 * ANDs * instances] or more.
    """
    _evaluate_walk(state, program, start, stop, keys, tweak, stride, tables)
