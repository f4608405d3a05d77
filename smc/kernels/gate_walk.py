"""The walk of every scheme of garbling through a piece of a circuit: gate by gate, for all instances.

A gate of `program` is (kind, out, left, right), kind 1 for AND; a row of `state`, u64[slots, 2 instances], holds the
labels of a slot. AND number n of the piece and instance j have the number tweak + n * stride + j, under whose key they
hash (`smc.kernels.hash_keys`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import xor_row
from smc.kernels.hash_keys import NO_KEYS, key_row, load_keys, run_length


def walk_by(run):  # type: ignore[no-untyped-def]
    """Return the walk whose AND gates are run(keys, state, o, a, b, start, stop, tweak, row, more).

    It does the instances start .. stop - 1 of a gate, which share a key: o, a, b are where instance 0's words of out,
    left and right begin, `row` says how many rows, one an instance, the AND gates before it have.
    """

    @njit
    def walk(state, program, start, stop, keys, tweak, stride, more):  # type: ignore[no-untyped-def]
        columns = state.shape[1]
        instances = columns >> 1
        group = NO_KEYS
        row = 0
        for i in range(start, stop):
            out, left, right = program[i, 1], program[i, 2], program[i, 3]
            if program[i, 0] == 0:
                xor_row(state, out, left, right)
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

    return walk
