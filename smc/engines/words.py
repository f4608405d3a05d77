"""Secret signed integers, in two representations behind one interface.

`CircuitWords` keeps them as bits of the engine and computes with circuits; `ArithmeticWords` keeps additive shares
modulo 2^64 and computes with oblivious transfer. A `Word` carries a public width: its value, in two's complement, fits
that many bits. The caller answers for the widths it asks for; sums and products are taken modulo 2^width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.engines.bits import Bits
from smc.recipes import Prices

MAX_WIDTH = 64
Groups = NDArray[np.intp]


@dataclass(frozen=True)
class Word:
    """A batch of secret signed integers of at most `width` bits; `data` belongs to the representation."""

    data: Any
    width: int

    def take(self, instances: NDArray[np.intp] | slice) -> Word:
        """Take some of the instances (public indices), in the order given; repeats are allowed."""
        if isinstance(self.data, tuple):
            return Word(tuple(part.take(instances) for part in self.data), self.width)
        return Word(self.data[instances], self.width)


@dataclass(frozen=True)
class Choice:
    """Secret one-hot bits (at most one is 1) and public tables of as many integer entries to choose from.

    Where the entries of a table have no bit in common, any bits may be 1: what is found is the sum of their entries.
    """

    onehot: Bits
    tables: Sequence[Sequence[int]]


def whole(summands: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return integers as their residues modulo 2^64. ValueError for an array of another type: it would be cut."""
    if summands.dtype.kind not in "iu":
        raise ValueError(f"an input must be integers, got {summands.dtype}")
    return summands.astype(np.uint64)


class Words(ABC):
    """Arithmetic on batches of secret integers."""

    prices: Prices

    @abstractmethod
    def input(self, summands: NDArray[np.int64], width: int) -> Word:
        """Return the sums of both parties' own integers, int64[batch] each, which must fit the width."""

    @abstractmethod
    def select(self, choices: Sequence[Choice], width: int) -> list[list[Word]]:
        """Select the entry that the one-hot bits point at (0 if none) from each public table of each choice."""

    @abstractmethod
    def multiply(self, factor: Bits, offset: int, word: Word, width: int) -> Word:
        """Return (factor - offset) * word, where `factor` is an unsigned secret bit string and `offset` public."""

    @abstractmethod
    def add(self, left: Word, right: Word, width: int) -> Word:
        """Return left + right."""

    @abstractmethod
    def subtract(self, left: Word, right: Word, width: int) -> Word:
        """Return left - right."""

    @abstractmethod
    def join(self, parts: Sequence[Word]) -> Word:
        """Join into a longer batch the parts' instances one after another; all of one width."""

    @abstractmethod
    def total(self, word: Word, groups: Groups, width: int) -> Word:
        """Sum over groups of instances: intp[number of groups, members], -1 for no member."""

    @abstractmethod
    def bits(self, word: Word) -> Bits:
        """Return the two's-complement bits, `word.width` of them."""
