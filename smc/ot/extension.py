"""OT extension: any number of OTs from 128 base OTs and symmetric cryptography only.

Protocol: Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently" (CRYPTO 2003), semi-honest,
with the column trick of Asharov, Lindell, Schneider, Zohner (CCS 2013).

    base     the extension *sender* chooses delta (128 bits) and gets seed_i[delta_i]; the receiver holds both seeds
    receiver t_i = PRG(seed_i[0]); sends u_i = t_i xor PRG(seed_i[1]) xor choices       (column i of 128)
    sender   q_i = PRG(seed_i[delta_i]) xor delta_i u_i, so that row j: q_j = t_j xor choice_j delta

q and t *are* the correlated OT with fixed delta: 16 bytes an OT, one flight. Random OT hashes them:
key_0 = H(q_j, j), key_1 = H(q_j xor delta, j). Assumptions: AES is a PRF, H is correlation robust, base OT is secure.
The lowest bit of delta is 1 (half-gates point-and-permute), which leaves 127 secret bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.interface import Choices, Receiver, Sender, select
from smc.primitives import kernels
from smc.primitives.hash import Blocks, LabelHash
from smc.primitives.prg import Prg
from smc.session import Session

KAPPA = 128
BATCH = 1 << 17  # OTs a message: 2 MiB


def _batches(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, BATCH):
        yield start, min(BATCH, count - start)


def _columns(streams: list[Prg], size: int) -> NDArray[np.uint8]:
    """The next `size` bytes of each stream, uint8[KAPPA, size]. Streams only move forward."""
    return np.stack([stream.bytes(size) for stream in streams])


def _rows(columns: NDArray[np.uint8], count: int) -> Blocks:
    """Transpose packed columns uint8[KAPPA, ceil(count / 8)] to uint64[count, 2]."""
    out = np.empty((8 * columns.shape[1], 2), dtype=np.uint64)
    kernels.transpose_128(columns, out)
    return out[:count]


class _PairHash:
    """1-out-of-2^l keys from l correlated OTs: key_v = xor over l of H_{v,l}(block of bit l of v).

    A separate hash key for every (v, l) makes the n keys independent; one shared key would let the
    receiver cancel them against each other.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._hashes: dict[tuple[int, int, int], LabelHash] = {}

    def get(self, choices: int, value: int, level: int) -> LabelHash:
        key = (choices, value, level)
        if key not in self._hashes:
            self._hashes[key] = LabelHash(self._session, f"{self._name} 1-of-{choices} {value} {level}")
        return self._hashes[key]


def _levels(choices: int) -> int:
    levels = choices.bit_length() - 1
    if choices < 2 or choices != 1 << levels:
        raise ValueError(f"1-out-of-{choices} OT by extension needs a power of two")
    return levels


class ExtensionSender(Sender):
    """Sender of IKNP; runs the base OTs on first use."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._hash = LabelHash(session, f"{name} random")
        self._pairs = _PairHash(session, name)
        self._streams: list[Prg] = []
        self._delta_bits = np.unpackbits(self.delta.view(np.uint8), bitorder="little")

    def setup(self) -> None:
        """Run 128 base OTs, as their receiver."""
        if not self._streams:
            with self.session.phase("base ot"):
                seeds = EllipticReceiver(self.session, f"{self.name}.base").random(self._delta_bits)
            self._streams = [Prg(seed.tobytes()) for seed in seeds]

    def correlated(self, count: int) -> Blocks:
        """See `Sender.correlated`."""
        out = np.empty((count, 2), dtype=np.uint64)
        for start, here in _batches(count):
            self.setup()
            size = (here + 7) // 8
            received = self.session.receive(f"{self.name}.matrix", np.uint8, (KAPPA, size))
            mask = (np.uint8(0) - self._delta_bits)[:, None]
            out[start : start + here] = _rows(_columns(self._streams, size) ^ (received & mask), here)
        return out

    def random(self, count: int, choices: int = 2) -> Blocks:
        """See `Sender.random`."""
        levels = _levels(choices)
        blocks = self.correlated(levels * count)
        if choices == 2:
            return np.stack(self._hash(blocks, blocks ^ self.delta))
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        for level in range(levels):
            part = blocks[level * count : (level + 1) * count]
            for value in range(choices):
                block = part ^ self.delta if value >> level & 1 else part  # value is public: the sender hashes all
                keys[value] ^= self._pairs.get(choices, value, level)(block)[0]
        return keys


class ExtensionReceiver(Receiver):
    """Receiver of IKNP; runs the base OTs on first use."""

    batch = BATCH

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._hash = LabelHash(session, f"{name} random")
        self._pairs = _PairHash(session, name)
        self._zero: list[Prg] = []
        self._one: list[Prg] = []

    def setup(self) -> None:
        """Run 128 base OTs, as their sender."""
        if not self._zero:
            with self.session.phase("base ot"):
                seeds = EllipticSender(self.session, f"{self.name}.base").random(KAPPA)
            self._zero, self._one = ([Prg(seed.tobytes()) for seed in side] for side in seeds)

    def correlated(self, choice: Choices) -> Blocks:
        """See `Receiver.correlated`."""
        out = np.empty((len(choice), 2), dtype=np.uint64)
        for start, here in _batches(len(choice)):
            self.setup()
            packed = np.packbits(choice[start : start + here], bitorder="little")
            columns = _columns(self._zero, len(packed))
            self.session.send(f"{self.name}.matrix", columns ^ _columns(self._one, len(packed)) ^ packed)
            out[start : start + here] = _rows(columns, here)
        return out

    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        """See `Receiver.random`."""
        levels = _levels(choices)
        count = len(choice)
        bits = np.concatenate([choice >> level & 1 for level in range(levels)])
        blocks = self.correlated(bits)
        if choices == 2:
            return self._hash(blocks)[0]
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        for level in range(levels):
            part = blocks[level * count : (level + 1) * count]
            for value in range(choices):
                keys[value] ^= self._pairs.get(choices, value, level)(part)[0]
        # Hashes for every value are computed and one is selected by mask: no branch on the choice.
        return select(choice, keys.view(np.uint8).reshape(choices, count, 16)).view(np.uint64)
