"""Lasting coins against AES block by block; fresh coins; thresholds."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.local.coins import ONE, Coins, below, falls, threshold

KEY = bytes(range(32))


def coins(people: list[int], question: str = "q", key: bytes | None = KEY) -> Coins:
    return Coins(np.array(people, dtype=np.uint64), question, key)


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), min_size=1, max_size=4),
    st.integers(1, 11),
)
def test_lasting_coins_are_two_layers_of_aes(rows: list[tuple[int, int]], width: int) -> None:
    told = np.array([row[1] for row in rows], dtype=np.uint64)
    found = coins([row[0] for row in rows]).lasting("bits", told, width)
    material = HKDF(SHA256(), 32, salt=None, info=b"smc local coins\0q\0bits").derive(KEY)

    def aes(key: bytes, block: bytes) -> bytes:
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)

    for (person, text), words in zip(rows, found, strict=True):
        seed = int.from_bytes(aes(material[:16], person.to_bytes(8, "little") + text.to_bytes(8, "little")), "little")
        stream = b"".join(aes(material[16:], (seed ^ i).to_bytes(16, "little")) for i in range(-(-width // 4)))
        assert words.tolist() == np.frombuffer(stream, "<u4")[:width].tolist()


def test_coins_that_last_are_the_same_again_and_others_for_all_else() -> None:
    told = np.array([5], dtype=np.uint64)
    found = coins([1]).lasting("bits", told, 8).tolist()
    assert coins([1]).lasting("bits", told, 8).tolist() == found
    others = [
        coins([2]).lasting("bits", told, 8),
        coins([1], question="r").lasting("bits", told, 8),
        coins([1], key=bytes(32)).lasting("bits", told, 8),
        coins([1]).lasting("row", told, 8),
        coins([1]).lasting("bits", told + np.uint64(1), 8),
        coins([1], key=None).lasting("bits", told, 8),
        coins([1], key=None).lasting("bits", told, 8),
        coins([1]).fresh(8),
    ]
    assert len({str(other.tolist()) for other in others} | {str(found)}) == 9


def test_thresholds_are_sure_at_the_ends() -> None:
    words = np.array([0, ONE // 2 - 1, ONE // 2, ONE - 1], dtype=np.uint32)
    assert falls(words, threshold(1.0)).all()
    assert not falls(words, threshold(0.0)).any()
    assert falls(words, threshold(0.5)).tolist() == [True, True, False, False]
    assert falls(words, np.full(4, ONE, dtype=np.uint64)).all()


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(1, 2**20))
def test_numbers_below_a_bound_are_a_product_of_64_bits(high: int, low: int, bound: int) -> None:
    found = below(np.array([high], dtype=np.uint32), np.array([low], dtype=np.uint32), bound)
    assert int(found[0]) == (high * 2**32 + low) * bound >> 64
