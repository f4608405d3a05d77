"""Kernels on a party's own rows: the number of columns in which the nearest of many rows differs.

Branches and indices depend on the rows: they are this party's own, and nothing is sent. The columns are divided into m
blocks. If two rows differ in r columns, there is a block from which on, cyclically, the first i blocks differ in at
most i r / m columns, for every i (cycle lemma). So one of m tries, each of which begins with another block, finds the
row with few differing columns on its upper levels.
"""

from __future__ import annotations

import numpy as np

LINES = 1 << 12  # lines that a scan compares at a time, so that their sums stay in the cache


def grow(lines, leaf, stack, roots, nodes, count):  # type: ignore[no-untyped-def]
    """Write the nodes of tries of sorted lines, as far as there is room for them, and count them.

    Args:
        lines: Distinct lines in lexical order, in an order of columns for each trie, i32[tries, lines, columns].
        leaf: Most lines that a node without children stands for.
        stack: Scratch, i64[lines + 1, 4].
        roots: Filled in with the root of each trie, i64[tries].
        nodes: Filled in, i32[nodes, 4]; see `search`.
        count: Filled in with the number of nodes, i64[1].
    """
    number = 0
    for trie in range(lines.shape[0]):
        roots[trie] = number
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = number, 0, lines.shape[1], 0
        number += 1
        top = 1
        while top > 0:
            top -= 1
            node, begin, end, level = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            is_leaf = end - begin <= leaf
            first = number
            row = begin
            while row < end and not is_leaf:
                code, start = lines[trie, row, level], row
                while row < end and lines[trie, row, level] == code:
                    row += 1
                if number < nodes.shape[0]:
                    nodes[number, 3] = code
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = number, start, row, level + 1
                top += 1
                number += 1
            if node < nodes.shape[0]:
                nodes[node, 0] = begin if is_leaf else first
                nodes[node, 1] = end if is_leaf else number
                nodes[node, 2] = is_leaf
    count[0] = number


def search(nodes, roots, blocks, orders, lines, sides, queries, of, most, stack, least):  # type: ignore[no-untyped-def]
    """Find the distance of each query to the nearest line with a side that the query accepts.

    Args:
        nodes: Nodes of all tries, i32[nodes, 4]: the first child or line, the end of the children or lines, whether
            they are lines, and the code of the node in the column above its level. Codes of siblings rise.
        roots: Root of each trie, i64[tries].
        blocks: Number of the block of each level, from 1, i64[tries, columns].
        orders: Columns in the order of the levels of each trie, i64[tries, columns].
        lines: Distinct lines, sorted by the columns in this order, i32[tries, lines, columns].
        sides: Bits of each of these lines, u8[tries, lines].
        queries: i32[queries, columns].
        of: Bits of each query, u8[queries]; it accepts lines that have one of these bits.
        most: Most nodes and lines that are looked at for a query.
        stack: Scratch, i64[1 + lines + columns, 3].
        least: Distance of each query, i64[queries]; -1 for a query that would need more than `most` steps.
    """
    tries, columns = orders.shape
    for number in range(queries.shape[0]):
        query, side = queries[number], of[number]
        best, steps, radius = -1, 0, 0
        while best < 0 and radius <= columns and steps <= most:
            for trie in range(tries):
                order, block = orders[trie], blocks[trie]
                stack[0, 0], stack[0, 1], stack[0, 2] = roots[trie], 0, 0
                top = 1
                while top > 0 and steps <= most:
                    top -= 1
                    steps += 1
                    node, level, differing = stack[top, 0], stack[top, 1], stack[top, 2]
                    begin, end = np.int64(nodes[node, 0]), np.int64(nodes[node, 1])
                    if nodes[node, 2]:
                        for row in range(begin, end):
                            apart, at = differing, level
                            while at < columns and apart <= radius:
                                apart += lines[trie, row, at] != query[order[at]]
                                at += 1
                            steps += 1
                            if apart <= radius and sides[trie, row] & side:
                                best = radius
                                break
                        if best >= 0:
                            break
                        continue
                    code = query[order[level]]
                    if differing < block[level] * radius // tries:
                        for child in range(begin, end):
                            if nodes[child, 3] != code:
                                stack[top, 0], stack[top, 1], stack[top, 2] = child, level + 1, differing + 1
                                top += 1
                    high = end
                    while begin < high:
                        middle = (begin + high) // 2
                        if nodes[middle, 3] < code:
                            begin = middle + 1
                        else:
                            high = middle
                    if begin < end and nodes[begin, 3] == code:  # looked at first
                        stack[top, 0], stack[top, 1], stack[top, 2] = begin, level + 1, differing
                        top += 1
                if best >= 0:
                    break
            radius += 1
        least[number] = best


def scan(columns, sides, queries, of, apart, least):  # type: ignore[no-untyped-def]
    """Find the same distances as `search` by a comparison with every line.

    Args:
        columns: Lines, i32[columns, lines].
        sides: Bits of each line, u8[lines].
        queries: i32[queries, columns].
        of: Bits of each query, u8[queries].
        apart: Scratch, i32[LINES].
        least: Filled in, i64[queries].
    """
    for number in range(queries.shape[0]):
        least[number] = columns.shape[0] + 1
    for start in range(0, sides.shape[0], LINES):
        end = min(start + LINES, sides.shape[0])
        for number in range(queries.shape[0]):
            differing = apart[: end - start]
            differing[:] = 0
            for column in range(columns.shape[0]):
                code = queries[number, column]
                for row, other in enumerate(columns[column, start:end]):
                    differing[row] += other != code
            nearest, side = least[number], of[number]
            for row in range(end - start):
                if differing[row] < nearest and sides[start + row] & side:
                    nearest = differing[row]
            least[number] = nearest
