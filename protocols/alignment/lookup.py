"""Which of a few keys are in a long list? An oblivious pseudorandom function, and a list that is sent once.

Protocol: Jarecki, Kiayias, Krawczyk, "Round-Optimal Password-Protected Secret Sharing and T-PAKE in the
Password-Only Model" (ASIACRYPT 2014), 2HashDH: the messages are those of RFC 9497, mode OPRF, on the group of
`protocols.alignment.curve`. With k the scalar of a list, the function is F(text) = SHA-256(name, k * H(text), text).

    owner of the list   draws k, and sends the first bytes of F of all its keys, filled up to the agreed number by
                        random bytes and shuffled. Both keep this list, with its name, for later runs
    asking party        sends blind * H(key) for its keys and dummies, shuffled, a fresh blind for each
    both                open a value, for the first time in the job: the moment from which a result can follow
    owner               returns k * (each of these points)
    asking party        removes the blinds, computes F of its keys, and looks them up

Ideal functionality. Inputs: the owner's set when the list is made, and in each run a set of the asking party, at most
the agreed number. Output to the asking party: its keys that the list has. Leakage: none beyond the agreed numbers.

Security. The asking party may leave the protocol: it learns the function at as many texts a run as it sends points, by
the one-more gap Diffie-Hellman assumption, with both hashes random oracles; so it can guess keys, and after the runs
test no more of them. The owner sees points that are uniform but for 2^-120, whatever it does; an owner that leaves
the protocol can spoil the result. One scalar serves one list: of two lists under one scalar the asking party would see
how many keys are new.

Errors: a key that the list lacks is found with a probability below 2^-40 for all keys of a run together.

Cost: `cut_bytes` a key of the list once, 11 for 10^7 keys and 10^3 asked; 64 bytes a key that is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protocols.alignment.curve import POINT, Curve, check_canonical, inverse_scalars
from protocols.alignment.keys import Rows
from protocols.alignment.matching import ERROR_BITS, batches, open_once
from smc.errors import ProtocolError
from smc.primitives.arrays import Octets
from smc.session import Session

NAME_BYTES = 16  # of a list
OnBatch = Callable[[int], object]


@dataclass(frozen=True)
class Lookup:
    """The public terms of a lookup.

    Attributes:
        listed: Number of entries of the list.
        asked: Number of points that the asking party sends.
        asks: The party that asks: 0, which listens, or 1.
        is_sent: Whether the list is made and sent in this run, rather than kept from an earlier one.
    """

    listed: int
    asked: int
    asks: int
    is_sent: bool

    @property
    def cut_bytes(self) -> int:
        """Length of an entry: the least with an error below 2^-40, also in a later run with as many questions."""
        bits = (self.listed - 1).bit_length() + (max(self.listed, self.asked) - 1).bit_length()
        return -(-(ERROR_BITS + bits) // 8)


def _nothing() -> Octets:
    return np.empty(0, dtype=np.uint8)


@dataclass(frozen=True)
class List:
    """A list, as one of the parties keeps it.

    Attributes:
        name: Random bytes, uint8[16].
        entries: Sorted entries, uint8[entries, cut_bytes]; the owner keeps none.
        scalar: The owner's secret, uint8[32]; the asking party has none.
    """

    name: Octets
    entries: Octets = field(default_factory=_nothing, repr=False)
    scalar: Octets = field(default_factory=_nothing, repr=False)


class Work:
    """The computations of a party. `Exchange` sends what they return."""

    def __init__(self, session: Session, terms: Lookup, texts: Sequence[bytes], curve: Curve | None = None) -> None:
        self._prg, self._terms, self._texts, self._curve = session.prg, terms, texts, curve or Curve()
        self._blinds, self._order = _nothing(), np.empty(0, dtype=np.int64)
        self._entries = np.empty((terms.listed, terms.cut_bytes) if terms.is_sent else 0, dtype=np.uint8)

    def made(self) -> List:
        """Return a new list as its owner keeps it."""
        self._order = np.argsort(self._prg.words(self._terms.listed))  # of the key or dummy at each position
        return List(self._prg.bytes(NAME_BYTES), scalar=self._prg.bytes(POINT))

    def entries(self, kept: List, part: slice) -> Octets:
        """Return the entries at these positions, uint8[positions, cut_bytes].

        Args:
            kept: The owner's list.
            part: The positions.
        """
        chosen, cut = self._order[part], self._terms.cut_bytes
        entries = self._prg.bytes(len(chosen) * cut).reshape(len(chosen), cut)
        is_key = chosen < len(self._texts)
        texts = [self._texts[key] for key in chosen[is_key].tolist()]
        products = self._curve.products(kept.scalar.tobytes(), self._points(kept.name, texts))
        entries[is_key] = _values(kept.name, texts, products)[:, :cut]
        return entries

    def take(self, part: slice, entries: Octets) -> None:
        """Store entries that the owner has computed.

        Args:
            part: Positions of the entries in the owner's list.
            entries: The entries, uint8[positions, bytes of an entry].
        """
        self._entries[part] = entries

    def received(self, name: Octets) -> List:
        """Return the list that the owner has sent, sorted.

        Args:
            name: Its name, uint8[16].

        Raises:
            ProtocolError: It has an entry twice.
        """
        entries = np.sort(_as_strings(self._entries))
        if (entries[1:] == entries[:-1]).any():
            raise ProtocolError("the peer sent an entry of the list twice")
        return List(name, entries.view(np.uint8).reshape(self._entries.shape))

    def questions(self, name: Octets) -> Octets:
        """Return the blinded points of own keys and dummies, uint8[asked, 32].

        Args:
            name: Name of the list, uint8[16].
        """
        asked = self._terms.asked
        self._order = np.argsort(self._prg.words(asked))  # of the key or dummy at each position
        self._blinds = self._prg.bytes(asked * POINT).reshape(asked, POINT)
        points = self._curve.points(self._prg.bytes(asked * POINT).reshape(asked, POINT))
        points[: len(self._texts)] = self._points(name, self._texts)
        return self._curve.each_product(self._blinds, points[self._order])

    def answers(self, kept: List, questions: Octets) -> Octets:
        """Return the owner's answers, uint8[asked, 32]: the product of each question and the list's secret scalar.

        Args:
            kept: The owner's list.
            questions: Points of the asking party, uint8[asked, 32].

        Raises:
            ProtocolError: A point has a non-canonical encoding or small order.
        """
        check_canonical(questions)
        return self._curve.products(kept.scalar.tobytes(), questions)

    def found(self, kept: List, answers: Octets) -> Rows:
        """Return the indices of the own keys that the list has, int64[found].

        Args:
            kept: The asking party's list.
            answers: Products of the owner, uint8[asked, 32].

        Raises:
            ProtocolError: A product has a non-canonical encoding or small order.
        """
        check_canonical(answers)
        products = np.empty_like(answers)
        products[self._order] = self._curve.each_product(inverse_scalars(self._blinds), answers)
        own = _as_strings(_values(kept.name, self._texts, products[: len(self._texts)])[:, : kept.entries.shape[1]])
        entries = _as_strings(kept.entries)
        places = np.minimum(np.searchsorted(entries, own), len(entries) - 1)
        return np.flatnonzero(entries[places] == own)

    def _points(self, name: Octets, texts: Sequence[bytes]) -> Octets:
        return self._curve.points(_hashed(b"smc lookup point 1" + name.tobytes(), texts))


def _values(name: Octets, texts: Sequence[bytes], products: Octets) -> Octets:
    """Return F of texts, uint8[texts, 32], from their products."""
    rows = products.tobytes()
    parts = [rows[POINT * row : POINT * (row + 1)] + text for row, text in enumerate(texts)]
    return _hashed(b"smc lookup value 1" + name.tobytes(), parts)


def _hashed(label: bytes, texts: Sequence[bytes]) -> Octets:
    """Return the SHA-256 of a label of fixed length and each text, uint8[texts, 32]."""
    seed, digests = hashlib.sha256(label), []
    for text in texts:
        state = seed.copy()
        state.update(text)
        digests.append(state.digest())
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, POINT)


def _as_strings(entries: Octets) -> NDArray[np.bytes_]:
    """Return each row as one value that sorts as its bytes, bytes[rows]."""
    return np.ascontiguousarray(entries).view(f"S{entries.shape[1]}").reshape(-1)


class Exchange:
    """One party's end of a lookup: its messages."""

    def __init__(self, session: Session, terms: Lookup, work: Work, kept: List | None = None) -> None:
        self._session, self._terms, self._work, self._kept = session, terms, work, kept
        self._asks = session.party == terms.asks

    def found(self, on_batch: OnBatch = lambda entries: None) -> tuple[List, Rows | None]:
        """Return the list to keep, and the indices of the own keys that it has; at the owner None in place of indices.

        Args:
            on_batch: Called after each batch of the list with the number of entries so far.
        """
        session, terms = self._session, self._terms
        session.note("lookup", lambda: repr(terms).encode())
        with session.phase("list"):
            kept = self._list(on_batch) if terms.is_sent else self._same_list()
        with session.phase("questions"):
            shape = terms.asked, POINT
            questions = self._told("lookup.questions", self._asks, shape, lambda: self._work.questions(kept.name))
        open_once(session)
        with session.phase("answers"):
            answers = self._told("lookup.answers", not self._asks, shape, lambda: self._work.answers(kept, questions))
        session.meter.opened(terms.asked)
        return kept, self._work.found(kept, answers) if self._asks else None

    def _list(self, on_batch: OnBatch) -> List:
        """Send the list that the owner makes. Return what to keep of it."""
        session, terms, work = self._session, self._terms, self._work
        kept = List(_nothing()) if self._asks else work.made()
        name = self._told("lookup.name", not self._asks, (NAME_BYTES,), lambda: kept.name)
        for part in batches(terms.listed):
            if self._asks:
                shape = part.stop - part.start, terms.cut_bytes
                work.take(part, session.receive("lookup.entries", np.uint8, shape))
            else:
                session.send("lookup.entries", work.entries(kept, part))
            on_batch(part.stop)
        return work.received(name) if self._asks else kept

    def _same_list(self) -> List:
        """Return the own list, after the owner has compared its name with that of the peer's."""
        if self._kept is None:
            raise ValueError("no list is kept")
        own = self._kept.name
        if (self._told("lookup.name", self._asks, (NAME_BYTES,), lambda: own) != own).any():
            raise ProtocolError("the two parties have kept different lists: agree on a new one with list = sent")
        return self._kept

    def _told(self, step: str, from_us: bool, shape: tuple[int, ...], values: Callable[[], Octets]) -> Octets:
        if not from_us:
            return self._session.receive(step, np.uint8, shape)
        self._session.send(step, sent := values())
        return sent


def look_up(
    session: Session, terms: Lookup, texts: Sequence[bytes], kept: List | None = None
) -> tuple[List, Rows | None]:
    """Return the list to keep for later runs, and the indices of the own keys that it has; None for these at its owner.

    Args:
        session: This party's session.
        terms: The public terms, equal at both parties.
        texts: Own keys without doubles, at most the agreed number. The owner of a kept list may pass none.
        kept: The list of an earlier run; None if it is sent in this run.

    Raises:
        ProtocolError: The peer has kept another list, or sent something that is no point, or an entry twice. Or an
            earlier session of this job may have sent answers already.
        ValueError: No list is passed, and none is sent in this run.
    """
    return Exchange(session, terms, Work(session, terms, texts), kept).found()
