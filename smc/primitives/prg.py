"""Keyed pseudo-random generator: AES-128 in counter mode (OpenSSL), a stream that is read forward only.

Assumption: AES-128 is a pseudo-random permutation. A stream of n blocks is distinguishable from random with advantage
about n^2 / 2^129, far below 2^-40 for the lengths that this engine draws from one key. Streams whose output the peer
sees start their counters at different blocks. Otherwise one AES would test a guess against all their seeds at once.
"""

from __future__ import annotations

import math
import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

KEY_BYTES = 16


class Prg:
    """Forward-only random stream from a seed of 16 bytes, else ValueError; `start` is the counter's first block."""

    def __init__(self, seed: bytes, start: bytes = bytes(16)) -> None:
        if len(seed) != KEY_BYTES:
            raise ValueError(f"a PRG seed has {KEY_BYTES} bytes, got {len(seed)}")
        self._stream = Cipher(algorithms.AES(seed), modes.CTR(start)).encryptor()

    @classmethod
    def from_system(cls) -> Prg:
        """Return a generator with seed and first counter from the operating system."""
        return cls(os.urandom(KEY_BYTES), os.urandom(16))

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes of the stream, uint8[count]."""
        out = np.empty(count + 16, dtype=np.uint8)
        self._stream.update_into(np.zeros(count, dtype=np.uint8).data, out.data)
        return out[:count]

    def words(self, *shape: int) -> NDArray[np.uint64]:
        """Draw uniform 64-bit words, uint64[shape]."""
        return self.bytes(8 * math.prod(shape)).view(np.uint64).reshape(shape)

    def bits(self, *shape: int) -> NDArray[np.uint8]:
        """Draw uniform bits, one a byte, uint8[shape] of 0 and 1."""
        count = math.prod(shape)
        packed = self.bytes((count + 7) // 8)
        return np.unpackbits(packed, count=count, bitorder="little").reshape(shape)
