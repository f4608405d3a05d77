"""The evaluator: one active label a wire, two hashes an AND gate. See `smc.yao.garbler`."""

from __future__ import annotations

import numpy as np

from smc.circuit import Netlist
from smc.primitives import kernels
from smc.primitives.hash import Blocks, Hasher, KeySchedule
from smc.session import Session
from smc.yao.tables import TableReader, and_batches, chunks


class Evaluator:
    """Evaluates the netlists that the peer garbles, in the same order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._keys = KeySchedule(session, "garble")
        self._hasher = Hasher(2)

    def evaluate(self, netlist: Netlist, inputs: Blocks) -> Blocks:
        """Active labels uint64[inputs, batch, 2] in, active labels uint64[outputs, batch, 2] out."""
        batch = inputs.shape[1]
        outputs = np.empty((len(netlist.outputs), batch, 2), dtype=np.uint64)
        reader = TableReader(self._session, netlist.and_count * batch)
        for part in chunks(netlist, batch):
            size = part.stop - part.start
            state = np.zeros((netlist.slots, 2 * size), dtype=np.uint64)
            state[2 : 2 + len(inputs)] = inputs[:, part].reshape(len(inputs), 2 * size)
            for layer in netlist.layers:
                kernels.xor_rows(state, layer.xors)
                for gates in and_batches(layer.ands, size):
                    self._and(state, gates, reader)
            outputs[:, part] = state[netlist.outputs].reshape(-1, size, 2)
        return outputs

    def _and(self, state: Blocks, gates: np.ndarray, reader: TableReader) -> None:
        count = len(gates) * (state.shape[1] // 2)
        cipher, first = self._keys.take(count)
        hasher = self._hasher
        kernels.gather_evaluator(state, gates, hasher.blocks)
        hasher.run(cipher, 2 * count, 2 * first, 1)
        kernels.finish_evaluator(state, gates, hasher.once, hasher.twice, reader.take(count))
