"""Layout of the bits of a batch in memory and on the wire.

The layout follows from the public batch size. From `PACKED` instances on, eight instances share a byte, and a gate
takes whole bytes. Smaller batches take a byte for each instance in memory. On the wire and in the triples their bits
follow each other without a gap, so a batch of one does not pay for eight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smc.primitives.bits import BitMatrix

PACKED = 64  # from this batch size on, whole bytes for a gate cost at most an eighth more
VECTOR_BYTES = 64  # rows are padded to the size of the kernels' vectors

State = NDArray[np.uint8]
Slots = NDArray[np.int32] | slice


@dataclass(frozen=True)
class BatchLayout:
    """Layout of a batch: a state is uint8[slots, row], a row is whole vectors; padding has no meaning."""

    batch: int

    @property
    def packed(self) -> bool:
        """True if a byte holds eight instances."""
        return self.batch >= PACKED

    @property
    def row_bytes(self) -> int:
        """Number of bytes of a row, without its padding."""
        return (self.batch + 7) // 8 if self.packed else self.batch

    def bits(self, gates: int) -> int:
        """Return the number of bits that `gates` gates or stars take in a message or in a part of the triples."""
        return gates * (8 * self.row_bytes if self.packed else self.batch)

    def octets(self, gates: int) -> int:
        """Return the number of bytes that hold the bits of `gates` gates or stars."""
        return (self.bits(gates) + 7) // 8

    def state(self, slots: int) -> State:
        """Return the wires' shares at the start of a run: zeros, by slot."""
        return np.zeros((slots, -(-self.row_bytes // VECTOR_BYTES) * VECTOR_BYTES), dtype=np.uint8)

    def put(self, state: State, slots: Slots, bits: BitMatrix) -> None:
        """Write bits into some rows of a state.

        Args:
            state: Shares, uint8[slots, row]; changed in place.
            slots: The rows to write, n slot numbers or a slice.
            bits: uint8[n, batch] of 0 and 1.
        """
        if self.packed:
            bits = np.packbits(bits, axis=1, bitorder="little")
        state[slots, : self.row_bytes] = bits

    def get(self, state: State, slots: Slots) -> BitMatrix:
        """Read some rows of a state as uint8[n, batch] of 0 and 1.

        Args:
            state: Shares, uint8[slots, row].
            slots: The rows to read, n slot numbers or a slice.
        """
        rows = state[slots, : self.row_bytes]
        return np.unpackbits(rows, axis=1, count=self.batch, bitorder="little") if self.packed else rows
