"""The hash of garbling and OT against the published formula; its keys and tweaks are fresh."""

from __future__ import annotations

import numpy as np
import pytest

from smc import hashing
from smc.channel import memory_pair
from smc.primitives.prg import Prg
from smc.session import Session
from tests.support.aes import aes


def session(identifier: bytes = bytes(32)) -> Session:
    return Session(0, memory_pair()[0], identifier, Prg(bytes(16)))


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 4097])
def test_label_hash_is_the_published_formula(count: int) -> None:
    identifier = bytes(range(32))
    blocks = Prg(bytes(16)).words(count, 2)
    (found,) = hashing.LabelHash(session(identifier), "purpose")(blocks)
    key = session(identifier).derive("hash key", "purpose", 0)
    for i in {0, 1, count // 2, count - 2, count - 1} & set(range(count)):
        once = aes(key, blocks[i].tobytes())
        tweaked = bytes(a ^ b for a, b in zip(once, i.to_bytes(16, "little"), strict=True))
        expected = bytes(a ^ b for a, b in zip(aes(key, tweaked), once, strict=True))
        assert found[i].tobytes() == expected


def test_no_tweak_and_key_pair_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "GATES_PER_KEY", 10)
    keys: list[bytes] = []
    schedule = hashing.KeySchedule(session(), "purpose")
    seen: set[tuple[bytes, int]] = set()
    for count in (1, 4, 5, 3, 10, 2, 2, 2, 2, 2, 1):
        expanded, first = schedule.take(count)
        keys += [expanded.tobytes()] * (expanded.tobytes() not in keys)
        assert first + count <= 10
        for gate in range(first, first + count):
            assert (keys[-1], gate) not in seen
            seen.add((keys[-1], gate))
    assert len(set(keys)) == len(keys) == 5


def test_a_key_serves_no_more_gates_than_its_bound() -> None:
    with pytest.raises(ValueError, match="more than a hash key may serve"):
        hashing.KeySchedule(session(), "purpose").take(hashing.GATES_PER_KEY + 1)


def test_hash_keys_differ_by_session_purpose_and_time() -> None:
    block = np.ones((1, 2), dtype=np.uint64)
    one = hashing.LabelHash(session(), "a")
    outputs = [
        one(block)[0],
        one(block)[0],  # the same input again: another index
        hashing.LabelHash(session(), "b")(block)[0],
        hashing.LabelHash(session(bytes([1]) * 32), "a")(block)[0],
    ]
    assert len({output.tobytes() for output in outputs}) == 4
