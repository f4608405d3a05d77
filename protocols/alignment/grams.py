"""Texts as bits: a tag for equality, and the set of a text's q-grams for Dice's coefficient.

A tag is the first 64 bits of SHA-256, so two texts out of 2^24 pairs have equal tags with a probability below 2^-40.
The q-grams are pairs of neighbouring letters, with a space before and after the text. Each sets one of `SET` bits,
chosen by SHA-256. So the coefficient is that of the sets of bits. It differs a little from that of the q-grams if two
of them choose one bit. These bits never leave their party in the clear.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from smc.primitives.bits import BitMatrix

TAG = 64
SET = 128


def tags(texts: Sequence[str | None]) -> BitMatrix:
    """Return the tag of each text, uint8[64, texts]; zeros for None, a missing text."""
    found = b"".join(bytes(TAG // 8) if text is None else _digest(text)[: TAG // 8] for text in texts)
    octets = np.frombuffer(found, dtype=np.uint8).reshape(len(texts), TAG // 8)
    return np.ascontiguousarray(np.unpackbits(octets, axis=1, bitorder="little").T)


def gram_sets(texts: Sequence[str | None]) -> BitMatrix:
    """Return the set of q-grams of each text, uint8[128, texts]; the empty set for None, a missing text."""
    found = np.zeros((len(texts), SET), dtype=np.uint8)
    for row, text in enumerate(texts):
        if text is not None:
            found[row, [_position(gram) for gram in grams(text)]] = 1
    return np.ascontiguousarray(found.T)


def grams(text: str) -> list[str]:
    """Return the pairs of neighbouring letters of a text.

    Examples:
        >>> grams("ann")
        [' a', 'an', 'nn', 'n ']
    """
    padded = f" {text} "
    return [padded[start : start + 2] for start in range(len(padded) - 1)]


@lru_cache(maxsize=1 << 16)
def _position(gram: str) -> int:
    return _digest(gram)[0] % SET


@lru_cache(maxsize=1 << 16)
def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
