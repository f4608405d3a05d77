"""The parts of OT extension, each against a plain way to compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from smc import kernels
from smc.errors import ProtocolError
from smc.hashing import hash_keys
from smc.kernels.limits import OCTETS_AT_ONCE
from smc.ot.ggm_tree import full_trees, message_words, punctured_trees
from smc.ot.interface import pack_strings
from smc.ot.softspoken import _Streams
from smc.primitives.prg import Prg
from smc.session import Session

SESSION = Session(0, None, bytes(32))  # type: ignore[arg-type]


def random_words(*shape: int, seed: int = 0) -> np.ndarray:
    return Prg(bytes([seed]) * 16).words(*shape)


def aes(key: bytes, salt: bytes, first: int, count: int) -> bytes:
    """AES of a salt xor each of `count` little-endian counters."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    number = int.from_bytes(salt, "little")
    return encryptor.update(b"".join((number ^ first + i).to_bytes(16, "little") for i in range(count)))


def transposed(rows: np.ndarray) -> np.ndarray:
    """Columns of u64[128, words] as blocks."""
    columns = np.ascontiguousarray(np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").T)
    return np.packbits(columns, axis=1, bitorder="little").view(np.uint64)


FULL = (1 << 128) - 1


def blocks_of(tiles: np.ndarray) -> np.ndarray:
    """The columns of tiles as blocks, by the kernel that also hashes their rows."""
    out, sums = np.empty((2048 * len(tiles), 2), dtype=np.uint64), np.empty((128, 2), dtype=np.uint64)
    kernels.ot_hash_tiles(tiles.copy(), np.zeros((2, 32 * len(tiles)), np.uint64), 0, (1 << 64) - 1, sums, out)
    return out


@pytest.mark.parametrize("block", [0, 16, 4096])
@pytest.mark.parametrize("start", [0, FULL, FULL - 20, (1 << 64) - 17, (1 << 64) - 5])
def test_iknp_kernels_read_the_streams_of_openssl(block: int, start: int) -> None:
    """From any block on, with counters that pass 2^64 and 2^128 in the middle of a vector and between two."""
    words = 64
    seeds, choices, delta = random_words(2, 128, 2, seed=5), random_words(words, seed=6), random_words(2, seed=7)
    counters = [(start - 9 * i * i * i) & FULL for i in range(128)]

    def stream(seed: np.ndarray, counter: int) -> np.ndarray:
        return Prg(seed.tobytes(), counter.to_bytes(16, "big")).bytes(16 * block + 8 * words)[16 * block :]

    streams = np.array([list(map(stream, side, counters)) for side in seeds]).view(np.uint64)
    starts = np.frombuffer(b"".join(n.to_bytes(16, "little") for n in counters), dtype=np.uint64).reshape(128, 2)
    schedules = np.empty((2, 128, 22), dtype=np.uint64)
    for side in (0, 1):
        kernels.ot_expand(seeds[side], schedules[side])
    message, tiles = np.empty((128, words), dtype=np.uint64), np.empty((2, 128, 32), dtype=np.uint64)
    kernels.iknp_receiver(starts, *schedules, block, choices, message, tiles)
    assert np.array_equal(message, streams[0] ^ streams[1] ^ choices)
    out = blocks_of(tiles)
    assert np.array_equal(out, transposed(streams[0]))

    bits = np.unpackbits(delta.view(np.uint8), bitorder="little")
    chosen = np.ascontiguousarray(schedules[bits, np.arange(128)])
    kernels.iknp_sender(starts, chosen, block, np.uint64(0) - bits.astype(np.uint64), message, tiles)
    choice = np.unpackbits(choices.view(np.uint8), bitorder="little")
    assert np.array_equal(blocks_of(tiles), np.where(choice[:, None] == 1, out ^ delta, out))


def field_product(left: int, right: int) -> int:
    """Multiply in GF(2^64), modulo x^64 + x^4 + x^3 + x + 1, bit by bit."""
    product = 0
    for bit in range(64):
        product ^= (left << bit) if right >> bit & 1 else 0
    for bit in range(126, 63, -1):
        product ^= ((1 << 64 | 0b11011) << (bit - 64)) if product >> bit & 1 else 0
    return product


def hashed(row: np.ndarray, weights: np.ndarray) -> list[int]:
    """Both hashes of a row of words."""
    sums = [0, 0]
    for j in (0, 1):
        for word, weight in zip(row, weights[j], strict=True):
            sums[j] ^= field_product(int(word), int(weight))
    return sums


@pytest.mark.parametrize(("tiles", "cut", "mask"), [(1, 0, 0xFF), (1, 31, FULL >> 64), (2, 32, 0xFFFFFF), (2, 7, 0)])
def test_rows_are_hashed_over_the_field(tiles: int, cut: int, mask: int) -> None:
    """Against products bit by bit; of one word of each row only the bits in a mask count."""
    rows, weights = random_words(tiles, 128, 32, seed=4), random_words(2, 32 * tiles, seed=5)
    weights[:, 3] = FULL >> 64  # all ones, of the highest degree
    rows[0, 0, 3] = FULL >> 64
    plain = rows.transpose(1, 0, 2).reshape(128, -1).copy()
    blocks = transposed(plain)
    plain[:, cut] &= np.uint64(mask)
    sums, alone = np.empty((128, 2), dtype=np.uint64), np.empty((128, 2), dtype=np.uint64)
    out = np.empty((2048 * tiles, 2), dtype=np.uint64)
    kernels.ot_hash_tiles(rows, weights, cut, mask, sums, out)
    kernels.ot_hash_rows(plain, weights, alone)
    assert np.array_equal(sums, alone)
    for row in (0, 1, 64, 127):
        assert sums[row].tolist() == hashed(plain[row], weights)
    unmasked = np.arange(2048 * tiles) // 64 != cut
    assert np.array_equal(out[unmasked], blocks[unmasked])


@pytest.mark.parametrize("trees", [1, 3])
def test_leaves_are_hashed_over_the_field(trees: int) -> None:
    leaves, weights = random_words(8 * trees, 2, seed=1), random_words(8, seed=2)
    of_trees, places = random_words(trees, seed=3), np.arange(trees, dtype=np.uint64) + np.uint64(5)
    expected = [0, 0, 0]
    for tree in range(trees):
        for i in range(8):
            factor = field_product(int(weights[i]), int(of_trees[tree]))
            for word in (0, 1):
                expected[word] ^= field_product(int(leaves[8 * tree + i, word]), factor)
            expected[2] ^= factor if places[tree] == i else 0
    sums = np.zeros(3, dtype=np.uint64)
    kernels.lpn_hash_leaves(leaves, weights, of_trees, places, sums)
    assert sums.tolist() == expected


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 199])
def test_hashing_of_both_blocks(count: int) -> None:
    keys, delta, source = hash_keys(bytes(range(16))), random_words(2, seed=1), random_words(count, 2)
    zero, one, expected = np.empty((3, count, 2), dtype=np.uint64)
    kernels.ot_hash_both(keys, 40, delta, source, zero, one)
    for found, blocks in ((zero, source), (one, source ^ delta)):
        kernels.hash_blocks(keys, 40, blocks, expected)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize(("width", "octets"), [(1, 0), (64, 1), (3, 63), (5, 64), (64, 65), (1, 130)])
def test_strings_are_the_lowest_bits_of_hashes(width: int, octets: int) -> None:
    keys, delta, source = hash_keys(bytes(range(16))), random_words(2, seed=1), random_words(8 * octets, 2)
    zero, one, chosen = np.empty((3, width, octets), dtype=np.uint8)
    work, hashes = np.empty((2, 8 * OCTETS_AT_ONCE), dtype=np.uint64), np.empty_like(source)
    kernels.ot_strings_of_both(keys, 40, delta, source, zero, one, work)
    kernels.ot_strings_of_one(keys, 40, source, chosen, work)
    for found, blocks in ((zero, source), (one, source ^ delta), (chosen, source)):
        kernels.hash_blocks(keys, 40, blocks, hashes)
        assert np.array_equal(found, pack_strings(hashes, width))


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_punctured_trees(depth: int) -> None:
    trees = 6
    keys = random_words(2, trees, depth, 2)
    salts = random_words(depth + 1, trees, 2, seed=3)
    message = np.empty(message_words(trees, depth), dtype=np.uint64)
    leaves = full_trees(SESSION, "ot", keys, message, salts)
    assert leaves.shape == (trees, 1 << depth, 2)
    assert len(np.unique(leaves.reshape(-1, 2), axis=0)) == trees << depth

    for tree in range(trees):
        for value in {0, 1, (1 << depth) - 1}:  # each leaf by its path from the root
            node = keys[value >> (depth - 1), tree, 0].tobytes()
            for level in range(1, depth):
                node = aes(node, salts[level, tree].tobytes(), value >> (depth - 1 - level) & 1, 1)
            assert leaves[tree, value].tobytes() == node

    points = Prg(bytes(16)).bits(trees, depth)
    points[0], points[1] = 0, 1
    chosen = np.where(points[..., None] == 1, keys[0], keys[1])
    found = punctured_trees(SESSION, "ot", chosen, points, message, salts)
    for tree in range(trees):
        value = int("".join(map(str, points[tree])), 2)
        order = np.arange(1 << depth) ^ value
        assert np.array_equal(found[tree, 1:], leaves[tree, order[1:]])
        assert not found[tree, 0].any()

    offers = 4 * trees * (depth - 1)
    for position in range(len(message)):
        changed = message.copy()
        changed[position] ^= np.uint64(1 << position % 64)
        tree, level, side = np.unravel_index(position // 2, (trees, depth - 1, 2)) if position < offers else (0, 0, 2)
        if side == points[tree, min(level + 1, depth - 1)]:  # the holder has guessed which sum serves nothing
            punctured_trees(SESSION, "ot", chosen, points, changed, salts)
        else:
            with pytest.raises(ProtocolError, match=r"step ot.trees fails its check"):
                punctured_trees(SESSION, "ot", chosen, points, changed, salts)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_small_field_extension(k: int) -> None:
    """Both kernels against u = sum of r_x and v = sum of x r_x, from streams made by OpenSSL."""
    blocks, words, counter = 128 // k, 64, 48
    leaves = random_words(blocks, 1 << k, 2, seed=k)
    salts = random_words(blocks, 2, seed=3)
    streams = np.array(
        [
            [np.frombuffer(aes(r.tobytes(), salt.tobytes(), counter, words // 2), np.uint64) for r in b]
            for b, salt in zip(leaves, salts, strict=True)
        ]
    )
    u = np.bitwise_xor.reduce(streams, axis=1)
    values = np.arange(1 << k)
    v = np.stack([np.bitwise_xor.reduce(streams[:, values >> j & 1 == 1], axis=1) for j in range(k)], axis=1)
    choices = random_words(words, seed=9)

    corrections = np.empty((blocks, words), dtype=np.uint64)
    tiles = np.empty((words // 32, 128, 32), dtype=np.uint64)
    kernels.ot_extend_receiver(_Streams(leaves, salts).schedules, salts, counter, choices, corrections, tiles)
    out = blocks_of(tiles)
    assert np.array_equal(corrections, u ^ choices)
    expected = transposed(v.reshape(128, words))
    assert np.array_equal(out, expected)

    delta = random_words(2, seed=8)
    bits = np.unpackbits(delta.view(np.uint8), bitorder="little")
    points = (bits.reshape(blocks, k) << np.arange(k)).sum(axis=1)
    lacking = np.stack([leaves[i, values ^ points[i]] for i in range(blocks)])
    lacking[:, 0] = 77  # must not matter
    masks = np.uint64(0) - bits.astype(np.uint64)
    kernels.ot_extend_sender(_Streams(lacking, salts).schedules, salts, counter, masks, corrections, tiles)
    out = blocks_of(tiles)
    chosen = np.unpackbits(choices.view(np.uint8), bitorder="little")
    assert np.array_equal(out, np.where(chosen[:, None] == 1, expected ^ delta, expected))
