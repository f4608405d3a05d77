"""Kernels on a party's own rows: sums of two numbers by node and bin, and rows that move to the children of their node.

A row's place is the number of its node, or below 0 where it is in a leaf. Rows are nobody's secret here: they are this
party's own, and nothing is sent.
"""

from __future__ import annotations


def add_slopes(bins, places, slopes, sums):  # type: ignore[no-untyped-def]
    """Add slopes i64[rows, 2] to sums i64[nodes, columns, bins, 2], by place i32[rows] and bins u8[rows, columns]."""
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
    """Move rows by splits i32[nodes, 5] of their nodes: column, bin, whether it is the bin itself or all below that go
    to the first place, and both places."""
    for row in range(bins.shape[0]):
        node = places[row]
        if node >= 0:
            at = bins[row, splits[node, 0]]
            goes = at == splits[node, 1] if splits[node, 2] else at < splits[node, 1]
            places[row] = splits[node, 3] if goes else splits[node, 4]
