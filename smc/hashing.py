"""The hash of garbling and oblivious transfer: a tweakable circular-correlation-robust hash from fixed-key AES.

    H_k(x, i) = pi_k(pi_k(x) xor i) xor pi_k(x),   pi_k = AES-128 under key k

Source: Guo, Katz, Wang, Weng, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers"
(IEEE S&P 2020); re-keying after Guo, Katz, Wang, Weng, Yu, "Better Concrete Security for Half-Gates Garbling (in the
Multi-Instance Setting)" (CRYPTO 2020). Assumption: AES is an ideal cipher. A key serves at most `GATES_PER_KEY` gates
(up to three tweaks each); the next one is derived from the public session identifier, the purpose and a counter, so no
(key, tweak) pair occurs twice in a session or in two sessions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smc import kernels
from smc.session import Session

GATES_PER_KEY = 1 << 16

Blocks = NDArray[np.uint64]
RoundKeys = NDArray[np.uint64]


def round_keys(key: bytes) -> RoundKeys:
    """The eleven round keys of an AES-128 key of 16 bytes, uint64[22]."""
    schedule = np.empty(22, dtype=np.uint64)
    kernels.expand(np.frombuffer(key, dtype=np.uint64), schedule)
    return schedule


class KeySchedule:
    """Hands out tweak ranges under keys that change after at most `GATES_PER_KEY` gates."""

    def __init__(self, session: Session, purpose: str) -> None:
        self._session = session
        self._purpose = purpose
        self._key_number = 0
        self._used = GATES_PER_KEY
        self._keys: RoundKeys = np.empty(0, dtype=np.uint64)

    def take(self, count: int) -> tuple[RoundKeys, int]:
        """The key for the next `count` <= `GATES_PER_KEY` gates, and the number of the first of them under that key."""
        if count > GATES_PER_KEY:
            raise ValueError(f"{count} gates are more than a hash key may serve, {GATES_PER_KEY}")
        if self._used + count > GATES_PER_KEY:
            self._keys = round_keys(self._session.derive("hash key", self._purpose, self._key_number))
            self._key_number += 1
            self._used = 0
        first = self._used
        self._used += count
        return self._keys, first


class LabelHash:
    """H over arrays of blocks, for oblivious transfer: each element has its own tweak, never used again.

    Both parties make one per purpose and hash the same number of elements in the same order, so the key
    derivation binds session, protocol step and OT index.
    """

    def __init__(self, session: Session, purpose: str) -> None:
        self._keys = KeySchedule(session, purpose)

    def __call__(self, *inputs: Blocks) -> list[Blocks]:
        """Hash each array uint64[n, 2]; element i of every array is hashed under the same tweak."""
        count = len(inputs[0])
        sources = [np.ascontiguousarray(blocks) for blocks in inputs]
        outputs = [np.empty((count, 2), dtype=np.uint64) for _ in inputs]
        for start in range(0, count, GATES_PER_KEY):
            part = slice(start, min(start + GATES_PER_KEY, count))
            keys, first = self._keys.take(part.stop - start)
            for source, target in zip(sources, outputs, strict=True):
                kernels.hash_blocks(keys, first, source[part], target[part])
        return outputs
