"""Kernels on XOR shares: linear gates, and the two local halves of AND gates from triples.

`state` is u8[slots, row], a row a whole number of 64-byte vectors; gates are i32[g, 3] of (out, left, right).
`triples` is u8[3, n], the bits of a, b and c = a b, eight a byte. A message holds a bit d = x ^ a for every AND gate
and instance of a layer, and after all of these the bits e = y ^ b. The layout is that of smc.gmw.rows: a gate takes
`width` bits of a message and of each part of the triples; if `packed`, these are whole bytes, and a byte of the state
holds eight instances; else it holds one, and the gates' bits follow each other without a gap.

Nothing branches or indexes on a share. Indices are unsigned, since for signed ones numba looks whether they are
negative, which keeps loops from being vectorised.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import load4, store

_ONE, _THREE, _SEVEN = np.uint64(1), np.uint64(3), np.uint64(7)


@njit
def _xor(state, gates):  # type: ignore[no-untyped-def]
    words = state.shape[1] >> 3
    for i in range(gates.shape[0]):
        out, left, right = gates[i, 0] * words, gates[i, 1] * words, gates[i, 2] * words
        for j in range(0, words - 7, 8):
            store(state, out + j, load4(state, left + j) ^ load4(state, right + j))


def xor_rows(state, gates):  # type: ignore[no-untyped-def]
    """Set state[out] = state[left] ^ state[right], gate after gate."""
    _xor(state, gates)


@njit
def _open_rows(state, gates, size, triples, first, message):  # type: ignore[no-untyped-def]
    half = np.uint64(gates.shape[0]) * size
    for operand in range(2):
        for i in range(gates.shape[0]):
            place = np.uint64(i) * size
            source, target = first + place, np.uint64(operand) * half + place
            slot = gates[i, 1 + operand]
            for j in range(size):
                message[target + j] = state[slot, j] ^ triples[operand, source + j]


@njit
def _close_rows(state, gates, size, triples, first, opening, peer, both):  # type: ignore[no-untyped-def]
    half = np.uint64(gates.shape[0]) * size
    for i in range(gates.shape[0]):
        place = np.uint64(i) * size
        source = first + place
        slot = gates[i, 0]
        for j in range(size):
            d = opening[place + j] ^ peer[place + j]
            e = opening[half + place + j] ^ peer[half + place + j]
            a, b, c = triples[0, source + j], triples[1, source + j], triples[2, source + j]
            state[slot, j] = c ^ (d & b) ^ (e & a) ^ (d & e & both)


@njit
def _bit(byte, place):  # type: ignore[no-untyped-def]
    return np.uint64(byte) >> (place & _SEVEN) & _ONE


@njit
def _open_bits(state, gates, batch, triples, first, message):  # type: ignore[no-untyped-def]
    place = np.uint64(0)
    gathered = np.uint64(0)
    for operand in range(2):
        source = first << _THREE
        for i in range(gates.shape[0]):
            slot = gates[i, 1 + operand]
            for j in range(batch):
                bit = (state[slot, j] & _ONE) ^ _bit(triples[operand, source >> _THREE], source)
                gathered |= bit << (place & _SEVEN)
                message[place >> _THREE] = np.uint8(gathered)  # the byte's last write is the whole of it
                if place & _SEVEN == _SEVEN:
                    gathered = np.uint64(0)
                place += _ONE
                source += _ONE


@njit
def _close_bits(state, gates, batch, triples, first, opening, peer, both):  # type: ignore[no-untyped-def]
    half = np.uint64(gates.shape[0]) * batch
    place = np.uint64(0)
    source = first << _THREE
    for i in range(gates.shape[0]):
        slot = gates[i, 0]
        for j in range(batch):
            byte, other = place >> _THREE, half + place >> _THREE
            d = _bit(opening[byte] ^ peer[byte], place)
            e = _bit(opening[other] ^ peer[other], half + place)
            byte = source >> _THREE
            a, b, c = _bit(triples[0, byte], source), _bit(triples[1, byte], source), _bit(triples[2, byte], source)
            state[slot, j] = np.uint8(c ^ (d & b) ^ (e & a) ^ (d & e & both))
            place += _ONE
            source += _ONE


def step(state, closing, xors, opening, width, packed, triples, first, message, peer, party):  # type: ignore[no-untyped-def]
    """Do what lies between two messages, at one call: the AND gates `closing`, the XOR gates, and `opening` begun.

    Closing: d and e are `message`, which this party sent, ^ `peer`, and state[out] = c ^ d b ^ e a, and ^ d e at party
    0; the triples are those from byte `first` on. Opening: the next `message`, with the triples that follow.
    """
    bits = np.uint64(width)
    here = np.uint64(first)
    following = here + (np.uint64(closing.shape[0]) * bits + _SEVEN >> _THREE)
    both = np.uint8(party - 1)  # all ones at party 0
    if packed:
        size = bits >> _THREE
        _close_rows(state, closing, size, triples, here, message, peer, both)
        _xor(state, xors)
        _open_rows(state, opening, size, triples, following, message)
    else:
        _close_bits(state, closing, bits, triples, here, message, peer, both)
        _xor(state, xors)
        _open_bits(state, opening, bits, triples, following, message)
