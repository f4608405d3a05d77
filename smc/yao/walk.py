"""The walk over a netlist that garbler and evaluator have in common.

Both cut the batch in the same way, from public values only (the netlist's shape and the batch size), so that tables
are made and used up in one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Netlist
from smc.circuit.netlist import FIRST_INPUT
from smc.primitives import kernels
from smc.primitives.hash import BATCH, Blocks

LIVE_LABELS = 1 << 16  # slots times instances worked on at once: 1 MiB of labels, half a second-level cache

Gates = NDArray[np.int32]


def walk(netlist: Netlist, inputs: Blocks, one: Blocks, and_gates: Callable[[Blocks, Gates], None]) -> Blocks:
    """Labels uint64[inputs, batch, 2] in, labels uint64[outputs, batch, 2] out.

    `one` is the label of the constant 1, uint64[2]; that of 0 is 0. `and_gates(state, gates)` works on some AND gates
    of one layer: state is uint64[slots, 2 instances], and gates times instances fit one hash batch.
    """
    batch = inputs.shape[1]
    outputs = np.empty((len(netlist.outputs), batch, 2), dtype=np.uint64)
    for part in _chunks(netlist, batch):
        size = part.stop - part.start
        state = np.zeros((netlist.slots, 2 * size), dtype=np.uint64)
        state[1] = np.tile(one, size)
        state[FIRST_INPUT : FIRST_INPUT + len(inputs)] = inputs[:, part].reshape(len(inputs), 2 * size)
        for layer in netlist.layers:
            kernels.xor_rows(state, layer.xors)
            for gates in _and_batches(layer.ands, size):
                and_gates(state, gates)
        outputs[:, part] = state[netlist.outputs].reshape(-1, size, 2)
    return outputs


def _chunks(netlist: Netlist, batch: int) -> Iterator[slice]:
    """Ranges of instances that are worked on together."""
    size = max(1, min(batch, BATCH, LIVE_LABELS // netlist.slots))
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))


def _and_batches(ands: Gates, instances: int) -> Iterator[Gates]:
    """Runs of AND gates of one layer whose instances fit one hash batch."""
    size = max(1, BATCH // instances)
    for start in range(0, len(ands), size):
        yield ands[start : start + size]
