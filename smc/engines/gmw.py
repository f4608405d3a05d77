"""GMW engine: XOR shares, AND gates from oblivious transfer; one round for each AND level.

Ideal functionality: the netlist's outputs as XOR shares (or opened by `reveal`), nothing else. Leakage: netlist and
batch size, both public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.circuit import Netlist
from smc.circuit.netlist import FIRST_INPUT
from smc.engines.bits import Bits
from smc.engines.interface import XorSharedEngine
from smc.gmw.gates import AndGates
from smc.gmw.rows import PACKED, BatchLayout
from smc.primitives.bits import BitMatrix, pack, unpack
from smc.session import Session

LIVE_BYTES = 1 << 26  # bytes of the state processed at once
LIVE_TRIPLES = 1 << 25  # triples stored at once: 12 MiB


class GmwEngine(XorSharedEngine):
    """Engine whose cells are XOR shares, uint8 0 or 1.

    `splits_inputs`: both shares of an input are random, and its owner sends one of them, a bit each. False: the owner's
    share is the bit, and nothing is sent. Both are equally secure.
    """

    def __init__(self, session: Session, gates: AndGates, splits_inputs: bool = False) -> None:
        super().__init__(session)
        self._gates = gates
        self.splits_inputs = splits_inputs

    @override
    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        """Enter bits without a message: the owner's share is the bit, the other party's share is 0.

        Here a share need not be random: the AND gates mask it, and the peer could compute an opened share itself, from
        the opened value and its own share.
        """
        if self.splits_inputs:
            return Bits(self._split(bits, width, batch))
        if self.party == owner:
            assert bits is not None
            return Bits(bits.astype(np.uint8))
        return Bits(np.zeros((width, batch), dtype=np.uint8))

    def _split(self, bits: BitMatrix | None, width: int, batch: int) -> BitMatrix:
        """Return this party's random share of an input of the party that passes bits."""
        if bits is None:
            packed = self.session.receive("gmw.input", np.uint8, ((width * batch + 7) // 8,))
            return unpack(packed, width, batch)
        own: BitMatrix = self.session.prg.bits(width * batch).reshape(width, batch)
        self.session.send("gmw.input", pack((bits ^ own).astype(np.uint8)))
        return own

    @override
    def _constant(self, bits: BitMatrix) -> Bits:
        """Enter public bits: party 0 holds the bit, party 1 holds 0."""
        return Bits(bits if self.party == 0 else np.zeros_like(bits))

    @override
    def prepare(self, netlist: Netlist, batch: int) -> None:
        for part in _chunks(netlist, batch):
            self._gates.stock(netlist, BatchLayout(part.stop - part.start))

    def _execute(self, netlist: Netlist, inputs: Sequence[NDArray[Any]], batch: int) -> NDArray[Any]:
        outputs = np.empty((len(netlist.outputs), batch), dtype=np.uint8)
        for part in _chunks(netlist, batch):
            outputs[:, part] = self._chunk(netlist, [shares[:, part] for shares in inputs], part.stop - part.start)
        return outputs

    def _chunk(self, netlist: Netlist, inputs: Sequence[BitMatrix], batch: int) -> BitMatrix:
        rows = BatchLayout(batch)
        self._gates.prepare(netlist, rows)
        state = rows.state(netlist.slots)
        if self.party == 0:
            rows.put(state, slice(1, 2), np.ones((1, rows.batch), dtype=np.uint8))
        slot = FIRST_INPUT
        for shares in inputs:
            rows.put(state, slice(slot, slot + len(shares)), shares)
            slot += len(shares)
        self._gates.run(netlist, state, rows)
        return rows.get(state, netlist.outputs)

    @override
    def shares(self, bits: Bits) -> BitMatrix:
        shares: BitMatrix = bits.data
        return shares


def _chunks(netlist: Netlist, batch: int) -> Iterator[slice]:
    """Yield the instances processed at once, in whole vectors: so cutting the batch adds no bytes on the wire."""
    by_state = 8 * LIVE_BYTES // netlist.slots
    by_triples = LIVE_TRIPLES // max(1, netlist.and_count)
    size = max(PACKED, min(by_state, by_triples) // PACKED * PACKED)
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))
