"""SoftSpoken: OT extension that trades cheap computation for communication, k = 2, 4 or 8 times less than IKNP's.

Protocol: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt Model" (CRYPTO 2022,
eprint 2022/192), subspace VOLE over F_{2^k} with the repetition code, and the checks of trees and of every batch.

    base     delta is cut into 128 / k values d_i of k bits; for each, by k base OTs and a GGM tree (`ggm_tree`), the
             receiver holds 2^k PRG streams r_x and the extension *sender* all of them but r_{d_i}; block n of a
             stream is AES of salt xor n under the leaf, the salt a public block of session and tree
    receiver u_i = xor_x r_x;  bit j of v_i = xor of the r_x with bit j of x set;  sends c_i = u_i xor choices
    sender   bit j of w_i = xor of the r_x with bit j of x xor d_i set  = (v_i)_j xor (d_i)_j u_i: r_{d_i} drops out
             (q_i)_j = (w_i)_j xor (d_i)_j c_i = (v_i)_j xor (d_i)_j choices

Transposed, row by row: q_j = v_j xor choice_j delta. Ideal functionality: correlated OT with one delta a session
(`smc.ot.interface`); q and v are its outputs. It holds against a sender or receiver that leaves the protocol; a
receiver may guess values d_i, by a tree (`ggm_tree`) or a batch (`columns`), and a wrong guess ends the session. The
sender sees c_i, masked by a stream that it lacks. Assumptions: AES is a PRF, BLAKE3 a random oracle, the base OT is
secure. The lowest bit of delta is 1, which leaves 127 secret bits.

Cost of n OTs by softspoken2, 4 or 8, with k = 2, 4 or 8: a message of the receiver has up to 65,408 OTs. For m OTs it
takes (128 / k) (ceil(m / 8) + 16) + 48 bytes. All messages are one flight. The sender sends nothing. An OT costs either
party 2^k / k AES blocks. Once a session there are 128 base OTs: 32 bytes from the receiver and 4096 from the sender,
one flight. The receiver then also sends 4096 + 32 bytes, with its first message.
"""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks
from smc.ot.columns import KAPPA, TILE_WORDS, ColumnReceiver, ColumnSender, Matrix
from smc.ot.ggm_tree import full_trees, message_words, punctured_trees, tree_salts
from smc.ot.interface import Choices, Packed
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
        self._counter = 0

    def advance(self, words: int) -> int:
        """Return the number of the next block of every stream, and advance by the blocks of `words` words."""
        first = self._counter
        self._counter += words // 2
        return first


class SoftSpokenSender(ColumnSender):
    """Sender of SoftSpoken over F_{2^k}; runs the base OTs, as their receiver, on first use."""

    _streams: _Streams

    def __init__(self, session: Session, name: str, k: int = DEFAULT) -> None:
        super().__init__(session, name)
        self._k = k
        self.rows = KAPPA // k

    @override
    def begin(self) -> None:
        if self.ready:
            return
        points = np.ascontiguousarray(self._delta_bits.reshape(-1, self._k)[:, ::-1])
        keys = self.base().random((points ^ np.uint8(1)).reshape(-1)).reshape(*points.shape, 2)
        message = self.session.receive(f"{self.name}.trees", np.uint64, (message_words(*points.shape),))
        self._seed(points, keys, message)
        self.ready = True

    def _seed(self, points: Choices, keys: Blocks, message: Packed) -> None:
        salts = tree_salts(self.session, self.name, *points.shape)
        leaves = punctured_trees(self.session, self.name, keys, points, message, salts)
        self._streams = _Streams(leaves, salts[0])

    @override
    def _fill(self, corrections: Matrix, tiles: Matrix) -> None:
        streams = self._streams
        first = streams.advance(len(tiles) * TILE_WORDS)
        kernels.ot_extend_sender(streams.schedules, streams.salts, first, self._delta_masks, corrections, tiles)


class SoftSpokenReceiver(ColumnReceiver):
    """Receiver of SoftSpoken over F_{2^k}; runs the base OTs, as their sender, on first use."""

    _streams: _Streams

    def __init__(self, session: Session, name: str, k: int = DEFAULT) -> None:
        super().__init__(session, name)
        self._k = k
        self.rows = KAPPA // k

    @override
    def begin(self) -> None:
        if self.ready:
            return
        message = np.empty(message_words(self.rows, self._k), dtype=np.uint64)
        self._seed(self.base().random(KAPPA), message)
        self.session.send(f"{self.name}.trees", message)
        self.ready = True

    def _seed(self, keys: Blocks, message: Packed) -> None:
        salts = tree_salts(self.session, self.name, self.rows, self._k)
        leaves = full_trees(self.session, self.name, keys.reshape(2, -1, self._k, 2), message, salts)
        self._streams = _Streams(leaves, salts[0])

    @override
    def _fill(self, choices: Packed, corrections: Matrix, tiles: Matrix) -> None:
        streams = self._streams
        first = streams.advance(len(choices))
        kernels.ot_extend_receiver(streams.schedules, streams.salts, first, choices, corrections, tiles)
