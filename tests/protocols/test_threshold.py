"""Linear thresholds against sums in Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import threshold
from smc.counting import forecast
from smc.engines import Engine, Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

PROFILES = [Profile("yao"), Profile("gmw", "ferret", form="size"), Profile("gmw", form="depth")]
MOST = (1 << 62) - 1  # the largest bound that fits


def decided(sides: Any, bound: int, profile: Profile = Profile("clear")) -> list[int]:  # noqa: B008 (immutable)
    def party(session: Session) -> Any:
        own = np.array(sides[session.party], dtype=np.int64)
        bits = threshold.decided(engine_of(session, profile), own, bound)
        assert session.meter.total.bits_opened == len(own)
        return bits.tolist()

    one, other = run_local(party)
    assert one == other
    return list(one)


@st.composite
def questions(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A bound, and sides within it: any, or sums next to 0."""
    bound = draw(st.one_of(st.integers(0, 5), st.integers(0, MOST), st.just(MOST)))
    side = st.integers(-bound, bound)
    near = st.builds(lambda a, d: (a, max(-bound, min(bound, d - a))), side, st.integers(-1, 1))
    return bound, draw(st.lists(st.one_of(st.tuples(side, side), near), min_size=1, max_size=20))


@settings(max_examples=150)
@given(questions())
def test_any_sides_within_any_bound(asked: tuple[int, list[tuple[int, int]]]) -> None:
    bound, pairs = asked
    assert decided(list(zip(*pairs, strict=True)), bound) == [int(a + b >= 0) for a, b in pairs]


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("bound", [1, 1000, MOST])
def test_engines_agree_at_the_ends(profile: Profile, bound: int) -> None:
    ends = [-bound, 1 - bound, -1, 0, 1, bound - 1, bound]
    pairs = [(a, b) for a in ends for b in ends]
    assert decided(list(zip(*pairs, strict=True)), bound, profile) == [int(a + b >= 0) for a, b in pairs]


@pytest.mark.parametrize("profile", [Profile("clear"), *PROFILES], ids=str)
@pytest.mark.parametrize("carry", [0, 1])
def test_a_secret_bit_is_added_to_every_sum(profile: Profile, carry: int) -> None:
    left, right = np.indices((7, 7)).reshape(2, -1) - 3

    def party(session: Session) -> list[int]:
        engine = engine_of(session, profile)
        secret = engine.constant(np.array([[carry]], dtype=np.uint8))
        return threshold.decided(engine, left if session.party == 0 else right, 3, secret).tolist()

    assert run_local(party)[0] == (left + right + carry >= 0).astype(int).tolist()


def test_a_few_questions_take_fewer_rounds_where_these_cost_most() -> None:
    def rounds(form: Any) -> int:
        profile = Profile("gmw", form=form)
        return forecast(lambda e: threshold.decided(e, np.zeros(9, np.int64), MOST), profile).meters[0].total.rounds

    assert 2 * rounds("depth") < rounds("size")


def test_parts_of_a_large_batch_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "comfortable", 40)  # 5 questions of 8 bits
    rng = np.random.default_rng(5)
    sides = rng.integers(-100, 101, (2, 23))
    assert decided(sides, 100) == (sides.sum(axis=0) >= 0).astype(int).tolist()


def test_no_question_opens_nothing() -> None:
    assert decided([[], []], 10) == []


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_cost_is_counted_ahead(profile: Profile) -> None:
    sides = np.arange(-50, 50)

    def party(session: Session) -> Any:
        engine = engine_of(session, profile)
        threshold.decided(engine, sides, 50)
        total = session.meter.total
        return total.bytes_sent + total.bytes_received, total.and_gates

    counted = forecast(lambda engine: threshold.decided(engine, np.zeros(100, dtype=np.int64), 50), profile)
    sent, gates = run_local(party)[0]
    assert sent == counted.bytes
    assert profile.form == "depth" or gates == 100 * 7  # an AND a bit of a side


@pytest.mark.parametrize(
    ("side", "bound", "why"),
    [
        (11, 10, "more rows than the agreed max_rows"),
        (-11, 10, "more rows than the agreed max_rows"),
        (-(1 << 63), 10, "more rows than the agreed max_rows"),
        (0, MOST + 1, "64 bits, at most 63 fit: lower max_rows"),
    ],
)
def test_what_does_not_fit_is_refused(side: int, bound: int, why: str) -> None:
    with pytest.raises(InputError, match=why):
        decided([[side], [0]], bound)
