"""Coins of a device: fresh ones from the operating system, and lasting ones derived from a private key.

A memoised answer must be drawn once: a collector who receives fresh noise on one value again and again averages it
away. A lasting coin is a pseudo-random function of the device's key and of the purpose of the toss. No file of answers
can therefore get lost, and a key restored from a backup gives the earlier answers again.

    seed   = AES(k1, person || digest of the value)     k1, k2: HKDF-SHA256 of key, question and label
    word i = AES(k2, seed xor i)

Assumption: AES-128 is a pseudo-random function. Among b blocks, two under k2 collide with probability below b^2 /
2^128. Coins are compared as integers of 32 bits, so a probability is a multiple of 2^-32. The privacy stated for a
mechanism is computed from these rounded probabilities.
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
ONE = 1 << WORD_BITS  # threshold of an event with probability 1

Words = NDArray[np.uint32]
Digests = NDArray[np.uint64]


def threshold(probability: float) -> int:
    """Return the threshold t, 0 to 2^32, of a coin with this probability: heads if a 32-bit number is below t."""
    return round(min(max(probability, 0.0), 1.0) * ONE)


def falls(words: Words, thresholds: int | NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return whether each coin, a random word, is below its threshold.

    Args:
        words: the random words
        thresholds: one threshold for all coins, or an array of them
    """
    if isinstance(thresholds, int):
        if thresholds >= ONE:
            return np.ones(words.shape, dtype=np.bool_)
        return words < np.uint32(thresholds)
    return words < thresholds


def below(words: Words, second: Words, bound: int) -> NDArray[np.int64]:
    """Draw integers below `bound` from 64 bits each; no integer is likelier than another by more than bound / 2^64.

    Args:
        words: upper halves of the 64 bits
        second: lower halves of the 64 bits
        bound: number of possible results
    """
    high, low = words.astype(np.uint64), second.astype(np.uint64)
    # The upper half of the 96-bit product (high 2^32 + low) bound, without leaving 64 bits.
    product = high * np.uint64(bound) + ((low * np.uint64(bound)) >> np.uint64(WORD_BITS))
    return (product >> np.uint64(WORD_BITS)).astype(np.int64)


@dataclass
class Coins:
    """Coins for a batch of persons, or for the one person of a device.

    Attributes:
        people: digests of the persons, uint64[rows]; they separate the lasting coins of several persons under one key
        question: identifier of the question and its mechanism; different identifiers have independent coins
        key: secret from which lasting coins are derived; None: every coin is fresh
        stream: source of fresh coins; tests give a seeded one
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
        """Return the coins of a purpose, uint32[rows, width]: equal at every call, unless there is no key.

        Args:
            label: name of the purpose; coins of different names are independent
            digests: digest of each value, uint64[rows]; None if the coins depend on the person alone
            width: words per row
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
    """Encrypt distinct blocks of 128 bits; codebook mode is then the pseudo-random function itself.

    Args:
        key: AES key
        blocks: uint64[n, 2]
    """
    out = np.empty(blocks.nbytes + 16, dtype=np.uint8)
    Cipher(algorithms.AES(key), modes.ECB()).encryptor().update_into(blocks.view(np.uint8).reshape(-1).data, out.data)
    return out[: blocks.nbytes].view(np.uint64).reshape(blocks.shape)
