"""Integers as bit matrices and back, against Python's own arithmetic."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smc.primitives import bits as bitpack


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
