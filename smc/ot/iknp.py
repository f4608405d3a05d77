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
sender. Once a session: 128 base OTs, that is 32 bytes from the receiver and 4096 from the sender, one flight.
"""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks
from smc.ot.base_ots import Extension
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.interface import Choices, Receiver, Sender
from smc.ot.tiles import AHEAD, BATCH, KAPPA, MessageRoom, batches, packed_choices, padded, scratch, whole_rows
from smc.primitives.arrays import Octets
from smc.session import Session


class _Columns:
    """The PRG streams of the columns under one or two sets of seeds: those of `Prg`, read forward only.

    `starts` uint64[KAPPA, 2] is where the counters of a column begin, a block of session and column: a guess is tested
    against one column of one session.
    """

    def __init__(self, session: Session, name: str, *seeds: Blocks) -> None:
        starts = b"".join(session.derive(name, "column", i)[::-1] for i in range(KAPPA))
        self.starts = np.frombuffer(starts, dtype=np.uint64).reshape(KAPPA, 2)
        self.schedules = [np.empty((KAPPA, 22), dtype=np.uint64) for _ in seeds]
        for side, schedules in zip(seeds, self.schedules, strict=True):
            kernels.ot_expand(np.ascontiguousarray(side), schedules)
        self.work = scratch(), np.empty(48, dtype=np.uint64)
        self._place = 0

    def advance(self, size: int) -> int:
        """Return the first of the next `size` bytes of every stream."""
        first = self._place
        self._place += size
        return first


class IknpSender(Extension[Receiver], CorrelatedSender):
    """Sender of IKNP; runs the base OTs, as their receiver, on first use."""

    base_ot = EllipticReceiver

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._columns: _Columns | None = None
        self._delta_bits = np.unpackbits(self.delta.view(np.uint8), bitorder="little")
        self._delta_masks = np.uint64(0) - self._delta_bits.astype(np.uint64)

    @override
    def begin(self) -> None:
        if self.ready:
            return
        self._seed(self.base().random(self._delta_bits))
        self.ready = True

    def _seed(self, seeds: Blocks) -> None:
        self._columns = _Columns(self.session, self.name, seeds)

    @override
    def correlated(self, count: int) -> Blocks:
        out = self._room(padded(count), 2)
        for start, here in batches(count):
            self.setup()
            received = self.session.receive(f"{self.name}.matrix", np.uint8, (KAPPA, (here + 7) // 8))
            self._extend(received, out[start : start + padded(here)])
        return out[:count]

    def _extend(self, received: Octets, out: Blocks) -> None:
        """Extend whole tiles of OTs, the last of them perhaps beyond those asked for."""
        assert self._columns is not None
        columns = self._columns
        place = columns.advance(received.shape[1])
        corrections = whole_rows(received, len(out))
        kernels.iknp_sender(
            columns.starts, *columns.schedules, place, self._delta_masks, corrections, *columns.work, out
        )


class IknpReceiver(Extension[Sender], CorrelatedReceiver):
    """Receiver of IKNP; runs the base OTs, as their sender, on first use."""

    batch = AHEAD * BATCH
    base_ot = EllipticSender

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._columns: _Columns | None = None
        self._message = MessageRoom(KAPPA)

    @override
    def begin(self) -> None:
        if self.ready:
            return
        self._seed(self.base().random(KAPPA))
        self.ready = True

    def _seed(self, seeds: Blocks) -> None:
        self._columns = _Columns(self.session, self.name, *seeds)

    @override
    def correlated(self, choice: Choices) -> Blocks:
        count = len(choice)
        out = self._room(padded(count), 2)
        for start, here in batches(count):
            self.setup()
            matrix = self._message.take(padded(here))
            self._extend(choice[start : start + here], matrix, out[start : start + padded(here)])
            self.session.send(f"{self.name}.matrix", matrix.view(np.uint8)[:, : (here + 7) // 8])
        return out[:count]

    def _extend(self, choice: Choices, matrix: Blocks, out: Blocks) -> None:
        """Extend whole tiles of OTs, with choice 0 beyond those asked for."""
        assert self._columns is not None
        columns = self._columns
        place, choices = columns.advance((len(choice) + 7) // 8), packed_choices(choice, len(out))
        kernels.iknp_receiver(columns.starts, *columns.schedules, place, choices, *columns.work, matrix, out)
