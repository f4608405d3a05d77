"""Any function on blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from parties.alone.sensitivity.blocks import FUNCTIONS, block_table
from smc.errors import InputError


@given(st.integers(1, 40), st.data())
def test_every_row_is_in_one_block(rows: int, data: st.DataObject) -> None:
    blocks = data.draw(st.integers(1, rows))
    seen: list[int] = []

    def size(block: NDArray[np.int64]) -> float:
        seen.extend(block.tolist())
        return len(block)

    table = block_table(np.arange(rows), size, blocks, 0, 50)
    assert sorted(seen) == list(range(rows))
    assert int(table.numbers.sum()) == rows
    assert table.numbers[-1] - table.numbers[0] <= 1


def test_one_row_changes_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda size: bytes(i * 37 % 251 for i in range(size)))
    rows = np.arange(60) % 31
    other = rows.copy()
    other[17] = 30
    one, two = (block_table(table, FUNCTIONS["greatest"], 12, 0, 30).numbers for table in (rows, other))
    assert len(one) - sum(min((one == v).sum(), (two == v).sum()) for v in range(31)) <= 1


def test_blocks_are_dealt_by_chance() -> None:
    found = {tuple(block_table(np.arange(100), FUNCTIONS["mean"], 5, 0, 99).numbers.tolist()) for _ in range(8)}
    assert len(found) > 1


def test_what_a_function_does_wrong_is_not_seen() -> None:
    def odd(block: NDArray[np.int64]) -> float:
        if block[0] == 3:
            raise InputError("a row is 3")
        return [float("nan"), float("inf"), 99, -99][block[0]]

    assert block_table(np.arange(4), odd, 4, 2, 8).numbers.tolist() == [2, 2, 2, 8]


@pytest.mark.parametrize("blocks", [0, -1, 4])
def test_there_are_as_many_blocks_as_rows_at_most(blocks: int) -> None:
    with pytest.raises(InputError, match="blocks"):
        block_table(np.arange(3), FUNCTIONS["mean"], blocks, 0, 9)
