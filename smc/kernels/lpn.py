"""Kernels of Ferret: correlated GGM trees (smc.ot.half_tree) and the local linear code (smc.ot.lpn).

A tree of depth d takes 2^d neighbouring blocks and is grown there level by level. The children of node p of a level of
m nodes go to p (left) and p + m (right). So the leaf of the path that turns right at level i if a_i is 1 has number sum
a_i 2^i. No branch and no index depends on a secret: the kernels find the receiver's secret leaf and its siblings by
comparing every node's number with theirs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt, expand_key
from smc.kernels.block import (
    counters4,
    high,
    load,
    load4,
    low,
    make,
    make4,
    multiply_high_low,
    multiply_low_low,
    same,
    shift_right,
    spread,
    store,
    swap,
)
from smc.kernels.linear_hash import field_product, reduced

ZERO, ONE = np.uint64(0), np.uint64(1)
ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
NOWHERE = ONES  # a number without a node
ROWS = 8  # rows of the code computed at once: 16 AES blocks, two a row


@njit
def _tree_keys(keys, number, schedule):  # type: ignore[no-untyped-def]
    """Write the round keys of a tree's permutation to `schedule`: AES under the key AES_keys(number)."""
    (key,) = encrypt(keys, (make(np.uint64(number), ZERO),))
    expand_key(key, schedule)


@njit
def _sigma(x, upper):  # type: ignore[no-untyped-def]
    """Return the linear orthomorphism (high, low) -> (high ^ low, high)."""
    return swap(x) ^ (x & upper)


@njit
def _total(sums, work):  # type: ignore[no-untyped-def]
    """Return the sum of four blocks."""
    store(work, 0, sums)
    return load(work, 0) ^ load(work, 2) ^ load(work, 4) ^ load(work, 6)


@njit
def _grow(keys, target, base, size, place, fix, work):  # type: ignore[no-untyped-def]
    """Turn a level of `size` nodes into the next one, after adding `fix` to its node number `place`.

    Return the sum of the level and the sum of all left children.
    """
    shift = base + 2 * size
    whole = size & ~15
    zero4, upper4 = make4(ZERO, ZERO), make4(ZERO, ONES)
    place4, fix4 = make4(place, ZERO), make4(low(fix), high(fix))
    sum4, left4 = zero4, zero4
    for p in range(0, whole, 16):
        n, o, q = np.uint64(p), base + 2 * p, shift + 2 * p
        a = load4(target, o) ^ (same(counters4(n), place4) & fix4)
        b = load4(target, o + 8) ^ (same(counters4(n + np.uint64(4)), place4) & fix4)
        c = load4(target, o + 16) ^ (same(counters4(n + np.uint64(8)), place4) & fix4)
        d = load4(target, o + 24) ^ (same(counters4(n + np.uint64(12)), place4) & fix4)
        sa, sb, sc, sd = _sigma(a, upper4), _sigma(b, upper4), _sigma(c, upper4), _sigma(d, upper4)
        ea, eb, ec, ed = encrypt(keys, (sa, sb, sc, sd))
        la, lb, lc, ld = ea ^ sa, eb ^ sb, ec ^ sc, ed ^ sd
        store(target, o, la)
        store(target, o + 8, lb)
        store(target, o + 16, lc)
        store(target, o + 24, ld)
        store(target, q, la ^ a)
        store(target, q + 8, lb ^ b)
        store(target, q + 16, lc ^ c)
        store(target, q + 24, ld ^ d)
        sum4 = sum4 ^ a ^ b ^ c ^ d
        left4 = left4 ^ la ^ lb ^ lc ^ ld
    total, lefts = _total(sum4, work), _total(left4, work)
    upper, place1 = make(ZERO, ONES), make(place, ZERO)
    for p in range(whole, size):
        parent = load(target, base + 2 * p) ^ (same(make(np.uint64(p), ZERO), place1) & fix)
        source = _sigma(parent, upper)
        (image,) = encrypt(keys, (source,))
        left = image ^ source
        store(target, base + 2 * p, left)
        store(target, shift + 2 * p, left ^ parent)
        total = total ^ parent
        lefts = lefts ^ left
    return total, lefts


@njit
def _finish(target, base, size, place, fix, noisy, value):  # type: ignore[no-untyped-def]
    """Finish leaves: add `fix` at `place` and `value` at `noisy`, and set the lowest bit to 1 at `noisy` alone."""
    place4, fix4 = make4(place, ZERO), make4(low(fix), high(fix))
    noisy4, value4 = make4(noisy, ZERO), make4(low(value), high(value))
    clear4, one4 = make4(ONES ^ ONE, ONES), make4(ONE, ZERO)
    for p in range(0, size, 4):
        n = counters4(np.uint64(p))
        here = same(n, noisy4)
        leaf = load4(target, base + 2 * p) ^ (same(n, place4) & fix4) ^ (here & value4)
        store(target, base + 2 * p, (leaf & clear4) ^ (here & one4))


@njit
def _name_entries(keys, first, even, entries):  # type: ignore[no-untyped-def]
    """Write the table's words at which the eleven entries of eight rows begin, from 16 AES blocks, starting at `first`.

    Row i has the three fields of 21 bits of words 4 i .. 4 i + 3, in `entries` at 4 i, 32 + 4 i and 64 + 4 i; the last
    of the twelve is not used.
    """
    a, b, c, d = encrypt(
        keys,
        (
            counters4(first),
            counters4(first + np.uint64(4)),
            counters4(first + np.uint64(8)),
            counters4(first + np.uint64(12)),
        ),
    )
    for field in range(0, 96, 32):
        store(entries, field, a & even)
        store(entries, field + 8, b & even)
        store(entries, field + 16, c & even)
        store(entries, field + 24, d & even)
        a, b, c, d = shift_right(a, 21), shift_right(b, 21), shift_right(c, 21), shift_right(d, 21)


@njit
def _encode(keys, first, table, entries, target):  # type: ignore[no-untyped-def]
    """Add to target[i] eleven rows of `table`, u64[2^l, 2], selected by row number first + i, for a multiple of 8 rows.

    l is at most 20. `entries` is scratch, u64[2, 96]: the entries of eight rows are computed ahead, so no read of the
    table waits for AES.
    """
    # An entry is addressed by its first word, twice its number: an even number below 2^(l + 1).
    word = np.uint64(2 * table.shape[0] - 2)
    even = make4(word, word)
    _name_entries(keys, np.uint64(2 * first), even, entries[0])
    for row in range(0, target.shape[0], ROWS):
        side = row // ROWS & 1
        _name_entries(keys, np.uint64(2 * (first + row + ROWS)), even, entries[side ^ 1])
        here = entries[side]
        for i in range(ROWS):
            j = 4 * i
            sum0 = load(table, here[j]) ^ load(table, here[j + 1])
            sum0 = sum0 ^ load(table, here[j + 2]) ^ load(table, here[j + 3])
            sum1 = load(table, here[j + 32]) ^ load(table, here[j + 33])
            sum1 = sum1 ^ load(table, here[j + 34]) ^ load(table, here[j + 35])
            sum2 = load(table, here[j + 64]) ^ load(table, here[j + 65]) ^ load(table, here[j + 66])
            o = 2 * (row + i)
            store(target, o, load(target, o) ^ sum0 ^ sum1 ^ sum2)


@njit
def _add_code(code_keys, tree, depth, table, entries, target, start):  # type: ignore[no-untyped-def]
    """Add to a tree's leaves, from target[start] on, their rows of the code while they are cached.

    An empty table means no code.
    """
    if table.shape[0]:
        _encode(code_keys, tree << depth, table, entries, target[start : start + (1 << depth)])


def grow(  # type: ignore[no-untyped-def]
    keys, first, delta, roots, schedule, work, stride, code_keys, table, entries, target, sums
):
    """Grow the sender's trees, and add the code's rows to their leaves.

    Args:
        keys: Round keys that the trees' own keys are made with, u64[22].
        first: Number of the first tree.
        delta: The sender's difference, u64[2].
        roots: The first left node of each tree, u64[trees, 2].
        schedule: Scratch, u64[22].
        work: Scratch, u64[8].
        stride: Tree i starts at block i * stride of `target`. 0 overlays the trees, for callers that need the sums
            only.
        code_keys: Round keys of the code, u64[22].
        table: The code's secret, u64[2^l, 2]. Without rows no code is added.
        entries: Scratch, u64[2, 96].
        target: Gets the leaves, u64[, 2].
        sums: Gets the sum of the left nodes of each level, u64[trees, depth, 2].
    """
    depth = sums.shape[1]
    zero = make(ZERO, ZERO)
    for tree in range(roots.shape[0]):
        base = 2 * tree * stride
        _tree_keys(keys, first + tree, schedule)
        root = load(roots, 2 * tree)
        store(target, base, root)
        store(target, base + 2, root ^ load(delta, 0))
        store(sums, 2 * tree * depth, root)
        for level in range(1, depth):
            lefts = _grow(schedule, target, base, 1 << level, NOWHERE, zero, work)[1]
            store(sums, 2 * (tree * depth + level), lefts)
        _finish(target, base, 1 << depth, NOWHERE, zero, NOWHERE, zero)
        _add_code(code_keys, first + tree, depth, table, entries, target, tree * stride)


def grow_punctured(  # type: ignore[no-untyped-def]
    keys, first, known, places, schedule, work, code_keys, table, entries, target
):
    """Grow the receiver's trees and add the code; leaf places[i] is unknown and becomes the sum of the other leaves.

    Unknown nodes on the path produce wrong nodes below them. These take part in every sum unchanged, so they cancel.

    Args:
        keys: Round keys that the trees' own keys are made with, u64[22].
        first: Number of the first tree.
        known: A sum for each level, u64[trees, depth, 2]: of the left nodes if the path turns right there, else of the
            right ones.
        places: The secret punctured leaf of each tree, u64[trees].
        schedule: Scratch, u64[22].
        work: Scratch, u64[8].
        code_keys: Round keys of the code, u64[22].
        table: The code's secret, u64[2^l, 2]. Without rows no code is added.
        entries: Scratch, u64[2, 96].
        target: Gets the leaves, u64[trees << depth, 2].
    """
    depth = known.shape[1]
    zero = make(ZERO, ZERO)
    for tree in range(places.shape[0]):
        base = (2 * tree) << depth
        _tree_keys(keys, first + tree, schedule)
        place = places[tree]
        store(target, base, zero)
        store(target, base + 2, zero)
        fix = load(known, 2 * tree * depth)
        sibling = (place & ONE) ^ ONE
        total = zero
        for level in range(1, depth):
            total, lefts = _grow(schedule, target, base, 1 << level, sibling, fix, work)
            bit = np.uint64(1 << level)
            left_path = spread(make(((place >> np.uint64(level)) & ONE) ^ ONE, ZERO))
            fix = load(known, 2 * (tree * depth + level)) ^ lefts ^ (left_path & total)
            sibling = (place & (bit + bit - ONE)) ^ bit
        _finish(target, base, 1 << depth, sibling, fix, place, total ^ fix)
        _add_code(code_keys, first + tree, depth, table, entries, target, tree << depth)


def hash_leaves(leaves, weights, tree_weights, places, sums):  # type: ignore[no-untyped-def]
    """Add leaves times weights over GF(2^64) to three sums.

    Leaf i of tree j weighs tree_weights[j] times weights[i].

    Args:
        leaves: u64[trees << depth, 2].
        weights: The leaves' weights, u64[1 << depth].
        tree_weights: The trees' weights, u64[trees].
        places: A secret place a tree, u64[trees]; a number beyond the leaves stands for none.
        sums: Changed in place, u64[3]: weighted sums of low words and of high words, and the sum of weights at the
            places.
    """
    size = weights.shape[0]
    for tree in range(tree_weights.shape[0]):
        lows, highs, chosen = make(ZERO, ZERO), make(ZERO, ZERO), make(ZERO, ZERO)
        place = make(places[tree], ZERO)
        for i in range(size):
            leaf, weight = load(leaves, 2 * (tree * size + i)), make(weights[i], ZERO)
            lows = lows ^ multiply_low_low(leaf, weight)
            highs = highs ^ multiply_high_low(leaf, weight)
            chosen = chosen ^ (same(make(np.uint64(i), ZERO), place) & weight)
        factor = tree_weights[tree]
        sums[0] ^= field_product(reduced(lows), factor)
        sums[1] ^= field_product(reduced(highs), factor)
        sums[2] ^= field_product(low(chosen), factor)


def encode(code_keys, table, entries, target):  # type: ignore[no-untyped-def]
    """Add to target[i] row i of the code.

    Args:
        code_keys: Round keys of the code, u64[22].
        table: The code's secret, u64[2^l, 2].
        entries: Scratch, u64[2, 96].
        target: Changed in place, u64[n, 2], n a multiple of 8.
    """
    _encode(code_keys, np.uint64(0), table, entries, target)


def flip(blocks, packed, delta):  # type: ignore[no-untyped-def]
    """Set blocks[i] ^= delta where bit i of `packed` is 1.

    Args:
        blocks: Changed in place, u64[n, 2].
        packed: Eight bits a byte, lowest first, u8[].
        delta: The difference, u64[2].
    """
    correlation = load(delta, 0)
    for i in range(blocks.shape[0]):
        bit = np.uint64(packed[i >> 3] >> np.uint8(i & 7))
        store(blocks, 2 * i, load(blocks, 2 * i) ^ (spread(make(bit, ZERO)) & correlation))


def low_bits(blocks, bits):  # type: ignore[no-untyped-def]
    """Set bits[i] = the lowest bit of blocks[i].

    Args:
        blocks: u64[n, 2].
        bits: Filled in, u8[n].
    """
    for i in range(blocks.shape[0]):
        bits[i] = blocks[i, 0] & ONE
