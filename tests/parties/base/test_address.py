"""Addresses as they are written."""

from __future__ import annotations

import pytest

from parties.base.address import parse_address
from smc.errors import InputError


@pytest.mark.parametrize(
    "bad",
    ["", "7000", "host", "host:", ":7000", "host:x", "host:70000", "host:-1", "::1:7000", "[::g]:1", "http://h:1"],
)
def test_bad_addresses(bad):
    with pytest.raises(InputError, match="address"):
        parse_address(bad)


def test_good_addresses():
    assert parse_address("192.0.2.7:7000") == ("192.0.2.7", 7000)
    assert parse_address("[2001:db8::1]:65535") == ("2001:db8::1", 65535)
    assert str(parse_address("[::1]:80")) == "[::1]:80"
    assert str(parse_address("bücher.example:80")) == "xn--bcher-kva.example:80"
    assert parse_address("h:0", lowest_port=0).port == 0
