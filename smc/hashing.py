"""Hash of garbling and oblivious transfer: a tweakable circular-correlation-robust hash from AES.

    H_n(x, i) = pi(pi(x) xor i) xor pi(x),   pi = AES-128 under key k_n,   k_n = AES-128 of n // 64 under a master key

Gates and OTs are numbered; n is the number. The tweak i is n, or n + 2^64 and n + 2^65 for a gate's second and third
hash. Source: Guo, Katz, Wang, Weng, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers"
(IEEE S&P 2020). Assumption: AES is an ideal cipher. The master key is derived from the public session identifier and
the purpose, and each number is used once. So no (key, tweak) pair occurs twice, within a session or across sessions.

**Concrete security.** One AES tests a guess of delta against all gates (or OTs) that were hashed under its key, so u of
them under a key cost log2 u bits of 128: Guo, Katz, Wang, Weng, Yu, "Better Concrete Security for Half-Gates Garbling
(in the Multi-Instance Setting)" (CRYPTO 2020), with attack and bound. Here u is `GATES_PER_KEY` = 64, independent of
the size of the circuit and of the number of instances and sessions: 122 bits. The kernels expand four keys at once.

Long messages are hashed by BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020). It is ten times as fast as SHA-256
on processors without instructions for SHA-256.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from smc import kernels
from smc.kernels.limits import GATES_PER_KEY, KEYS_AT_ONCE
from smc.session import Session

ALIGNMENT = 8  # kernels process up to eight neighbouring numbers under one key
assert GATES_PER_KEY % ALIGNMENT == 0

Blocks = NDArray[np.uint64]
RoundKeys = NDArray[np.uint64]


def round_keys(key: bytes) -> RoundKeys:
    """Return the eleven round keys of an AES-128 key of 16 bytes, uint64[22]."""
    schedule = np.empty(22, dtype=np.uint64)
    kernels.expand(np.frombuffer(key, dtype=np.uint64), schedule)
    return schedule


def hash_keys(master: bytes) -> RoundKeys:
    """Return the key array of hashing kernels, uint64[5, 22]: the master's round keys, and room for four keys'."""
    keys = np.zeros((1 + KEYS_AT_ONCE, 22), dtype=np.uint64)
    keys[0] = round_keys(master)
    return keys


class KeySchedule:
    """Allocator of numbers for gates or OTs under the master key of a purpose; no number is used twice."""

    def __init__(self, session: Session, purpose: str) -> None:
        self._session = session
        self._purpose = purpose
        self._keys: RoundKeys | None = None  # created on first use: counting makes schedules that it never uses
        self._next = 0

    def take(self, count: int) -> tuple[RoundKeys, int]:
        """Reserve `count` numbers; return their key array (`hash_keys`) and the first number, a multiple of 8."""
        if self._keys is None:
            self._keys = hash_keys(self._session.derive("hash key", self._purpose))
        first = self._next
        self._next += -(-count // ALIGNMENT) * ALIGNMENT
        return self._keys, first


class LabelHash:
    """Hash H over arrays of blocks, for oblivious transfer: each element has its own tweak, used once.

    Both parties make one object for each purpose and hash equal numbers of elements in one order. So the key derivation
    binds session, protocol step and OT index.
    """

    def __init__(self, session: Session, purpose: str) -> None:
        self._keys = KeySchedule(session, purpose)

    def __call__(self, *inputs: Blocks) -> list[Blocks]:
        """Hash each array uint64[n, 2]; elements i of all arrays share a tweak."""
        count = len(inputs[0])
        sources = [np.ascontiguousarray(blocks) for blocks in inputs]
        outputs = [np.empty((count, 2), dtype=np.uint64) for _ in inputs]
        keys, first = self._keys.take(count)
        for source, target in zip(sources, outputs, strict=True):
            kernels.hash_blocks(keys, first, source, target)
        return outputs


def transcript_digest(session: Session, data: NDArray[Any], *context: str | int, size: int = 16) -> bytes:
    """Hash a message of a protocol, as a random oracle: BLAKE3 keyed by the session's identifier and the context.

    Args:
        session: Its identifier binds the digest to this session.
        data: The message; any C-ordered array.
        context: Protocol step and counters, as for `Session.derive`.
        size: Bytes of the digest: 16 for a challenge, 32 where collisions must be hard to find.

    Returns:
        The digest.
    """
    return blake3(data.reshape(-1).view(np.uint8).data, key=session.derive(*context, size=32)).digest(length=size)
