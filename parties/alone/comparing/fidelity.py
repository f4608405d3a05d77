"""Distance of a synthetic table to real rows: error of its marginals, and distance of its rows to real ones.

Rows are category codes, int64[rows] for each column of the domain. The results are exact, without noise: they are for
the party that owns the rows only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.cells import grouped
from parties.alone.publish.models.strongest import is_found
from protocols.arrays import Codes
from smc import kernels

_TRIES, _LEAF = 3, 16
_SCANNED = 64  # cells that a scan compares in the time of a step in a trie


def marginal_errors(
    domain: Mapping[str, int], real: Mapping[str, Codes], synthetic: Mapping[str, Codes], order: int = 3
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield each marginal of `order` columns (or fewer, if there are fewer) with its total variation distance.

    The distance is half the sum of |share of the real rows - share of the synthetic rows| over all cells: 0 if the
    tables agree, 1 if no cell has rows of both.

    Args:
        domain: number of categories of each column
        real: the real rows
        synthetic: the synthetic rows
        order: most columns of a marginal

    Raises:
        ValueError: a table has no rows
    """
    if not all(len(column) for table in (real, synthetic) for column in table.values()):
        raise ValueError("a table without rows has no marginals")
    for columns in combinations(domain, min(order, len(domain))):
        shares = []
        for table in (real, synthetic):
            cell = np.zeros(len(table[columns[0]]), dtype=np.int64)
            cells = 1
            for name in columns:
                cell = cell * domain[name] + table[name]
                cells *= domain[name]
            shares.append(np.bincount(cell, minlength=cells) / len(cell))
        yield columns, float(np.abs(shares[0] - shares[1]).sum() / 2)


def nearest(rows: Codes, others: Codes, folds: tuple[Codes, Codes] | None = None) -> NDArray[np.int64]:
    """Return the number of columns in which the nearest of `others` differs from each row, int64[rows].

    Args:
        rows: int64[rows, columns]
        others: int64[others, columns]
        folds: fold of each row and of each other, below 8: a row is compared with others of other folds; None: with all

    Raises:
        ValueError: there are no others
    """
    if not len(others):
        raise ValueError("the table has no rows to compare with")
    of, sides = (np.full(len(some), 255, dtype=np.uint8) for some in (rows, others))
    if folds is not None:
        of, sides = (255 - (1 << folds[0])).astype(np.uint8), (1 << folds[1]).astype(np.uint8)
    sizes = np.maximum(rows.max(axis=0, initial=0), others.max(axis=0)) + 1
    order, starts = grouped([*others.T], sizes)
    lines, sides = others[order[starts]].astype(np.int32), np.bitwise_or.reduceat(sides[order], starts)
    order, starts = grouped([*rows.T, of], [*sizes, 256])
    queries, of = rows[order[starts]].astype(np.int32), of[order[starts]]
    least = np.zeros(len(queries), dtype=np.int64)
    most, stack = lines.size // _SCANNED, np.zeros((1 + min(int(sizes.sum()), lines.size), 3), dtype=np.int64)
    kernels.nearest_by_tries(*_tries(lines, sides, sizes), queries, of, most, stack, least)
    far = np.flatnonzero(least < 0)
    scanned, apart = np.zeros(len(far), dtype=np.int64), np.zeros(kernels.LINES, dtype=np.int32)
    kernels.nearest_of_all(np.ascontiguousarray(lines.T), sides, queries[far], of[far], apart, scanned)
    least[far] = scanned
    found = np.zeros(len(rows), dtype=np.int64)
    found[order] = np.repeat(least, np.diff([*starts, len(rows)]))
    return found


def _tries(lines: NDArray[np.int32], sides: Any, sizes: Codes) -> tuple[Any, ...]:
    """Return tries of distinct lines as `kernels.nearest_by_tries` takes them, each beginning with another block."""
    tries = min(_TRIES, len(sizes))
    bits = np.log2(sizes)
    blocks: list[list[int]] = [[] for _ in range(tries)]
    for column in np.argsort(-bits, kind="stable").tolist():
        min(blocks, key=lambda block: bits[block].sum()).append(column)
    width = 1 if sizes.max() <= 256 else 4
    nodes, roots, numbers, orders, sorted_lines, sorted_sides = [], [], [], [], [], []
    number = 0
    for start in range(tries):
        turned = [*blocks[start:], *blocks[:start]]
        orders.append(order := np.concatenate(turned).astype(np.int64))
        numbers.append(np.repeat(np.arange(1, tries + 1), [*map(len, turned)]))
        roots.append(number)
        place, _ = grouped([*lines.T[order]], sizes[order])
        ordered = np.ascontiguousarray(lines[place][:, order])
        sorted_lines.append(np.ascontiguousarray(ordered.astype("<i4" if width == 4 else "u1")).view(np.uint8))
        sorted_sides.append(sides[place])
        shared = np.full(len(lines), -1)  # columns that a line shares with the one before it
        shared[1:] = (ordered[1:] != ordered[:-1]).argmax(axis=1)
        here, ends, codes = np.zeros(1, dtype=np.int64), np.array([len(lines)]), np.zeros(1, dtype=np.int32)
        for level in range(len(order) + 1):
            number += len(here)
            is_long = ends - here > _LEAF
            if not is_long.any() : 
                nodes.append(np.column_stack([here, ends, np.ones(len(here)), codes]))
                break
            inside = np.repeat(np.column_stack([np.zeros(len(here), bool), is_long]).ravel(), np.diff(np.column_stack([here, ends]).ravel(), prepend=0))
            every = np.flatnonzero(shared[:len(inside)] <= level)
            below = every[inside[every]]
            after = np.searchsorted(below, here), np.searchsorted(below, ends)
            nodes.append(np.column_stack([np.where(is_long, number + after[0], here), np.where(is_long, number + after[1], ends), ~is_long, codes]))
            all_ends = np.append(every[1:], len(inside))
            here, ends, codes = below, all_ends[inside[every]], ordered[below, level]
    return (
        np.concatenate(nodes).astype(np.int32), np.array(roots), np.stack(numbers), np.stack(orders),
        np.ascontiguousarray(np.stack(sorted_lines)), np.stack(sorted_sides), width,
    )


def copies(original: Codes, synthetic: Codes) -> dict[str, Any]:
    """Return the number of the party's unique rows among the synthetic rows, and the number to expect by chance.

    Independent rows of the same distribution equal a row that occurs once with probability 2 N2 / n, where N2 values
    occur twice (I. J. Good, "The population frequencies of species and the estimation of population parameters", 1953).
    Three standard deviations more are allowed.

    Args:
        original: the party's rows, int64[rows, columns]
        synthetic: synthetic rows, int64[rows, columns]
    """
    both = np.unique(np.concatenate([original, synthetic]), axis=0, return_inverse=True)[1].ravel()
    often = np.bincount(both[: len(original)], minlength=int(both.max()) + 1)
    of_synthetic = np.bincount(both[len(original) :], minlength=len(often))
    unique = often == 1
    twice = int((often == 2).sum())
    chance = min(1.0, 2 * (twice + 3 * math.sqrt(twice + 1)) / len(original))
    hits = int(of_synthetic[unique].sum())
    return {
        "alone": int(unique.sum()),
        "copied": int((of_synthetic[unique] > 0).sum()),
        "synthetic_rows": hits,
        "by_chance": min(1.0, 2 * twice / len(original)) * len(synthetic),
        "found": is_found(hits, len(synthetic), chance),
    }
