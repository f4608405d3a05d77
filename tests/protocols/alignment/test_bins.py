"""Rows in bins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from protocols.alignment.bins import EMPTY, block_tags, left_out, placed
from smc.primitives.prg import Prg

BLOCKS = st.lists(st.none() | st.sampled_from("abcdefgh"), max_size=30)


@settings(max_examples=30)
@given(BLOCKS, st.integers(1, 5), st.integers(1, 6))
def test_each_row_has_one_place_or_is_left_out(blocks: list[str | None], bins: int, places: int) -> None:
    table = placed(blocks, bins, places, Prg(bytes(16)))
    assert table.shape == (bins, places)
    rows = table[table != EMPTY].tolist()
    assert len(set(rows)) == len(rows)
    assert all(blocks[row] is not None for row in rows)
    assert left_out(blocks, bins, places) == sum(block is not None for block in blocks) - len(rows)
    of_block: dict[str | None, set[int]] = {}
    for number, some in enumerate(table.tolist()):
        for row in some:
            if row != EMPTY:
                of_block.setdefault(blocks[row], set()).add(number)
    assert all(len(numbers) == 1 for numbers in of_block.values())
    full = (table != EMPTY).all(axis=1)
    missing = set(range(len(blocks))) - set(rows)
    assert all(full[next(iter(of_block[blocks[row]]))] for row in missing if blocks[row] in of_block)


def test_both_parties_use_the_same_bin() -> None:
    tables = [placed(["x", *others], 7, 3, Prg.from_system()) for others in ([], ["a", "b"])]
    assert len({int(np.argwhere(table == 0)[0, 0]) for table in tables}) == 1


def test_a_place_does_not_show_the_number_of_rows() -> None:
    """The place of a row is uniform, alone and beside others: p below 10^-9 once in 10^9 runs."""
    for others in (0, 5):
        places = [np.argwhere(placed(["x"] * (1 + others), 1, 8, Prg.from_system()) == 0)[0, 1] for _ in range(800)]
        assert chisquare(np.bincount(places, minlength=8)).pvalue > 1e-9


def test_tags_of_dummies_differ_from_rows_and_from_each_other() -> None:
    left, right = block_tags(["x"], 0), block_tags(["x"], 1)
    columns = [left[:, 0], left[:, 1], right[:, 0], right[:, 1]]
    assert (columns[0] == columns[2]).all()
    assert len({column.tobytes() for column in columns}) == 3
