"""A matching that shows nobody who is common: against plain sets, what each party sees, and messages counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from protocols.alignment import band, cuckoo, hidden
from protocols.alignment.counting import count_hidden
from protocols.alignment.hidden import HiddenExchange, HiddenMatching, HiddenWork, at_least, match_hidden
from protocols.alignment.keys import Tokens, tokens
from protocols.hidden_rows import HiddenRows, cells
from smc import kernels
from smc.counting import forecast
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError, ProtocolError
from smc.kernels.native import Kernel
from smc.local import run_local
from smc.meter import Cost
from smc.recipes import ENGINES
from smc.session import Session

DOMAINS, OWNERS = (3, 2, 14, 2), (0, 1, 1, 0)
LEAN = Profile("lean", "ferret")


def named(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


def of_keys(keys: Sequence[str], party: int) -> Tokens:
    return tokens([[(key,) for key in keys]], party)


def columns(keys: Sequence[str], party: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed + party)
    domains = [size for size, owner in zip(DOMAINS, OWNERS, strict=True) if owner == party]
    return np.column_stack([rng.integers(0, size, len(keys)) for size in domains])


def run(
    keys: tuple[Sequence[str], Sequence[str]], terms: HiddenMatching, profile: Profile = LEAN, least: int = 0
) -> list[tuple[HiddenRows, bool, Cost]]:
    """Return each party's part, whether at least this number of bins count, and the cost."""

    def program(session: Session) -> tuple[HiddenRows, bool, Cost]:
        engine, party = engine_of(session, profile), session.party
        rows = match_hidden(engine, terms, of_keys(keys[party], party), columns(keys[party], party))
        return rows, at_least(engine, rows.member, least), session.meter.total

    return list(run_local(program))


def terms_of(left: Sequence[str], right: Sequence[str]) -> HiddenMatching:
    return HiddenMatching((len(left) + 2, len(right) + 1), DOMAINS, OWNERS)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []),
        ([], named(0, 3)),
        (named(0, 1), named(0, 1)),
        (named(0, 300), named(0, 300)[::-1]),
        (named(0, 40), named(40, 90)),
        (named(0, 4096), named(4090, 4100)),
        (named(4090, 4100), named(0, 4096)),
        (named(0, 500), named(400, 700)),
    ],
)
@pytest.mark.parametrize("word", [np.uint16, np.uint32])
def test_the_bins_that_count_are_the_joined_rows(
    left: list[str], right: list[str], word: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden, "word_of", lambda bins: word)
    keys, terms = (left, right), terms_of(left, right)
    common = sorted(set(left) & set(right))
    parts = run(keys, terms, least=len(common))
    assert [answer for _, answer, _ in parts] == [True, True]
    rows, other = (part for part, *_ in (parts if terms.holder == 0 else parts[::-1]))
    assert other.own is None
    assert rows.own is not None
    assert rows.bins == other.bins == terms.bins
    assert rows.shares.dtype == other.shares.dtype == word
    counts = np.flatnonzero(rows.member ^ other.member)
    shown = (rows.shares + other.shares)[counts]
    joined = np.hstack([rows.own[counts], shown])
    holder, sender = terms.holder, 1 - terms.holder
    own, theirs = columns(keys[holder], holder), columns(keys[sender], sender)
    at = [{key: row for row, key in enumerate(some)} for some in keys]
    expected = [
        [*own[at[holder][key]], *cells(theirs[[at[sender][key]]], terms.of(sender), terms.word)[0]] for key in common
    ]
    assert sorted(joined.tolist()) == sorted([[int(cell) for cell in row] for row in expected])


@pytest.mark.parametrize("name", [*ENGINES, "clear"])
@pytest.mark.parametrize(("least", "expected"), [(0, True), (19, True), (20, False), (207, False)])
def test_whether_enough_rows_match_is_one_opened_bit(name: Any, least: int, expected: bool) -> None:
    keys = named(0, 30), named(11, 60)
    terms = terms_of(*keys)
    assert terms.bins >= 207
    for _, answer, cost in run(keys, terms, Profile(name), least):
        assert answer is expected
        assert cost.bits_opened == 1


@pytest.mark.parametrize("sizes", [(40, 20), (300, 500), (0, 3)])
@pytest.mark.parametrize("profile", [LEAN, Profile("yao"), Profile("gmw", "softspoken4")])
def test_the_count_is_what_is_sent_whatever_the_keys(sizes: tuple[int, int], profile: Profile) -> None:
    terms = HiddenMatching(sizes, DOMAINS, OWNERS)

    def counted(engine: Any) -> None:
        at_least(engine, count_hidden(engine, terms).member, 3)

    costs = forecast(counted, profile).costs
    for keys in ((named(0, sizes[0]), named(0, sizes[1])), ([], ["other"])):
        for counted_cost, (_, _, cost) in zip(costs, run(keys, terms, profile, 3), strict=True):
            for name in ("bytes_sent", "bytes_received", "messages", "rounds", "bits_opened", "and_gates"):
                assert getattr(cost, name) == getattr(counted_cost, name), name


class Seen(HiddenWork):
    """Keeps what the parties send and read."""

    def masked(self, entries: np.ndarray) -> np.ndarray:
        self.known = entries[1].copy()
        self.sent: Any = super().masked(entries)
        return self.sent

    def hint(self, *more: Any) -> np.ndarray:
        self.sent = super().hint(*more).copy()
        return self.sent


def works(keys: tuple[Sequence[str], Sequence[str]], terms: HiddenMatching, work: type[HiddenWork] = Seen) -> list[Any]:
    """Return both parties' computations after a matching."""

    def program(session: Session) -> HiddenWork:
        party = session.party
        done = work(session, terms, of_keys(keys[party], party), columns(keys[party], party))
        HiddenExchange(engine_of(session, LEAN), terms, done).rows()
        return done

    return list(run_local(program))


def is_uniform(array: np.ndarray) -> bool:
    """A chi-square test of the bytes, wrong once in a million calls."""
    octets = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    return bool(chisquare(np.bincount(octets, minlength=256)).pvalue > 1e-6)


@pytest.mark.parametrize("right", [[], named(0, 900), named(10_000, 10_900)], ids=["none", "the same", "others"])
def test_what_a_party_receives_is_uniform_for_every_key_of_the_other(right: list[str]) -> None:
    """The tables, their free cells and first cells; and what the holder reads in its bins."""
    terms = HiddenMatching((900, 900), DOMAINS, OWNERS)
    holder, sender = works((named(0, 900), right), terms)
    assert is_uniform(holder.sent)
    assert is_uniform(sender.sent)
    assert is_uniform(sender.sent[:200])
    assert is_uniform(holder.targets)
    assert is_uniform(holder.shares)
    assert is_uniform(sender.shares)
    for table in (holder.sent, sender.sent):  # no cell is 0, or twice in the table
        assert len(np.unique(table, axis=0)) == len(table)
        assert table.any(axis=1).all()


def test_the_free_cells_of_few_keys_are_random() -> None:
    holder, sender = works(([], ["a"]), HiddenMatching((0, 1), DOMAINS, OWNERS))
    assert len(sender.sent) == 132  # for 3 entries
    assert is_uniform(sender.sent)
    assert len(np.unique(sender.sent, axis=0)) == 132
    assert len(np.unique(holder.targets)) == len(holder.targets)


def test_a_target_and_a_share_are_the_senders_where_it_has_the_key() -> None:
    """And the holder cannot read the entry of another hash of a key: each hash has digests of its own."""
    keys = named(0, 200), named(150, 400)
    terms = HiddenMatching((200, 250), DOMAINS, OWNERS)
    holder, sender = works(keys, terms)
    same = holder.targets == sender.targets
    assert same.sum() == 50
    names = holder._keys.names.tolist()
    assert len({tuple(name) for name in names}) == terms.bins  # the digests of empty bins differ, too
    entries = sender._keys.names[np.argsort(sender._keys.order)].reshape(cuckoo.HASHES, -1, 2)
    assert len({tuple(name) for name in entries.reshape(-1, 2).tolist()}) == 750
    assert sum(tuple(name) in {tuple(one) for one in names} for name in entries.reshape(-1, 2).tolist()) == 50


def test_a_holder_can_read_one_entry_of_a_bin() -> None:
    """It sends one value for each bin. With equal targets of two keys of a bin it would know that both are common."""
    keys = named(0, 200)
    terms = HiddenMatching((200, 200), DOMAINS, OWNERS)
    holder, sender = works((keys, keys), terms)
    assert holder.sent.shape == (terms.bins, 2)
    every, at = sender._keys, sender._bins[sender._keys.order]
    values, masks = holder.known[at], np.empty((600, terms.entry_words), dtype=np.uint64)
    kernels.band_blind(np.zeros(2, dtype=np.uint64), every.values, every.names, holder._schedule, values)
    kernels.band_stretch(values, 0, holder._schedule, masks)
    read = (band.decoded(every, holder._hint) ^ masks)[:, 0] == sender.targets[at]
    assert read.sum() == 200
    assert len(np.unique(at[read])) == 200
    assert len(np.unique(at)) < 600


def test_bins_and_digests_are_those_of_one_session() -> None:
    terms = HiddenMatching((50, 50), DOMAINS, OWNERS)
    first, second = (works((named(0, 50), named(0, 50)), terms) for _ in range(2))
    assert np.intersect1d(first[1]._keys.names, second[1]._keys.names).size == 0
    assert (first[1]._bins == second[1]._bins).sum() < 30  # of 150; one in 90 by chance
    assert not np.array_equal(first[0].own, second[0].own)


@pytest.mark.parametrize("size", [1, 1000, 50_000, 1 << 20])
def test_random_targets_are_equal_once_in_2_40_matchings(size: int) -> None:
    terms = HiddenMatching((size, size))
    assert terms.bins / 2**terms.target_bits < 2**-40
    assert terms.target_bits <= 64


def test_all_agreed_bits_of_a_target_are_compared() -> None:
    def program(session: Session) -> np.ndarray:
        words = np.zeros(57, dtype=np.uint64)
        if session.party:
            words[:56] = np.uint64(1) << np.arange(56, dtype=np.uint64)
        return hidden.shares_of_equal(make_engine(session, "gmw"), words, 56)

    left, right = run_local(program)
    assert (left ^ right).tolist() == [0] * 56 + [1]


class Cut(HiddenExchange):
    """A sender whose table lacks a cell."""

    def _as_sender(self) -> None:
        whole = self._work.hint
        self._work.hint = lambda *more: whole(*more)[:-1]  # type: ignore[method-assign]
        super()._as_sender()


class Garbled(HiddenWork):
    """A sender that sends another table of the agreed size."""

    def hint(self, *more: Any) -> np.ndarray:
        return super().hint(*more)[::-1]


def test_a_table_of_another_size_is_a_line() -> None:
    terms = HiddenMatching((9, 9), DOMAINS, OWNERS)

    def program(session: Session) -> None:
        party, kind = session.party, (HiddenExchange, Cut)[session.party]
        work = HiddenWork(session, terms, of_keys(named(0, 9), party), columns(named(0, 9), party))
        kind(engine_of(session, LEAN), terms, work).rows()

    with pytest.raises(ProtocolError, match=r"hidden\.hint"):
        run_local(program, timeout=20)


def test_a_table_of_other_content_joins_no_rows() -> None:
    holder, sender = works((named(0, 50), named(0, 50)), HiddenMatching((50, 50), DOMAINS, OWNERS), Garbled)
    assert not (holder.targets == sender.targets).any()


def test_keys_that_fit_no_bins_are_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuckoo, "part_size", lambda keys: 3)
    with pytest.raises(ProtocolError, match="no bins fit these keys, by rare chance; propose the job anew"):
        run((named(0, 10), named(0, 10)), HiddenMatching((10, 10), DOMAINS, OWNERS))


def test_more_keys_than_agreed_are_refused() -> None:
    with pytest.raises(ValueError, match="5 keys, more than the agreed 4"):
        run((named(0, 5), named(0, 3)), HiddenMatching((4, 4), DOMAINS, OWNERS))


@pytest.mark.parametrize("domains", [(3, 2, 14), (1, 2, 14, 2), (2, 2, 14, 2)])
def test_columns_that_do_not_fit_are_refused(domains: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="do not fit the agreed numbers of values"):
        run((named(0, 30), named(0, 3)), HiddenMatching((30, 4), domains, OWNERS[: len(domains)]))


def test_the_party_with_fewer_keys_has_the_bins() -> None:
    assert [HiddenMatching(sizes).holder for sizes in ((5, 5), (5, 4), (4, 5))] == [0, 1, 0]


def test_a_party_that_cheats_is_counted_with_its_cells() -> None:
    terms = HiddenMatching((100, 50))
    assert terms.testable == (terms.hint, terms.bins) == (488, 279)
    assert HiddenMatching((50, 100)).testable == (279, 488)


def test_the_module_names_its_kernels() -> None:
    assert {"band", "cuckoo"} < set(hidden.KERNELS) <= set(Kernel.registry)
