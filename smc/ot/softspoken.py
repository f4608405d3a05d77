"""SoftSpoken: OT extension that trades cheap computation for communication, k = 2, 4 or 8 times less than IKNP's.

Protocol: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt Model" (CRYPTO 2022),
semi-honest: subspace VOLE over F_{2^k} with the repetition code, without consistency checks.

    base     delta is cut into 128 / k values d_i of k bits; for each, by k base OTs and a GGM tree (`ggm_tree`), the
             receiver holds 2^k PRG streams r_x and the extension *sender* all of them but r_{d_i}; block n of a
             stream is AES of salt xor n under the leaf, the salt a public block of session and tree
    receiver u_i = xor_x r_x;  bit j of v_i = xor of the r_x with bit j of x set;  sends c_i = u_i xor choices
    sender   bit j of w_i = xor of the r_x with bit j of x xor d_i set  = (v_i)_j xor (d_i)_j u_i: r_{d_i} drops out
             (q_i)_j = (w_i)_j xor (d_i)_j c_i = (v_i)_j xor (d_i)_j choices

Transposed, row by row: q_j = v_j xor choice_j delta. Ideal functionality: correlated OT with one delta a session
(`smc.ot.interface`); q and v are its outputs. The sender sees c_i, masked by a stream that it lacks. Assumptions: AES
is a PRF, the base OT is secure. The lowest bit of delta is 1, which leaves 127 secret bits.

Cost of n OTs: (128 / k) ceil(n / 8) bytes from the receiver, in one message for every 2^16 OTs, one flight; nothing
from the sender. An OT costs either party 2^k / k AES blocks. Once a session: 128 base OTs (32 bytes from the receiver,
4096 from the sender, one flight) and (128 / k) (k - 1) 32 bytes from the receiver, together with its first message.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks
from smc.ot.base_ots import Extension
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.ggm_tree import full_trees, punctured_trees, tree_salts
from smc.ot.interface import Choices, Receiver, Sender
from smc.ot.tiles import AHEAD, BATCH, KAPPA, MessageRoom, batches, packed_choices, padded, scratch, whole_rows
from smc.session import Session

DEFAULT = 4


class _Streams:
    """The PRG streams of one party: AES-128 in counter mode under every leaf, read forward only.

    `salts` uint64[trees, 2] are where the counters of a tree's streams start (by xor).
    """

    def __init__(self, leaves: Blocks, salts: Blocks) -> None:
        blocks, count, _ = leaves.shape
        gray = np.arange(count) ^ np.arange(count) >> 1  # the order in which the kernels add leaves up
        keys = np.ascontiguousarray(leaves[:, gray])
        schedules = np.empty((blocks * count, 22), dtype=np.uint64)
        kernels.ot_expand(keys.reshape(-1, 2), schedules)
        self.schedules = schedules.reshape(blocks, count, 22)
        self.salts = salts
        self.tile = scratch()
        self._counter = 0

    def advance(self, count: int) -> int:
        """Return the first stream block for the next `count` OTs, whole tiles."""
        first = self._counter
        self._counter += count // 128
        return first


def _offers_shape(k: int) -> tuple[int, ...]:
    """Return the shape of the holder's one message for all trees; see `full_trees`."""
    return KAPPA // k, k - 1, 2, 2


class SoftSpokenSender(Extension[Receiver], CorrelatedSender):
    """Sender of SoftSpoken over F_{2^k}; runs the base OTs, as their receiver, on first use."""

    base_ot = EllipticReceiver

    def __init__(self, session: Session, name: str, k: int = DEFAULT) -> None:
        super().__init__(session, name)
        self._k = k
        self._streams: _Streams | None = None
        self._delta_bits = np.unpackbits(self.delta.view(np.uint8), bitorder="little")
        self._delta_masks = np.uint64(0) - self._delta_bits.astype(np.uint64)

    @override
    def begin(self) -> None:
        if self.ready:
            return
        points = np.ascontiguousarray(self._delta_bits.reshape(-1, self._k)[:, ::-1])
        keys = self.base().random((points ^ np.uint8(1)).reshape(-1)).reshape(*points.shape, 2)
        self._seed(points, keys, self.session.receive(f"{self.name}.trees", np.uint64, _offers_shape(self._k)))
        self.ready = True

    def _seed(self, points: Choices, keys: Blocks, offers: Blocks) -> None:
        salts = tree_salts(self.session, self.name, *points.shape)
        self._streams = _Streams(punctured_trees(keys, points, offers, salts), salts[0])

    @override
    def correlated(self, count: int) -> Blocks:
        out = self._room(padded(count), 2)
        for start, here in batches(count):
            self.setup()
            received = self.session.receive(f"{self.name}.matrix", np.uint8, (KAPPA // self._k, (here + 7) // 8))
            self._extend(received, out[start : start + padded(here)])
        return out[:count]

    def _extend(self, received: NDArray[np.uint8], out: Blocks) -> None:
        """Extend whole tiles of OTs, the last of them perhaps beyond those asked for."""
        assert self._streams is not None
        streams = self._streams
        kernels.ot_extend_sender(
            streams.schedules,
            streams.salts,
            streams.advance(len(out)),
            self._delta_masks,
            whole_rows(received, len(out)),
            streams.tile,
            out,
        )


class SoftSpokenReceiver(Extension[Sender], CorrelatedReceiver):
    """Receiver of SoftSpoken over F_{2^k}; runs the base OTs, as their sender, on first use."""

    batch = AHEAD * BATCH
    base_ot = EllipticSender

    def __init__(self, session: Session, name: str, k: int = DEFAULT) -> None:
        super().__init__(session, name)
        self._k = k
        self._streams: _Streams | None = None
        self._message = MessageRoom(KAPPA // k)

    @override
    def begin(self) -> None:
        if self.ready:
            return
        offers = np.empty(_offers_shape(self._k), dtype=np.uint64)
        self._seed(self.base().random(KAPPA), offers)
        self.session.send(f"{self.name}.trees", offers)
        self.ready = True

    def _seed(self, keys: Blocks, offers: Blocks) -> None:
        salts = tree_salts(self.session, self.name, KAPPA // self._k, self._k)
        leaves, offers[:] = full_trees(keys.reshape(2, -1, self._k, 2), salts)
        self._streams = _Streams(leaves, salts[0])

    @override
    def correlated(self, choice: Choices) -> Blocks:
        count = len(choice)
        out = self._room(padded(count), 2)
        for start, here in batches(count):
            self.setup()
            corrections = self._message.take(padded(here))
            self._extend(choice[start : start + here], corrections, out[start : start + padded(here)])
            self.session.send(f"{self.name}.matrix", corrections.view(np.uint8)[:, : (here + 7) // 8])
        return out[:count]

    def _extend(self, choice: Choices, corrections: Blocks, out: Blocks) -> None:
        """Extend whole tiles of OTs, with choice 0 beyond those asked for."""
        assert self._streams is not None
        streams = self._streams
        kernels.ot_extend_receiver(
            streams.schedules,
            streams.salts,
            streams.advance(len(out)),
            packed_choices(choice, len(out)),
            streams.tile,
            corrections,
            out,
        )
