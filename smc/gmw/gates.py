"""AND gates on XOR shares. Two ways, one interface: all gates of a circuit, on a state of shares.

Goldreich, Micali, Wigderson, "How to Play any Mental Game" (STOC 1987).

Cost of a layer of g AND gates on a batch of b, where b counts as the next multiple of 8 from 64 instances on
(`smc.gmw.rows`): with triples ceil(2 g b / 8) bytes and one message each way, one round, besides g b triples made ahead
for the whole circuit at once. Straight from 1-out-of-4 OT: two correlated OTs a gate, chosen by party 1, and
ceil(4 g b / 8) bytes from party 0, one round; here b is the batch as it is. XOR, NOT and both parties' inputs are free;
opening m bits to both costs ceil(m / 8) bytes and one message each way.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from smc import kernels
from smc.circuit import Layer, Netlist
from smc.gmw.rows import BatchLayout, State
from smc.gmw.triples import TripleSource
from smc.ot import Transfers
from smc.primitives.bits import BitMatrix
from smc.session import Session

_END = Layer(*np.empty((2, 0, 3), dtype=np.int32))  # a layer without gates, to finish the last one


class AndGates(Protocol):
    """A way to do AND gates, and with them a circuit."""

    def stock(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Do for a later run what can be done ahead, besides what has been done for others."""

    def prepare(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Do for the next run what can be done ahead and has not been done yet."""

    def run(self, netlist: Netlist, state: State, rows: BatchLayout) -> None:
        """Run all gates of the netlist on the state, which holds this party's shares of constants and inputs."""


class TripleGates:
    """From precomputed triples (Beaver, CRYPTO 1991): two bits each way a gate, one round a layer.

    The parties open d = x xor a and e = y xor b, uniform and independent of x, y; then
    x y = c xor d b xor e a xor d e.
    """

    source = TripleSource

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._source = self.source(session, transfers)

    def stock(self, netlist: Netlist, rows: BatchLayout) -> None:
        """See `AndGates.stock`."""
        self._source.stock(_triple_bytes(netlist, rows))

    def prepare(self, netlist: Netlist, rows: BatchLayout) -> None:
        """See `AndGates.prepare`."""
        self._source.reserve(_triple_bytes(netlist, rows))

    def run(self, netlist: Netlist, state: State, rows: BatchLayout) -> None:
        """See `AndGates.run`."""
        session = self._session
        triples, first = self._source.take(_triple_bytes(netlist, rows))
        message = np.empty(max(rows.message_bytes(len(layer.ands)) for layer in (_END, *netlist.layers)), np.uint8)
        peer, closing = message[:0], _END.ands
        for layer in (*netlist.layers, _END):
            self._step(
                state, closing, layer.xors, layer.ands,
                rows.bits(1), rows.packed, triples, first, message, peer, session.party,
            )  # fmt: skip
            first += rows.triple_bytes(len(closing))
            closing = layer.ands
            if len(closing):
                opening = message[: rows.message_bytes(len(closing))]
                session.send("gmw.open", opening)
                peer = session.receive("gmw.open", np.uint8, opening.shape)

    def _step(self, *arguments: Any) -> None:
        """Finish the AND gates that were opened, do a layer's XOR gates and begin its AND gates."""
        kernels.gmw_step(*arguments)


def _triple_bytes(netlist: Netlist, rows: BatchLayout) -> int:
    return sum(rows.triple_bytes(len(layer.ands)) for layer in netlist.layers)


class TableGates:
    """Straight from 1-out-of-4 OT, with any OT: party 0 offers its four-row table, party 1 chooses with its shares.

    Row (x1, y1) holds r xor (x0 xor x1)(y0 xor y1) for a random bit r, which is party 0's share.
    """

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers

    def stock(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Do nothing: nothing can be done ahead."""

    def prepare(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Do nothing: nothing can be done ahead."""

    def run(self, netlist: Netlist, state: State, rows: BatchLayout) -> None:
        """See `AndGates.run`."""
        for layer in netlist.layers:
            kernels.gmw_xor(state, layer.xors)
            if len(layer.ands):
                out, left, right = layer.ands.T
                rows.put(state, out, self._multiply(rows.get(state, left), rows.get(state, right)))

    def _multiply(self, x: BitMatrix, y: BitMatrix) -> BitMatrix:
        """Multiply: return shares of x y from shares of x and y, uint8 of one shape."""
        if self._session.party == 0:
            share = self._session.prg.bits(x.size)
            left, right = x.reshape(-1), y.reshape(-1)
            rows = [share ^ ((left ^ x1) & (right ^ y1)) for x1 in (0, 1) for y1 in (0, 1)]
            self._transfers.sender.chosen_bits(np.stack(rows).astype(np.uint8))
        else:
            share = self._transfers.receiver.chosen_bits((2 * x + y).reshape(-1).astype(np.uint8), 4)
        return share.reshape(x.shape)
