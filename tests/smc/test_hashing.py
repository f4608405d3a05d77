"""The hash of garbling and OT against the published formula; its keys and tweaks are fresh."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from smc import hashing
from smc.channel import memory_pair
from smc.primitives.prg import Prg
from smc.session import Session
from tests.support.gate_hash import gate_hash, key_of


def session(identifier: bytes = bytes(32)) -> Session:
    return Session(0, memory_pair()[0], identifier, Prg(bytes(16)))


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 4097])
def test_label_hash_is_the_published_formula(count: int) -> None:
    identifier = bytes(range(32))
    blocks = Prg(bytes(16)).words(count, 2)
    (found,) = hashing.LabelHash(session(identifier), "purpose")(blocks)
    master = session(identifier).derive("hash key", "purpose")
    for i in {0, 1, 63, 64, count // 2, count - 2, count - 1} & set(range(count)):
        expected = gate_hash(master, int.from_bytes(blocks[i].tobytes(), "little"), i)
        assert found[i].tobytes() == expected.to_bytes(16, "little")


def test_no_number_serves_twice_under_a_master_key() -> None:
    schedule = hashing.KeySchedule(session(), "purpose")
    seen: set[int] = set()
    for count in (1, 4, 5, 3, 10, 0, 64, 2, 100_000, 1):
        keys, first = schedule.take(count)
        assert keys[0].tobytes() == hashing.round_keys(session().derive("hash key", "purpose")).tobytes()
        assert first % 8 == 0  # eight neighbouring ones lie under one key
        numbers = set(range(first, first + count))
        assert not numbers & seen
        seen |= numbers


def test_few_numbers_share_a_key_and_none_of_another_group() -> None:
    """One AES tests a guess against all gates under its key: 64 of them leave 122 bits of 128."""
    keys = [key_of(bytes(range(16)), number) for number in range(1000)]
    assert 128 - math.log2(max(Counter(keys).values())) >= 122
    assert all((keys[i] == keys[j]) == (i // 64 == j // 64) for i in range(0, 1000, 31) for j in range(0, 1000, 7))


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
