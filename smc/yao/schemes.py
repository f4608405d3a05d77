"""Garbling schemes: the table row of an AND gate. Both schemes keep XOR free and use equal labels and colours.

    half-gates     32 bytes a gate; Zahur, Rosulek, Evans, "Two Halves Make a Whole" (EUROCRYPT 2015)
    three-halves   25 bytes a gate; Rosulek, Roy, "Three Halves Make a Whole?" (CRYPTO 2021)

Three-halves takes half as many hashes again and more computation: it is faster where the link is the bottleneck. Both
schemes assume that `smc.hashing` is circular correlation robust (for three-halves: under all linear functions of
delta's halves, and truncated to 65 bits). A piece's tables are one message of `rows` * `row_bytes` bytes.

Cost of n AND gates (gates times instances): the garbler sends 32 n or 25 n bytes, in messages of at most 2^15 gates.
It does not wait: any number of consecutive circuits and layers are one flight. XOR and NOT are free. The garbler's
inputs cost nothing. The evaluator's inputs cost one correlated OT a bit. Opening m bits to both costs ceil(m / 8) bytes
and one message each way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks, RoundKeys
from smc.primitives.arrays import Octets
from smc.primitives.prg import Prg
from smc.recipes import Garbling
from smc.yao.walk import Piece


class Scheme(ABC):
    """Garbling scheme without state; the garbler's randomness is an argument."""

    row_bytes: int

    @abstractmethod
    def garble(
        self, state: Blocks, piece: Piece, keys: RoundKeys, tweak: int, delta: Blocks, prg: Prg, tables: Octets
    ) -> None:
        """Garble the gates of a piece.

        Args:
            state: Zero labels by slot, uint64[slots, 2 instances]; gets those of the piece's gates.
            piece: The gates and instances.
            keys: Keys of the hash, uint64[5, 22], see `smc.hashing.hash_keys`.
            tweak: The piece's first hash number, a multiple of 8.
            delta: The garbler's secret difference, uint64[2], lowest bit 1.
            prg: The garbler's private randomness; three-halves alone draws from it.
            tables: Filled in, uint8[rows * row_bytes].
        """

    @abstractmethod
    def evaluate(self, state: Blocks, piece: Piece, keys: RoundKeys, tweak: int, tables: Octets) -> None:
        """Evaluate the gates of a piece.

        Args:
            state: Active labels by slot, uint64[slots, 2 instances]; gets those of the piece's gates.
            piece: The gates and instances.
            keys: Keys of the hash, uint64[5, 22], see `smc.hashing.hash_keys`.
            tweak: The piece's first hash number; equal to the garbler's.
            tables: The garbler's tables, uint8[rows * row_bytes].
        """


class HalfGates(Scheme):
    """Half-gates: two rows of 16 bytes a gate, two hashes a gate to evaluate."""

    row_bytes = 32

    @override
    def garble(
        self, state: Blocks, piece: Piece, keys: RoundKeys, tweak: int, delta: Blocks, prg: Prg, tables: Octets
    ) -> None:
        rows = tables.view(np.uint64)
        kernels.garble_half(state, piece.program, piece.start, piece.stop, keys, delta, tweak, piece.stride, rows)

    @override
    def evaluate(self, state: Blocks, piece: Piece, keys: RoundKeys, tweak: int, tables: Octets) -> None:
        rows = tables.view(np.uint64)
        kernels.evaluate_half(state, piece.program, piece.start, piece.stop, keys, tweak, piece.stride, rows)


class ThreeHalves(Scheme):
    """Three-halves: three half-blocks and a byte of control bits a gate, three hashes a gate to evaluate."""

    row_bytes = 25

    @override
    def garble(
        self, state: Blocks, piece: Piece, keys: RoundKeys, tweak: int, delta: Blocks, prg: Prg, tables: Octets
    ) -> None:
        program, start, stop = piece.program, piece.start, piece.stop
        kernels.garble_three(
            state, program, start, stop, keys, delta, tweak, piece.stride,
            prg.bytes(piece.rows), *_columns(tables, piece.rows),
        )  # fmt: skip

    @override
    def evaluate(self, state: Blocks, piece: Piece, keys: RoundKeys, tweak: int, tables: Octets) -> None:
        kernels.evaluate_three(
            state, piece.program, piece.start, piece.stop, keys, tweak, piece.stride, *_columns(tables, piece.rows)
        )


def _columns(tables: Octets, rows: int) -> tuple[Blocks, Blocks, Octets]:
    """Return a message's three parts: 16, 8 and 1 bytes a row."""
    wide, narrow = tables[: 16 * rows], tables[16 * rows : 24 * rows]
    return wide.view(np.uint64), narrow.view(np.uint64), tables[24 * rows :]


SCHEMES: dict[Garbling, Scheme] = {"half": HalfGates(), "three-halves": ThreeHalves()}
