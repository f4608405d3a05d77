"""Integers as additive shares modulo 2^64, beside a Boolean engine whose bits can be converted to XOR shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.arithmetic import bits_to_shares, product
from smc.arithmetic.shares import Shares
from smc.circuit import Builder, Form, Netlist
from smc.circuit.kept import kept
from smc.engines.bits import Bits
from smc.engines.interface import XorSharedEngine
from smc.engines.words import Choice, Groups, Word, Words, whole
from smc.ot import Transfers
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix
from smc.recipes import Prices

MODULUS = 1 << 64


@kept
def _adder(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(builder.input(width) + builder.input(width))
    return builder.build()


class ArithmeticWords(Words):
    """Integers whose `Word.data` is this party's additive share, uint64[batch].

    Sums are local. The width matters only when a word is converted to bits.
    """

    def __init__(self, engine: XorSharedEngine, transfers: Transfers, prices: Prices) -> None:
        self.prices = prices
        self._engine = engine
        self._transfers = transfers

    @override
    def input(self, summands: NDArray[np.int64], width: int) -> Word:
        """Enter sums; local, because each party's own integers are already additive shares."""
        return Word(whole(summands), width)

    @override
    def select(self, choices: Sequence[Choice], width: int) -> list[list[Word]]:
        """Select entries; some bits are converted to additive shares in one batch, the rest is local."""
        plans = [_selection(choice.tables, self._engine.shares(choice.onehot)) for choice in choices]
        self._engine.session.note(
            "selection",
            lambda: b"".join(weights.astype("<u8").tobytes() for _, weights in plans),
            entries=[choice.onehot.width for choice in choices],
            batches=[choice.onehot.batch for choice in choices],
        )
        shares = self._to_shares(np.concatenate([bits for bits, _ in plans]))
        selected = []
        for bits, weights in plans:
            bit_shares, shares = shares[: len(bits)], shares[len(bits) :]
            selected.append([Word(row @ bit_shares, width) for row in weights])
        return selected

    @override
    def multiply(self, factor: Bits, offset: int, word: Word, width: int) -> Word:
        self._engine.session.note(
            "product", widths=(factor.width, word.width, width), offset=offset, batch=factor.batch
        )
        share = self._product(self._engine.shares(factor), word.data)
        return Word(share - np.uint64(offset) * word.data, width)

    def _to_shares(self, bits: BitMatrix) -> Shares:
        return bits_to_shares(self._transfers, bits)

    def _product(self, factor: BitMatrix, word: Shares) -> Shares:
        return product(self._transfers, factor, word)

    @override
    def add(self, left: Word, right: Word, width: int) -> Word:
        """Return the sum of two words; it needs no message."""
        return Word(left.data + right.data, width)

    @override
    def subtract(self, left: Word, right: Word, width: int) -> Word:
        """Return the difference of two words; it needs no message."""
        return Word(left.data - right.data, width)

    @override
    def join(self, parts: Sequence[Word]) -> Word:
        return Word(np.concatenate([part.data for part in parts]), parts[0].width)

    @override
    def total(self, word: Word, groups: Groups, width: int) -> Word:
        """Return the sum of each group of words, see `Words.total`; it needs no message."""
        self._engine.session.note("total", groups.astype("<i8").tobytes, groups=groups.shape)
        padded = np.append(word.data, np.uint64(0))  # member -1 is the last instance, which is zero
        return Word(padded[groups].sum(axis=1, dtype=np.uint64), width)

    @override
    def bits(self, word: Word) -> Bits:
        """Return the bits: an adder circuit over the two shares, truncated to the width."""
        share_bits = bitpack.from_integers(word.data, word.width)
        return self._engine.run(_adder(word.width, self._engine.form), *self._engine.both(share_bits))[0]


def _selection(tables: Sequence[Sequence[int]], onehot: BitMatrix) -> tuple[BitMatrix, Shares]:
    """Return the bits to convert, XOR shares uint8[n, batch], and their weights by entry, uint64[tables, n].

    These are the one-hot bits weighted by the entries, or the bits of the selected entries, which are XORs of one-hot
    bits: the smaller number of both.
    """
    widths = [max((_width(entry) for entry in table), default=0) for table in tables]
    if sum(widths) >= len(onehot):
        return onehot, np.array([[entry % MODULUS for entry in table] for table in tables], dtype=np.uint64)
    packed = np.packbits(onehot, axis=1, bitorder="little")
    rows: list[NDArray[np.uint8]] = []
    weights = np.zeros((len(tables), sum(widths)), dtype=np.uint64)
    for number, (table, width) in enumerate(zip(tables, widths, strict=True)):
        for bit in range(width):
            weight = -(1 << bit) if bit == width - 1 else 1 << bit  # two's complement
            weights[number, len(rows)] = weight % MODULUS
            rows.append(np.bitwise_xor.reduce(packed[[entry >> bit & 1 == 1 for entry in table]], axis=0))
    chosen = np.array(rows, dtype=np.uint8).reshape(len(rows), packed.shape[1])
    return np.unpackbits(chosen, axis=1, count=onehot.shape[1], bitorder="little"), weights


def _width(value: int) -> int:
    """Return the number of bits in two's complement, 0 for 0."""
    return (value if value >= 0 else ~value).bit_length() + 1 if value else 0
