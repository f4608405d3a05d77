"""Batches of secret bits, whatever an engine keeps in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bits:
    """A batch of secret bit strings: `data` is [width, batch, ...]; the engine defines the content of a cell."""

    data: NDArray[Any]

    @property
    def width(self) -> int:
        """Bits of one instance."""
        return int(self.data.shape[0])

    @property
    def batch(self) -> int:
        """Number of instances."""
        return int(self.data.shape[1])

    def __getitem__(self, rows: slice) -> Bits:
        """Take some of the bits of every instance."""
        return Bits(self.data[rows])

    def __xor__(self, other: Bits) -> Bits:
        """XOR bit by bit, local: on every engine the cell of an XOR is the XOR of the cells."""
        return Bits(self.data ^ other.data)

    def take(self, instances: NDArray[np.intp] | slice) -> Bits:
        """Take some of the instances (public indices), in the order given; repeats are allowed."""
        return Bits(self.data[:, instances])

    @staticmethod
    def join(parts: Sequence[Bits]) -> Bits:
        """Join the parts' instances one after another into a longer batch."""
        return Bits(np.concatenate([part.data for part in parts], axis=1))
