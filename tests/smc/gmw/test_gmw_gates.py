"""The two halves of an AND layer against plain Boolean algebra, in both layouts; and how bits lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smc import kernels
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
    ("batch", "gates", "triple_bytes", "message_bytes"),
    [
        *[(1, 1, 1, 1), (1, 4, 1, 1), (1, 5, 1, 2), (1, 9, 2, 3), (3, 3, 2, 3), (63, 1, 8, 16), (63, 8, 63, 126)],
        *[(64, 1, 8, 16), (65, 1, 9, 18), (72, 10, 90, 180), (1000, 3, 375, 750), (5, 0, 0, 0), (500, 0, 0, 0)],
    ],
)
def test_sizes(batch: int, gates: int, triple_bytes: int, message_bytes: int) -> None:
    rows = BatchLayout(batch)
    assert (rows.triple_bytes(gates), rows.message_bytes(gates)) == (triple_bytes, message_bytes)


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


NO_GATES = np.zeros((0, 3), dtype=np.int32)


@given(st.sampled_from(BATCHES), st.integers(0, 30), st.integers(0, 30), st.integers(0, 3), st.integers(0, 2**32))
def test_steps_make_layers(batch: int, gates: int, more: int, first: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = BatchLayout(batch)
    width = 8 * -(-batch // 8) if rows.packed else batch
    # Distinct outputs of a layer, some of them over its operands: as the slots of a netlist.
    layers = [
        np.stack([rng.permutation(30)[:count], *rng.integers(0, 30, (2, count))], axis=1).astype(np.int32)
        for count in (gates, more)
    ]
    xors = rng.integers(0, 30, (20, 3)).astype(np.int32)
    clear = rng.integers(0, 2, (30, batch)).astype(np.uint8)
    share = rng.integers(0, 2, clear.shape).astype(np.uint8)
    places = [8 * first, 8 * (first + rows.triple_bytes(gates))]  # where each layer's triples begin
    a, b = rng.integers(0, 256, (2, 2, places[1] // 8 + rows.triple_bytes(more) + 2)).astype(np.uint8)
    c = rng.integers(0, 256, a.shape[1]).astype(np.uint8)
    triples = [np.stack([a[0], b[0], c]), np.stack([a[1], b[1], c ^ ((a[0] ^ a[1]) & (b[0] ^ b[1]))])]
    masks = [bits_of(part[0] ^ part[1], 8 * part.shape[1]) for part in (a, b)]
    states = [rows.state(30) for _ in range(2)]
    for state, own in zip(states, (share, clear ^ share), strict=True):
        rows.put(state, slice(0, 30), own)
    messages = [np.full(rows.message_bytes(max(gates, more)), 255, dtype=np.uint8) for _ in range(2)]

    def step(closing: np.ndarray, between: np.ndarray, opening: np.ndarray, start: int) -> None:
        peers = [messages[1].copy(), messages[0].copy()]
        for party in (0, 1):
            kernels.gmw_step(
                states[party], closing, between, opening, width, rows.packed,
                triples[party], start, messages[party], peers[party], party,
            )  # fmt: skip

    def assert_opened(layer: np.ndarray, place: int) -> None:
        """Together the messages are d = x ^ a of every gate, then e = y ^ b."""
        opened = bits_of(messages[0] ^ messages[1], 2 * len(layer) * width).reshape(2, len(layer), width)
        for part in (0, 1):
            mask = masks[part][place : place + len(layer) * width].reshape(len(layer), width)
            assert np.array_equal(opened[part, :, :batch], (clear[layer[:, 1 + part]] ^ mask[:, :batch]))

    step(NO_GATES, NO_GATES, layers[0], first)
    assert_opened(layers[0], places[0])
    step(layers[0], xors, layers[1], first)
    clear[layers[0][:, 0]] = clear[layers[0][:, 1]] & clear[layers[0][:, 2]]
    for out, left, right in xors:
        clear[out] = clear[left] ^ clear[right]
    assert_opened(layers[1], places[1])
    step(layers[1], NO_GATES, NO_GATES, places[1] // 8)
    clear[layers[1][:, 0]] = clear[layers[1][:, 1]] & clear[layers[1][:, 2]]
    assert np.array_equal(rows.get(states[0], slice(0, 30)) ^ rows.get(states[1], slice(0, 30)), clear)


def test_padding_of_a_message_is_zero() -> None:
    rows = BatchLayout(3)
    state = rows.state(2)
    state[:] = 255  # whatever stands in the padding of a row
    message = np.full(1, 255, dtype=np.uint8)
    one = np.zeros((1, 3), dtype=np.int32)
    kernels.gmw_step(state, NO_GATES, NO_GATES, one, 3, 0, np.zeros((3, 1), np.uint8), 0, message, message[:0], 0)
    assert message.tolist() == [0b00111111]


def test_the_layout_changes_where_whole_bytes_are_cheap() -> None:
    assert not BatchLayout(PACKED - 1).packed
    assert BatchLayout(PACKED).packed
    for batch in range(1, 200):
        bits = BatchLayout(batch).bits(1)
        assert batch <= bits <= max(batch, batch * 9 // 8)
