"""Coins of a device: fresh ones from the operating system, and lasting ones derived from a private key.

What a person answers for ever must be drawn once (memoisation): who hears fresh noise on one value again and again
averages it away. A lasting coin is a pseudo-random function of the device's key and of what it is tossed for, so there
is no file of answers that could be lost, and a key restored from its backup gives the answers of before.

    seed   = AES(k1, person || digest of what is told)     k1, k2: HKDF-SHA256 of key, question and label
    word i = AES(k2, seed xor i)

Assumption: AES-128 is a pseudo-random function; two of the blocks under k2 meet by chance with probability below
b^2 / 2^128 for b blocks. Coins are compared as whole numbers of 32 bits, so a probability is a multiple of 2^-32, and
what is said of a mechanism's privacy is computed from those.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from smc.primitives.prg import KEY_BYTES, Prg

WORD_BITS = 32
ONE = 1 << WORD_BITS  # the threshold of what is certain

Words = NDArray[np.uint32]
Digests = NDArray[np.uint64]


def threshold(probability: float) -> int:
    """Return the number of words below which a coin of this probability falls, 0 to 2^32."""
    return round(min(max(probability, 0.0), 1.0) * ONE)


def falls(words: Words, thresholds: int | NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return whether each coin falls, for one threshold or an array of them."""
    if isinstance(thresholds, int):
        if thresholds >= ONE:
            return np.ones(words.shape, dtype=np.bool_)
        return words < np.uint32(thresholds)
    return words < thresholds


def below(words: Words, second: Words, bound: int) -> NDArray[np.int64]:
    """Draw numbers below `bound` from 64 bits each; no number is likelier than another by more than bound / 2^64."""
    high, low = words.astype(np.uint64), second.astype(np.uint64)
    # The upper half of the 96-bit product (high 2^32 + low) bound, without leaving 64 bits.
    product = high * np.uint64(bound) + ((low * np.uint64(bound)) >> np.uint64(WORD_BITS))
    return (product >> np.uint64(WORD_BITS)).astype(np.int64)


@dataclass
class Coins:
    """Coins for a batch of persons (or one: a device).

    `people`: their numbers, uint64[rows], which keep the lasting coins of several persons under one key apart.
    `question`: what names the question and the way it is answered; no two share a coin. `key`: the secret that lasting
    coins come from, or None: then every coin is fresh. `stream`: where fresh coins come from; tests give a seed.
    """

    people: NDArray[np.uint64]
    question: str
    key: bytes | None = None
    stream: Prg = field(default_factory=Prg.from_system)

    def fresh(self, width: int) -> Words:
        """Draw fresh random words for each row, uint32[rows, width]."""
        rows = len(self.people)
        return self.stream.bytes(4 * rows * width).view(np.uint32).reshape(rows, width)

    def lasting(self, label: str, digests: Digests | None, width: int) -> Words:
        """Return the same coins whenever a person tosses them for the same purpose, uint32[rows, width].

        `digests`: one of what is told, uint64[rows], None if the coins go with the person alone. Without a key they are
        fresh.
        """
        if self.key is None:
            return self.fresh(width)
        info = f"smc local coins\0{self.question}\0{label}".encode()
        material = HKDF(SHA256(), 2 * KEY_BYTES, salt=None, info=info).derive(self.key)
        seeds = np.zeros((len(self.people), 2), dtype=np.uint64)
        seeds[:, 0] = self.people
        if digests is not None:
            seeds[:, 1] = digests
        seeds = encrypted(material[:KEY_BYTES], seeds)
        blocks = -(-width // 4)
        inputs = np.repeat(seeds, blocks, axis=0)
        inputs[:, 0] ^= np.tile(np.arange(blocks, dtype=np.uint64), len(seeds))
        return encrypted(material[KEY_BYTES:], inputs).view(np.uint32).reshape(len(seeds), 4 * blocks)[:, :width]


def encrypted(key: bytes, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Encrypt each block of 128 bits, uint64[n, 2]. The blocks differ: a codebook is what a function needs."""
    out = np.empty(blocks.nbytes + 16, dtype=np.uint8)
    Cipher(algorithms.AES(key), modes.ECB()).encryptor().update_into(blocks.view(np.uint8).reshape(-1).data, out.data)
    return out[: blocks.nbytes].view(np.uint64).reshape(blocks.shape)
