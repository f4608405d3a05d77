"""Walk of every garbling scheme through a piece of a circuit: gate by gate, for all instances.

A gate of `program` is (kind, out, left, right), kind 1 for AND. A row of `state`, u64[slots, 2 instances], holds the
labels of a slot. AND number n of the piece and instance j have the number tweak + n * stride + j and are hashed under
its key (`smc.kernels.hash_keys`). For a single instance, four consecutive AND gates are processed at once if none
depends on another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import in_fours, join4, lane0, lane1, lane2, lane3, load, store, xor_row
from smc.kernels.hash_keys import NO_KEYS, key_row, load_keys, run_length

OUT, LEFT, RIGHT = 1, 2, 3  # columns of a program


@njit
def _four_at_once(program, i, stop):  # type: ignore[no-untyped-def]
    """Return whether gates i .. i + 3 are AND gates of which none depends on another."""
    if i + 4 > stop or program[i, 0] & program[i + 1, 0] & program[i + 2, 0] & program[i + 3, 0] == 0:
        return False
    a, b, c = program[i, OUT], program[i + 1, OUT], program[i + 2, OUT]
    for operand in (LEFT, RIGHT):
        x, y, z = program[i + 1, operand], program[i + 2, operand], program[i + 3, operand]
        if (x == a) | (y == a) | (y == b) | (z == a) | (z == b) | (z == c):
            return False
    return True


@njit
def gather4(state, program, i, column):  # type: ignore[no-untyped-def]
    """Return one operand of four gates for a single instance.

    Args:
        state: Labels by slot, u64[slots, 2].
        program: The gates, i32[gates, 4].
        i: Number of the first of the four gates.
        column: LEFT or RIGHT.

    Returns:
        The labels, a `Blocks4`.
    """
    return join4(
        load(state, 2 * program[i, column]),
        load(state, 2 * program[i + 1, column]),
        load(state, 2 * program[i + 2, column]),
        load(state, 2 * program[i + 3, column]),
    )


@njit
def scatter4(state, program, i, labels):  # type: ignore[no-untyped-def]
    """Write the results of four gates for a single instance.

    Args:
        state: Labels by slot, u64[slots, 2]; changed in place.
        program: The gates, i32[gates, 4].
        i: Number of the first of the four gates.
        labels: The results, a `Blocks4`.
    """
    store(state, 2 * program[i, OUT], lane0(labels))
    store(state, 2 * program[i + 1, OUT], lane1(labels))
    store(state, 2 * program[i + 2, OUT], lane2(labels))
    store(state, 2 * program[i + 3, OUT], lane3(labels))


def walk_by(run, run_four):  # type: ignore[no-untyped-def]
    """Return the walk of a scheme from its functions for AND gates.

    Args:
        run: run(keys, state, o, a, b, start, stop, tweak, row, more) does the instances start .. stop - 1 of a gate,
            which share a key. o, a, b are where instance 0's words of out, left and right begin. `row` is the number
            of table rows, one an instance, of the AND gates before.
        run_four: run_four(keys, state, program, i, tweak, row, more) does gates i .. i + 3 of a single instance.

    Returns:
        walk(state, program, start, stop, keys, tweak, stride, more). It does gates start .. stop - 1 of the program
        and hands `more` to both functions.
    """

    @njit
    def walk(state, program, start, stop, keys, tweak, stride, more):  # type: ignore[no-untyped-def]
        """Do gates of a program.

        Args:
            state: Values by slot, u64[slots, 2 instances]; changed in place.
            program: The gates, i32[gates, 4].
            start: The first gate.
            stop: The gate after the last.
            keys: Round keys of the hash.
            tweak: The first AND gate's number.
            stride: Numbers from an AND gate to the next.
            more: Further arguments, passed to both functions.
        """
        columns = state.shape[1]
        instances = columns >> 1
        single = instances == 1 and in_fours(4) == 4
        group = NO_KEYS
        row = 0
        i = start
        while i < stop:
            out, left, right = program[i, OUT], program[i, LEFT], program[i, RIGHT]
            if program[i, 0] == 0:
                if instances == 1:
                    store(state, 2 * out, load(state, 2 * left) ^ load(state, 2 * right))
                else:
                    xor_row(state, out, left, right)
                i += 1
                continue
            if single and run_length(tweak, 4) == 4 and _four_at_once(program, i, stop):
                group = load_keys(keys, tweak, group)
                run_four(keys[key_row(tweak)], state, program, i, tweak, row, more)
                row += 4
                tweak += np.uint64(4)
                i += 4
                continue
            o, a, b = out * columns, left * columns, right * columns
            n = 0
            while n < instances:
                number = tweak + np.uint64(n)
                group = load_keys(keys, number, group)
                end = n + run_length(number, instances - n)
                run(keys[key_row(number)], state, o, a, b, n, end, tweak, row, more)
                n = end
            row += instances
            tweak += stride
            i += 1

    return walk
