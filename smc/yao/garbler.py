"""The garbler: half-gates with free XOR and point-and-permute, 32 bytes an AND gate.

Papers: Kolesnikov, Schneider (ICALP 2008, free XOR); Zahur, Rosulek, Evans, "Two Halves Make a Whole" (EUROCRYPT
2015, half-gates). Wire values are label, label xor delta; the lowest bit of a label is its permute bit.
"""

from __future__ import annotations

from smc.circuit import Netlist
from smc.primitives import kernels
from smc.primitives.hash import Blocks, Hasher, KeySchedule
from smc.session import Session
from smc.yao.tables import TableWriter
from smc.yao.walk import Gates, walk


class Garbler:
    """Garbles netlists one after another under one secret `delta` (uint64[2], lowest bit 1)."""

    def __init__(self, session: Session, delta: Blocks) -> None:
        self._session = session
        self._delta = delta
        self._keys = KeySchedule(session, "garble")
        self._hasher = Hasher(4)

    def garble(self, netlist: Netlist, inputs: Blocks) -> Blocks:
        """Stream the tables; zero labels uint64[inputs, batch, 2] in, zero labels uint64[outputs, batch, 2] out."""
        writer = TableWriter(self._session)
        # Constant 1: the evaluator's active label is 0, so the zero label is delta.
        outputs = walk(netlist, inputs, self._delta, lambda state, gates: self._and(state, gates, writer))
        writer.flush()
        return outputs

    def _and(self, state: Blocks, gates: Gates, writer: TableWriter) -> None:
        count = len(gates) * (state.shape[1] // 2)
        cipher, first = self._keys.take(count)
        hasher = self._hasher
        kernels.gather_garbler(state, gates, self._delta, hasher.blocks)
        hasher.run(cipher, 4 * count, 2 * first, 2)
        tables = writer.take(count)
        kernels.finish_garbler(state, gates, self._delta, hasher.once, hasher.twice, tables)
