"""PRG, packing, transpose and gate hash against other ways to compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from smc.channel import memory_pair
from smc.primitives import bits as bitpack
from smc.primitives import hash as gate_hash
from smc.primitives.prg import Prg
from smc.session import Session


def aes(key: bytes, block: bytes) -> bytes:
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(block) + encryptor.finalize()


def session(identifier: bytes = bytes(32)) -> Session:
    return Session(0, memory_pair()[0], identifier, Prg(bytes(16)))


def test_prg_is_aes_in_counter_mode() -> None:
    key = bytes(range(16))
    stream = b"".join(aes(key, i.to_bytes(16, "big")) for i in range(4))
    prg = Prg(key)
    assert prg.bytes(5).tobytes() + prg.bytes(0).tobytes() + prg.bytes(50).tobytes() == stream[:55]


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


@given(st.integers(1, 200), st.data())
def test_bit_matrices_hold_integers_of_any_width(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=9))
    matrix = bitpack.from_integers(values, width)
    assert matrix.shape == (width, len(values))
    for j, value in enumerate(values):
        assert [value >> i & 1 for i in range(width)] == matrix[:, j].tolist()
    assert bitpack.to_integers(matrix) == values
    if width <= 64:
        assert bitpack.to_words(matrix).tolist() == values
    assert np.array_equal(bitpack.unpack(bitpack.pack(matrix), *matrix.shape), matrix)


@given(st.integers(1, 130), st.data())
def test_signed_integers_are_twos_complement(width: int, data: st.DataObject) -> None:
    half = 1 << (width - 1)
    values = data.draw(st.lists(st.integers(-half, half - 1), max_size=9))
    assert bitpack.to_integers(bitpack.from_integers(values, width), signed=True) == values


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=9), st.integers(1, 100))
def test_arrays_and_lists_give_the_same_bits(values: list[int], width: int) -> None:
    assert np.array_equal(
        bitpack.from_integers(np.array(values, dtype=np.int64), width), bitpack.from_integers(values, width)
    )
    words = [value % (1 << 64) for value in values]
    assert np.array_equal(
        bitpack.from_integers(np.array(words, dtype=np.uint64), width), bitpack.from_integers(words, width)
    )


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 4097])
def test_label_hash_is_the_published_formula(count: int) -> None:
    identifier = bytes(range(32))
    blocks = Prg(bytes(16)).words(count, 2)
    (found,) = gate_hash.LabelHash(session(identifier), "purpose")(blocks)
    key = session(identifier).derive("hash key", "purpose", 0)
    for i in {0, 1, count // 2, count - 2, count - 1} & set(range(count)):
        once = aes(key, blocks[i].tobytes())
        tweaked = bytes(a ^ b for a, b in zip(once, i.to_bytes(16, "little"), strict=True))
        expected = bytes(a ^ b for a, b in zip(aes(key, tweaked), once, strict=True))
        assert found[i].tobytes() == expected


def test_no_tweak_and_key_pair_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_hash, "GATES_PER_KEY", 10)
    keys: list[bytes] = []
    schedule = gate_hash.KeySchedule(session(), "purpose")
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
        gate_hash.KeySchedule(session(), "purpose").take(gate_hash.GATES_PER_KEY + 1)


def test_hash_keys_differ_by_session_purpose_and_time() -> None:
    block = np.ones((1, 2), dtype=np.uint64)
    one = gate_hash.LabelHash(session(), "a")
    outputs = [
        one(block)[0],
        one(block)[0],  # the same input again: another index
        gate_hash.LabelHash(session(), "b")(block)[0],
        gate_hash.LabelHash(session(bytes([1]) * 32), "a")(block)[0],
    ]
    assert len({output.tobytes() for output in outputs}) == 4
