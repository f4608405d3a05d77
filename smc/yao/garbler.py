"""The garbler: half-gates with free XOR and point-and-permute, 32 bytes an AND gate.

Papers: Kolesnikov, Schneider (ICALP 2008, free XOR); Zahur, Rosulek, Evans, "Two Halves Make a Whole" (EUROCRYPT
2015, half-gates). Wire values are label, label xor delta; the lowest bit of a label is its permute bit.
"""

from __future__ import annotations

import numpy as np

from smc.circuit import Netlist
from smc.primitives import kernels
from smc.primitives.hash import Blocks, Hasher, KeySchedule
from smc.session import Session
from smc.yao.tables import TableWriter, and_batches, chunks


class Garbler:
    """Garbles netlists one after another under one secret `delta` (uint64[2], lowest bit 1)."""

    def __init__(self, session: Session, delta: Blocks) -> None:
        self._session = session
        self._delta = delta
        self._keys = KeySchedule(session, "garble")
        self._hasher = Hasher(4)

    def garble(self, netlist: Netlist, inputs: Blocks) -> Blocks:
        """Stream the tables; zero labels uint64[inputs, batch, 2] in, zero labels uint64[outputs, batch, 2] out."""
        batch = inputs.shape[1]
        outputs = np.empty((len(netlist.outputs), batch, 2), dtype=np.uint64)
        writer = TableWriter(self._session)
        for part in chunks(netlist, batch):
            size = part.stop - part.start
            state = np.zeros((netlist.slots, 2 * size), dtype=np.uint64)
            # Constant 1: the evaluator's active label is 0, so the zero label is delta.
            state[1] = np.tile(self._delta, size)
            state[2 : 2 + len(inputs)] = inputs[:, part].reshape(len(inputs), 2 * size)
            for layer in netlist.layers:
                kernels.xor_rows(state, layer.xors)
                for gates in and_batches(layer.ands, size):
                    self._and(state, gates, writer)
            outputs[:, part] = state[netlist.outputs].reshape(-1, size, 2)
        writer.flush()
        return outputs

    def _and(self, state: Blocks, gates: np.ndarray, writer: TableWriter) -> None:
        count = len(gates) * (state.shape[1] // 2)
        cipher, first = self._keys.take(count)
        hasher = self._hasher
        kernels.gather_garbler(state, gates, self._delta, hasher.blocks)
        hasher.run(cipher, 4 * count, 2 * first, 2)
        tables = writer.take(count)
        kernels.finish_garbler(state, gates, self._delta, hasher.once, hasher.twice, tables)
