"""Pieces of a batch are what they are said to be: cut at whole blocks, where each share of the weight is reached."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.pieces import cut


@settings(max_examples=100)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=80), st.integers(1, 5), st.sampled_from([None, 1, 3]))
def test_each_piece_ends_where_its_share_is_reached(weights: list[int], count: int, block: int | None) -> None:
    found = cut(np.array(weights), count) if block is None else cut(np.array(weights), count, block)
    size, number = block or 8, len(weights)
    ends = {number}
    for share in (Fraction(i, count) for i in range(1, count)):
        ends.add(next((at for at in range(0, number, size) if sum(weights[:at]) >= share * sum(weights)), number))
    assert [part.stop for part in found] == sorted(ends)
    assert [part.start for part in found] == [0, *sorted(ends)[:-1]]
