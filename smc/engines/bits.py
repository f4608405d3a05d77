"""Batches of secret bits, independent of the content of an engine's cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bits:
    """Batch of secret bit strings: `data` is [width, batch, ...]; the engine defines the content of a cell."""

    data: NDArray[Any]

    @property
    def width(self) -> int:
        """Number of bits of one instance."""
        return int(self.data.shape[0])

    @property
    def batch(self) -> int:
        """Number of instances."""
        return int(self.data.shape[1])

    def __getitem__(self, rows: slice) -> Bits:
        """Return some of the bits of every instance."""
        return Bits(self.data[rows])

    def __xor__(self, other: Bits) -> Bits:
        """XOR bit by bit, locally: on every engine the cell of an XOR is the XOR of the cells."""
        return Bits(self.data ^ other.data)

    def take(self, instances: NDArray[np.intp] | slice) -> Bits:
        """Return some of the instances (public indices) in the order of the indices; repeats are allowed."""
        return Bits(self.data[:, instances])

    @staticmethod
    def join(parts: Sequence[Bits]) -> Bits:
        """Concatenate the instances of the parts into a longer batch."""
        return Bits(np.concatenate([part.data for part in parts], axis=1))
