"""AND gates on XOR shares in two ways behind one interface: all gates of a circuit, on a state of shares.

Goldreich, Micali, Wigderson, "How to Play any Mental Game" (STOC 1987).

Cost of a layer of g AND gates on a batch of b instances, if s stars begin with the layer. A star (`smc.circuit.stars`)
is the gates with one operand in common; without stars s = g. From 64 instances on, b is rounded up to a multiple of 8
(`smc.gmw.rows`). With triples, the layer costs ceil((s + g) b / 8) bytes and one message each way, one round. It also
takes s b triples. They are made ahead for the whole circuit at once, and the number of each width is rounded up to a
multiple of 8. Directly by 1-out-of-4 OT, the layer costs two correlated OTs a gate, chosen by party 1. Party 0 then
sends ceil(4 g b / 8) bytes, one round; here b is not rounded. XOR, NOT and both parties' inputs are free. Opening m
bits to both costs ceil(m / 8) bytes and one message each way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from smc import kernels
from smc.circuit import Layer, Netlist
from smc.circuit.stars import MOST, Places, Stars
from smc.gmw.rows import BatchLayout, State
from smc.gmw.triples import WIDTHS, Counts, TripleSource
from smc.ot import Transfers
from smc.ot.interface import Choices
from smc.primitives.bits import BitMatrix
from smc.session import Session

_END = Layer(*np.empty((2, 0, 3), dtype=np.int32))  # layer without gates, which finishes the last one
assert WIDTHS[-1] == MOST


class AndGates(Protocol):
    """Method to compute the AND gates of a circuit, and with them the circuit."""

    def stock(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Prepare material for a later run, in addition to the material prepared for other runs.

        Args:
            netlist: The circuit of the later run.
            rows: The layout of its batch.
        """

    def prepare(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Prepare the missing material of the next run.

        Args:
            netlist: The circuit of the next run.
            rows: The layout of its batch.
        """

    def run(self, netlist: Netlist, state: State, rows: BatchLayout) -> None:
        """Run all gates of a netlist.

        Args:
            netlist: The circuit.
            state: This party's shares of constants and inputs by slot, uint8[slots, row]; changed in place.
            rows: The layout of the batch.
        """


class TripleGates:
    """AND gates from triples (Beaver, CRYPTO 1991): one bit each way for each star and gate, one round for each layer.

    For each star the parties open d = x xor a, and for each of its gates e = y xor b. Both are uniform and independent
    of x and y. Then x y = c xor d b xor e a xor d e.
    """

    source = TripleSource

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._source = self.source(session, transfers)

    def stock(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Make the triples of a later run, in addition to those made for other runs.

        Args:
            netlist: The circuit of the later run.
            rows: The layout of its batch.
        """
        self._source.stock(_triples(netlist.stars, rows))

    def prepare(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Make the triples of the next run that are not stored yet.

        Args:
            netlist: The circuit of the next run.
            rows: The layout of its batch.
        """
        self._source.reserve(_triples(netlist.stars, rows))

    def run(self, netlist: Netlist, state: State, rows: BatchLayout) -> None:
        """Run all gates of a netlist; `prepare` must have made its triples.

        Args:
            netlist: The circuit.
            state: This party's shares by slot, uint8[slots, row]; changed in place.
            rows: The layout of the batch.

        Raises:
            ValueError: The store has too few triples.
        """
        session, stars = self._session, netlist.stars
        counts = _triples(stars, rows)
        a, b, c = self._source.take(counts)
        centres, gates = self._places(stars, rows, counts)
        opened = np.empty_like(a)  # d of all stars
        star_ends, gate_ends = ((*ends, ends[-1]) for ends in (stars.star_ends, stars.gate_ends))
        layers = [
            (layer.xors, centres[start:stop], gates[begin:end])
            for layer, (start, stop), (begin, end) in zip(
                (*netlist.layers, _END), pairwise(star_ends), pairwise(gate_ends), strict=True
            )
        ]
        message = np.empty(max(rows.octets(len(first) + len(ands)) for _, first, ands in layers), np.uint8)
        peer = message[:0]
        closing = list(layers[-1][1:])
        for xors, *opening in layers:
            self._step(
                state,
                *closing,
                xors,
                *opening,
                rows.bits(1),
                rows.packed,
                a,
                b,
                c,
                opened,
                message,
                peer,
                session.party,
            )
            closing = opening
            if size := rows.octets(sum(map(len, opening))):
                session.send("gmw.open", message[:size])
                peer = session.receive("gmw.open", np.uint8, (size,))

    def _places(self, stars: Stars, rows: BatchLayout, counts: Counts) -> tuple[Places, Places]:
        """Return the kernel's arguments for stars and gates: slots, and positions of their bits in the triples."""
        width, rank = _widths(stars)
        first_a = 8 * (np.cumsum(counts) - counts)
        first_b = 8 * (np.cumsum(WIDTHS * counts) - WIDTHS * counts)
        along = rank * rows.bits(1)
        of_star = first_a[width] + along
        of_gate = (first_b[width] + along)[stars.star] + 8 * stars.leaf * counts[width][stars.star]
        return (
            np.stack([stars.centres.astype(np.int64), of_star], axis=1),
            np.column_stack([stars.gates.astype(np.int64), of_star[stars.star], of_gate]),
        )

    def _step(self, *arguments: Any) -> None:
        """Finish the AND gates whose bits are opened, compute a layer's XOR gates and begin its AND gates."""
        kernels.gmw_step(*arguments)


def _widths(stars: Stars) -> tuple[Places, Places]:
    """Return for each star the index of its triple's width in `WIDTHS`, and its index among the stars of that width."""
    width = np.searchsorted(WIDTHS, stars.sizes)
    rank = np.empty_like(width)
    for number in range(len(WIDTHS)):
        same = np.flatnonzero(width == number)
        rank[same] = np.arange(len(same))
    return width, rank


def _triples(stars: Stars, rows: BatchLayout) -> Counts:
    """Return the number of triples of each width that a run takes, divided by 8 and rounded up."""
    numbers = np.bincount(np.searchsorted(WIDTHS, stars.sizes), minlength=len(WIDTHS))
    return (numbers * rows.bits(1) + 7) // 8


class TableGates:
    """AND gates directly by 1-out-of-4 OT of any kind: party 0 sends its four-row table, party 1 chooses by its shares.

    Row (x1, y1) holds r xor (x0 xor x1)(y0 xor y1). The random bit r is party 0's share.
    """

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers

    def stock(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Do nothing: no OT can be made ahead here.

        Args:
            netlist: The circuit; not used.
            rows: The layout of the batch; not used.
        """

    def prepare(self, netlist: Netlist, rows: BatchLayout) -> None:
        """Do nothing: no OT can be made ahead here.

        Args:
            netlist: The circuit; not used.
            rows: The layout of the batch; not used.
        """

    def run(self, netlist: Netlist, state: State, rows: BatchLayout) -> None:
        """Run all gates of a netlist, layer by layer.

        Args:
            netlist: The circuit.
            state: This party's shares by slot, uint8[slots, row]; changed in place.
            rows: The layout of the batch.
        """
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
            self._offer(np.stack(rows).astype(np.uint8))
        else:
            share = self._choose((2 * x + y).reshape(-1).astype(np.uint8))
        return share.reshape(x.shape)

    def _offer(self, rows: BitMatrix) -> None:
        """Offer the tables of all gates, uint8[4, gates]: row 2 x1 + y1."""
        self._transfers.sender.chosen_bits(rows)

    def _choose(self, rows: Choices) -> Choices:
        """Receive one row of each gate's table, uint8[gates]."""
        return self._transfers.receiver.chosen_bits(rows, 4)
