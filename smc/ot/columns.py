"""OT extension by columns, and the check of its receiver: the common part of IKNP and SoftSpoken.

The receiver has rows u_i and v_r of a matrix, the sender rows w_r: w_r = v_r if bit r of delta is 0, else w_r = v_r xor
u_i. Here i = r / k is the tree of row r (k = 1 in IKNP). The receiver sends the corrections c_i = u_i xor choices, and
the sender corrects w_r to q_r = v_r xor delta_r choices. A receiver that leaves the protocol may correct trees to
different choices. Its blocks then differ by bits of delta.

**Check.** Roy, "SoftSpokenOT" (CRYPTO 2022, eprint 2022/192), subspace VOLE with the repetition code, in one message:

    receiver adds 128 OTs with random choices to every batch, whose words have the weights 1 and 0, or 0 and 1;
             weights of all other words = PRG(BLAKE3(session, batch, corrections)), two of GF(2^64) a word;
             sends X = h(choices) and SHA-256 of h(v_0), ..., h(v_127), with h(row) = sum of words times weights
    sender   computes h(q_r) xor delta_r X = h(v_r), and compares the digests, before it uses any block of the batch

h is linear and 2^-128-universal. Trees corrected to choices that differ from X's have hashes that differ but with
probability 2^-128 for each message that the receiver tries (Fiat, Shamir): the 128 bits of h serve that. Such a tree i
passes only if the receiver guesses the k bits of delta of tree i. So a receiver that risks s bits passes with
probability 2^-s, and then knows them: 127 - s remain. An abort reveals that the guess was wrong, of a delta that is
never used. The additional OTs hide the choices in X. IKNP with this check stands for the check of Keller, Orsini,
Scholl (CRYPTO 2015), whose proof needed corrections (Roy; Diamond, eprint 2022/1371).

The sender sends nothing, so it can break no rule here. `smc.ot.elliptic` states the effects of dishonest base OTs.

Cost of a batch of n <= 65,408 OTs: (128 / k) (ceil(n / 8) + 16) + 48 bytes from the receiver, one message.
"""

from __future__ import annotations

import hmac
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks, transcript_digest
from smc.ot.base_ots import Extension
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.interface import Choices, Packed, Receiver, Role, Sender, failed_check
from smc.primitives.arrays import Octets
from smc.primitives.prg import Prg
from smc.session import Session

KAPPA = 128
MASK_WORDS = 2  # OTs that hide the choices in a check
BATCH = (1 << 16) - 64 * MASK_WORDS  # OTs of a message
AHEAD = 4  # messages that both parties may send before either reads: enough to fill a link with long delays
TILE_WORDS = 32  # words of a row of a tile, the kernels' unit
ANSWER, DIGEST = 16, 32  # bytes of a check
ALL_ONES = (1 << 64) - 1

Matrix = NDArray[np.uint64]


@dataclass(frozen=True)
class Layout:
    """Layout of a batch of `count` OTs in tiles: the OTs from bit 0 on; from a whole word on the OTs that mask them."""

    count: int

    @property
    def octets(self) -> int:
        """Number of bytes that the OTs of the batch take in a row of the message."""
        return (self.count + 7) // 8

    @property
    def mask_word(self) -> int:
        """Index of the first word of the additional OTs that mask the others in the consistency check."""
        return -(-self.count // 64)

    @property
    def tiles(self) -> int:
        """Number of tiles; each has `TILE_WORDS` words of every row, the unit of the kernels."""
        return -(-(self.mask_word + MASK_WORDS) // TILE_WORDS)

    @property
    def words(self) -> int:
        """Number of words of a row over all tiles."""
        return self.tiles * TILE_WORDS

    @property
    def last_bits(self) -> int:
        """Mask of the bits sent, in the last word before `mask_word`."""
        return ALL_ONES >> 8 * (8 * self.mask_word - self.octets)

    def message(self, rows: int) -> int:
        """Return the size in bytes of the message that the receiver sends, with `rows` rows of corrections."""
        return rows * (self.octets + 8 * MASK_WORDS) + ANSWER + DIGEST

    def cut(self, rows: Matrix, sent: Octets) -> None:
        """Copy the bytes of rows that are sent.

        Args:
            rows: All rows of a batch, uint64[n, words], little-endian.
            sent: Filled in, uint8[n, octets + 16].
        """
        whole, start = rows.view(np.uint8), 8 * self.mask_word
        sent[:, : self.octets] = whole[:, : self.octets]
        sent[:, self.octets :] = whole[:, start : start + 8 * MASK_WORDS]

    @property
    def is_full(self) -> bool:
        """True if every bit of the tiles is sent."""
        return self.octets + 8 * MASK_WORDS == 8 * self.words

    def laid(self, received: Octets) -> Matrix:
        """Return received bytes as rows, uint64[n, words], with zeros in place of the bytes that are not sent."""
        if self.is_full:
            return received.view(np.uint64)
        rows = np.zeros((len(received), 8 * self.words), dtype=np.uint8)
        start = 8 * self.mask_word
        rows[:, : self.octets] = received[:, : self.octets]
        rows[:, start : start + 8 * MASK_WORDS] = received[:, self.octets :]
        return rows.view(np.uint64)

    def weights(self, seed: bytes) -> Matrix:
        """Return the random weights by which the check sums up the words of a row, uint64[2, words].

        They are zero for words that are not sent.
        """
        weights = np.zeros((2, self.words), dtype=np.uint64)
        weights[:, : self.mask_word] = Prg(seed).words(2, self.mask_word)
        weights[0, self.mask_word] = weights[1, self.mask_word + 1] = 1
        return weights


def batches(count: int) -> Iterator[tuple[int, Layout]]:
    """Yield for each message the index of its first OT, and its layout."""
    for start in range(0, count, BATCH):
        yield start, Layout(min(BATCH, count - start))


class _Columns(Role):
    """One end of an extension by columns; each OT takes `rows` bits of corrections."""

    rows: int

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._number = 0  # number of the next batch
        self._tiles: Matrix = np.empty((0, KAPPA, TILE_WORDS), dtype=np.uint64)

    def _room_of(self, count: int) -> Blocks:
        """Return memory for `count` blocks and for the unused blocks in the last batch's tiles."""
        start = (max(count, 1) - 1) // BATCH * BATCH
        return self._room(start + 64 * Layout(count - start).words if count else 0, 2)

    def _take_tiles(self, layout: Layout) -> Matrix:
        """Return memory for tiles; all batches share it."""
        if len(self._tiles) < layout.tiles:
            self._tiles = np.empty((layout.tiles, KAPPA, TILE_WORDS), dtype=np.uint64)
        return self._tiles[: layout.tiles]

    def _challenge(self, layout: Layout, corrections: Octets) -> Matrix:
        """Return the weights derived from a batch's corrections."""
        return layout.weights(transcript_digest(self.session, corrections, self.name, "challenge", self._number))

    def _finish(self, layout: Layout, tiles: Matrix, weights: Matrix, out: Blocks) -> Matrix:
        """Write the blocks of all tiles to `out`, and return the hashes of their rows, uint64[128, 2]."""
        sums = np.empty((KAPPA, 2), dtype=np.uint64)
        kernels.ot_hash_tiles(tiles, weights, layout.mask_word - 1, layout.last_bits, sums, out)
        return sums

    def _digest(self, sums: Matrix) -> bytes:
        """Return the digest of the hashes of a batch, and count the batch."""
        self._number += 1
        return self.session.derive(self.name, "check", self._number, sums.tobytes(), size=DIGEST)


class ColumnSender(_Columns, Extension[Receiver], CorrelatedSender):
    """Sender of an extension by columns; runs the base OTs, as their receiver, on first use."""

    base_ot = EllipticReceiver

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._delta_bits = np.unpackbits(self.delta.view(np.uint8), bitorder="little")
        self._delta_masks = np.uint64(0) - self._delta_bits.astype(np.uint64)

    @abstractmethod
    def _fill(self, corrections: Matrix, tiles: Matrix) -> None:
        """Fill tiles uint64[tiles, 128, 32] with corrected rows, from corrections uint64[rows, 32 tiles]."""

    @override
    def correlated(self, count: int) -> Blocks:
        out = self._room_of(count)
        for start, layout in batches(count):
            self.setup()
            message = self.session.receive(f"{self.name}.matrix", np.uint8, (layout.message(self.rows),))
            self._extend(layout, message, out[start : start + 64 * layout.words])
        return out[:count]

    def _extend(self, layout: Layout, message: Octets, out: Blocks) -> None:
        """Write the blocks of a batch to `out`; raise ProtocolError if the message fails its check."""
        size = len(message) - ANSWER - DIGEST
        corrections, answer, digest = message[:size], message[size : size + ANSWER], message[size + ANSWER :]
        tiles = self._take_tiles(layout)
        self._fill(layout.laid(corrections.reshape(self.rows, -1)), tiles)
        sums = self._finish(layout, tiles, self._challenge(layout, corrections), out)
        sums ^= self._delta_masks[:, None] & answer.view(np.uint64)
        if not hmac.compare_digest(self._digest(sums), digest.tobytes()):
            raise failed_check(f"{self.name}.matrix")


class ColumnReceiver(_Columns, Extension[Sender], CorrelatedReceiver):
    """Receiver of an OT extension by columns. In the base OTs, which run on first use, it is the sender."""

    batch = AHEAD * BATCH
    base_ot = EllipticSender

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._message: Octets = np.empty(0, dtype=np.uint8)

    def _take_message(self, size: int) -> Octets:
        """Return memory for a message, shared by all batches: `Session.send` copies the bytes before it returns."""
        if len(self._message) < size:
            self._message = np.empty(size, dtype=np.uint8)
        return self._message[:size]

    @abstractmethod
    def _fill(self, choices: Packed, corrections: Matrix, tiles: Matrix) -> None:
        """Write corrections uint64[rows, 32 tiles] for choices uint64[32 tiles], and fill the tiles with rows."""

    @override
    def correlated(self, choice: Choices) -> Blocks:
        count = len(choice)
        out = self._room_of(count)
        for start, layout in batches(count):
            self.setup()
            message = self._take_message(layout.message(self.rows))
            self._extend(layout, choice[start : start + layout.count], message, out[start : start + 64 * layout.words])
            self.session.send(f"{self.name}.matrix", message)
        return out[:count]

    def _extend(self, layout: Layout, choice: Choices, message: Octets, out: Blocks) -> None:
        """Write the blocks of a batch to `out`, and the message that the sender needs for them to `message`."""
        packed = np.zeros(8 * layout.words, dtype=np.uint8)
        packed[: layout.octets] = np.packbits(choice, bitorder="little")
        choices = packed.view(np.uint64)
        choices[layout.mask_word : layout.mask_word + MASK_WORDS] = self.session.prg.words(MASK_WORDS)
        size = len(message) - ANSWER - DIGEST
        sent = message[:size].reshape(self.rows, -1)
        corrections = sent.view(np.uint64) if layout.is_full else np.empty((self.rows, layout.words), dtype=np.uint64)
        tiles = self._take_tiles(layout)
        self._fill(choices, corrections, tiles)
        if not layout.is_full:
            layout.cut(corrections, sent)

        weights = self._challenge(layout, message[:size])
        answer = np.empty((1, 2), dtype=np.uint64)
        kernels.ot_hash_rows(choices[None], weights, answer)
        message[size : size + ANSWER] = answer.reshape(-1).view(np.uint8)
        digest = self._digest(self._finish(layout, tiles, weights, out))
        message[size + ANSWER :] = np.frombuffer(digest, dtype=np.uint8)
