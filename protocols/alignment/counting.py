"""Cost of matchings and of a lookup, counted without keys: messages, and the seconds of the computations."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from protocols.alignment import lookup
from protocols.alignment.band import cells
from protocols.alignment.cuckoo import HASHES
from protocols.alignment.curve import POINT
from protocols.alignment.fast import FastExchange, FastWork
from protocols.alignment.hidden import HiddenExchange, HiddenMatching, HiddenWork
from protocols.alignment.keys import Rows
from protocols.alignment.matching import Exchange, Matching, OwnTokens, Work
from protocols.hidden_rows import HiddenRows
from smc.counting.engines import CountingEngine
from smc.counting.roles import CountingVoleReceiver, CountingVoleSender
from smc.counting.session import CountingSession, no_values
from smc.hashing import Blocks
from smc.primitives.arrays import Octets

MAP_SECONDS: Final = 7e-6  # per token, on one core: hashing and Elligator 2
MULTIPLY_SECONDS: Final = 32e-6  # per product, on one core
FAST_SECONDS: Final = 1.5e-6  # per token of the fast method: its digest, place and cells
COUNTABLE: Final = 1 << 25  # keys of both parties whose hidden matching is counted in a few seconds
ENTRY_SECONDS: Final = 0.5e-6  # per bin or entry of a hidden matching: its digest, place and cells
WORD_SECONDS: Final = 0.2e-6  # per word of it
COMPARE_SECONDS: Final = 0.5e-6  # per value of the fast method that is compared


class _CountedTokens(OwnTokens):
    """Tokens without content."""

    @override
    def tokens_at(self, positions: Rows) -> Rows:
        return positions

    @override
    def standing(self, positions: Rows) -> NDArray[np.bool_]:
        return np.ones(len(positions), dtype=bool)


class _CountedWork(_CountedTokens, Work):
    """Computations that only take time."""

    def __init__(self, session: CountingSession, terms: Matching) -> None:
        self._counted, self._terms = session, terms

    @override
    def points(self, part: slice) -> Octets:
        self._counted.work((part.stop - part.start) * (MAP_SECONDS + MULTIPLY_SECONDS))
        return _zeros(part.stop - part.start, POINT)

    @override
    def take(self, part: slice, points: Octets) -> None:
        self._counted.work(len(points) * MULTIPLY_SECONDS)

    @override
    def check_once(self) -> None:
        """Do nothing: sorting takes little time."""

    @override
    def products(self, cut: int, shuffled: bool) -> Octets:
        return _zeros(self._terms.sizes[1 - self._counted.party], cut)

    @override
    def common(self, returned: Octets) -> Rows:
        return np.zeros((2, 0), dtype=np.int64)


class _CountedFastWork(_CountedTokens, FastWork):
    """Computations that only take time."""

    def __init__(self, session: CountingSession, terms: Matching) -> None:
        self._counted, self._terms = session, terms
        session.work(terms.sizes[session.party] * FAST_SECONDS)

    @override
    def masked(self, entries: Blocks) -> Blocks:
        return no_values(np.dtype(np.uint64), (cells(self._terms.sizes[self._counted.party]), 2))

    @override
    def values(self, delta: Blocks, entries: Blocks, masked: Blocks) -> Octets:
        return _zeros(self._terms.sizes[self._counted.party], self._terms.cut_bytes)

    @override
    def common(self, theirs: Octets) -> Rows:
        self._counted.work(sum(self._terms.sizes) * COMPARE_SECONDS)
        return np.zeros((2, 0), dtype=np.int64)


class _CountedFastExchange(FastExchange):
    sender, receiver = CountingVoleSender, CountingVoleReceiver


class _CountedHiddenWork(HiddenWork):
    """Computations that only take time."""

    def __init__(self, session: CountingSession, terms: HiddenMatching) -> None:
        self._counted, self._terms = session, terms
        keys, holds = terms.sizes[session.party], session.party == terms.holder
        entries = terms.bins if holds else HASHES * keys
        session.work(keys * FAST_SECONDS + entries * (ENTRY_SECONDS + terms.entry_words * WORD_SECONDS))
        self.targets = no_values(np.dtype(np.uint64), (terms.bins,))
        self.shares = no_values(np.dtype(terms.word), (terms.bins, terms.row_cells))
        if holds:
            self.own = no_values(np.dtype(np.int64), (terms.bins, len(terms.of(session.party))))

    @override
    def masked(self, entries: Blocks) -> Blocks:
        return no_values(np.dtype(np.uint64), (self._terms.bins, 2))

    @override
    def hint(self, delta: Blocks, entries: Blocks, masked: Blocks) -> Octets:
        return _zeros(self._terms.hint, self._terms.entry_bytes)

    @override
    def take(self, part: slice, cells: Octets) -> None:
        """Do nothing: copying takes little time."""

    @override
    def read(self) -> None:
        """Do nothing: `__init__` counts the time."""


class _CountedHiddenExchange(HiddenExchange):
    sender, receiver = CountingVoleSender, CountingVoleReceiver


class _CountedLookup(lookup.Work):
    """Computations that only take time."""

    def __init__(self, session: CountingSession, terms: lookup.Lookup) -> None:
        self._counted, self._terms = session, terms

    @override
    def made(self) -> lookup.List:
        return lookup.List(_zeros(lookup.NAME_BYTES))

    @override
    def entries(self, kept: lookup.List, part: slice) -> Octets:
        self._counted.work((part.stop - part.start) * (MAP_SECONDS + MULTIPLY_SECONDS))
        return _zeros(part.stop - part.start, self._terms.cut_bytes)

    @override
    def take(self, part: slice, entries: Octets) -> None:
        """Do nothing: copying takes little time."""

    @override
    def received(self, name: Octets) -> lookup.List:
        return lookup.List(name)

    @override
    def questions(self, name: Octets) -> Octets:
        self._counted.work(self._terms.asked * (MAP_SECONDS + MULTIPLY_SECONDS))
        return _zeros(self._terms.asked, POINT)

    @override
    def answers(self, kept: lookup.List, questions: Octets) -> Octets:
        self._counted.work(self._terms.asked * MULTIPLY_SECONDS)
        return _zeros(self._terms.asked, POINT)

    @override
    def found(self, kept: lookup.List, answers: Octets) -> Rows:
        self._counted.work(self._terms.asked * MULTIPLY_SECONDS)
        return np.zeros(0, dtype=np.int64)


def _zeros(*shape: int) -> Octets:
    return no_values(np.dtype(np.uint8), shape)


def count(session: CountingSession, terms: Matching) -> None:
    """Count a matching on a counting session.

    Args:
        session: One party's session.
        terms: The public terms.
    """
    if terms.fast:
        _CountedFastExchange(session, terms, _CountedFastWork(session, terms)).matched()
    else:
        Exchange(session, terms, _CountedWork(session, terms)).matched()


def count_hidden(engine: CountingEngine, terms: HiddenMatching) -> HiddenRows:
    """Count a hidden matching on a counting engine, and return one party's part of it, without values.

    Args:
        engine: One party's engine.
        terms: The public terms.
    """
    return _CountedHiddenExchange(engine, terms, _CountedHiddenWork(engine.counted, terms)).rows()


def count_lookup(session: CountingSession, terms: lookup.Lookup) -> None:
    """Count a lookup on a counting session.

    Args:
        session: One party's session.
        terms: The public terms.
    """
    kept = None if terms.is_sent else lookup.List(_zeros(lookup.NAME_BYTES))
    lookup.Exchange(session, terms, _CountedLookup(session, terms), kept).found()
