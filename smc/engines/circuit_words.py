"""Integers as bits of a Boolean engine; every operation is a circuit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from smc.circuit import Builder, Netlist, multiply, parity
from smc.engines.interface import Bits, Engine
from smc.engines.words import Choice, Groups, Word, Words

Table = tuple[int, ...]


@lru_cache(maxsize=64)
def _select_netlist(entries: int, tables: tuple[Table, ...], width: int) -> Netlist:
    """XOR of the entries whose bit is set: free gates only."""
    builder = Builder()
    onehot, zero = builder.input(entries), builder.constant(0, 1)[0]
    for table in tables:
        chosen = [[onehot[i] for i in range(entries) if table[i] >> bit & 1] for bit in range(width)]
        builder.output([parity(wires) if wires else zero for wires in chosen])
    return builder.build()


@lru_cache(maxsize=64)
def _multiply_netlist(factor_width: int, offset: int, word_width: int, width: int) -> Netlist:
    builder = Builder()
    factor = builder.input(factor_width).wide_subtract(offset)
    word = builder.input(word_width).as_signed()
    builder.output(multiply(factor, word, width))
    return builder.build()


@lru_cache(maxsize=64)
def _sum_netlist(left_width: int, right_width: int, width: int, minus: bool) -> Netlist:
    builder = Builder()
    left = builder.input(left_width).as_signed().resize(width)
    right = builder.input(right_width).as_signed().resize(width)
    builder.output(left - right if minus else left + right)
    return builder.build()


class CircuitWords(Words):
    """`Word.data` is `Bits`; works over any Boolean engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def select(self, choices: Sequence[Choice], width: int) -> list[list[Word]]:
        """See `Words.select`."""
        selected = []
        for choice in choices:
            netlist = _select_netlist(choice.onehot.width, tuple(map(tuple, choice.tables)), width)
            selected.append([Word(bits, width) for bits in self._engine.run(netlist, choice.onehot)])
        return selected

    def multiply(self, factor: Bits, offset: int, word: Word, width: int) -> Word:
        """See `Words.multiply`."""
        netlist = _multiply_netlist(factor.width, offset, word.width, width)
        return Word(self._engine.run(netlist, factor, word.data)[0], width)

    def add(self, left: Word, right: Word, width: int) -> Word:
        """See `Words.add`."""
        return self._sum(left, right, width, minus=False)

    def subtract(self, left: Word, right: Word, width: int) -> Word:
        """See `Words.subtract`."""
        return self._sum(left, right, width, minus=True)

    def _sum(self, left: Word, right: Word, width: int, minus: bool) -> Word:
        netlist = _sum_netlist(left.width, right.width, width, minus)
        return Word(self._engine.run(netlist, left.data, right.data)[0], width)

    def join(self, parts: Sequence[Word]) -> Word:
        """See `Words.join`."""
        return Word(Bits.join([part.data for part in parts]), parts[0].width)

    def total(self, word: Word, groups: Groups, width: int) -> Word:
        """See `Words.total`: a tree of adders over the members, log2(members) batches."""
        zero = self._engine.constant(np.zeros((word.width, 1), dtype=np.uint8))
        padded = Bits.join([word.data, zero])  # member -1 is the last instance: the zero
        columns = [Word(padded.take(groups[:, i]), word.width) for i in range(groups.shape[1])]
        if not columns:
            columns = [Word(padded.take(np.full(len(groups), -1)), word.width)]
        while len(columns) > 1:
            half = len(columns) // 2
            left, right = (self.join(columns[start : start + half]) for start in (0, half))
            wider = min(width, left.width + 1)
            summed = self.add(left, right, wider)
            rest = columns[2 * half :]
            columns = [
                Word(summed.data.take(slice(i * len(groups), (i + 1) * len(groups))), wider) for i in range(half)
            ]
            columns += [self._resized(column, wider) for column in rest]
        return self._resized(columns[0], width)

    def _resized(self, word: Word, width: int) -> Word:
        """The same value in another width: the sign bit repeated, or high bits dropped."""
        rows = np.minimum(np.arange(width), word.width - 1)
        return Word(Bits(word.data.data[rows]), width)

    def bits(self, word: Word) -> Bits:
        """See `Words.bits`."""
        bits: Bits = word.data
        return bits
