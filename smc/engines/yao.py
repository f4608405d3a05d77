"""Yao engine: garbled circuits; party 0 garbles, party 1 evaluates.

Ideal functionality: the netlist's outputs as XOR shares (or opened by `reveal`), nothing else. Leakage: netlist and
batch size, both public. The number of rounds is constant: tables are sent one way, and the messages for the evaluator's
inputs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc import kernels
from smc.circuit import Netlist
from smc.engines.bits import Bits
from smc.engines.interface import XorSharedEngine
from smc.hashing import Blocks
from smc.ot import Transfers
from smc.primitives.bits import BitMatrix
from smc.primitives.prg import Prg
from smc.recipes import Garbling
from smc.session import Session
from smc.yao.evaluator import Evaluator
from smc.yao.garbler import Garbler


class YaoEngine(XorSharedEngine):
    """Engine whose cells are labels: the garbler's zero label, the evaluator's active label, uint64[2]."""

    comfortable = 1 << 19  # 8 MiB of labels: memory that is reused instead of newly allocated
    garbler = Garbler
    evaluator = Evaluator

    def __init__(self, session: Session, transfers: Transfers, scheme: Garbling = "half") -> None:
        super().__init__(session)
        self._transfers = transfers
        # One delta for garbling and correlated OT: the outputs of the OT are then the evaluator's input labels.
        garbling = session.party == 0
        self._work = (
            self.garbler(session, transfers.sender.delta, scheme).garble
            if garbling
            else self.evaluator(session, scheme).evaluate
        )
        # The active labels of the garbler's inputs are public and pseudo-random, so nothing is sent for them: only the
        # garbler knows the value of each (zero label = active label xor value delta).
        self._public_labels = Prg(session.derive("garbler's active input labels"))

    @override
    def _expect(self, bits: int) -> None:
        """Use the hint: each bit of the evaluator takes an OT."""
        (self._transfers.sender if self.party == 0 else self._transfers.receiver).expect(bits)

    @override
    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        """Enter bits; each bit of party 1 takes one correlated OT."""
        if owner == 0:
            labels = self._garblers_labels(bits, width * batch)
        elif self.party == 0:
            labels = self._transfers.sender.correlated(width * batch)
        else:
            assert bits is not None
            labels = self._transfers.receiver.correlated(bits.reshape(-1))
        return self._cells(labels, width, batch)

    def _garblers_labels(self, bits: BitMatrix | None, count: int) -> Blocks:
        labels = self._public_labels.words(count, 2)
        if bits is not None:
            self._add_delta(labels, bits)
        return labels

    def _cells(self, labels: Blocks, width: int, batch: int) -> Bits:
        return Bits(labels.reshape(width, batch, 2))

    @override
    def _constant(self, bits: BitMatrix) -> Bits:
        """Enter public bits: the active label is 0, the zero label is delta where the bit is 1."""
        labels = np.zeros((*bits.shape, 2), dtype=np.uint64)
        if self.party == 0:
            self._add_delta(labels.reshape(-1, 2), bits)
        return Bits(labels)

    def _add_delta(self, labels: Blocks, bits: BitMatrix) -> None:
        """Set labels[i] ^= bits[i] * delta, in place."""
        flat = np.ascontiguousarray(bits.reshape(-1), dtype=np.uint8)
        kernels.add_delta(labels, flat, self._transfers.sender.delta)

    def _execute(self, netlist: Netlist, inputs: Sequence[NDArray[Any]], batch: int) -> NDArray[Any]:
        return self._work(netlist, inputs, batch)

    @override
    def shares(self, bits: Bits) -> BitMatrix:
        """Return XOR shares: the permutation bits of the labels."""
        return (bits.data[..., 0] & np.uint64(1)).astype(np.uint8)
