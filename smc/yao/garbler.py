"""Garbler: free XOR and point-and-permute, AND gates by a scheme of `smc.yao.schemes`.

Paper: Kolesnikov, Schneider, "Improved Garbled Circuit: Free XOR Gates and Applications" (ICALP 2008). The labels of a
wire are label and label xor delta; the lowest bit of a label is its permutation bit (colour).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smc.circuit import Netlist
from smc.hashing import Blocks, KeySchedule
from smc.primitives.arrays import Octets
from smc.recipes import Garbling
from smc.session import Session
from smc.yao.schemes import SCHEMES
from smc.yao.walk import ROWS, Piece, walk


class Garbler:
    """Garbler of netlists, one after another, under one secret `delta` (uint64[2], lowest bit 1)."""

    def __init__(self, session: Session, delta: Blocks, scheme: Garbling = "half") -> None:
        self._session = session
        self._delta = delta
        self._scheme = SCHEMES[scheme]
        self._keys = KeySchedule(session, "garble")
        self._tables = np.empty(ROWS * self._scheme.row_bytes, dtype=np.uint8)

    def garble(self, netlist: Netlist, inputs: Sequence[Blocks], batch: int) -> Blocks:
        """Garble a netlist, and send its tables piece by piece.

        Args:
            netlist: The circuit; equal at both parties.
            inputs: Zero labels of each input argument, uint64[width, batch, 2].
            batch: Number of instances.

        Returns:
            Zero labels of the outputs, uint64[outputs, batch, 2].
        """
        # Constant 1: the evaluator's active label is 0, so the zero label is delta.
        return walk(netlist, inputs, batch, self._delta, self.piece)

    def piece(self, state: Blocks, piece: Piece) -> None:
        """Garble a piece and send its tables.

        Args:
            state: Zero labels by slot, uint64[slots, 2 instances]; changed in place.
            piece: The gates and instances.
        """
        tables = self._tables[: piece.rows * self._scheme.row_bytes]
        self._garble(state, piece, tables)
        if piece.rows:
            self._session.send("yao.tables", tables)  # the next piece is garbled while this message is in transit

    def _garble(self, state: Blocks, piece: Piece, tables: Octets) -> None:
        keys, tweak = self._keys.take(piece.numbers)
        self._scheme.garble(state, piece, keys, tweak, self._delta, self._session.prg, tables)
