"""Link shapes as operators write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smc.errors import InputError
from smc.link_shape import PRESETS, LinkShape

rates = st.none() | st.floats(1, 1e15)
delays = st.none() | st.floats(1e-6, 1e4)


@pytest.mark.parametrize(
    ("text", "rate", "delay"),
    [
        ("100mbit,40ms", 100e6, 0.02),
        (" 2.5 Gbit , 500us ", 2.5e9, 0.00025),
        ("64kbit,1.5s", 64e3, 0.75),
        ("300bit", 300, None),
        (".5ms", None, 0.00025),
        ("loopback", None, None),
        ("lan", 1e9, 0.00025),
        ("WAN", 100e6, 0.02),
    ],
)
def test_what_can_be_read(text: str, rate: float | None, delay: float | None) -> None:
    shape = LinkShape.parse(text)
    assert shape.rate == (None if rate is None else pytest.approx(rate, rel=1e-12))
    assert shape.delay == (None if delay is None else pytest.approx(delay, rel=1e-12))
    assert shape.round_trip == pytest.approx(2 * (delay or 0))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (LinkShape(), "loopback"),
        (PRESETS["lan"], "1gbit,0.5ms"),
        (PRESETS["wan"], "100mbit,40ms"),
        (LinkShape(rate=999_999), "999.999kbit"),
        (LinkShape(delay=0.5), "1s"),
        (LinkShape(1234567891.0, 0.0123456789), "1.23457gbit,24.6914ms"),
    ],
)
def test_how_they_are_printed(shape: LinkShape, text: str) -> None:
    assert str(shape) == text


@given(rates, delays)
def test_what_is_printed_is_read_as_the_same(rate: float | None, delay: float | None) -> None:
    read = LinkShape.parse(str(LinkShape(rate, delay)))
    for given_value, found in ((rate, read.rate), (delay, read.delay)):
        assert (given_value is None) == (found is None)
        if given_value is not None and found is not None:
            assert math.isclose(given_value, found, rel_tol=1e-5)


@pytest.mark.parametrize(
    "text",
    ["", ",", "fast", "100", "mbit", "0mbit", "-1mbit", "nanmbit", "1e3bit", "1mbit,", "1mbit,2mbit", "40ms,1mbit",
     "1ms,1ms", "1mbit,1ms,1ms", "lan,1ms", "1parsec", "100mbit;40ms", "١mbit"],
)  # fmt: skip
def test_what_cannot_is_an_input_error_of_one_line(text: str) -> None:
    with pytest.raises(InputError, match="must be RATE,ROUND-TRIP such as 100mbit,40ms") as caught:
        LinkShape.parse(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=30))
def test_any_other_text_is_read_or_refused(text: str) -> None:
    try:
        LinkShape.parse(text)
    except InputError:
        return


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_numbers_of_no_link_are_refused(value: float) -> None:
    with pytest.raises(InputError, match="the rate of a link"):
        LinkShape(rate=value)
    with pytest.raises(InputError, match="the delay of a link"):
        LinkShape(delay=value)
    with pytest.raises(InputError, match="the rate of a link"):
        LinkShape.parse("9" * 400 + "bit")
