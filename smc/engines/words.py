"""Secret signed integers, in two representations behind one interface.

`CircuitWords` keeps them as bits of the engine and computes with circuits. `ArithmeticWords` keeps additive shares
modulo 2^64 and computes with oblivious transfer. A `Word` has a public width: its value, in two's complement, fits that
number of bits. The caller must pass sufficient widths; sums and products are taken modulo 2^width.
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
    """Batch of secret signed integers of at most `width` bits; the content of `data` depends on the representation."""

    data: Any
    width: int

    def take(self, instances: NDArray[np.intp] | slice) -> Word:
        """Return some of the instances (public indices) in the order of the indices; repeats are allowed."""
        if isinstance(self.data, tuple):
            return Word(tuple(part.take(instances) for part in self.data), self.width)
        return Word(self.data[instances], self.width)


@dataclass(frozen=True)
class Choice:
    """Table look-up by secret one-hot bits: public tables with one integer for each bit, at most one bit is 1.

    If no two entries of a table have a 1 at one bit position, any number of the bits may be 1: the result is then the
    sum of their entries.
    """

    onehot: Bits
    tables: Sequence[Sequence[int]]


def whole(summands: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the integers modulo 2^64.

    Raises:
        ValueError: The array has no integer type; a conversion would truncate its values.
    """
    if summands.dtype.kind not in "iu":
        raise ValueError(f"an input must be integers, got {summands.dtype}")
    return summands.astype(np.uint64)


class Words(ABC):
    """Interface for arithmetic on batches of secret integers."""

    prices: Prices

    @abstractmethod
    def input(self, summands: NDArray[np.int64], width: int) -> Word:
        """Return secret integers, each the sum of this party's integer and the peer's.

        Args:
            summands: This party's integers, an integer array [batch]; the batch is equal at both parties.
            width: Bits that hold each sum in two's complement, 64 at most; public. The caller must ensure that they
                suffice.

        Raises:
            ValueError: `summands` is not an array of integers.
        """

    @abstractmethod
    def select(self, choices: Sequence[Choice], width: int) -> list[list[Word]]:
        """Return the entry of each public table that the one-hot bits select.

        Args:
            choices: One-hot bits, and public tables equal at both parties.
            width: Bits that hold every entry in two's complement, 64 at most.

        Returns:
            One list a choice, with one `Word` a table. The value is 0 where no bit is 1.
        """

    @abstractmethod
    def multiply(self, factor: Bits, offset: int, word: Word, width: int) -> Word:
        """Return (factor - offset) * word.

        Args:
            factor: Secret bits of an unsigned integer, of the batch of `word`.
            offset: A public integer, subtracted from the factor.
            word: The other secret factor.
            width: Bits of the product, 64 at most; the product is taken modulo 2^width.
        """

    @abstractmethod
    def add(self, left: Word, right: Word, width: int) -> Word:
        """Return left + right.

        Args:
            left: The first summand.
            right: The second summand, of the same batch.
            width: Bits that hold the sum, 64 at most; it is taken modulo 2^width.
        """

    @abstractmethod
    def subtract(self, left: Word, right: Word, width: int) -> Word:
        """Return left - right.

        Args:
            left: The minuend.
            right: The subtrahend, of the same batch.
            width: Bits that hold the difference, 64 at most; it is taken modulo 2^width.
        """

    @abstractmethod
    def join(self, parts: Sequence[Word]) -> Word:
        """Concatenate the instances of the parts into a longer batch; all parts have one width."""

    @abstractmethod
    def total(self, word: Word, groups: Groups, width: int) -> Word:
        """Return the sums over groups of instances.

        Args:
            word: The secret summands.
            groups: Public instance numbers, intp[number of groups, members]; -1 is an empty member.
            width: Bits that hold each sum, 64 at most; it is taken modulo 2^width.

        Returns:
            One instance a group; 0 for a group without members.
        """

    @abstractmethod
    def bits(self, word: Word) -> Bits:
        """Return the two's-complement bits, `word.width` of them."""
