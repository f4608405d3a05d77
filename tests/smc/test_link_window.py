"""No more than a window is under way: what that does to a link's speed, in a prediction and as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smc.counting.session import Event
from smc.counting.timing import predicted_seconds
from smc.errors import InputError
from smc.link_shape import WINDOW_BYTES, Direction, LinkShape

MIB = 2**20


def last_arrival(shape: LinkShape, size: int, pieces: int) -> float:
    """Of `size` bytes that are handed over at once, in so many messages."""
    way = Direction(shape)
    return [way.carry(size // pieces, 0.0) for _ in range(pieces)][-1]


@pytest.mark.parametrize("pieces", [1, 7, 40, 1000])
def test_a_long_link_carries_a_window_in_a_round_trip(pieces: int) -> None:
    assert last_arrival(LinkShape(1e9, 0.05), 40 * MIB, pieces) == pytest.approx(39 * 0.1 + 0.05, rel=0.05)
    wide = LinkShape(1e9, 0.05, window=16 * MIB)
    assert last_arrival(wide, 40 * MIB, pieces) == pytest.approx(8 * 40 * MIB / 1e9 + 0.05, rel=0.01)


def test_predictions_know_the_window() -> None:
    size = 40 * MIB
    traces: tuple[list[Event], list[Event]] = ([("send", size)], [("receive", size)])
    assert predicted_seconds(traces, LinkShape(1e9, 0.05)) == pytest.approx(39 * 0.1 + 0.05, rel=0.1)
    assert predicted_seconds(traces, LinkShape(1e9, 0.05, 16 * MIB)) == pytest.approx(8 * size / 1e9 + 0.05, rel=0.4)


def test_without_a_rate_only_the_delay_matters() -> None:
    assert last_arrival(LinkShape(delay=0.5), 40 * MIB, 3) == 0.5


@pytest.mark.parametrize("shape", ["lan", "wan", "20mbit,40ms", "100mbit,80ms", "1gbit", "loopback"])
def test_a_link_that_a_window_fills_is_as_it_was(shape: str) -> None:
    way, plain = Direction(LinkShape.parse(shape)), LinkShape.parse(shape)
    per_byte = 8 / plain.rate if plain.rate is not None else 0.0
    free = 0.0
    for now, size in [(0.0, 10), (0.001, 5 * MIB), (0.5, 0), (0.5, 3)]:
        free = max(free, now) + size * per_byte
        assert way.carry(size, now) == pytest.approx(free + (plain.delay or 0.0), rel=1e-12)


@given(
    st.floats(1e6, 1e11),
    st.floats(1e-4, 1.0),
    st.integers(1024, 64 * MIB),
    st.lists(st.tuples(st.floats(0, 2), st.integers(0, 8 * MIB)), min_size=1, max_size=6),
)
def test_it_never_carries_more_than_rate_or_window_allow(
    rate: float, delay: float, window: int, messages: list[tuple[float, int]]
) -> None:
    way, fast, now = Direction(LinkShape(rate, delay, window)), Direction(LinkShape(rate, delay, 2**60)), 0.0
    total, last = 0, 0.0
    for pause, size in messages[:6] if window > MIB else messages[:2]:
        now += pause
        size = min(size, 200 * window)
        arrival, earliest = way.carry(size, now), fast.carry(size, now)
        total += size
        assert arrival >= earliest * (1 - 1e-9)
        assert arrival >= last
        assert arrival >= (total / window - 1) * 2 * delay * (1 - 1e-9) - 8 * window / rate
        last = arrival


@pytest.mark.parametrize(
    ("text", "window", "shown"),
    [
        ("1gbit,100ms", WINDOW_BYTES, "1gbit,100ms"),
        ("1gbit, 100ms, 16MiB", 16 * MIB, "1gbit,100ms,16mib"),
        ("100ms,512kib", 512 * 1024, "100ms,512kib"),
        ("2mib", 2 * MIB, "2mib"),
        ("1gbit,1mib", WINDOW_BYTES, "1gbit"),
    ],
)
def test_a_window_as_text(text: str, window: int, shown: str) -> None:
    shape = LinkShape.parse(text)
    assert (shape.window, str(shape)) == (window, shown)
    assert LinkShape.parse(str(shape)) == shape


@pytest.mark.parametrize("text", ["16mib,1gbit", "1gbit,16mib,100ms", "1mib,2mib", "0mib", "0.1kib"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(InputError):
        LinkShape.parse(text)
