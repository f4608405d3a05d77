"""IKNP: OT extension in its plainest form, the reference to read and to compare the faster ones with.

Protocol: Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently" (CRYPTO 2003), semi-honest,
with the column trick of Asharov, Lindell, Schneider, Zohner (CCS 2013).

    base     the extension *sender* chooses delta (128 bits) and gets seed_i[delta_i]; the receiver holds both seeds,
             and the streams of column i start at a public block of session and column
    receiver t_i = PRG(seed_i[0]); sends u_i = t_i xor PRG(seed_i[1]) xor choices       (column i of 128)
    sender   q_i = PRG(seed_i[delta_i]) xor delta_i u_i, so that row j: q_j = t_j xor choice_j delta

Ideal functionality: correlated OT with one delta a session (`smc.ot.interface`); q and t *are* its outputs.
Assumptions: AES is a PRF, the base OT is secure. The lowest bit of delta is 1 (half-gates point-and-permute), which
leaves 127 secret bits.

Cost of n OTs: 128 ceil(n / 8) bytes from the receiver, in one message for every 2^16 OTs, one flight; nothing from the
sender. Once a session: 128 base OTs, that is 32 bytes from the receiver and 4096 from the sender, two flights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.interface import Choices
from smc.primitives.arrays import Octets
from smc.primitives.prg import Prg
from smc.session import Session

KAPPA = 128
BATCH = 1 << 16  # OTs a message: 1 MiB
AHEAD = 4  # messages that both parties may send before either reads: what fills a line with long delays
TILE_WORDS = 32  # the transposition works on this many columns of 64 OTs


def _batches(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, BATCH):
        yield start, min(BATCH, count - start)


def _columns(streams: list[Prg], size: int) -> NDArray[np.uint8]:
    """Return the next `size` bytes of each stream, uint8[KAPPA, size]. Streams only move forward."""
    return np.stack([stream.bytes(size) for stream in streams])


def _streams(session: Session, name: str, seeds: Blocks) -> list[Prg]:
    """Return a stream a column, uint64[KAPPA, 2] seeds: a guess is tested against one column of one session."""
    return [Prg(seed.tobytes(), session.derive(name, "column", i)) for i, seed in enumerate(seeds)]


def _rows(columns: NDArray[np.uint8], count: int) -> Blocks:
    """Transpose packed columns uint8[KAPPA, ceil(count / 8)] to uint64[count, 2]."""
    words = -(-count // (64 * TILE_WORDS)) * TILE_WORDS
    padded = np.zeros((KAPPA, 8 * words), dtype=np.uint8)
    padded[:, : columns.shape[1]] = columns
    out = np.empty((64 * words, 2), dtype=np.uint64)
    kernels.ot_transpose(padded.view(np.uint64), np.empty((KAPPA, TILE_WORDS), dtype=np.uint64), out)
    return out[:count]


class IknpSender(CorrelatedSender):
    """Sender of IKNP; runs the base OTs, as their receiver, on first use."""

    base_ot = EllipticReceiver

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._streams: list[Prg] = []
        self._delta_bits = np.unpackbits(self.delta.view(np.uint8), bitorder="little")

    @override
    def steps(self) -> Iterator[None]:
        if self.ready:
            return
        base = self.base_ot(self.session, f"{self.name}.base")
        yield
        base.prepare(KAPPA)
        self._seed(base.random(self._delta_bits))
        self.ready = True

    def _seed(self, seeds: Blocks) -> None:
        self._streams = _streams(self.session, self.name, seeds)

    @override
    def correlated(self, count: int) -> Blocks:
        out = self._room(count, 2)
        for start, here in _batches(count):
            self.setup()
            received = self.session.receive(f"{self.name}.matrix", np.uint8, (KAPPA, (here + 7) // 8))
            self._extend(received, out[start : start + here])
        return out

    def _extend(self, received: Octets, out: Blocks) -> None:
        mask = (np.uint8(0) - self._delta_bits)[:, None]
        out[:] = _rows(_columns(self._streams, received.shape[1]) ^ (received & mask), len(out))


class IknpReceiver(CorrelatedReceiver):
    """Receiver of IKNP; runs the base OTs, as their sender, on first use."""

    batch = AHEAD * BATCH
    base_ot = EllipticSender

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._zero: list[Prg] = []
        self._one: list[Prg] = []

    @override
    def steps(self) -> Iterator[None]:
        if self.ready:
            return
        base = self.base_ot(self.session, f"{self.name}.base")
        base.setup()
        yield
        self._seed(base.random(KAPPA))
        self.ready = True

    def _seed(self, seeds: Blocks) -> None:
        self._zero, self._one = (_streams(self.session, self.name, side) for side in seeds)

    @override
    def correlated(self, choice: Choices) -> Blocks:
        out = self._room(len(choice), 2)
        for start, here in _batches(len(choice)):
            self.setup()
            matrix = np.empty((KAPPA, (here + 7) // 8), dtype=np.uint8)
            self._extend(choice[start : start + here], matrix, out[start : start + here])
            self.session.send(f"{self.name}.matrix", matrix)
        return out

    def _extend(self, choice: Choices, matrix: Octets, out: Blocks) -> None:
        columns = _columns(self._zero, matrix.shape[1])
        matrix[:] = columns ^ _columns(self._one, matrix.shape[1]) ^ np.packbits(choice, bitorder="little")
        out[:] = _rows(columns, len(out))
