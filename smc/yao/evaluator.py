"""Evaluator: one active label for each wire. See `smc.yao.garbler`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smc.circuit import Netlist
from smc.hashing import Blocks, KeySchedule
from smc.primitives.arrays import Octets
from smc.recipes import Garbling
from smc.session import Session
from smc.yao.schemes import SCHEMES
from smc.yao.walk import Piece, walk


class Evaluator:
    """Evaluator of the netlists that the peer garbles, in the garbler's order."""

    def __init__(self, session: Session, scheme: Garbling = "half") -> None:
        self._session = session
        self._scheme = SCHEMES[scheme]
        self._keys = KeySchedule(session, "garble")

    def evaluate(self, netlist: Netlist, inputs: Sequence[Blocks], batch: int) -> Blocks:
        """Evaluate a netlist on active labels, while its tables arrive.

        Args:
            netlist: The circuit; equal at both parties.
            inputs: Active labels of each input argument, uint64[width, batch, 2].
            batch: Number of instances.

        Returns:
            Active labels of the outputs, uint64[outputs, batch, 2].
        """
        true_label = np.zeros(2, dtype=np.uint64)  # the garbler's zero label of constant 1 is delta
        return walk(netlist, inputs, batch, true_label, self.piece)

    def piece(self, state: Blocks, piece: Piece) -> None:
        """Receive the tables of a piece and evaluate it.

        Args:
            state: Active labels by slot, uint64[slots, 2 instances]; changed in place.
            piece: The gates and instances.
        """
        tables = np.empty(0, dtype=np.uint8)
        if piece.rows:
            tables = self._session.receive("yao.tables", np.uint8, (piece.rows * self._scheme.row_bytes,))
        self._evaluate(state, piece, tables)

    def _evaluate(self, state: Blocks, piece: Piece, tables: Octets) -> None:
        keys, tweak = self._keys.take(piece.numbers)
        self._scheme.evaluate(state, piece, keys, tweak, tables)
