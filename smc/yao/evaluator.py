"""The evaluator: one active label a wire, two hashes an AND gate. See `smc.yao.garbler`."""

from __future__ import annotations

import numpy as np

from smc.circuit import Netlist
from smc.primitives import kernels
from smc.primitives.hash import Blocks, Hasher, KeySchedule
from smc.session import Session
from smc.yao.tables import TableReader
from smc.yao.walk import Gates, walk


class Evaluator:
    """Evaluates the netlists that the peer garbles, in the same order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._keys = KeySchedule(session, "garble")
        self._hasher = Hasher(2)

    def evaluate(self, netlist: Netlist, inputs: Blocks) -> Blocks:
        """Active labels uint64[inputs, batch, 2] in, active labels uint64[outputs, batch, 2] out."""
        reader = TableReader(self._session, netlist.and_count * inputs.shape[1])
        one = np.zeros(2, dtype=np.uint64)  # the garbler's zero label of constant 1 is delta
        return walk(netlist, inputs, one, lambda state, gates: self._and(state, gates, reader))

    def _and(self, state: Blocks, gates: Gates, reader: TableReader) -> None:
        count = len(gates) * (state.shape[1] // 2)
        cipher, first = self._keys.take(count)
        hasher = self._hasher
        kernels.gather_evaluator(state, gates, hasher.blocks)
        hasher.run(cipher, 2 * count, 2 * first, 1)
        kernels.finish_evaluator(state, gates, hasher.once, hasher.twice, reader.take(count))
