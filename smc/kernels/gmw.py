"""Kernels on XOR shares: linear gates, and the two local halves of AND gates from triples.

`state` is u8[slots, row]; a row is a whole number of 64-byte vectors. XOR gates are i32[g, 3] of (out, left, right).
AND gates are grouped in stars: gates of any layers with one operand x in common. `stars` i64[s, 2] holds the slot of x
and the position of its bits in `a` and `d`. `gates` i64[g, 4] holds the slots of the result and of the other operand y,
the position of its star's bits in `a` and `d`, and the position of its own bits in `b` and `c`; c = a b. Positions
count bits, eight a byte. A message holds a bit d = x ^ a for every instance of each star that begins in its layer, and
after these a bit e = y ^ b for every instance of each gate. The layout is that of smc.gmw.rows: a star or gate takes
`width` bits. If `packed`, these are whole bytes, and a byte of the state holds eight instances. Otherwise a byte holds
one instance, and the bits follow each other without a gap.

No branch and no index depends on a share. Indices are unsigned: for signed ones numba checks for negative values, which
prevents vectorised loops.
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
    """Set state[out] = state[left] ^ state[right], gate after gate.

    Args:
        state: Shares by slot, u8[slots, row]; changed in place.
        gates: Rows of (out, left, right), i32[g, 3].
    """
    _xor(state, gates)


@njit
def _mask_rows(state, slots, places, source, size, message, start):  # type: ignore[no-untyped-def]
    """Write each slot's row, `size` bytes, xor the bits of `source` from its place on, into the message.

    Rows follow each other from byte `start` on; `places` has the first bit of each slot.
    """
    for i in range(slots.shape[0]):
        target, place, slot = start + np.uint64(i) * size, np.uint64(places[i]) >> _THREE, slots[i]
        for j in range(size):
            message[target + j] = state[slot, j] ^ source[place + j]


@njit
def _close_rows(state, stars, gates, size, a, b, c, d, opening, peer, both):  # type: ignore[no-untyped-def]
    for i in range(stars.shape[0]):
        source, place = np.uint64(i) * size, np.uint64(stars[i, 1]) >> _THREE
        for j in range(size):
            d[place + j] = opening[source + j] ^ peer[source + j]
    half = np.uint64(stars.shape[0]) * size
    for i in range(gates.shape[0]):
        slot, at_e = gates[i, 0], half + np.uint64(i) * size
        star, place = np.uint64(gates[i, 2]) >> _THREE, np.uint64(gates[i, 3]) >> _THREE
        for j in range(size):
            e = opening[at_e + j] ^ peer[at_e + j]
            known = d[star + j]
            state[slot, j] = c[place + j] ^ (known & b[place + j]) ^ (e & (a[star + j] ^ (known & both)))


@njit
def _bit(array, place):  # type: ignore[no-untyped-def]
    return np.uint64(array[place >> _THREE]) >> (place & _SEVEN) & _ONE


@njit
def _mask_bits(state, slots, places, source, batch, message, start):  # type: ignore[no-untyped-def]
    """Write the `batch` bits of each slot, as `_mask_rows` masks them, one by one from bit `start` on.

    The remaining bits of the last byte are 0.
    """
    place = start
    for i in range(slots.shape[0]):
        slot = slots[i]
        for j in range(batch):
            bit = (state[slot, j] & _ONE) ^ _bit(source, np.uint64(places[i]) + np.uint64(j))
            before = np.uint64(message[place >> _THREE]) & ((_ONE << (place & _SEVEN)) - _ONE)
            message[place >> _THREE] = np.uint8(before | bit << (place & _SEVEN))
            place += _ONE


@njit
def _close_bits(state, stars, gates, batch, a, b, c, d, opening, peer, both):  # type: ignore[no-untyped-def]
    for i in range(stars.shape[0]):
        for j in range(batch):
            source, place = np.uint64(i) * batch + np.uint64(j), np.uint64(stars[i, 1]) + np.uint64(j)
            others = np.uint64(d[place >> _THREE]) & ~(_ONE << (place & _SEVEN))
            bit = _bit(opening, source) ^ _bit(peer, source)
            d[place >> _THREE] = np.uint8(others | bit << (place & _SEVEN))
    half = np.uint64(stars.shape[0]) * batch
    for i in range(gates.shape[0]):
        slot = gates[i, 0]
        for j in range(batch):
            at_e = half + np.uint64(i) * batch + np.uint64(j)
            star, place = np.uint64(gates[i, 2]) + np.uint64(j), np.uint64(gates[i, 3]) + np.uint64(j)
            e, known = _bit(opening, at_e) ^ _bit(peer, at_e), _bit(d, star)
            masked = _bit(a, star) ^ (known & both)
            state[slot, j] = np.uint8(_bit(c, place) ^ (known & _bit(b, place)) ^ (e & masked))


def step(state, closed, closing, xors, opened, opening, width, packed, a, b, c, d, message, peer, party):  # type: ignore[no-untyped-def]
    """Do all work between two messages: finish AND gates, compute XOR gates, and begin the next AND gates.

    To finish: the opened bits are `message`, sent by this party, ^ `peer`. Then state[out] = c ^ d b ^ e a, and ^ d e
    at party 0. To begin: the next `message` is written.

    Args:
        state: Shares by slot, u8[slots, row]; changed in place.
        closed: The stars that began with the AND gates `closing`, i64[s, 2].
        closing: The AND gates to finish, i64[g, 4].
        xors: The XOR gates in between, i32[g, 3].
        opened: The stars that begin with the AND gates `opening`, i64[s, 2].
        opening: The AND gates to begin, i64[g, 4].
        width: Bits that a star or a gate takes.
        packed: 1: these are whole bytes, and a byte of the state holds eight instances. 0: it holds one.
        a: The triples' bits a, u8[].
        b: The triples' bits b, u8[].
        c: The triples' bits c, u8[].
        d: The opened bits x ^ a of all stars, u8[]; those of `closed` are filled in.
        message: This party's last message, u8[]; the next one replaces it.
        peer: The peer's last message, u8[].
        party: 0 or 1.
    """
    bits = np.uint64(width)
    both = np.uint8(party - 1)  # all ones at party 0
    half = np.uint64(opened.shape[0]) * bits
    if packed:
        size = bits >> _THREE
        _close_rows(state, closed, closing, size, a, b, c, d, message, peer, both)
        _xor(state, xors)
        _mask_rows(state, opened[:, 0], opened[:, 1], a, size, message, np.uint64(0))
        _mask_rows(state, opening[:, 1], opening[:, 3], b, size, message, half >> _THREE)
    else:
        _close_bits(state, closed, closing, bits, a, b, c, d, message, peer, np.uint64(both) & _ONE)
        _xor(state, xors)
        _mask_bits(state, opened[:, 0], opened[:, 1], a, bits, message, np.uint64(0))
        _mask_bits(state, opening[:, 1], opening[:, 3], b, bits, message, half)
