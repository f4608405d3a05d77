"""Integers as bits of a Boolean engine, where every operation is a circuit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.circuit import Builder, Form, Netlist, multiply, parity, product_rows, sum_rows, total
from smc.circuit.kept import kept
from smc.engines.bits import Bits
from smc.engines.interface import Engine
from smc.engines.words import Choice, Groups, Word, Words, whole
from smc.primitives import bits as bitpack
from smc.recipes import CIRCUITS

Table = tuple[int, ...]
Widths = tuple[int, ...]


@kept
def _select_netlist(entries: int, tables: tuple[Table, ...], width: int) -> Netlist:
    """Build the XOR of the entries whose bit is set: free gates only."""
    builder = Builder()
    onehot, zero = builder.input(entries), builder.constant(0, 1)[0]
    for table in tables:
        chosen = [[onehot[i] for i in range(entries) if table[i] >> bit & 1] for bit in range(width)]
        builder.output([parity(wires) if wires else zero for wires in chosen])
    return builder.build()


@kept
def _multiply_netlist(factor_width: int, offset: int, word_width: int, width: int, form: Form) -> Netlist:
    """Build (factor - offset) * word, of `width` bits, as one output, or in the form "depth" as two with this sum."""
    builder = Builder(form)
    factor = builder.input(factor_width).wide_subtract(offset)
    word = builder.input(word_width).as_signed()
    if form == "depth":
        for row in product_rows(builder.graph, factor, word, width):
            builder.output(row)
    else:
        builder.output(multiply(factor, word, width))
    return builder.build()


@kept
def _sum_netlist(plus: Widths, minus: Widths, width: int, form: Form) -> Netlist:
    """Build the sum of the inputs `plus` minus the inputs `minus`, all signed."""
    builder = Builder(form)
    added, taken = ([builder.input(part, signed=True) for part in widths] for widths in (plus, minus))
    builder.output(total(added, width, taken))
    return builder.build()


@kept
def _rows_netlist(plus: Widths, minus: Widths, width: int) -> Netlist:
    """Build two outputs whose sum is the sum of the inputs `plus` minus the inputs `minus`, all signed."""
    builder = Builder("depth")
    added, taken = ([builder.input(part, signed=True) for part in widths] for widths in (plus, minus))
    for row in sum_rows(builder.graph, added, taken, width):
        builder.output(row)
    return builder.build()


class CircuitWords(Words):
    """Integers whose `Word.data` are `Bits`: numbers in two's complement whose sum modulo 2^width is the word.

    In the form "size" there is one number. In the form "depth" sums and products stay several numbers, which saves the
    levels of carries. They are added where the bits of a word are needed, for example before a multiplication. Works
    over any Boolean engine.
    """

    prices = CIRCUITS

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @override
    def input(self, summands: NDArray[np.int64], width: int) -> Word:
        sides = self._engine.both(bitpack.from_integers(whole(summands), width))
        return Word(sides if self._engine.form == "depth" else (self._sum(sides, (), width),), width)

    @override
    def select(self, choices: Sequence[Choice], width: int) -> list[list[Word]]:
        selected = []
        for choice in choices:
            netlist = _select_netlist(choice.onehot.width, tuple(map(tuple, choice.tables)), width)
            selected.append([Word((bits,), width) for bits in self._engine.run(netlist, choice.onehot)])
        return selected

    @override
    def multiply(self, factor: Bits, offset: int, word: Word, width: int) -> Word:
        netlist = _multiply_netlist(factor.width, offset, word.width, width, self._engine.form)
        return Word(tuple(self._engine.run(netlist, factor, self.bits(word))), width)

    @override
    def add(self, left: Word, right: Word, width: int) -> Word:
        if self._engine.form == "depth":
            return Word((*self._parts(left, width), *self._parts(right, width)), width)
        return Word((self._sum([*left.data, *right.data], (), width),), width)

    @override
    def subtract(self, left: Word, right: Word, width: int) -> Word:
        if self._engine.form == "depth":
            return self._rows(self._parts(left, width), self._parts(right, width), width)
        return Word((self._sum(left.data, right.data, width),), width)

    @override
    def join(self, parts: Sequence[Word]) -> Word:
        width = parts[0].width
        if len({_widths(part.data) for part in parts}) > 1:
            parts = [Word((self.bits(part),), width) for part in parts]
        return Word(tuple(Bits.join(same) for same in zip(*(part.data for part in parts), strict=True)), width)

    @override
    def total(self, word: Word, groups: Groups, width: int) -> Word:
        """Sum over groups by a tree of adders over the members, log2(members) batches, or by one carry-save tree."""
        if self._engine.form == "depth":
            word = Word(self._parts(word, width), word.width)
        zeros = [self._engine.constant(np.zeros((part.width, 1), dtype=np.uint8)) for part in word.data]
        padded = self.join([word, Word(tuple(zeros), word.width)])  # member -1 is the last instance, which is zero
        columns = [padded.take(groups[:, i]) for i in range(groups.shape[1])]
        if not columns:
            columns = [padded.take(np.full(len(groups), -1))]
        if self._engine.form == "depth":
            return self._rows([part for column in columns for part in column.data], (), width)
        while len(columns) > 1:
            half = len(columns) // 2
            left, right = (self.join(columns[start : start + half]) for start in (0, half))
            wider = min(width, left.width + 1)
            summed = self.add(left, right, wider)
            rest = columns[2 * half :]
            columns = [summed.take(slice(i * len(groups), (i + 1) * len(groups))) for i in range(half)]
            columns += [_resized(column, wider) for column in rest]
        return _resized(columns[0], width)

    @override
    def bits(self, word: Word) -> Bits:
        parts: tuple[Bits, ...] = word.data
        return parts[0] if len(parts) == 1 else self._sum(parts, (), word.width)

    def _sum(self, plus: Sequence[Bits], minus: Sequence[Bits], width: int) -> Bits:
        netlist = _sum_netlist(_widths(plus), _widths(minus), width, self._engine.form)
        return self._engine.run(netlist, *plus, *minus)[0]

    def _rows(self, plus: Sequence[Bits], minus: Sequence[Bits], width: int) -> Word:
        return Word(tuple(self._engine.run(_rows_netlist(_widths(plus), _widths(minus), width), *plus, *minus)), width)

    def _parts(self, word: Word, width: int) -> tuple[Bits, ...]:
        """Return numbers whose sum is the word modulo 2^width; they are added up if `width` is above the word's."""
        parts: tuple[Bits, ...] = word.data
        return parts if len(parts) == 1 or width <= word.width else (self.bits(word),)


def _widths(parts: Sequence[Bits]) -> Widths:
    return tuple(part.width for part in parts)


def _resized(word: Word, width: int) -> Word:
    """Return a word of one part in another width: the sign bit repeated, or high bits dropped."""
    (bits,) = word.data
    return Word((Bits(bits.data[np.minimum(np.arange(width), word.width - 1)]),), width)
