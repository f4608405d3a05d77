"""Rows dealt to trees: each by itself, by all that it says, and the same again with the same key."""

from __future__ import annotations

import numpy as np

from protocols.release.partition_rows import partition_rows

LINES = np.array([[1, 0, 64], [1, 1, 64], [2, 1, 64], [0, 0, 1]])  # a value, a class, how many


def test_each_row_is_dealt_by_itself() -> None:
    """Two of 64 rows that are dealt to 3 trees agree everywhere with probability 3^-64; the key is fixed."""
    tree, line = partition_rows(LINES, 3, b"key")
    assert line.tolist() == [0] * 64 + [1] * 64 + [2] * 64 + [3]
    dealt = [tree[line == number] for number in range(3)]
    assert all(set(one.tolist()) == {0, 1, 2} for one in dealt)
    assert not any(np.array_equal(dealt[i], dealt[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_another_order_deals_the_same_and_another_key_does_not() -> None:
    tree, line = partition_rows(LINES, 3, b"key")
    turned, back = partition_rows(LINES[::-1], 3, b"key")
    assert all(np.array_equal(tree[line == number], turned[back == 3 - number]) for number in range(4))
    assert not np.array_equal(tree, partition_rows(LINES, 3, b"another")[0])
