"""IKNP: OT extension in its plainest form, as a readable reference for the faster protocols.

Protocol: Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently" (CRYPTO 2003), with the column
trick of Asharov, Lindell, Schneider, Zohner (CCS 2013), and the check of `smc.ot.columns`.

    base     the extension *sender* chooses delta (128 bits) and gets seed_i[delta_i]; the receiver holds both seeds,
             and the streams of column i start at a public block of session and column
    receiver t_i = PRG(seed_i[0]); sends u_i = t_i xor PRG(seed_i[1]) xor choices       (column i of 128)
    sender   q_i = PRG(seed_i[delta_i]) xor delta_i u_i, so that row j: q_j = t_j xor choice_j delta

Ideal functionality: correlated OT with one delta a session (`smc.ot.interface`); q and t *are* its outputs. It holds
against a sender or receiver that leaves the protocol; a receiver may guess bits of delta (`smc.ot.columns`).
Assumptions: AES is a PRF, BLAKE3 a random oracle, the base OT is secure. The lowest bit of delta is 1 (half-gates
point-and-permute), which leaves 127 secret bits.

Cost of n OTs: the receiver sends 128 ceil(n / 8) bytes, and 2,096 for the check of each message. A message has up to
65,408 OTs; all are one flight. The sender sends nothing. Once a session there are 128 base OTs: 32 bytes from the
receiver and 4096 from the sender, one flight.
"""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks
from smc.ot.columns import KAPPA, TILE_WORDS, ColumnReceiver, ColumnSender, Matrix
from smc.ot.interface import Packed
from smc.session import Session


class _Streams:
    """PRG streams of the columns under one or two sets of seeds: those of `Prg`, read forward only.

    `starts` uint64[KAPPA, 2] is where the counters of a column begin, a block of session and column: a guess is tested
    against one column of one session.
    """

    def __init__(self, session: Session, name: str, *seeds: Blocks) -> None:
        starts = b"".join(session.derive(name, "column", i)[::-1] for i in range(KAPPA))
        self.starts = np.frombuffer(starts, dtype=np.uint64).reshape(KAPPA, 2)
        self.schedules = [np.empty((KAPPA, 22), dtype=np.uint64) for _ in seeds]
        for side, schedules in zip(seeds, self.schedules, strict=True):
            kernels.ot_expand(np.ascontiguousarray(side), schedules)
        self._block = 0

    def advance(self, words: int) -> int:
        """Return the number of the next block of every stream, and advance by the blocks of `words` words."""
        first = self._block
        self._block += words // 2
        return first


class IknpSender(ColumnSender):
    """Sender of IKNP; runs the base OTs, as their receiver, on first use."""

    rows = KAPPA
    _streams: _Streams

    @override
    def begin(self) -> None:
        if self.ready:
            return
        self._seed(self.base().random(self._delta_bits))
        self.ready = True

    def _seed(self, seeds: Blocks) -> None:
        self._streams = _Streams(self.session, self.name, seeds)

    @override
    def _fill(self, corrections: Matrix, tiles: Matrix) -> None:
        streams = self._streams
        block = streams.advance(len(tiles) * TILE_WORDS)
        kernels.iknp_sender(streams.starts, *streams.schedules, block, self._delta_masks, corrections, tiles)


class IknpReceiver(ColumnReceiver):
    """Receiver of IKNP; runs the base OTs, as their sender, on first use."""

    rows = KAPPA
    _streams: _Streams

    @override
    def begin(self) -> None:
        if self.ready:
            return
        self._seed(self.base().random(KAPPA))
        self.ready = True

    def _seed(self, seeds: Blocks) -> None:
        self._streams = _Streams(self.session, self.name, *seeds)

    @override
    def _fill(self, choices: Packed, corrections: Matrix, tiles: Matrix) -> None:
        streams = self._streams
        block = streams.advance(len(choices))
        kernels.iknp_receiver(streams.starts, *streams.schedules, block, choices, corrections, tiles)
