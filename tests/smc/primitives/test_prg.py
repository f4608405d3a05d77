"""The PRG against AES by another call."""

from __future__ import annotations

import numpy as np
import pytest

from smc.primitives.prg import Prg
from tests.support.aes import aes


def test_prg_is_aes_in_counter_mode() -> None:
    key = bytes(range(16))
    stream = b"".join(aes(key, i.to_bytes(16, "big")) for i in range(4))
    prg = Prg(key)
    assert prg.bytes(5).tobytes() + prg.bytes(0).tobytes() + prg.bytes(50).tobytes() == stream[:55]


def test_prg_begins_where_it_is_told() -> None:
    key, start = bytes(range(16)), b"\x01" * 15 + b"\xff"
    first = int.from_bytes(start, "big")
    assert (
        Prg(key, start).bytes(40).tobytes()
        == b"".join(aes(key, (first + i).to_bytes(16, "big")) for i in range(3))[:40]
    )


def test_generators_of_the_system_begin_at_different_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or one AES would test a guess against the seeds of all sessions whose randomness was seen."""
    drawn: list[bytes] = []

    def urandom(count: int) -> bytes:
        drawn.append(bytes([len(drawn)]) * count)
        return drawn[-1]

    monkeypatch.setattr("os.urandom", urandom)
    found = Prg.from_system().bytes(16).tobytes()
    assert found == aes(drawn[0], drawn[1])


def test_prg_never_repeats_and_takes_only_keys() -> None:
    prg = Prg.from_system()
    assert not np.array_equal(prg.words(100), prg.words(100))
    assert not np.array_equal(Prg.from_system().words(4), Prg.from_system().words(4))
    with pytest.raises(ValueError, match="16 bytes"):
        Prg(b"short")


def test_prg_shapes() -> None:
    prg = Prg(bytes(16))
    assert prg.words(3, 2).shape == (3, 2)
    drawn = prg.bits(7, 1001)
    assert drawn.shape == (7, 1001)
    assert set(np.unique(drawn)) == {0, 1}
    assert prg.bits(0).shape == (0,)
