"""Kernels of OT extension: puncturable trees, small-field VOLE, checks, hashing to keys and bits.

A *tile* is u64[128, 32]: 128 rows of 2048 bits, one column for each OT. Bits are in little-endian order everywhere. No
branch and no index depends on a secret.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt, expand_key
from smc.kernels.block import (
    counters4,
    load,
    load4,
    low_words,
    make,
    make4,
    store,
    test8,
)
from smc.kernels.hash_keys import NO_KEYS, hash_two, key_row, load_keys, run_length
from smc.kernels.limits import OCTETS_AT_ONCE
from smc.kernels.linear_hash import HASHES, reduced, unreduced
from smc.kernels.transposition import ROWS, WORDS, transpose_tile

STREAM_BLOCKS = np.uint64(16)  # blocks of a PRG stream in a row of a tile
ZERO, ONE, FOUR = np.uint64(0), np.uint64(1), np.uint64(4)


def double(parents, children, salts, schedule):  # type: ignore[no-untyped-def]
    """Grow a level of GGM trees: child b of a node is AES of salt ^ b under the node's key.

    Args:
        parents: The nodes, u64[trees, nodes, 2].
        children: Filled in, u64[trees, nodes, 2, 2].
        salts: One block a tree for this level, u64[trees, 2].
        schedule: Scratch, u64[22].
    """
    trees, nodes, _ = parents.shape
    for tree in range(trees):
        left = load(salts, 2 * tree)
        right = left ^ make(ONE, ZERO)
        for i in range(tree * nodes, (tree + 1) * nodes):
            expand_key(load(parents, 2 * i), schedule)
            a, b = encrypt(schedule, (left, right))
            store(children, 4 * i, a)
            store(children, 4 * i + 2, b)


def expand_all(keys, schedules):  # type: ignore[no-untyped-def]
    """Write the round keys of AES-128 keys.

    Args:
        keys: The keys, u64[n, 2].
        schedules: Filled in, u64[n, 22].
    """
    for i in range(keys.shape[0]):
        expand_key(load(keys, 2 * i), schedules[i])


# Small-field VOLE.


@njit
def _small_field(leaves, first, counter, salt, depth, tile, row):  # type: ignore[no-untyped-def]
    """Set tile[row + j] = xor of the streams whose leaf value has bit j; return the xor of all streams.

    `leaves` u64[2^depth, 22] holds round keys in the order of the Gray code; those before `first` count as zero. Row j
    is the xor of the prefix sums of the streams up to the positions where bit j of neighbouring values differs. This
    takes two xors a leaf, for every depth. Block i of a stream is AES of `salt` ^ i, where `salt` holds the tree's salt
    four times.
    """
    c0, c1 = counters4(counter) ^ salt, counters4(counter + np.uint64(4)) ^ salt
    c2, c3 = counters4(counter + np.uint64(8)) ^ salt, counters4(counter + np.uint64(12)) ^ salt
    zero = make4(ZERO, ZERO)
    s0, s1, s2, s3 = zero, zero, zero, zero
    for t in range(leaves.shape[0]):
        if t >= first:
            r0, r1, r2, r3 = encrypt(leaves[t], (c0, c1, c2, c3))
            s0, s1, s2, s3 = s0 ^ r0, s1 ^ r1, s2 ^ r2, s3 ^ r3
        flip = 0  # the bit in which the next value differs; value 0 follows the last one
        while (t + 1) >> flip & 1 == 0 and flip < depth - 1:
            flip += 1
        at = (row + flip) * WORDS
        if t + 1 == 1 << flip:  # first change of this bit
            p0, p1, p2, p3 = s0, s1, s2, s3
        else:
            p0, p1 = s0 ^ load4(tile, at), s1 ^ load4(tile, at + 8)
            p2, p3 = s2 ^ load4(tile, at + 16), s3 ^ load4(tile, at + 24)
        store(tile, at, p0)
        store(tile, at + 8, p1)
        store(tile, at + 16, p2)
        store(tile, at + 24, p3)
    return s0, s1, s2, s3


def extend_receiver(schedules, salts, counter, choices, corrections, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles with the receiver's rows, and write its message.

    Args:
        schedules: Round keys of all leaves of each tree, u64[blocks, 2^k, 22].
        salts: Salts of the streams, u64[blocks, 2].
        counter: Number of the first block to read from the streams; a tile takes 16.
        choices: The choice bits, u64[32 tiles].
        corrections: The message u xor choices, filled in, u64[blocks, 32 tiles].
        tiles: Filled in, u64[tiles, 128, 32].
    """
    blocks, words = schedules.shape[0], choices.shape[0]
    depth = ROWS // blocks
    for number in range(tiles.shape[0]):
        tile, start = tiles[number], number * WORDS
        for i in range(blocks):
            salt = make4(salts[i, 0], salts[i, 1])
            u0, u1, u2, u3 = _small_field(schedules[i], 0, counter, salt, depth, tile, i * depth)
            at = i * words + start
            store(corrections, at, u0 ^ load4(choices, start))
            store(corrections, at + 8, u1 ^ load4(choices, start + 8))
            store(corrections, at + 16, u2 ^ load4(choices, start + 16))
            store(corrections, at + 24, u3 ^ load4(choices, start + 24))
        counter += STREAM_BLOCKS


def extend_sender(schedules, salts, counter, delta, corrections, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles with the sender's rows, from the receiver's message.

    Args:
        schedules: Round keys of the leaves, u64[blocks, 2^k, 22]. The sender lacks leaf 0 of each tree: values are
            relative to delta.
        salts: Salts of the streams, u64[blocks, 2].
        counter: Number of the first block to read from the streams; a tile takes 16.
        delta: All ones where delta's bit is 1, u64[128].
        corrections: The message, u64[blocks, 32 tiles].
        tiles: Filled in, u64[tiles, 128, 32].
    """
    blocks, words = schedules.shape[0], corrections.shape[1]
    depth = ROWS // blocks
    for number in range(tiles.shape[0]):
        tile, start = tiles[number], number * WORDS
        for i in range(blocks):
            _small_field(schedules[i], 1, counter, make4(salts[i, 0], salts[i, 1]), depth, tile, i * depth)
            for row in range(i * depth, (i + 1) * depth):
                mask = make4(delta[row], delta[row])
                for j in range(0, WORDS, 8):
                    at = row * WORDS + j
                    store(tile, at, load4(tile, at) ^ (mask & load4(corrections, i * words + start + j)))
        counter += STREAM_BLOCKS


# The check of a batch; see `smc.ot.columns`.


def hash_rows(rows, weights, sums):  # type: ignore[no-untyped-def]
    """Write both hashes of rows.

    Args:
        rows: u64[n, words]; the number of words is a multiple of 8.
        weights: Weights of the words in both hashes, u64[2, words].
        sums: Filled in, u64[n, 2].
    """
    words = rows.shape[1]
    for row in range(rows.shape[0]):
        for number in range(HASHES):
            sums[row, number] = reduced(unreduced(rows, row * words, weights, number * words, words))


def hash_tiles(tiles, weights, cut, mask, sums, out):  # type: ignore[no-untyped-def]
    """Write both hashes of the 128 rows of all tiles, and the transposed tiles.

    Args:
        tiles: u64[tiles, 128, 32]; overwritten.
        weights: Weights of the words in both hashes, u64[2, 32 tiles].
        cut: Number of the word in every row that is hashed in part.
        mask: The bits of that word that are hashed, u64.
        sums: Filled in, u64[128, 2].
        out: Filled in, u64[2048 tiles, 2].
    """
    sums[:] = ZERO
    words = weights.shape[1]
    for number in range(tiles.shape[0]):
        tile = tiles[number]
        if cut // WORDS == number:
            for row in range(ROWS):
                tile[row, cut % WORDS] &= mask
        for row in range(ROWS):
            for j in range(HASHES):
                sums[row, j] ^= reduced(unreduced(tile, row * WORDS, weights, j * words + number * WORDS, WORDS))
        transpose_tile(tile, out, 2048 * number)


# Hashing: see `hash_two`; `first` is a multiple of 8.


@njit
def _hash_four(keys, delta, x, y, tweak, tweak2):  # type: ignore[no-untyped-def]
    """Return the hashes of x and x ^ delta, both with `tweak`, and of y and y ^ delta, with `tweak2`."""
    a, b, c, d = encrypt(keys, (x, x ^ delta, y, y ^ delta))
    e, f, g, h = encrypt(keys, (a ^ tweak, b ^ tweak, c ^ tweak2, d ^ tweak2))
    return a ^ e, b ^ f, c ^ g, d ^ h


@njit
def _hash_both_run(keys, first, delta, source, keys0, keys1, start, stop):  # type: ignore[no-untyped-def]
    whole = start + (stop - start & ~7)
    delta4, delta1 = make4(delta[0], delta[1]), make(delta[0], delta[1])
    for i in range(start, whole, 8):
        tweak, tweak2 = counters4(first + np.uint64(i)), counters4(first + np.uint64(i + 4))
        h0, h1, g0, g1 = _hash_four(keys, delta4, load4(source, 2 * i), load4(source, 2 * i + 8), tweak, tweak2)
        store(keys0, 2 * i, h0)
        store(keys0, 2 * i + 8, g0)
        store(keys1, 2 * i, h1)
        store(keys1, 2 * i + 8, g1)
    for i in range(whole, stop):
        x, last = load(source, 2 * i), make(first + np.uint64(i), ZERO)
        y0, y1 = hash_two(keys, x, x ^ delta1, last, last)
        store(keys0, 2 * i, y0)
        store(keys1, 2 * i, y1)


def hash_both(keys, first, delta, source, keys0, keys1):  # type: ignore[no-untyped-def]
    """Write keys0[i] = H(source[i], first + i) and keys1[i] = H(source[i] ^ delta, first + i).

    Args:
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        first: The first number, a multiple of 8.
        delta: The sender's difference, u64[2].
        source: The inputs, u64[n, 2].
        keys0: Filled in, u64[n, 2].
        keys1: Filled in, u64[n, 2].
    """
    count = source.shape[0]
    group = NO_KEYS
    i = 0
    while i < count:
        number = first + np.uint64(i)
        group = load_keys(keys, number, group)
        end = i + run_length(number, count - i)
        _hash_both_run(keys[key_row(number)], first, delta, source, keys0, keys1, i, end)
        i = end


@njit
def _write_bits(words, octets, strings, place):  # type: ignore[no-untyped-def]
    """Write bit j of words u64[8 octets] into row j of strings, u8[width, bytes], from byte `place` on; width <= 64."""
    for bit in range(strings.shape[0]):
        masks = make4(ONE << np.uint64(bit), ONE << np.uint64(bit))
        for i in range(octets):
            strings[bit, place + i] = test8(load4(words, 8 * i), masks)


def strings_of_both(keys, first, delta, source, keys0, keys1, work):  # type: ignore[no-untyped-def]
    """Write the lowest bits of the hashes that `hash_both` computes, packed.

    Bit i of keys0[j] is bit j of the hash of source[i]; keys1 likewise.

    Args:
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        first: The first number, a multiple of 8.
        delta: The sender's difference, u64[2].
        source: The inputs, u64[n, 2]; n is a multiple of 8.
        keys0: Filled in, u8[width, n / 8]; width 64 at most.
        keys1: Filled in, of the shape of `keys0`.
        work: Scratch, u64[2, 8 OCTETS_AT_ONCE].
    """
    delta4 = make4(delta[0], delta[1])
    group = NO_KEYS
    for start in range(0, keys0.shape[1], OCTETS_AT_ONCE):
        octets = min(OCTETS_AT_ONCE, keys0.shape[1] - start)
        for i in range(octets):
            place = start + i
            number = first + np.uint64(8 * place)
            group = load_keys(keys, number, group)
            x, y = load4(source, 16 * place), load4(source, 16 * place + 8)
            tweak, tweak2 = counters4(number), counters4(number + FOUR)
            h0, h1, g0, g1 = _hash_four(keys[key_row(number)], delta4, x, y, tweak, tweak2)
            store(work[0], 8 * i, low_words(h0, g0))
            store(work[1], 8 * i, low_words(h1, g1))
        _write_bits(work[0], octets, keys0, start)
        _write_bits(work[1], octets, keys1, start)


def strings_of_one(keys, first, source, strings, work):  # type: ignore[no-untyped-def]
    """Write the lowest bits of H(source[i], first + i), packed: bit i of strings[j] is bit j of the hash of source[i].

    Args:
        keys: Round keys of the hash, u64[5, 22]; see `smc.kernels.hash_keys`.
        first: The first number, a multiple of 8.
        source: The inputs, u64[n, 2]; n is a multiple of 8.
        strings: Filled in, u8[width, n / 8]; width 64 at most.
        work: Scratch, u64[1, 8 OCTETS_AT_ONCE] or more rows.
    """
    group = NO_KEYS
    for start in range(0, strings.shape[1], OCTETS_AT_ONCE):
        octets = min(OCTETS_AT_ONCE, strings.shape[1] - start)
        for i in range(octets):
            place = start + i
            number = first + np.uint64(8 * place)
            group = load_keys(keys, number, group)
            x, y = load4(source, 16 * place), load4(source, 16 * place + 8)
            h, g = hash_two(keys[key_row(number)], x, y, counters4(number), counters4(number + FOUR))
            store(work[0], 8 * i, low_words(h, g))
        _write_bits(work[0], octets, strings, start)
