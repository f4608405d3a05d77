"""The GMW engine: XOR shares, AND gates from oblivious transfer; one round an AND level.

Ideal functionality: the netlist's outputs as XOR shares (or opened by `reveal`), nothing else. Leakage: netlist and
batch size, both public.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Netlist
from smc.circuit.netlist import FIRST_INPUT
from smc.engines.interface import Bits, Engine
from smc.gmw.gates import AndGates
from smc.primitives import kernels
from smc.primitives.bits import BitMatrix
from smc.session import Session

LIVE_SHARES = 1 << 26  # slots times instances worked on at once: 64 MiB


class GmwEngine(Engine):
    """Cells are XOR shares, uint8 0 or 1."""

    def __init__(self, session: Session, gates: AndGates) -> None:
        super().__init__(session)
        self._gates = gates

    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        """See `Engine.input`: the owner's share is the bit, the other's is 0; nothing is sent.

        A share need not be random here: the AND gates mask it, and where one is opened the peer could compute it
        itself, from the opened value and its own share.
        """
        if self.party == owner:
            assert bits is not None
            return Bits(bits.astype(np.uint8))
        return Bits(np.zeros((width, batch), dtype=np.uint8))

    def constant(self, bits: BitMatrix) -> Bits:
        """See `Engine.constant`: party 0 holds the bit."""
        return Bits(bits if self.party == 0 else np.zeros_like(bits))

    def _execute(self, netlist: Netlist, inputs: NDArray[Any]) -> NDArray[Any]:
        batch = inputs.shape[1]
        outputs = np.empty((len(netlist.outputs), batch), dtype=np.uint8)
        size = max(1, LIVE_SHARES // netlist.slots)
        for start in range(0, batch, size):
            part = slice(start, min(start + size, batch))
            outputs[:, part] = self._chunk(netlist, inputs[:, part])
        return outputs

    def _chunk(self, netlist: Netlist, inputs: NDArray[Any]) -> NDArray[np.uint8]:
        batch = inputs.shape[1]
        self._gates.prepare(netlist.and_count * batch)
        state = np.zeros((netlist.slots, batch), dtype=np.uint8)
        state[1] = 1 - self.party
        state[FIRST_INPUT : FIRST_INPUT + len(inputs)] = inputs
        for layer in netlist.layers:
            kernels.xor_rows(state, layer.xors)
            if len(layer.ands):
                out, left, right = layer.ands.T
                state[out] = self._gates.multiply(state[left], state[right])
        return state[netlist.outputs]

    def shares(self, bits: Bits) -> BitMatrix:
        """See `Engine.shares`."""
        shares: BitMatrix = bits.data
        return shares
