"""Joined rows of two tables by their keys, where neither party learns which rows are common, nor how many.

Protocol: circuit-based set intersection with payloads, Pinkas, Schneider, Tkachenko, Yanai, "Efficient Circuit-Based
PSI with Linear Communication" (EUROCRYPT 2019). Its oblivious PRF is evaluated once in each bin, as in Kolesnikov,
Kumaresan, Rosulek, Trieu, "Efficient Batched Oblivious PRF" (CCS 2016), here by vector OLE: that of
`protocols.alignment.fast` without its table. The *holder* is the party with the smaller agreed bound, or party 0; the
other one is the sender. x is a key with the number i of a hash: it has a bin, a value h(x) and a name.

    both     make A delta + B = C by vector OLE (smc.ot.vole), for each bin: the sender has delta and B
    holder   puts its keys in bins (protocols.alignment.cuckoo); fills empty bins with random digests; sends A + h(x)
    sender   computes K = B + delta (A + h(x)) = C + delta h(x) for each bin; F(y) = G(K + delta h(y), y) in y's bin
    sender   draws a target t and shares w of a row for each bin. For each key y and i, with y's bin i, it enters
             t and (cells of y's row) - w, masked by F(y), into a table; dummies fill up the agreed number
    sender   sends the table. Cells that no key determines are random, so the table is uniform
    holder   reads its key of each bin: t and its share of the row if the sender has the key, else random words
    circuit  compares the targets of both parties: XOR shares of whether a bin counts

Ideal functionality. Inputs: at most the agreed number of different keys of each party, with a row of columns for each.
Output: `HiddenRows` of fresh shares. Leakage: none beyond the agreed numbers and the public columns.

G is that of `fast`; the holder has F(x) = G(C, x).

Security, semi-honest. The sender sees the holder's masked values, which are uniform by LPN. The holder knows F at one
value h in each bin, so it can read one entry of the bin at most: the bin's t and w mask this entry, and F masks the
others. A uniform solution for uniform values is a uniform table. The bins of the holder's keys stay with the holder.
The rest is that of the engine. Assumptions: those of `protocols.alignment.fast`: digests random oracles, AES an ideal
cipher.

A peer that cheats:
- A holder can enter as many keys as there are bins. It learns nothing by this before a later protocol opens a result:
  it reads at most one entry of each bin, and no other bin has the same target or share. A further session has fresh
  ones. Two keys of a bin with equal values h take 2^64 hashes to find.
- A sender can enter as many keys as its table has cells, 3.6 n + 128, for one hash each. It learns nothing by this
  before a later protocol opens a result. It can choose targets and rows that spoil the result.

Errors: a bin counts by chance with a probability below 2^-40 for all bins. No placement (`cuckoo`) or no table
(`band`) exists with a probability below 2^-40, for up to 11 million keys of the sender. The job then ends with a line.

Cost, for b bins (1.3 x the holder's keys + 48; more for up to 630 keys), n keys of the sender and rows of r bytes: 16 b
bytes of the holder, 3.6 n (8 + r) of the sender, vector OLE of b entries, and b comparisons of 40 + log2 b bits. To 3.6
n cells come 128.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocols import hidden_rows
from protocols.alignment import band, cuckoo
from protocols.alignment.keys import Rows, Tokens
from protocols.alignment.matching import ERROR_BITS, batches
from protocols.counts import Indices
from protocols.equality import equality
from protocols.hidden_rows import HiddenRows, Numbers, word_of
from smc import kernels
from smc.circuit import Builder, Form, Netlist
from smc.circuit.kept import kept
from smc.engines import Engine
from smc.errors import InputError
from smc.hashing import Blocks
from smc.ot.vole import KERNELS as VOLE_KERNELS
from smc.ot.vole import VoleReceiver, VoleSender
from smc.primitives.arrays import Octets
from smc.primitives.bits import BitMatrix, from_integers
from smc.session import Session

NAME = "hidden.vole"
KERNELS = (*VOLE_KERNELS, "band", "cuckoo")  # modules of `smc.kernels` that a hidden matching calls
TARGET = 8  # bytes of a target
BLOCK = 16
DIGEST_BLOCKS = 4  # of a key's digest for one hash


@dataclass(frozen=True)
class HiddenMatching:
    """The public terms of a hidden matching.

    Attributes:
        sizes: Upper bounds on the keys of party 0 and of party 1.
        domains: Number of values of each column, of both parties.
        owners: Party of each column, 0 or 1.
    """

    sizes: tuple[int, int]
    domains: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()

    @property
    def holder(self) -> int:
        """Party whose rows are in the bins: the one with fewer keys, or party 0."""
        return int(self.sizes[1] < self.sizes[0])

    @property
    def part(self) -> int:
        """Number of bins of each hash."""
        return cuckoo.part_size(self.sizes[self.holder])

    @property
    def bins(self) -> int:
        """Number of bins."""
        return cuckoo.HASHES * self.part

    @property
    def hint(self) -> int:
        """Number of cells of the sender's table."""
        return band.cells(cuckoo.HASHES * self.sizes[1 - self.holder])

    @property
    def testable(self) -> tuple[int, int]:
        """Number of keys that party 0 and party 1 can enter if they cheat: the bins, or the cells of the table."""
        return (self.hint, self.bins) if self.holder else (self.bins, self.hint)

    @property
    def target_bits(self) -> int:
        """Compared bits of a target: random ones are equal with a probability below 2^-40 for all bins."""
        return ERROR_BITS + self.bins.bit_length()

    def of(self, party: int) -> list[int]:
        """Return the domains of a party's columns."""
        return [size for size, owner in zip(self.domains, self.owners, strict=True) if owner == party]

    @property
    def word(self) -> type[Any]:
        """Type of the shares of a row."""
        return word_of(self.bins)

    @property
    def row_cells(self) -> int:
        """Number of cells of a row of the sender."""
        return sum(size - 1 for size in self.of(1 - self.holder))

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry of the sender's table: a target, and a row."""
        return TARGET + self.row_cells * np.dtype(self.word).itemsize

    @property
    def entry_words(self) -> int:
        """Words that hold an entry, in whole blocks."""
        return 2 * -(-self.entry_bytes // BLOCK)


class HiddenWork:
    """The computations of a party on its keys and rows.

    Attributes:
        targets: Target of each bin, uint64[bins]; private.
        own: The holder's columns of each bin, int64[bins, columns]; None at the sender. Private.
        shares: This party's share of the sender's columns, [bins, cells]; private.
    """

    targets: Blocks
    own: Indices | None = None
    shares: Numbers

    def __init__(self, session: Session, terms: HiddenMatching, tokens: Tokens, values: Indices) -> None:
        self._session, self._terms, self._values = session, terms, values[tokens.rows]
        self._schedule = np.empty(22, dtype=np.uint64)
        self._place = self._in_bins if session.party == terms.holder else self._in_entries
        self._keys = band.Keys.of(self._place(self._hashed(tokens)).view(np.uint8), terms.hint)

    def _hashed(self, tokens: Tokens) -> Blocks:
        """Return two words of a name and three of the bins for each own key and dummy, uint64[keys, 5]."""
        terms, party = self._terms, self._session.party
        seed = hashlib.blake2b(key=self._session.derive("hidden matching", size=32), digest_size=40)
        words = self._session.prg.words(len(tokens) if party == terms.holder else terms.sizes[party], 5)
        words[: len(tokens)] = np.frombuffer(
            b"".join(_digest(seed, text) for text in tokens.texts), dtype=np.uint64
        ).reshape(-1, 5)
        return words

    def _in_bins(self, words: Blocks) -> Blocks:
        """Put own keys in bins; return the digest of each bin, uint64[bins, 8]."""
        terms, part = self._terms, self._terms.part
        held = cuckoo.placed(cuckoo.choices(words[:, 2:], part), part)
        is_held = held != cuckoo.EMPTY
        names = self._session.prg.words(terms.bins, 2)
        names[is_held] = words[held[is_held], :2]
        self.own = np.zeros((terms.bins, self._values.shape[1]), dtype=np.int64)
        self.own[is_held] = self._values[held[is_held]]
        return self._of_each_hash(names.reshape(cuckoo.HASHES, part, 2))

    def _in_entries(self, words: Blocks) -> Blocks:
        """Find the bins of own keys; return the digest of each entry, uint64[3 keys, 8]."""
        self._bins: Rows = cuckoo.choices(words[:, 2:], self._terms.part).T.reshape(-1)
        return self._of_each_hash(np.broadcast_to(words[:, :2], (cuckoo.HASHES, len(words), 2)))

    def _of_each_hash(self, names: Blocks) -> Blocks:
        """Return the digests of names for each hash, uint64[3 n, 8], from uint64[3, n, 2]."""
        digests = np.empty((*names.shape[:2], 2 * DIGEST_BLOCKS), dtype=np.uint64)
        for number, (some, target) in enumerate(zip(names, digests, strict=True)):
            kernels.band_stretch(np.ascontiguousarray(some), DIGEST_BLOCKS * number, self._schedule, target)
        return digests.reshape(-1, 2 * DIGEST_BLOCKS)

    def masked(self, entries: Blocks) -> Blocks:
        """Return the value of each bin's key plus A, uint64[bins, 2], and keep the holder's values of the PRF.

        Args:
            entries: A and C, uint64[2, bins, 2].
        """
        masked, order = entries[0].copy(), self._keys.order
        masked[order] ^= self._keys.values
        self._masks = self._stretched(np.zeros(2, dtype=np.uint64), entries[1, order])
        self._hint = np.zeros((self._terms.hint, self._terms.entry_words), dtype=np.uint64)
        return masked

    def hint(self, delta: Blocks, entries: Blocks, masked: Blocks) -> Octets:
        """Return the sender's table, uint8[cells, bytes].

        Args:
            delta: The sender's difference, uint64[2].
            entries: B, uint64[1, bins, 2]; changed.
            masked: The values that it received, uint64[bins, 2].
        """
        terms, prg, order = self._terms, self._session.prg, self._keys.order
        kernels.field_add_products(delta, masked, entries[0])
        at, keys = self._bins[order], terms.sizes[self._session.party]
        programmed = self._stretched(delta, entries[0, at])
        self.targets = prg.words(terms.bins)
        size = terms.bins, terms.row_cells
        self.shares = prg.bytes(terms.bins * (terms.entry_bytes - TARGET)).view(terms.word).reshape(size)
        rows = np.zeros((keys, terms.row_cells), dtype=terms.word)
        rows[: len(self._values)] = hidden_rows.cells(self._values, terms.of(self._session.party), terms.word)
        programmed[:, 0] ^= self.targets[at]
        row = programmed.view(np.uint8)[:, TARGET : terms.entry_bytes]
        row ^= (rows[order % keys] - self.shares[at]).view(np.uint8)
        table = band.encoded(self._keys, terms.hint, programmed, prg)
        octets: Octets = table.view(np.uint8)[:, : terms.entry_bytes]
        return octets

    def take(self, part: slice, cells: Octets) -> None:
        """Store cells of the sender's table at the holder.

        Args:
            part: Positions of the cells.
            cells: The cells, uint8[cells, bytes].
        """
        self._hint.view(np.uint8)[part, : self._terms.entry_bytes] = cells

    def read(self) -> None:
        """Read the target and the row of each bin in the sender's table at the holder."""
        terms, out = self._terms, np.empty_like(self._masks)
        out[self._keys.order] = band.decoded(self._keys, self._hint) ^ self._masks
        self.targets = out[:, 0].copy()
        octets = np.ascontiguousarray(out.view(np.uint8)[:, TARGET : terms.entry_bytes])
        self.shares = octets.reshape(-1).view(terms.word).reshape(terms.bins, terms.row_cells)

    def _stretched(self, delta: Blocks, values: Blocks) -> Blocks:
        """Return the masks of entries, uint64[keys, words]: AES under the value of the PRF.

        Args:
            delta: The sender's difference, uint64[2]; zeros at the holder.
            values: K or C in the bin of each key, uint64[keys, 2]; changed.
        """
        kernels.band_blind(delta, self._keys.values, self._keys.names, self._schedule, values)
        masks = np.empty((len(values), self._terms.entry_words), dtype=np.uint64)
        kernels.band_stretch(values, 0, self._schedule, masks)
        return masks


def _digest(seed: hashlib.blake2b, text: bytes) -> bytes:
    state = seed.copy()
    state.update(text)
    return state.digest()


class HiddenExchange:
    """The messages that one party sends and receives."""

    sender, receiver = VoleSender, VoleReceiver

    def __init__(self, engine: Engine, terms: HiddenMatching, work: HiddenWork) -> None:
        self._engine, self._session, self._terms, self._work = engine, engine.session, terms, work

    def rows(self) -> HiddenRows:
        """Return this party's part of the joined rows."""
        session, terms, work = self._session, self._terms, self._work
        session.note("hidden matching", lambda: repr(terms).encode())
        if session.party == terms.holder:
            self._as_holder()
        else:
            self._as_sender()
        with session.phase("members"):
            member = shares_of_equal(self._engine, work.targets, terms.target_bits)
        return HiddenRows(terms.domains, terms.owners, terms.holder, member, work.own, work.shares)

    def _as_holder(self) -> None:
        session, terms = self._session, self._terms
        with session.phase("values"):
            masked = self._work.masked(self.receiver(session, NAME).entries(terms.bins))
            for part in batches(terms.bins):
                session.send("hidden.values", masked[part])
        with session.phase("hint"):
            for part in batches(terms.hint):
                size = part.stop - part.start, terms.entry_bytes
                self._work.take(part, session.receive("hidden.hint", np.uint8, size))
        self._work.read()

    def _as_sender(self) -> None:
        session, terms = self._session, self._terms
        with session.phase("values"):
            vole = self.sender(session, NAME)
            entries, masked = vole.entries(terms.bins), np.empty((terms.bins, 2), dtype=np.uint64)
            for part in batches(terms.bins):
                masked[part] = session.receive("hidden.values", np.uint64, (part.stop - part.start, 2))
        hint = self._work.hint(vole.delta, entries, masked)
        with session.phase("hint"):
            for part in batches(terms.hint):
                session.send("hidden.hint", np.ascontiguousarray(hint[part]))


def match_hidden(engine: Engine, terms: HiddenMatching, tokens: Tokens, values: Indices) -> HiddenRows:
    """Return this party's part of the joined rows.

    Args:
        engine: The engine of this session.
        terms: The public terms, equal at both parties.
        tokens: Own keys without doubles, at most the agreed number; of one key a row.
        values: Own columns, int64[rows, own columns]; private.

    Raises:
        InputError: The columns do not fit the terms.
        ProtocolError: The peer's vector OLE fails the check; or no bins or no table fit the keys, by rare chance.
        ValueError: There are more keys than agreed.
    """
    if len(tokens) > terms.sizes[engine.party]:
        raise ValueError(f"{len(tokens)} keys, more than the agreed {terms.sizes[engine.party]}")
    domains = terms.of(engine.party)
    if values.ndim != 2 or values.shape[1] != len(domains) or ((values < 0) | (values >= domains)).any():
        raise InputError(f"own columns of shape {values.shape} do not fit the agreed numbers of values {domains}")
    return HiddenExchange(engine, terms, HiddenWork(engine.session, terms, tokens, values)).rows()


def shares_of_equal(engine: Engine, words: Blocks, width: int) -> Octets:
    """Return an XOR share of whether each word of this party equals the peer's, uint8[batch].

    Args:
        engine: The engine of this session.
        words: This party's words, uint64[batch]; private.
        width: Number of low bits that are compared; public.
    """
    engine.expect(width * len(words))
    netlist, size = equality(width, engine.form), max(1, engine.comfortable // width)
    starts = range(0, len(words), size)
    sides = (engine.both(from_integers(words[start : start + size], width)) for start in starts)
    parts = [engine.shares(engine.run(netlist, *pair)[0])[0] for pair in sides]
    return np.concatenate(parts)


@kept
def _reached(width: int, least: int, form: Form) -> Netlist:
    """Build the circuit whose output is whether the sum of its inputs modulo 2^width reaches `least`."""
    builder = Builder(form)
    total = builder.input(width) + builder.input(width)
    builder.output([~(total < builder.constant(least, width))])
    return builder.build()


def at_least(engine: Engine, member: BitMatrix, least: int) -> bool:
    """Open whether at least this number of bins count. Both parties learn this bit, and nothing else.

    With the shares a and b of a bin, a XOR b = a + b - 2 a b: an inner product of the parties' shares adds up the
    products, at the cost of an OT for each bin.

    Args:
        engine: The engine of this session.
        member: XOR share of whether each bin counts, uint8[bins]; private.
        least: The threshold, from 0 to the number of bins; public.
    """
    bins, width = len(member), len(member).bit_length()
    kind, sizes = word_of(bins), [(bins, 1)]
    with engine.session.phase("members"):
        if engine.party:
            (products,) = engine.inner.chosen(sizes, lambda number, part: member[part], kind)
        else:
            (products,) = engine.inner.owned(sizes, lambda number, part: member[part, None].astype(kind), kind)
        share = (member.sum(dtype=np.uint64) - np.uint64(2) * products.astype(np.uint64)) & np.uint64((1 << width) - 1)
        sides = engine.both(from_integers(share, width))
        (opened,) = engine.reveal(engine.run(_reached(width, least, engine.form), *sides)[0])
    return bool(opened[0, 0])
