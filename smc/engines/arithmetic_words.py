"""Integers as additive shares modulo 2^64, next to a Boolean engine whose bits come as XOR shares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from smc.arithmetic import bits_to_shares, product
from smc.circuit import Builder, Form, Netlist
from smc.engines.interface import Bits, Engine
from smc.engines.words import Choice, Groups, Prices, Word, Words
from smc.ot import Transfers
from smc.primitives import bits as bitpack


@lru_cache(maxsize=64)
def _adder(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(builder.input(width) + builder.input(width))
    return builder.build()


class ArithmeticWords(Words):
    """`Word.data` is this party's share, uint64[batch]. Sums are local; widths only matter on the way back to bits."""

    def __init__(self, engine: Engine, transfers: Transfers, prices: Prices) -> None:
        self.prices = prices
        self._engine = engine
        self._transfers = transfers

    def select(self, choices: Sequence[Choice], width: int) -> list[list[Word]]:
        """See `Words.select`: every bit becomes a share once, all in one batch; then any number of tables is local."""
        onehots = Bits.stack([choice.onehot for choice in choices])
        shares = bits_to_shares(self._transfers, self._engine.shares(onehots))
        selected = []
        for choice in choices:
            own, shares = shares[: choice.onehot.width], shares[choice.onehot.width :]
            selected.append([Word(_modular(table) @ own, width) for table in choice.tables])
        return selected

    def multiply(self, factor: Bits, offset: int, word: Word, width: int) -> Word:
        """See `Words.multiply`."""
        share = product(self._transfers, self._engine.shares(factor), word.data)
        return Word(share - np.uint64(offset) * word.data, width)

    def add(self, left: Word, right: Word, width: int) -> Word:
        """See `Words.add`. Local."""
        return Word(left.data + right.data, width)

    def subtract(self, left: Word, right: Word, width: int) -> Word:
        """See `Words.subtract`. Local."""
        return Word(left.data - right.data, width)

    def join(self, parts: Sequence[Word]) -> Word:
        """See `Words.join`."""
        return Word(np.concatenate([part.data for part in parts]), parts[0].width)

    def total(self, word: Word, groups: Groups, width: int) -> Word:
        """See `Words.total`. Local."""
        padded = np.append(word.data, np.uint64(0))  # member -1 is the last instance: the zero
        return Word(padded[groups].sum(axis=1, dtype=np.uint64), width)

    def bits(self, word: Word) -> Bits:
        """See `Words.bits`: an adder circuit over the two shares, cut to the width."""
        own = bitpack.from_integers(word.data, word.width)
        return self._engine.run(_adder(word.width, self._engine.form), *self._engine.both(own))[0]


def _modular(table: Sequence[int]) -> np.ndarray:
    return np.array([int(entry) % (1 << 64) for entry in table], dtype=np.uint64)
