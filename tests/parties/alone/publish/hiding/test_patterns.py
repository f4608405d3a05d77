"""Cells hidden by the pattern alone: whatever the counts are, a reader is left in doubt of every small cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parties.alone.publish.hiding.patterns import hide_by_pattern
from parties.alone.publish.hiding.tabulation import with_totals
from tests.support.joint_tables import ranges, state

COUNTIES = np.array([[2, 4, 18, 20, 7, 1], [0, 0, 7, 9, 0, 0], [0, 6, 30, 15, 4, 0], [0, 0, 2, 0, 0, 0]])


def pattern(grids: list[Any], threshold: int, against: str, zeros: str) -> Any:
    cells = np.stack(grids)
    return np.array(
        [
            [state([int(n) for n in cells[:, r, c]], threshold, against, zeros) for c in range(cells.shape[2])]
            for r in range(cells.shape[1])
        ]
    )


@pytest.mark.parametrize("zeros", ["shown", "hidden"])
def test_county_table(zeros: str) -> None:
    grid = with_totals(COUNTIES)
    states = pattern([grid, 0 * grid], 3, "public", zeros)
    hidden = hide_by_pattern(states, 3, zeros == "shown")
    small = {(0, 0), (0, 5), (3, 2)} | {(3, 6), (4, 0), (4, 5)}
    assert {tuple(map(int, cell)) for cell in np.argwhere((grid > 0) & (grid < 3))} == small
    assert all(hidden[cell] for cell in small)
    assert not hidden[4, 6]
    if zeros == "shown":
        assert int(hidden.sum()) == 10  # two more than when the counts are known: A could have one in each
    for cell, (low, high) in ranges(grid, hidden).items():
        assert low < high - 0.5, cell
        if cell in small:
            assert low < 1e-6, cell
            assert high > 3 - 1e-6, cell
    alone = hidden & (states == 1)  # what is hidden besides is needed: without it D is known
    if zeros == "shown":
        assert ranges(grid, alone)[3, 6] == pytest.approx((2, 2))


def test_a_small_total_goes_down_with_what_it_is_the_sum_of() -> None:
    grid = with_totals(np.array([[0, 0, 5, 0], [1, 0, 20, 20]]))
    hidden = hide_by_pattern(pattern([grid, 0 * grid], 6, "public", "hidden"), 6, False)
    assert not hidden.all()
    low, high = ranges(grid, hidden)[0, 4]  # if each cell were only safe by itself, 4 or more
    assert low < 1e-6
    assert high > 6 - 1e-6


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Any], int, str, str]:
    shape = draw(st.sampled_from([(2, 1), (4, 1), (2, 2), (3, 2), (3, 4)]))
    threshold = draw(st.integers(3, 6))
    cells = arrays(np.int64, shape, elements=st.sampled_from([0, 1, 2, threshold - 1, threshold, 9, 20]))
    rule = draw(st.sampled_from([("public", "hidden"), ("public", "shown"), ("peer", "hidden")]))
    return [draw(cells), draw(cells)], threshold, *rule


@settings(max_examples=60)
@given(tables())
def test_nobody_finds_a_small_cell(case: tuple[list[Any], int, str, str]) -> None:
    """Not a reader of the joint table; against the peer not a party either, who subtracts its own."""
    own, threshold, against, zeros = case
    grids = [with_totals(part) for part in own]
    states = pattern(grids, threshold, against, zeros)
    hidden = hide_by_pattern(states, threshold, zeros == "shown")
    assert hidden[states == 1].all()
    if hidden.all() or not (states == 1).any():
        assert hidden.all() or not hidden.any()
        return
    for seen in [sum(grids), *(grids if against == "peer" else [])]:
        for cell, (low, high) in ranges(seen, hidden).items():
            if states[cell] == 1 and seen[cell] < threshold:
                assert low < 1e-6, cell
                assert high > threshold - 1e-6, cell
