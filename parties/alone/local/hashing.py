"""Public hash functions of texts, equal on every device: digests, and positions in a row of bits."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.coins import Digests, encrypted

PUBLIC_KEY = b"smc local places"  # public: every device and collector has it


def digests(texts: Sequence[str]) -> Digests:
    """Return a digest of each text, uint64[texts]."""
    return np.array([int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in texts], dtype=np.uint64)


def digests_of(texts: Sequence[str]) -> Digests:
    """Return a digest of each row's text, uint64[rows]; each different text is digested once."""
    index: dict[str, int] = {}
    rows = np.array([index.setdefault(text, len(index)) for text in texts], dtype=np.int64)
    return digests(list(index))[rows]


def places(keys: Digests, rows: NDArray[np.int64], hashes: int, size: int) -> NDArray[np.int64]:
    """Return the positions that the hash functions of a row give to a text, int64[n, hashes], below `size`.

    Each function is 32 bits of AES of digest and row, under a public key. Positions are uniform up to size / 2^32.

    Args:
        keys: digest of each text, uint64[n]
        rows: row (or cohort) of each text, int64[n]
        hashes: number of hash functions
        size: number of positions
    """
    blocks = -(-hashes // 4)
    inputs = np.empty((len(keys), blocks, 2), dtype=np.uint64)
    inputs[:, :, 0] = keys[:, None]
    inputs[:, :, 1] = (rows.astype(np.uint64) << np.uint64(32))[:, None] | np.arange(blocks, dtype=np.uint64)
    words = encrypted(PUBLIC_KEY, inputs.reshape(-1, 2)).view(np.uint32).reshape(len(keys), 4 * blocks)[:, :hashes]
    return (words.astype(np.uint64) * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def all_places(texts: Sequence[str], rows: int, hashes: int, size: int) -> NDArray[np.int64]:
    """Return the positions of each text in each row, int64[texts, rows, hashes].

    Args:
        texts: the texts
        rows: number of rows (or cohorts)
        hashes: number of hash functions
        size: number of positions
    """
    each = np.tile(np.arange(rows), len(texts))
    return places(np.repeat(digests(texts), rows), each, hashes, size).reshape(len(texts), rows, hashes)
