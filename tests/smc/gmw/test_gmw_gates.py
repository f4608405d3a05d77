"""The two halves of an AND layer against plain Boolean algebra, in both layouts; and how bits lie."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc import kernels
from smc.circuit.stars import in_stars
from smc.gmw.rows import PACKED, BatchLayout

BATCHES = [1, 2, 7, 8, 63, 64, 65, 511, 512, 513, 1000]
SLOTS = 12


def bits_of(packed: np.ndarray, count: int) -> np.ndarray:
    return np.unpackbits(packed, count=count, bitorder="little")


@pytest.mark.parametrize("batch", BATCHES)
def test_what_is_put_into_a_state_is_got_back(batch: int) -> None:
    bits = np.random.default_rng(batch).integers(0, 2, (SLOTS, batch)).astype(np.uint8)
    rows = BatchLayout(batch)
    state = rows.state(SLOTS)
    rows.put(state, slice(0, SLOTS), bits)
    order = np.arange(SLOTS, dtype=np.int32)[::-1]
    assert np.array_equal(rows.get(state, order), bits[::-1])
    rows.put(state, order, bits)
    assert np.array_equal(rows.get(state, slice(0, SLOTS)), bits[::-1])


@pytest.mark.parametrize(
    ("batch", "gates", "octets"),
    [
        *[(1, 1, 1), (1, 8, 1), (1, 9, 2), (3, 3, 2), (63, 1, 8), (63, 8, 63)],
        *[(64, 1, 8), (65, 1, 9), (72, 10, 90), (1000, 3, 375), (5, 0, 0), (500, 0, 0)],
    ],
)
def test_sizes(batch: int, gates: int, octets: int) -> None:
    assert BatchLayout(batch).octets(gates) == octets


@pytest.mark.parametrize("batch", BATCHES)
def test_xor_rows_in_order(batch: int) -> None:
    rng = np.random.default_rng(batch)
    bits = rng.integers(0, 2, (SLOTS, batch)).astype(np.uint8)
    rows = BatchLayout(batch)
    state = rows.state(SLOTS)
    rows.put(state, slice(0, SLOTS), bits)
    gates = rng.integers(0, SLOTS, (40, 3)).astype(np.int32)  # outputs over operands, equal operands
    kernels.gmw_xor(state, gates)
    for out, left, right in gates:
        bits[out] = bits[left] ^ bits[right]
    assert np.array_equal(rows.get(state, slice(0, SLOTS)), bits)


@st.composite
def circuits(draw: st.DrawFn) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two layers of XOR and AND gates; outputs of a layer's AND gates are distinct, some of them over its operands."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def gates(count: int, most: int) -> np.ndarray:
        return np.stack([rng.permutation(30)[:count], *rng.integers(0, most, (2, count))], axis=1).astype(np.int32)

    most = draw(st.integers(1, 30))  # few operands: large stars
    return [(gates(draw(st.integers(0, 20)), 30), gates(draw(st.integers(0, 30)), most)) for _ in range(2)]


@settings(max_examples=30)
@given(st.sampled_from([1, 3, 63, 64, 65, 513]), circuits(), st.integers(0, 2**32))
def test_steps_make_layers(batch: int, layers: list[tuple[np.ndarray, np.ndarray]], seed: int) -> None:
    """By triples drawn here, at places drawn here; what is opened is checked against the masks."""
    rng = np.random.default_rng(seed)
    rows, stars = BatchLayout(batch), in_stars(layers, 30)
    width = rows.bits(1)
    clear = rng.integers(0, 2, (30, batch)).astype(np.uint8)
    share = rng.integers(0, 2, clear.shape).astype(np.uint8)
    states = [rows.state(30) for _ in range(2)]
    for state, own in zip(states, (share, clear ^ share), strict=True):
        rows.put(state, slice(0, 30), own)
    # Places without a gap, in any order; one more byte than needed.
    at_a, at_b = (width * rng.permutation(count) for count in (len(stars.centres), len(stars.gates)))
    a, b = (rng.integers(0, 256, (2, at.size * width // 8 + 2)).astype(np.uint8) for at in (at_a, at_b))
    masks = [bits_of(part[0] ^ part[1], 8 * part.shape[1]) for part in (a, b)]
    factors = np.zeros_like(masks[1])
    for gate, place in enumerate(at_b):
        star = at_a[stars.star[gate]]
        factors[place : place + width] = masks[0][star : star + width]
    c0 = rng.integers(0, 256, b.shape[1]).astype(np.uint8)
    c = c0, c0 ^ np.packbits(factors & masks[1], bitorder="little")
    first = np.stack([stars.centres.astype(np.int64), at_a], axis=1)
    ands = np.column_stack([stars.gates.astype(np.int64), at_a[stars.star], at_b])
    parts = [
        (xors, first[slice(*star)], ands[slice(*gate)])
        for (xors, _), star, gate in zip(layers, pairwise(stars.star_ends), pairwise(stars.gate_ends), strict=True)
    ]
    none = first[:0], ands[:0]
    closing = none
    opened = [np.full(a.shape[1], 255, dtype=np.uint8) for _ in range(2)]
    messages = [np.full(rows.octets(90), 255, dtype=np.uint8) for _ in range(2)]
    for (xors, *opening), (_, gates) in zip([*parts, (NO_XORS, *none)], [*layers, (None, NO_XORS)], strict=True):
        peers = [messages[1].copy(), messages[0].copy()]
        for party in (0, 1):
            kernels.gmw_step(
                states[party], *closing, xors, *opening, width, rows.packed, a[party], b[party], c[party],
                opened[party], messages[party], peers[party], party,
            )  # fmt: skip
        closing = opening
        for out, left, right in xors:
            clear[out] = clear[left] ^ clear[right]
        # Together the messages are d = x ^ a of every star that begins, then e = y ^ b of every gate.
        slots = [*opening[0][:, 0], *opening[1][:, 1]]
        places = [(0, place) for place in opening[0][:, 1]] + [(1, place) for place in opening[1][:, 3]]
        found = bits_of(messages[0] ^ messages[1], len(slots) * width).reshape(len(slots), width)[:, :batch]
        for bits, slot, (part, place) in zip(found, slots, places, strict=True):
            assert np.array_equal(bits, clear[slot] ^ masks[part][place : place + batch])
        clear[gates[:, 0]] = clear[gates[:, 1]] & clear[gates[:, 2]]
    assert np.array_equal(rows.get(states[0], slice(0, 30)) ^ rows.get(states[1], slice(0, 30)), clear)


NO_XORS = np.zeros((0, 3), dtype=np.int32)


def test_padding_of_a_message_is_zero() -> None:
    rows = BatchLayout(3)
    state = rows.state(2)
    state[:] = 255  # whatever stands in the padding of a row
    message, zero = np.full(1, 255, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
    star, gate = np.zeros((1, 2), dtype=np.int64), np.zeros((1, 4), dtype=np.int64)
    kernels.gmw_step(
        state, star[:0], gate[:0], NO_XORS, star, gate, 3, 0, zero, zero, zero, zero.copy(), message, message[:0], 0
    )
    assert message.tolist() == [0b00111111]


def test_the_layout_changes_where_whole_bytes_are_cheap() -> None:
    assert not BatchLayout(PACKED - 1).packed
    assert BatchLayout(PACKED).packed
    for batch in range(1, 200):
        bits = BatchLayout(batch).bits(1)
        assert batch <= bits <= max(batch, batch * 9 // 8)
