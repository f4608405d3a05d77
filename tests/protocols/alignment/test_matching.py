"""Private set intersection, against Python's sets; peers that cheat; what a party sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from protocols.alignment import matching
from protocols.alignment.counting import count
from protocols.alignment.forms import AS_WRITTEN, Form, normal_column
from protocols.alignment.keys import Tokens, tokens, tokens_per_row
from protocols.alignment.matching import Exchange, Matching, Work, match
from smc.channel import memory_pair
from smc.counting.session import CountingSession
from smc.errors import ProtocolError
from smc.local import run_local
from smc.primitives.prg import Prg
from smc.session import Openings, Session

SETS = st.tuples(*(st.sets(st.integers(0, 9).map(str), max_size=8) for _ in (0, 1)))
Row = tuple[str | None, ...]


def of_rows(rows: Sequence[Row], party: int) -> Tokens:
    keys = list(zip(*rows, strict=True)) if rows else [()]
    return tokens([[None if value is None else (value,) for value in values] for values in keys], party)


def run(rows: tuple[Sequence[Row], Sequence[Row]], terms: Matching) -> tuple[Any, Any]:
    """The rows, or the number, that each party learns."""
    own = [of_rows(some, party) for party, some in enumerate(rows)]

    def program(session: Session) -> Any:
        learnt = match(session, terms, own[session.party])
        return (
            learnt
            if learnt is None or terms.number
            else [rows[session.party][i] for i in own[session.party].rows[learnt]]
        )

    return run_local(program)


@settings(max_examples=25)
@given(SETS, st.integers(0, 3), st.sampled_from(["both", "listener", "dialler"]), st.booleans())
def test_the_result_is_the_intersection(sets: tuple[set[str], ...], more: int, learns: Any, number: bool) -> None:
    terms = Matching((len(sets[0]) + more, len(sets[1]) + 1), learns, number)
    left, right = run(tuple([(key,) for key in some] for some in sets), terms)  # type: ignore[arg-type]
    common = sets[0] & sets[1]
    for party, learnt in enumerate((left, right)):
        if not terms.learns_it(party):
            assert learnt is None
        elif number:
            assert learnt == len(common)
        else:
            assert {key for (key,) in learnt} == common
            assert len(learnt) == len(common)
    if learns == "both":
        assert left == right  # in one order


@pytest.mark.parametrize(
    ("left", "right"), [("", ""), ("", "a"), ("a", "a"), ("abc", "abc"), ("abc", "def"), ("a", "b")]
)
@pytest.mark.parametrize("number", [True, False])
def test_sets_that_are_empty_or_equal_or_disjoint(left: str, right: str, number: bool) -> None:
    learnt, _ = run(([(key,) for key in left], [(key,) for key in right]), Matching((3, 3), number=number))
    assert (learnt if number else len(learnt)) == len({*left} & {*right})


@pytest.mark.parametrize("learns", ["both", "listener", "dialler"])
def test_many_keys_against_a_few(learns: Any) -> None:
    """The party with a few keys receives, if both learn it."""
    many, few = [(str(i),) for i in range(1 << 12)], [(str(i),) for i in range((1 << 12) - 4, (1 << 12) + 6)]
    for rows in ((many, few), (few, many)):
        terms = Matching((len(rows[0]), len(rows[1])), learns)
        for party, learnt in enumerate(run(rows, terms)):
            assert (learnt and sorted(learnt)) == (few[:4] if terms.learns_it(party) else None)


SCRIPTS = (
    ["Ёлкин", "ΝΊΚΟΣ", "محمد", "李小龙", "Zoe\u0308", "Ｊｏｈｎ", "אַבְרָהָם"],
    ["елкин", "νίκος", "محمد", "李小龍", "zoë", "john", "אברהם"],
)


@pytest.mark.parametrize(
    ("form", "common"), [("", ["محمد"]), ("accents+case", ["елкин", "νικοσ", "محمد", "zoe", "אברהם"])]
)
def test_keys_in_other_scripts(form: str, common: list[str]) -> None:
    """Marks and capitals of any script fall away; letters that Unicode holds apart stay apart."""
    steps = Form.of(form) if form else AS_WRITTEN
    rows = tuple([(value,) for value in normal_column(steps, side)[0]] for side in SCRIPTS)
    left, right = run(rows, Matching((7, 7)))  # type: ignore[arg-type]
    assert left == right
    assert sorted(left) == sorted((key,) for key in common)


def test_many_keys_in_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BATCH", 16)
    left, right = [(str(i),) for i in range(50)], [(str(i),) for i in range(40, 47)]
    for terms in (Matching((50, 10)), Matching((64, 7), "dialler"), Matching((50, 7), number=True)):
        learnt = next(one for one in run((left, right), terms) if one is not None)
        assert learnt == 7 if terms.number else sorted(learnt) == right


@pytest.mark.parametrize("learns", ["both", "listener", "dialler"])
@pytest.mark.parametrize("number", [True, False])
@pytest.mark.parametrize("keys", [1, 2])
def test_the_count_is_what_is_sent(learns: Any, number: bool, keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BATCH", 16)
    terms = Matching((40, 20), learns, number, keys)
    meters: dict[int, Any] = {}

    def program(session: Session) -> Any:
        meters[session.party] = session.meter
        return match(session, terms, of_rows([(None,) * (keys - 1) + (str(i),) for i in range(9)], session.party))

    run_local(program)
    for party in (0, 1):
        session = CountingSession(party)
        count(session, terms)
        for name in ("bytes_sent", "bytes_received", "messages", "rounds"):
            assert getattr(session.meter.total, name) == getattr(meters[party].total, name), name


Cells = st.sampled_from([None, "a", "b", "c"])
TABLES = st.integers(2, 3).flatmap(
    lambda keys: st.tuples(*(st.lists(st.tuples(*[Cells] * keys), max_size=6) for _ in (0, 1)))
)


def key_of(left: Sequence[Row], right: Sequence[Row], i: int, j: int) -> int | None:
    """The key by which two rows match: the first that both have, if it is equal and no earlier row has its value."""
    for key, (a, b) in enumerate(zip(left[i], right[j], strict=True)):
        if a is not None and b is not None:
            is_first = all(row[key] != a for row in left[:i]) and all(row[key] != b for row in right[:j])
            return key if a == b and is_first else None
    return None


def one_to_one(left: Sequence[Row], right: Sequence[Row]) -> set[tuple[int, int]]:
    """Rows of the receiver, left, each with its match by the earliest key; of two claims the earlier key stays."""
    taken: dict[int, tuple[int, int]] = {}
    for i in range(len(left)):
        matches = [(key, j) for j in range(len(right)) if (key := key_of(left, right, i, j)) is not None]
        if matches:
            key, j = min(matches)
            taken[j] = min(taken.get(j, (key, i)), (key, i))
    return {(i, j) for j, (_, i) in taken.items()}


@settings(max_examples=60)
@given(TABLES)
def test_rows_match_one_to_one_by_the_first_key_that_both_have(tables: tuple[list[Row], list[Row]]) -> None:
    """Also if values are missing, or rows have one value of a key."""
    keys = len(next((row for rows in tables for row in rows), ("", "")))
    own = [of_rows(rows or [(None,) * keys], party) for party, rows in enumerate(tables)]
    size = 6 * tokens_per_row(keys)
    learnt = run_local(lambda session: match(session, Matching((size, size), keys=keys), own[session.party]))
    pairs = zip(*(tokens.rows[found].tolist() for tokens, found in zip(own, learnt, strict=True)), strict=True)
    assert sorted(pairs) == sorted(one_to_one(*tables))


def test_a_row_that_two_rows_claim_goes_to_the_first_key() -> None:
    """Party 1's row has party 0's first number, and the name of its second row, which has no number."""
    left: list[Row] = [("1", "ann"), (None, "bea")]
    right: list[Row] = [("1", "bea"), (None, "cid")]
    assert run((left, right), Matching((4, 4), keys=2)) == ([("1", "ann")], [("1", "bea")])


def test_the_cut_length_keeps_errors_below_two_to_the_minus_forty() -> None:
    assert Matching((1 << 20, 1 << 20)).cut_bytes == 10
    assert Matching(((1 << 20) + 1, 1 << 20)).cut_bytes == 11
    assert Matching((1, 1)).cut_bytes == 5
    for sizes in [(10, 1 << 20), (1000, 10**7), (3, 5)]:
        assert sizes[0] * sizes[1] * 2.0 ** (-8 * Matching(sizes).cut_bytes) <= 2.0**-40


class Cheating(Exchange):
    """A party that changes its points."""

    def __init__(self, session: Session, terms: Matching, work: Work, cheat: str) -> None:
        super().__init__(session, terms, work)
        honest = work.points

        def points(part: slice) -> Any:
            found = honest(part)
            if cheat == "twice":
                found[1] = found[0]
            elif cheat == "encoding":
                found[0] = np.frombuffer((2**255 - 18).to_bytes(32, "little"), dtype=np.uint8)
            elif cheat == "order":
                found[0] = 0
            elif cheat == "more":
                return np.concatenate([found, found[:1]])
            return found

        work.points = points  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("cheat", "line"),
    [
        ("twice", "the peer sent a point twice in the matching of keys"),
        ("encoding", "the peer sent a point that is no canonical encoding in the matching of keys"),
        ("order", "the peer sent a point of small order in the matching of keys"),
        ("more", "the peer sent 176 bytes at step 'alignment.points', expected 144"),
    ],
)
@pytest.mark.parametrize("cheater", [0, 1])
def test_a_peer_that_cheats_is_refused_in_one_line(cheat: str, line: str, cheater: int) -> None:
    terms = Matching((4, 4))
    problem = []

    def program(session: Session) -> None:
        own = of_rows([("a",), ("b",)], session.party)
        work = Work(session, terms, own)
        try:
            if session.party == cheater:
                Cheating(session, terms, work, cheat).matched()
            else:
                Exchange(session, terms, work).matched()
        except ProtocolError as error:
            problem.append((session.party, str(error)))
            raise

    with pytest.raises(ProtocolError):
        run_local(program)
    assert [text for party, text in problem if party != cheater] == [line]


@pytest.mark.parametrize("keys", ["ab", "xy"])
def test_no_error_shows_a_sender_that_returns_a_product_twice_which_keys_the_peer_has(keys: str) -> None:
    class Twice(Work):
        def products(self, cut: int, shuffled: bool) -> Any:
            found = super().products(cut, shuffled).copy()
            found[1::2] = found[::2]
            return found

    terms = Matching((2, 2), "listener")

    def program(session: Session) -> Any:
        own = of_rows([(key,) for key in ("ab" if session.party else keys)], session.party)
        return Exchange(session, terms, (Twice if session.party else Work)(session, terms, own)).matched()

    assert [None if one is None else one.tolist() for one in run_local(program)] == [[], None]


def test_an_impossible_number_is_refused() -> None:
    class Lying(Work):
        def common(self, returned: Any) -> Any:
            return np.zeros((2, 9), dtype=np.int64)

    def program(session: Session) -> Any:
        kind = Lying if session.party == 0 else Work
        terms = Matching((4, 4), number=True)
        return Exchange(session, terms, kind(session, terms, of_rows([("a",)], session.party))).matched()

    with pytest.raises(ProtocolError, match="impossible number"):
        run_local(program)


def test_what_a_party_receives_does_not_depend_on_the_rows_of_the_other() -> None:
    """Points and products of two different sets are alike: chi-square of their bytes and of the matches' positions.

    Each of the three p-values is below 10^-9 once in 10^9 runs, whatever the sets are.
    """
    seen: list[Any] = []
    places: list[int] = []

    class Seeing(Work):
        def take(self, part: slice, points: Any) -> None:
            if self._session.party == 0:
                seen.append(points.copy())
            super().take(part, points)

        def common(self, returned: Any) -> Any:
            pairs = super().common(returned)
            places.extend(pairs[1].tolist())
            return pairs

    terms, low = Matching((40, 40)), []
    for others in ([("a",)], [(str(i),) for i in range(39)] + [("a",)]):

        def program(session: Session, others: Any = others) -> Any:
            own = of_rows([("a",)] if session.party == 0 else others, session.party)
            return Exchange(session, terms, Seeing(session, terms, own)).matched()

        seen.clear()
        for _ in range(40):
            run_local(program)
        low.append(np.bincount(np.concatenate(seen)[:, :16].reshape(-1) >> 4, minlength=16))
    assert all(chisquare(counts).pvalue > 1e-9 for counts in low)
    assert chisquare(np.bincount(np.array(places) // 10, minlength=4)).pvalue > 1e-9


def test_a_number_does_not_show_which_points_are_common() -> None:
    """Each of 12 sessions returns one product in a random place of 64: all are in the right one once in 64^12."""
    right = []

    class Seeing(Work):
        def common(self, returned: Any) -> Any:
            own, theirs = super().common(returned)
            right.append(bool((self._order[own] == 0).all()))
            return np.stack([own, theirs])

    def program(session: Session) -> Any:
        terms = Matching((64, 64), number=True)
        return Exchange(session, terms, Seeing(session, terms, of_rows([("a",)], session.party))).matched()

    for _ in range(12):
        assert run_local(program) == (1, 1)
    assert not all(right)


def test_points_change_with_the_session_and_its_scalar() -> None:
    """One key has other points in each session, also under one scalar; and its place changes."""
    terms, own = Matching((1, 1)), of_rows([("a",)], 0)
    points = set()
    for number in range(4):
        _, channel = memory_pair()
        work = Work(Session(0, channel, bytes([number // 2]) * 32, Prg(bytes([number % 2]) * 16)), terms, own)
        points.add(work.points(slice(0, 1)).tobytes())
    assert len(points) == 4
    places = [Work(Session(0, channel, bytes(32)), Matching((64, 1)), own)._order.tolist().index(0) for _ in range(9)]
    assert len(set(places)) > 1  # equal once in 64^8


def test_nothing_leaves_if_the_opening_is_a_repeated_one() -> None:
    """A session that goes on after its products may have left ends at the sender, whatever the receiver opens."""
    sent: list[str] = []

    class Repeated(Openings):
        is_repeated = True

    def program(session: Session) -> Any:
        if session.party == 1:
            session.openings, send = Repeated(), session.send

            def noted(step: str, array: Any) -> None:
                sent.append(step)
                send(step, array)

            session.send = noted  # type: ignore[method-assign]
        return match(session, Matching((4, 4)), of_rows([("a",)], session.party))

    with pytest.raises(ProtocolError, match="propose the job anew"):
        run_local(program)
    assert set(sent) == {"alignment.points"}


@pytest.mark.parametrize("keys", [1, 2])
def test_a_claimed_match_of_a_dummy_is_ignored(keys: int) -> None:
    """The receiver claims all points of the sender, and sees the same as for keys."""

    class Claiming(Work):
        def common(self, returned: Any) -> Any:
            return np.stack([np.arange(4)] * 2)

        def standing(self, positions: Any) -> Any:
            return np.ones(len(positions), dtype=bool)

    def program(session: Session) -> Any:
        terms, own = Matching((4, 4), keys=keys), of_rows([("a",) * keys], session.party)
        work = (Claiming if session.party == terms.receiver else Work)(session, terms, own)
        return Exchange(session, terms, work).matched()

    assert run_local(program)[1].tolist() == [0]


def test_a_receiver_that_cheats_learns_which_keys_match_so_a_number_costs_a_bit_a_point() -> None:
    assert Matching((16, 8), "listener", number=True).opened_bits == Matching((16, 8), "listener").opened_bits == 16
