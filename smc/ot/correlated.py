"""Random OTs from correlated OT: keys by hashing correlated blocks, for every protocol built on correlated OT.

A protocol implements `begin` and `correlated`; this module derives the rest. The 1-out-of-2 keys are key_0 = H(q_j, j)
and key_1 = H(q_j xor delta, j) for the sender's zero message q_j. The receiver holds one of the two blocks and computes
one of the two keys. Source: Ishai, Kilian, Nissim, Petrank (CRYPTO 2003). Assumption: H (smc.hashing) is correlation
robust. Nothing is sent beyond the correlated OTs: log2(m) for a 1-out-of-m OT.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks, KeySchedule, LabelHash
from smc.kernels.limits import OCTETS_AT_ONCE
from smc.ot.interface import Choices, Receiver, Role, Sender, Sizes, octets_of, parts, select
from smc.primitives import bits as bitpack
from smc.primitives.arrays import Octets
from smc.session import Session

BATCH = (1 << 16) - 128  # OTs made and hashed at a time: the number of a message of `smc.ot.columns`


class _ManyHashes:
    """Hashes for 1-out-of-2^l OT from l correlated OTs: key_v = xor over l of H_{v,l}(block of bit l of v).

    A separate hash key for every (v, l) makes the n keys independent; under one shared key the receiver could cancel
    them against each other.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._hashes: dict[tuple[int, int, int], LabelHash] = {}

    def get(self, choices: int, value: int, level: int) -> LabelHash:
        """Return the hash H_{value, level} of 1-out-of-n OT.

        Args:
            choices: Number n of messages.
            value: Number of the message.
            level: Number of the correlated OT.
        """
        key = (choices, value, level)
        if key not in self._hashes:
            self._hashes[key] = LabelHash(self._session, f"{self._name} 1-of-{choices} {value} {level}")
        return self._hashes[key]


def _levels(choices: int) -> int:
    levels = choices.bit_length() - 1
    if choices < 2 or choices != 1 << levels:
        raise ValueError(f"1-out-of-{choices} OT by extension needs a power of two")
    return levels


def _batches(count: int, most: int) -> Iterator[slice]:
    """Yield slices of `most` of `count` OTs, so few that blocks stay in the second-level cache until the hash."""
    for start in range(0, count, most):
        yield slice(start, min(start + most, count))


def _string_room() -> Blocks:
    """Return scratch memory for the kernels that hash to strings."""
    return np.empty((2, 8 * OCTETS_AT_ONCE), dtype=np.uint64)


class _Hashing(Role):
    """Hashes of a sender or receiver: one hash key for each purpose."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._keys = KeySchedule(session, f"{name} random")
        self._string_keys = KeySchedule(session, f"{name} strings")
        self._many = _ManyHashes(session, name)


class CorrelatedSender(_Hashing, Sender):
    """Sender of a protocol that makes correlated OTs; the other kinds of OT follow from these."""

    @abstractmethod
    @override
    def correlated(self, count: int) -> Blocks: ...

    @override
    def random(self, count: int, choices: int = 2) -> Blocks:
        levels = _levels(choices)
        if choices > 2:
            return self._hash_many(self.correlated(levels * count), choices, levels)
        out = self._room(2, count, 2)
        for part in _batches(count, BATCH):
            self._hash(self.correlated(part.stop - part.start), out[:, part])
        return out

    def _hash(self, blocks: Blocks, out: Blocks) -> None:
        """Fill in both keys of each OT, `out` uint64[2, n, 2]: the hashes of its block and of block xor delta."""
        keys, first = self._keys.take(len(blocks))
        kernels.ot_hash_both(keys, first, self.delta, blocks, out[0], out[1])

    def _hash_many(self, blocks: Blocks, choices: int, levels: int) -> Blocks:
        count = len(blocks) // levels
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        for level in range(levels):
            part = blocks[level * count : (level + 1) * count]
            for value in range(choices):
                block = part ^ self.delta if value >> level & 1 else part  # value is public: the sender hashes all
                keys[value] ^= self._many.get(choices, value, level)(block)[0]
        return keys

    @override
    def random_strings(self, sizes: Sizes) -> list[tuple[Octets, Octets]]:
        pieces = []
        for octets in _batches(octets_of(sizes), BATCH // 8):
            blocks = self.random_correlated(8 * (octets.stop - octets.start))
            for width, part in parts(sizes, octets.start, octets.stop):
                keys0, keys1 = self._bytes(2, width, (part.stop - part.start) // 8)
                self._hash_strings(blocks[part], keys0, keys1)
                pieces.append((keys0, keys1))
        return pieces

    def _hash_strings(self, blocks: Blocks, keys0: Octets, keys1: Octets) -> None:
        keys, first = self._string_keys.take(len(blocks))
        kernels.ot_strings_of_both(keys, first, self.delta, blocks, keys0, keys1, _string_room())


class CorrelatedReceiver(_Hashing, Receiver):
    """Receiver of a protocol that makes correlated OTs; the other kinds of OT follow from these."""

    @abstractmethod
    @override
    def correlated(self, choice: Choices) -> Blocks: ...

    @override
    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        levels = _levels(choices)
        if choices > 2:
            blocks = self.correlated(np.concatenate([choice >> level & 1 for level in range(levels)]))
            return self._hash_many(choice, blocks, choices, levels)
        out = self._room(len(choice), 2)
        for part in _batches(len(choice), BATCH):
            self._hash(self.correlated(choice[part]), out[part])
        return out

    def _hash(self, blocks: Blocks, out: Blocks) -> None:
        """Fill in the chosen key of each OT, `out` uint64[n, 2]: the hash of its block."""
        keys, first = self._keys.take(len(blocks))
        kernels.hash_blocks(keys, first, blocks, out)

    def _hash_many(self, choice: Choices, blocks: Blocks, choices: int, levels: int) -> Blocks:
        count = len(choice)
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        for level in range(levels):
            part = blocks[level * count : (level + 1) * count]
            for value in range(choices):
                keys[value] ^= self._many.get(choices, value, level)(part)[0]
        # The hashes for every value are computed and a mask selects one: no branch on the choice.
        return select(choice, keys.view(np.uint8).reshape(choices, count, 16)).view(np.uint64)

    @override
    def random_strings(self, sizes: Sizes) -> list[tuple[Octets, Octets]]:
        pieces = []
        for octets in _batches(octets_of(sizes), BATCH // 8):
            drawn, blocks = self.random_correlated(8 * (octets.stop - octets.start))
            for width, part in parts(sizes, octets.start, octets.stop):
                count = (part.stop - part.start) // 8
                choice, chosen = self._bytes(count), self._bytes(width, count)
                self._hash_strings(drawn[part], blocks[part], choice, chosen)
                pieces.append((choice, chosen))
        return pieces

    def _hash_strings(self, drawn: Choices, blocks: Blocks, choice: Octets, chosen: Octets) -> None:
        choice[:] = bitpack.pack(drawn)
        keys, first = self._string_keys.take(len(blocks))
        kernels.ot_strings_of_one(keys, first, blocks, chosen, _string_room())
