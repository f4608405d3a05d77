"""Which keys do two parties have in common? Private set intersection by Diffie-Hellman.

Protocol: Meadows (IEEE S&P 1986); Huberman, Franklin, Hogg, "Enhancing Privacy and Trust in Electronic Communities"
(EC 1999). H maps a text and the session's identifier to a point of `protocols.alignment.curve`.

    both      draw a scalar, and fill their tokens up to the agreed number with random points
    both      send scalar * H(token) for all tokens, shuffled
    both      open a value, for the first time in the job: the moment from which a result can follow
    sender    returns sender's scalar * (each point of the receiver), cut to a few bytes; for a number in another order
    receiver  compares them with receiver's scalar * (each point of the sender): equal ones are common

Ideal functionality. Inputs: a set of tokens of each party, at most the agreed number. Output to the receiver: its
tokens that the other party has too, or their number alone. If both learn it, the receiver sends the sender a bit for
each of the sender's points, or the number. Leakage: none beyond the agreed numbers. With several keys for a row the
receiver also learns by which key a row matches, whether the matched row of the peer has the earlier keys, and each
later key of its row that some row of the peer has. The sender learns this of the rows that the receiver claims.

Security: semi-honest, by the decisional Diffie-Hellman assumption, with H a random oracle. A party sees the other's
points under a scalar that it does not know; the dummies look alike. Points are shuffled by fresh randomness, so their
order depends on no row. A peer that cheats can enter up to the agreed number of points, guessed keys among them, and a
receiver that cheats can report a wrong result. It cannot test a key after the exchange: that takes the other's scalar.
A point that the peer sends twice is refused, and so are encodings that are not canonical.

Errors: two different points have equal cut products with a probability below 2^-40 for all pairs together.

Cost: 32 bytes a token of either party, `cut_bytes` a token of the receiver, 10 for 2^20 tokens each; a bit a token of
the sender if both learn the result. Each party maps its own tokens, and multiplies all tokens of both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from protocols.alignment.band import cells
from protocols.alignment.curve import POINT, Curve, check_canonical
from protocols.alignment.keys import Rows, Tokens, first_of_each_row
from smc.errors import ProtocolError
from smc.primitives.arrays import Octets
from smc.session import Session

Learns = Literal["both", "listener", "dialler"]
ERROR_BITS = 40  # minus log2 of the probability that the receiver finds a wrong match
BATCH = 1 << 13  # tokens of a message
# tokens of both from which on `fast` takes about a tenth of the time; with equal numbers, at most 1.2 times the bytes
FAST_KEYS = 1 << 15
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Matching:
    """The public terms of a matching.

    Attributes:
        sizes: Number of points that party 0 and party 1 send.
        learns: Who learns the result: both, or the party that listens (0) or dials (1).
        number: Whether only the number of common tokens is learnt.
        keys: Number of composite keys; with several a row may match twice.
        fast: Whether an oblivious PRF replaces Diffie-Hellman, see `protocols.alignment.fast`; not for a number.
    """

    sizes: tuple[int, int]
    learns: Learns = "both"
    number: bool = False
    keys: int = 1
    fast: bool = False

    @property
    def receiver(self) -> int:
        """Number of the party that compares: the one that learns the result.

        If both learn it, the one with fewer points compares; with equal numbers, party 0.
        """
        if self.learns == "both":
            return int(self.sizes[1] < self.sizes[0])
        return int(self.learns == "dialler")

    @property
    def cut_bytes(self) -> int:
        """Length of a returned product in bytes: two different products are equal with a probability below 2^-40.

        A sender that cheats can search for a value of `fast` that stands for two keys: it must try 2^40 keys.
        """
        cut = min(POINT, -(-(ERROR_BITS + (prod(self.sizes) - 1).bit_length()) // 8))
        return max(2 * ERROR_BITS // 8, cut) if self.fast else cut

    @property
    def opened_bits(self) -> int:
        """Number of opened bits: one for each key that a party that learns the result can enter if it cheats.

        For a number too: a receiver that takes another scalar for each point learns which of its points match.
        """
        return sum(size for party, size in enumerate(self.testable) if self.learns_it(party))

    @property
    def testable(self) -> tuple[int, int]:
        """Number of keys that party 0 and party 1 can enter if they cheat."""
        left, right = self.sizes
        if not self.fast:
            return left, right
        return (left, cells(right)) if self.receiver else (cells(left), right)

    def learns_it(self, party: int) -> bool:
        """Return whether a party learns the result."""
        return self.learns == "both" or party == self.receiver


def batches(count: int) -> Iterator[slice]:
    """Yield slices that divide `count` tokens among messages, one slice for each message."""
    return (slice(start, min(start + BATCH, count)) for start in range(0, count, BATCH))


def open_once(session: Session) -> None:
    """Open a public value, so that a node charges the job before products leave.

    A node repeats the share of an opening that has left, but products would be new. So a session whose opening is
    repeated ends here, before anything leaves, whatever the peer says: it cannot test other keys for one charge.

    Raises:
        ProtocolError: The opening has left in an earlier session, or may have.
    """
    if session.openings.is_repeated:
        raise ProtocolError("products of an earlier session of this job may have left: propose the job anew")
    session.openings.open(session, np.zeros(1, dtype=np.uint8))


class Exchange:
    """The messages that one party sends and receives in a matching. `Work` computes their content."""

    _work: Any  # `Work`, or that of another protocol

    def __init__(self, session: Session, terms: Matching, work: OwnTokens) -> None:
        self._session, self._terms, self._work = session, terms, work
        self._own, self._peers = terms.sizes[session.party], terms.sizes[1 - session.party]
        self._receives = session.party == terms.receiver

    def matched(self, on_batch: Callable[[int], object] = lambda points: None) -> Rows | int | None:
        """Return the indices of own matched tokens in a common order, or their number; None for a party that learns
        nothing.

        Args:
            on_batch: Called after each batch with the number of points so far.
        """
        session, terms = self._session, self._terms
        session.note("alignment", lambda: repr(terms).encode())
        with session.phase("points"):
            self._swap_points(on_batch)
        open_once(session)
        with session.phase("products"):
            pairs = self._products()
        with session.phase("result"):
            return self._number(pairs) if terms.number else self._rows(pairs)

    def _swap_points(self, on_batch: Callable[[int], object]) -> None:
        session, done = self._session, 0
        ours, theirs = list(batches(self._own)), list(batches(self._peers))
        for number in range(max(len(ours), len(theirs))):
            if number < len(ours):
                session.send("alignment.points", self._work.points(ours[number]))
            if number < len(theirs):
                part = theirs[number]
                shape = part.stop - part.start, POINT
                self._work.take(part, session.receive("alignment.points", np.uint8, shape))
                done += shape[0]
            on_batch(done)
        self._work.check_once()

    def _products(self) -> Rows:
        """Return the pairs of own and peer's points with equal products at the receiver, else none, int64[2, pairs]."""
        size = self._own if self._receives else self._peers
        cut = self._terms.cut_bytes
        if not self._receives:
            products = self._work.products(cut, shuffled=self._terms.number)
            for part in batches(size):
                self._session.send("alignment.products", products[part])
            return np.zeros((2, 0), dtype=np.int64)
        returned = np.empty((size, cut), dtype=np.uint8)
        for part in batches(size):
            shape = part.stop - part.start, cut
            returned[part] = self._session.receive("alignment.products", np.uint8, shape)
        return self._work.common(returned)

    def _number(self, pairs: Rows) -> int | None:
        session, terms = self._session, self._terms
        number = pairs.shape[1]
        session.meter.opened(terms.opened_bits)
        if terms.learns == "both":
            if self._receives:
                session.send("alignment.number", np.array([number], dtype=np.int64))
            else:
                (number,) = session.receive("alignment.number", np.int64, (1,)).tolist()
                if not 0 <= number <= min(terms.sizes):
                    raise ProtocolError("the peer reports an impossible number of common keys")
        return number if terms.learns_it(session.party) else None

    def _rows(self, pairs: Rows) -> Rows | None:
        terms = self._terms
        self._session.meter.opened(terms.opened_bits)
        own, theirs = pairs
        if self._receives:
            chosen = self._work.standing(own)
            own, theirs = own[chosen], theirs[chosen]
        if terms.learns != "both":
            return self._work.tokens_at(own) if self._receives else None
        size = self._peers if self._receives else self._own
        bits = np.zeros(size, dtype=np.uint8)
        if self._receives:
            bits[theirs] = 1
        bits = self._told("alignment.matched", bits, from_us=self._receives)
        if terms.keys > 1:
            if not self._receives:
                places = np.flatnonzero(bits)
                bits[places[~self._work.standing(places)]] = 0
            bits = self._told("alignment.kept", bits, from_us=not self._receives)
        if not self._receives:
            return self._work.tokens_at(np.flatnonzero(bits))
        kept = bits[theirs] == 1
        return self._work.tokens_at(own[kept][np.argsort(theirs[kept])])

    def _told(self, step: str, bits: Octets, from_us: bool) -> Octets:
        if from_us:
            self._session.send(step, np.packbits(bits))
            return bits
        packed = self._session.receive(step, np.uint8, (-(-len(bits) // 8),))
        return np.unpackbits(packed, count=len(bits))


class OwnTokens:
    """A party's tokens and dummies, in the order of its message: `_order` has the token or dummy at each position.

    Raise ValueError for more tokens than agreed.
    """

    _order: Rows

    def __init__(self, session: Session, terms: Matching, tokens: Tokens) -> None:
        self._size = terms.sizes[session.party]
        if len(tokens) > self._size:
            raise ValueError(f"{len(tokens)} tokens, more than the agreed {self._size}")
        self._session, self._tokens = session, tokens

    def tokens_at(self, positions: Rows) -> Rows:
        """Return the indices of the own tokens at these positions, without the dummies among them.

        A matched dummy is left out without an error: an error would show the peer which points are dummies.
        """
        tokens = self._order[positions]
        return tokens[tokens < len(self._tokens)]

    def standing(self, positions: Rows) -> NDArray[np.bool_]:
        """Return for each of these matched positions whether it counts: a row counts by its first matched key alone.

        Dummies count too, so that nothing shows which they are.
        """
        tokens = self._order[positions]
        stands = tokens >= len(self._tokens)
        own = tokens[~stands]
        stands[~stands] = first_of_each_row(self._tokens.rows[own], self._tokens.keys[own])
        return stands


class Work(OwnTokens):
    """The computations of a party on its tokens and on the peer's points."""

    def __init__(self, session: Session, terms: Matching, tokens: Tokens, curve: Curve | None = None) -> None:
        super().__init__(session, terms, tokens)
        self._curve = curve or Curve()
        self._scalar = session.prg.bytes(POINT).tobytes()
        self._order = np.argsort(session.prg.words(self._size))
        self._seed = hashlib.sha256(session.derive("alignment", size=32))
        self._peers = np.empty((terms.sizes[1 - session.party], 3), dtype=np.uint64)  # leading words of the products

    def points(self, part: slice) -> Octets:
        """Return the points of the own tokens and dummies at these positions."""
        digests = self._session.prg.bytes(POINT * (part.stop - part.start)).reshape(-1, POINT)
        chosen = self._order[part]
        is_token = chosen < len(self._tokens)
        texts = b"".join(self._hashed(self._tokens.texts[token]) for token in chosen[is_token].tolist())
        digests[is_token] = np.frombuffer(texts, dtype=np.uint8).reshape(-1, POINT)
        return self._curve.products(self._scalar, self._curve.points(digests))

    def _hashed(self, text: bytes) -> bytes:
        state = self._seed.copy()
        state.update(text)
        return state.digest()

    def take(self, part: slice, points: Octets) -> None:
        """Multiply some of the peer's points by the own scalar, and keep the first 24 bytes of each product.

        Args:
            part: Positions of the points among all points of the peer.
            points: The points, uint8[points, 32].

        Raises:
            ProtocolError: A point has a non-canonical encoding or small order.
        """
        check_canonical(points)
        self._peers[part] = self._curve.products(self._scalar, points).view("<u8")[:, : self._peers.shape[1]]

    def check_once(self) -> None:
        """Raise ProtocolError if the peer has sent a point twice. Products are compared at 24 bytes."""
        order = np.lexsort(self._peers.T)
        if (self._peers[order[1:]] == self._peers[order[:-1]]).all(axis=1).any():
            raise ProtocolError("the peer sent a point twice in the matching of keys")

    def products(self, cut: int, shuffled: bool) -> Octets:
        """Return the first bytes of the peer's points times the own scalar, uint8[points, cut].

        Args:
            cut: Number of bytes.
            shuffled: Whether their order is random; otherwise it is that of the points.
        """
        chosen = self._peers.view(np.uint8)[:, :cut]
        return chosen[np.argsort(self._session.prg.words(len(chosen)))] if shuffled else chosen

    def common(self, returned: Octets) -> Rows:
        """Return the positions of keys that both parties have, int64[2, pairs]: among the own points, and among the
        peer's.

        Args:
            returned: First bytes of the own points times both scalars, as the peer has sent them, uint8[points, cut].
        """
        return equal_rows(returned, self._peers.view(np.uint8)[:, : returned.shape[1]])


def equal_rows(own: Octets, theirs: Octets) -> Rows:
    """Return the positions of equal rows of two arrays, int64[2, pairs].

    Three equal rows make no pair. They come from a peer that sends a value twice. An error would tell it that we have
    the value, although it may learn nothing.

    Args:
        own: uint8[n, bytes].
        theirs: uint8[m, bytes].
    """
    size = own.shape[1]
    both = np.zeros((len(own) + len(theirs), -(-size // 8) * 8), dtype=np.uint8)
    both[: len(own), :size], both[len(own) :, :size] = own, theirs
    words = both.view(np.uint64)
    order = np.argsort(words[:, 0])
    first = words[order, 0]
    is_equal = (words[order[1:]] == words[order[:-1]]).all(axis=1)
    if (is_equal < (first[1:] == first[:-1])).any():  # by rare chance some rows are equal in their first 8 bytes alone
        order = np.lexsort(words.T)
        is_equal = (words[order[1:]] == words[order[:-1]]).all(axis=1)
    is_third = np.concatenate(([False], is_equal, [False]))
    is_equal &= ~(is_third[2:] | is_third[:-2])
    places = order[np.flatnonzero(is_equal)[:, None] + np.arange(2)]
    places.sort(axis=1)
    is_pair = (places[:, 0] < len(own)) & (places[:, 1] >= len(own))
    pairs: Rows = places[is_pair].T - np.array([[0], [len(own)]])
    return pairs


def match(session: Session, terms: Matching, tokens: Tokens) -> Rows | int | None:
    """Return the indices of own tokens that both parties have, or their number; None for a party that learns nothing.

    If both parties learn the tokens, they get them in one order: the n-th of either party belong together.

    Args:
        session: This party's session.
        terms: The public terms, equal at both parties.
        tokens: Own tokens, at most the agreed number.

    Raises:
        ProtocolError: The peer sent a point twice, or something that is no point, or an impossible number. Or an
            earlier session of this job may have sent products already.
        ValueError: There are more tokens than agreed.
    """
    return Exchange(session, terms, Work(session, terms, tokens)).matched()
