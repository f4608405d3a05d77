"""Lookups in a list that is sent once, against Python's sets; parties that cheat; what a party sees."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from protocols.alignment import matching
from protocols.alignment.counting import count_lookup
from protocols.alignment.curve import COFACTOR, ORDER, Curve, inverse_scalars
from protocols.alignment.lookup import Exchange, List, Lookup, Work, look_up
from smc.counting.session import CountingSession
from smc.errors import ProtocolError
from smc.local import run_local
from smc.session import Openings, Session

KEYS = st.sets(st.integers(0, 12).map(lambda number: str(number).encode()), max_size=6)
Keys = Sequence[bytes]
Kept = tuple[List, List]


def run(terms: Lookup, listed: Keys, asked: Keys, kept: Kept | None = None) -> tuple[set[bytes], Kept]:
    """The keys that the asking party finds, and what either party keeps."""

    def program(session: Session) -> Any:
        own = asked if session.party == terms.asks else listed
        return look_up(session, terms, own, None if kept is None else kept[session.party])

    done = run_local(program)
    assert done[1 - terms.asks][1] is None
    return {asked[row] for row in done[terms.asks][1].tolist()}, (done[0][0], done[1][0])


@settings(max_examples=15)
@given(KEYS, KEYS, KEYS, st.integers(0, 1), st.integers(0, 3))
def test_the_keys_found_are_those_in_the_list(
    listed: set[bytes], first: set[bytes], second: set[bytes], asks: int, more: int
) -> None:
    """Also in a later run, whose owner gives no keys."""
    terms = Lookup(max(1, len(listed) + more), 6, asks, is_sent=True)
    found, kept = run(terms, sorted(listed), sorted(first))
    assert found == listed & first
    assert run(replace(terms, is_sent=False), [], sorted(second), kept)[0] == listed & second


def test_a_list_of_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BATCH", 16)
    listed = [str(number).encode() for number in range(45)]
    assert run(Lookup(50, 20, 0, is_sent=True), listed, [*listed[40:], b"x"])[0] == {*listed[40:]}


def test_an_entry_is_the_function_of_its_key() -> None:
    """Recomputed with whole numbers from the scalar, on the curve v^2 = u^3 + A u^2 + u by its affine formulas."""
    key, p, a = b"ada", 2**255 - 19, 486662

    def sum_of(left: tuple[int, int] | None, right: tuple[int, int] | None) -> tuple[int, int] | None:
        if left is None or right is None:
            return left or right
        (u, v), (x, y) = left, right
        if u == x and (v + y) % p == 0:
            return None
        slope = (3 * u * u + 2 * a * u + 1, 2 * v) if u == x else (y - v, x - u)
        steep = slope[0] * pow(slope[1], -1, p) % p
        third = (steep * steep - a - u - x) % p
        return third, (steep * (u - third) - v) % p

    kept, received = run(Lookup(1, 1, 1, is_sent=True), [key], [])[1]
    scalar = int.from_bytes(kept.scalar.tobytes(), "little") & (2**255 - 8) | 2**254
    digest = hashlib.sha256(b"smc lookup point 1" + kept.name.tobytes() + key).digest()
    u = int.from_bytes(Curve().points(np.frombuffer(digest, dtype=np.uint8).reshape(1, 32)).tobytes(), "little")
    square = (u**3 + a * u * u + u) % p
    v = pow(square, (p + 3) // 8, p)
    v = v if v * v % p == square else v * pow(2, (p - 1) // 4, p) % p
    assert v * v % p == square
    total, power = None, (u, v)
    for bit in range(255):
        total = sum_of(total, power) if scalar >> bit & 1 else total
        power = sum_of(power, power)  # type: ignore[assignment]
    assert total is not None
    value = hashlib.sha256(b"smc lookup value 1" + kept.name.tobytes() + total[0].to_bytes(32, "little") + key).digest()
    assert received.entries.tobytes() == value[:5]


def test_an_inverse_scalar_takes_a_product_back() -> None:
    """On a point without a component of small order, that of RFC 9380, J.4.2."""
    generator = np.random.default_rng(1)
    point = np.frombuffer(
        0x1BB913F0C9DAEFA0B3375378FFA534BDA5526C97391952A7789EB976EDFE4D08.to_bytes(32, "little"), dtype=np.uint8
    )
    scalars = generator.integers(0, 256, (64, 32), dtype=np.uint8)
    points = np.tile(point, (64, 1))
    products = Curve().each_product(scalars, points)
    assert (products[0] == Curve().products(scalars[0].tobytes(), points[:1])).all()
    assert (Curve().each_product(inverse_scalars(scalars), products) == points).all()
    assert COFACTOR * ORDER < 2**255 + 2**129


def test_the_cut_length_keeps_errors_below_two_to_the_minus_forty() -> None:
    """Also for as many questions as entries, which a later run of a kept list may ask, and for more."""
    for listed in (1, 3, 1000, 10**7, 1 << 24):
        for asked in (1, 1000, 10**7):
            pairs = listed * max(listed, asked)
            assert pairs * 2.0 ** (-8 * Lookup(listed, asked, 0, is_sent=True).cut_bytes) <= 2.0**-40
    assert Lookup(10**7, 1000, 0, is_sent=True).cut_bytes == 11


@pytest.mark.parametrize("asks", [0, 1])
@pytest.mark.parametrize("is_sent", [True, False])
def test_the_count_is_what_is_sent(asks: int, is_sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BATCH", 16)
    terms = Lookup(40, 20, asks, is_sent)
    kept = None if is_sent else run(replace(terms, is_sent=True), [b"a"], [])[1]
    meters: dict[int, Any] = {}

    def program(session: Session) -> Any:
        meters[session.party] = session.meter
        return look_up(session, terms, [b"a", b"b"], None if kept is None else kept[session.party])

    run_local(program)
    for party in (0, 1):
        session = CountingSession(party)
        count_lookup(session, terms)
        for name in ("bytes_sent", "bytes_received", "messages", "rounds"):
            assert getattr(session.meter.total, name) == getattr(meters[party].total, name), name


def changed(place: str, change: Callable[[Any], Any]) -> type[Work]:
    """A party whose result of a computation is changed before it is sent."""

    def lying(self: Work, *arguments: Any) -> Any:
        return change(getattr(Work, place)(self, *arguments))

    return type("Lying", (Work,), {place: lying})


def with_first(value: bytes) -> Callable[[Any], Any]:
    def change(points: Any) -> Any:
        points = points.copy()
        points[0] = np.frombuffer(value, dtype=np.uint8)
        return points

    return change


NO_ENCODING = (2**255 - 18).to_bytes(32, "little")


@pytest.mark.parametrize(
    ("liar", "work", "line"),
    [
        (0, changed("entries", lambda entries: entries[[0, 0, 2, 3]]), "the peer sent an entry of the list twice"),
        (0, changed("entries", lambda entries: np.vstack([entries, entries])), "bytes at step 'lookup.entries'"),
        (0, changed("answers", with_first(NO_ENCODING)), "no canonical encoding"),
        (0, changed("answers", with_first(bytes(32))), "a point of small order"),
        (1, changed("questions", with_first(NO_ENCODING)), "no canonical encoding"),
        (1, changed("questions", with_first(bytes(32))), "a point of small order"),
        (1, changed("questions", lambda points: np.vstack([points, points])), "sent 272 bytes at step"),
    ],
)
def test_a_party_that_cheats_is_refused_in_one_line(liar: int, work: type[Work], line: str) -> None:
    terms = Lookup(4, 4, 1, is_sent=True)
    problems = []

    def program(session: Session) -> Any:
        kind = work if session.party == liar else Work
        try:
            return Exchange(session, terms, kind(session, terms, [b"a"])).found()
        except ProtocolError as error:
            problems.append((session.party, str(error)))
            raise

    with pytest.raises(ProtocolError):
        run_local(program)
    assert [line in text for party, text in problems if party != liar] == [True]


def test_a_list_of_another_run_is_refused() -> None:
    terms = Lookup(4, 4, 1, is_sent=True)
    first, second = (run(terms, [b"a"], [b"a"])[1] for _ in range(2))
    with pytest.raises(ProtocolError, match="kept different lists: agree on a new one with list = sent"):
        run(replace(terms, is_sent=False), [], [b"a"], (first[0], second[1]))


def test_a_repeated_opening_ends_the_run_before_an_answer() -> None:
    """A node would charge it once, and the asking party could send other points."""

    class Repeated(Openings):
        is_repeated = True

    def program(session: Session) -> Any:
        session.openings = Repeated()
        return look_up(session, Lookup(4, 4, 1, is_sent=True), [b"a"])

    with pytest.raises(ProtocolError, match="propose the job anew"):
        run_local(program)


def test_a_key_that_is_asked_again_looks_new() -> None:
    terms = Lookup(4, 1, 1, is_sent=True)
    kept, seen = run(terms, [b"a"], [])[1], []

    class Seeing(Work):
        def answers(self, kept: List, questions: Any) -> Any:
            seen.append(questions.tobytes())
            return super().answers(kept, questions)

    def program(session: Session) -> Any:
        later = replace(terms, is_sent=False)
        return Exchange(session, later, Seeing(session, later, [b"a"]), kept[session.party]).found()

    assert run_local(program)[1][1].tolist() == run_local(program)[1][1].tolist() == [0]
    assert seen[0] != seen[1]


def test_what_a_party_receives_does_not_depend_on_the_keys_of_the_other() -> None:
    """Chi-square of the bytes of questions and entries, and of the places of the one key that is found.

    Each p-value is below 10^-9 once in 10^9 runs, whatever the keys are.
    """
    terms, asked_bytes, entry_bytes, places = Lookup(40, 40, 1, is_sent=True), [], [], []

    class Seeing(Work):
        def answers(self, kept: List, questions: Any) -> Any:
            asked_bytes.append(questions[:, :16].copy())
            return super().answers(kept, questions)

        def received(self, name: Any) -> Any:
            entry_bytes.append(self._entries.copy())
            return super().received(name)

        def found(self, kept: List, answers: Any) -> Any:
            places.extend(np.flatnonzero(self._order == 0).tolist())
            return super().found(kept, answers)

    for keys in ([b"a"], [str(number).encode() for number in range(39)] + [b"a"]):

        def program(session: Session, keys: Keys = keys) -> Any:
            return Exchange(session, terms, Seeing(session, terms, keys)).found()

        asked_bytes.clear()
        entry_bytes.clear()
        for _ in range(30):
            run_local(program)
        for seen in (asked_bytes, entry_bytes):
            counts = np.bincount(np.concatenate(seen).reshape(-1), minlength=256)
            assert chisquare(counts).pvalue > 1e-9
    assert chisquare(np.bincount(np.array(places) // 10, minlength=4)).pvalue > 1e-9
