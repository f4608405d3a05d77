"""Compile the numba kernels ahead of the first protocol run: python -m smc.primitives.warm."""

from __future__ import annotations

import numpy as np

from smc.primitives import kernels


def warm() -> None:
    """Call every kernel once on the array types in use; numba keeps the machine code beside the module."""
    words = np.zeros((4, 2), dtype=np.uint64)
    gates = np.zeros((1, 3), dtype=np.int32)
    blocks = np.zeros((8, 2), dtype=np.uint64)
    tables = np.zeros((1, 4), dtype=np.uint64)
    delta = np.zeros(2, dtype=np.uint64)
    for state in (words, words.astype(np.uint8)):
        kernels.xor_rows(state, gates)
    kernels.gather_garbler(words, gates, delta, blocks)
    kernels.gather_evaluator(words, gates, blocks)
    kernels.xor_tweak(blocks, blocks, 8, 0, 2)
    kernels.finish_garbler(words, gates, delta, blocks, blocks, tables)
    kernels.finish_evaluator(words, gates, blocks, blocks, tables)
    tables.flags.writeable = False  # received tables are read-only, which is a type of its own to numba
    kernels.finish_evaluator(words, gates, blocks, blocks, tables)
    kernels.transpose_128(np.zeros((128, 1), dtype=np.uint8), blocks)


if __name__ == "__main__":
    warm()
