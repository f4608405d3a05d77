"""Matching by an oblivious PRF, against Python's sets; peers that cheat; messages counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import chisquare

from protocols.alignment import fast, matching
from protocols.alignment.band import cells
from protocols.alignment.counting import count
from protocols.alignment.fast import FastExchange, FastWork, match_fast
from protocols.alignment.keys import Tokens, tokens
from protocols.alignment.matching import Matching
from smc.counting.session import CountingSession
from smc.errors import ProtocolError
from smc.kernels.native import Kernel
from smc.local import run_local
from smc.ot import vole
from smc.ot.vole import VoleParameters
from smc.session import Session

Row = tuple[str | None, ...]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BATCH", 100)


def of_rows(rows: Sequence[Row], party: int) -> Tokens:
    keys = list(zip(*rows, strict=True)) if rows else [()]
    return tokens([[None if value is None else (value,) for value in values] for values in keys], party)


def run(rows: tuple[Sequence[Row], Sequence[Row]], terms: Matching) -> list[list[Row] | None]:
    """The rows that each party learns."""
    own = [of_rows(some, party) for party, some in enumerate(rows)]

    def program(session: Session) -> Any:
        learnt = match_fast(session, terms, own[session.party])
        return None if learnt is None else [rows[session.party][i] for i in own[session.party].rows[learnt]]

    return list(run_local(program))


def named(first: int, last: int) -> list[Row]:
    return [(str(number),) for number in range(first, last)]


@pytest.mark.parametrize(
    ("left", "right", "learns"),
    [
        ([], [], "both"),
        ([], named(0, 3), "both"),
        (named(0, 1), named(0, 1), "both"),
        (named(0, 300), named(0, 300), "listener"),
        (named(0, 40), named(40, 90), "both"),
        (named(0, 4096), named(4090, 4100), "both"),
        (named(4090, 4100), named(0, 4096), "dialler"),
        (named(0, 500), named(400, 700), "dialler"),
    ],
)
def test_the_result_is_the_intersection(left: list[Row], right: list[Row], learns: Any) -> None:
    terms = Matching((len(left) + 2, len(right) + 1), learns, fast=True)
    found = run((left, right), terms)
    for party, learnt in enumerate(found):
        if terms.learns_it(party):
            assert learnt is not None
            assert len(learnt) == len(set(learnt))
            assert set(learnt) == set(left) & set(right)
        else:
            assert learnt is None
    if learns == "both":
        assert found[0] == found[1]  # in one order


def test_rows_match_by_the_first_key_that_both_have() -> None:
    left: list[Row] = [("1", "a"), (None, "b"), ("3", "c"), ("4", "d")]
    right: list[Row] = [("9", "d"), (None, "c"), ("1", "z"), ("7", "b")]
    found = run((left, right), Matching((8, 8), keys=2, fast=True))
    pairs = list(zip(*(one or [] for one in found), strict=True))
    assert sorted(map(str, pairs)) == sorted(
        map(str, [(("1", "a"), ("1", "z")), ((None, "b"), ("7", "b")), (("3", "c"), (None, "c"))])
    )


@pytest.mark.parametrize("terms", [Matching((40, 20)), Matching((300, 500), "dialler"), Matching((9, 12), keys=2)])
@pytest.mark.parametrize("sets", [None, (VoleParameters(28, 4, 5), VoleParameters(22, 5, 6))])
def test_the_count_is_what_is_sent(terms: Matching, sets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = Matching(terms.sizes, terms.learns, keys=terms.keys, fast=True)
    if sets is not None:
        monkeypatch.setattr(vole._Vole.__init__, "__defaults__", (sets,))
        for role in (vole.VoleSender, vole.VoleReceiver):
            monkeypatch.setattr(role.__init__, "__defaults__", (sets,))
    meters: dict[int, Any] = {}

    def program(session: Session) -> Any:
        meters[session.party] = session.meter
        rows = [(None,) * (terms.keys - 1) + row for row in named(0, 4)]
        return match_fast(session, terms, of_rows(rows, session.party))

    run_local(program)
    for party in (0, 1):
        session = CountingSession(party)
        count(session, terms)
        for name in ("bytes_sent", "bytes_received", "messages", "rounds"):
            assert getattr(session.meter.total, name) == getattr(meters[party].total, name), name
        assert session.meter.total.bits_opened == meters[party].total.bits_opened


def test_a_receiver_that_cheats_is_counted_with_its_cells() -> None:
    terms = Matching((100, 200), fast=True)
    assert terms.testable == (cells(100), 200) == (248, 200)
    assert terms.opened_bits == 448
    assert Matching((100, 200), "dialler", fast=True).testable == (100, cells(200))
    assert Matching((100, 200)).testable == (100, 200)


@pytest.mark.parametrize("sizes", [(1, 1), (100, 100), (1 << 20, 1 << 20)])
def test_a_sender_tries_2_40_keys_for_a_value_that_stands_for_two(sizes: tuple[int, int]) -> None:
    assert Matching(sizes, fast=True).cut_bytes == 10


class Seen(FastWork):
    """Keeps what it sends, and the order of the sender's values."""

    sent: ClassVar[dict[int, np.ndarray]] = {}

    def masked(self, entries: np.ndarray) -> np.ndarray:
        self.sent[0] = super().masked(entries)
        return self.sent[0]

    def values(self, *more: Any) -> np.ndarray:
        self.sent[1] = super().values(*more)
        self.sent[2] = self._order == self._keys.order
        return self.sent[1]


def test_what_a_party_receives_is_uniform() -> None:
    terms = Matching((3000, 3000), fast=True)

    def program(session: Session) -> Any:
        work = Seen(session, terms, of_rows(named(0, 3000), session.party))
        return FastExchange(session, terms, work).matched()

    assert len(run_local(program)[0]) == 3000
    for one in (Seen.sent[0], Seen.sent[1]):
        assert chisquare(np.bincount(one.view(np.uint8).reshape(-1), minlength=256)).pvalue > 1e-6
    assert Seen.sent[2].sum() < 20  # a random order keeps one place on average


class Twice(FastWork):
    """A sender that sends the value of its first key in place of its second one's."""

    def values(self, *more: Any) -> np.ndarray:
        sent = super().values(*more)
        sent[self._order == 1] = sent[self._order == 0]
        return sent


class Shifted(FastWork):
    """A receiver whose table is off in one cell: its keys there do not match any more."""

    def masked(self, entries: np.ndarray) -> np.ndarray:
        sent = super().masked(entries)
        sent[: len(sent) // 2] ^= np.uint64(1)
        return sent


def cheated(work: type[FastWork], cheater: int) -> list[Any]:
    terms = Matching((60, 60), fast=True)

    def program(session: Session) -> Any:
        kind = work if session.party == cheater else FastWork
        return FastExchange(session, terms, kind(session, terms, of_rows(named(0, 60), session.party))).matched()

    return list(run_local(program))


def test_a_value_sent_twice_matches_nothing_and_no_error_shows_that_the_peer_has_the_key() -> None:
    assert [sorted(one) for one in cheated(Twice, 1)] == [[*range(2, 60)]] * 2


def test_a_key_outside_the_table_does_not_match() -> None:
    assert all(len(one) < 60 for one in cheated(Shifted, 0))


def test_nothing_is_sent_twice_after_a_broken_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(session: Session) -> Any:
        monkeypatch.setattr(type(session.openings), "is_repeated", property(lambda _: True))
        return match_fast(session, Matching((5, 5), fast=True), of_rows(named(0, 5), session.party))

    with pytest.raises(ProtocolError, match="products of an earlier session"):
        run_local(program)


def test_more_tokens_than_agreed_are_refused() -> None:
    with pytest.raises(ValueError, match="5 tokens, more than the agreed 4"):
        run((named(0, 5), named(0, 3)), Matching((4, 4), fast=True))


def test_values_equal_in_their_first_eight_bytes_alone_do_not_match() -> None:
    own = np.arange(33, dtype=np.uint8).reshape(3, 11)
    theirs = own[::-1].copy()
    theirs[0, 10] ^= 1
    assert matching.equal_rows(own, theirs).tolist() == [[0, 1], [2, 1]]
    assert fast.NAME


def test_the_module_names_its_kernels() -> None:
    assert {*vole.KERNELS, "band"} == set(fast.KERNELS) <= set(Kernel.registry)
