"""Kernels on a party's own rows: sums of two numbers by node and bin, and moves of rows to child nodes.

A row's place is the number of its node, or below 0 in a leaf. Branches may depend on the rows: they are this party's
own, and nothing is sent.
"""

from __future__ import annotations


def add_slopes(bins, places, slopes, sums):  # type: ignore[no-untyped-def]
    """Add the slopes of rows to the sums of their node and bins.

    Args:
        bins: The bin of each row in each column, u8[rows, columns].
        places: Node of each row, i32[rows]; rows with a place below 0 are skipped.
        slopes: Two numbers a row, i64[rows, 2].
        sums: Changed in place, i64[nodes, columns, bins, 2].
    """
    columns = bins.shape[1]
    for row in range(bins.shape[0]):
        node = places[row]
        if node >= 0:
            first, second = slopes[row, 0], slopes[row, 1]
            for column in range(columns):
                at = bins[row, column]
                sums[node, column, at, 0] += first
                sums[node, column, at, 1] += second


def move_rows(bins, places, splits):  # type: ignore[no-untyped-def]
    """Move rows to the children of their node.

    Args:
        bins: The bin of each row in each column, u8[rows, columns].
        places: The node of each row, i32[rows]; changed in place. Rows with a place below 0 stay.
        splits: For each node its split, i32[nodes, 5]: a column, a bin, a flag, the first place and the second place.
            With flag 1 rows of this bin go to the first place, with flag 0 rows of all bins below it.
    """
    for row in range(bins.shape[0]):
        node = places[row]
        if node >= 0:
            at = bins[row, splits[node, 0]]
            goes = at == splits[node, 1] if splits[node, 2] else at < splits[node, 1]
            places[row] = splits[node, 3] if goes else splits[node, 4]
