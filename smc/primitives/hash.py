"""The gate hash: a tweakable circular-correlation-robust hash from re-keyed fixed-key AES.

    H_k(x, i) = pi_k(pi_k(x) xor i) xor pi_k(x),   pi_k = AES-128 under key k

Source: Guo, Katz, Wang, Weng, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers"
(IEEE S&P 2020); re-keying after Guo, Katz, Wang, Weng, Yu, "Better Concrete Security for Half-Gates Garbling (in the
Multi-Instance Setting)" (CRYPTO 2020). Assumption: AES is an ideal cipher. A key serves at most `GATES_PER_KEY` gates
(two tweaks each); the next one is derived from the public session identifier, the purpose and a counter, so no
(key, tweak) pair occurs twice in a session or in two sessions.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from smc.primitives import kernels
from smc.session import Session

GATES_PER_KEY = 1 << 16
BATCH = 1 << 12  # gates hashed at once: their blocks then stay in the second-level cache

Blocks = NDArray[np.uint64]


def _aes(cipher: CipherContext, source: Blocks, target: Blocks, count: int) -> None:
    """target[:count] = pi(source[:count]). `target` needs one spare block (OpenSSL's interface asks for it)."""
    spare = target.reshape(-1).view(np.uint8)[: 16 * count + 15]
    cipher.update_into(source[:count].reshape(-1).view(np.uint8).data, spare.data)


class KeySchedule:
    """Hands out tweak ranges under keys that change after at most `GATES_PER_KEY` gates."""

    def __init__(self, session: Session, purpose: str) -> None:
        self._session = session
        self._purpose = purpose
        self._key_number = 0
        self._used = GATES_PER_KEY
        self._cipher: CipherContext | None = None

    def take(self, count: int) -> tuple[CipherContext, int]:
        """The key for the next `count` <= `BATCH` gates, and the number of the first of them under that key."""
        if self._cipher is None or self._used + count > GATES_PER_KEY:
            key = self._session.derive("hash key", self._purpose, self._key_number)
            self._cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
            self._key_number += 1
            self._used = 0
        first = self._used
        self._used += count
        return self._cipher, first


class Hasher:
    """Work buffers for the two AES passes over `blocks`, which the caller fills."""

    def __init__(self, blocks_per_gate: int) -> None:
        size = blocks_per_gate * BATCH
        self.blocks: Blocks = np.empty((size, 2), dtype=np.uint64)
        self.once: Blocks = np.empty((size + 1, 2), dtype=np.uint64)
        self.twice: Blocks = np.empty((size + 1, 2), dtype=np.uint64)

    def run(self, cipher: CipherContext, count: int, first: int, repeat: int) -> None:
        """Hash blocks[i] under tweak first + i // repeat for i < count: H is once[i] ^ twice[i]. Spoils `blocks`."""
        _aes(cipher, self.blocks, self.once, count)
        kernels.xor_tweak(self.once, self.blocks, count, first, repeat)
        _aes(cipher, self.blocks, self.twice, count)


class LabelHash:
    """H over arrays of blocks, for oblivious transfer: each element has its own tweak, never used again.

    Both parties make one per purpose and hash the same number of elements in the same order, so the key
    derivation binds session, protocol step and OT index.
    """

    def __init__(self, session: Session, purpose: str) -> None:
        self._keys = KeySchedule(session, purpose)
        self._hasher = Hasher(1)

    def __call__(self, *inputs: Blocks) -> list[Blocks]:
        """Hash each array uint64[n, 2]; element i of every array is hashed under the same tweak."""
        count = len(inputs[0])
        outputs = [np.empty((count, 2), dtype=np.uint64) for _ in inputs]
        hasher = self._hasher
        for start in range(0, count, BATCH):
            here = min(BATCH, count - start)
            cipher, first = self._keys.take(here)
            for source, target in zip(inputs, outputs, strict=True):
                hasher.blocks[:here] = source[start : start + here]
                hasher.run(cipher, here, first, 1)
                np.bitwise_xor(hasher.once[:here], hasher.twice[:here], out=target[start : start + here])
        return outputs
