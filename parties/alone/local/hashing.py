"""Texts as numbers that every device computes alike: digests, and places in a row of bits."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.coins import Digests, encrypted

PUBLIC_KEY = b"smc local places"  # the functions are public: every device and collector has the same


def digests(texts: Sequence[str]) -> Digests:
    """Return a digest of each text, uint64[texts]."""
    return np.array([int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in texts], dtype=np.uint64)


def digests_of(texts: Sequence[str]) -> Digests:
    """Return the digest of each row's text, uint64[rows]; each different text is digested once."""
    index: dict[str, int] = {}
    rows = np.array([index.setdefault(text, len(index)) for text in texts], dtype=np.int64)
    return digests(list(index))[rows]


def places(of: Digests, rows: NDArray[np.int64], hashes: int, size: int) -> NDArray[np.int64]:
    """Return where `hashes` hash functions of a row put a text, int64[n, hashes] below `size`.

    `of`, `rows`: the digest of the text and the row, n each. 32 bits of AES of both under a public key a function, so
    places are as even as size / 2^32 lets them be.
    """
    blocks = -(-hashes // 4)
    inputs = np.empty((len(of), blocks, 2), dtype=np.uint64)
    inputs[:, :, 0] = of[:, None]
    inputs[:, :, 1] = (rows.astype(np.uint64) << np.uint64(32))[:, None] | np.arange(blocks, dtype=np.uint64)
    words = encrypted(PUBLIC_KEY, inputs.reshape(-1, 2)).view(np.uint32).reshape(len(of), 4 * blocks)[:, :hashes]
    return (words.astype(np.uint64) * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def all_places(texts: Sequence[str], rows: int, hashes: int, size: int) -> NDArray[np.int64]:
    """Return the places of each text in each row, int64[texts, rows, hashes]."""
    each = np.tile(np.arange(rows), len(texts))
    return places(np.repeat(digests(texts), rows), each, hashes, size).reshape(len(texts), rows, hashes)
