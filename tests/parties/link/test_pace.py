"""How quick the parties' machines are: both reckon with the slower, and believe no absurd number."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.link import pace
from parties.link.exchange_pb2 import Hello
from parties.link.pace import LEAST, MOST, USUAL, agreed_pace, own_pace, rounded
from smc.counting.rates import TRAPDOOR_SECONDS
from smc.errors import ProtocolError


@settings(max_examples=50, deadline=None)
@given(ours=st.floats(0, 1e9), theirs=st.floats(0, 1e9))
def test_both_reckon_with_the_same(ours: float, theirs: float) -> None:
    left, right = rounded(ours), rounded(theirs)
    assert agreed_pace(left, right) == agreed_pace(right, left) == max(left, right) / USUAL
    assert LEAST / USUAL <= agreed_pace(left, right) <= MOST / USUAL
    if 0.02 < ours < 900:
        assert 0.8 < left / USUAL / ours < 1.3  # half octaves, and whole hundredths


@pytest.mark.parametrize("told", [MOST + 1, 2**32 - 1])
def test_a_pace_that_no_machine_has_is_refused_in_one_line(told: int) -> None:
    with pytest.raises(ProtocolError, match=f"the peer's: a pace is between 1 and 100000 .* got {told}") as raised:
        agreed_pace(100, told)
    assert "\n" not in str(raised.value)


def test_who_tells_none_is_taken_for_the_usual_machine() -> None:
    before = Hello(wire_version=4, party=1, measure=True)  # of a build that knows no pace
    assert Hello.FromString(before.SerializeToString()).pace == 0
    assert agreed_pace(400, 0) == agreed_pace(0, 400) == 1.0


def test_it_is_measured_once_and_what_was_spoilt_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured: list[float] = []

    def hashing() -> float:
        measured.append(3 * pace.USUAL_SECONDS)
        return measured[-1]

    monkeypatch.setattr("smc.kernels.native.cache_directories", lambda: [tmp_path / "new"])
    monkeypatch.setattr(pace, "_hashing_seconds", hashing)
    assert [own_pace(), own_pace()] == [283, 283]  # 2^1.5
    assert len(measured) == 1
    (kept,) = (tmp_path / "new").iterdir()
    for spoilt in (b"", b"fast", b"0", b"-5", b"nan", b"999999999"):
        kept.write_bytes(spoilt)
        assert own_pace() == 283
    assert len(measured) == 7


def test_measuring_takes_some_milliseconds_and_gives_a_time() -> None:
    assert 0 < pace._hashing_seconds() < 10
    assert 0 < pace._rsa_seconds() < 10


def test_oblivious_transfer_by_rsa_has_a_pace_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A processor without fast AES is slow at hashing alone."""
    monkeypatch.setattr("smc.kernels.native.cache_directories", lambda: [tmp_path])
    monkeypatch.setattr(pace, "_hashing_seconds", lambda: 8 * pace.USUAL_SECONDS)
    monkeypatch.setattr(pace, "_rsa_seconds", lambda: 2 * TRAPDOOR_SECONDS["sender"])
    assert [pace.own_pace_of(ot) for ot in ("extension", "trapdoor", "ferret")] == [800, 200, 800]
