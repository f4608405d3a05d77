"""Distance of a synthetic table to real rows: error of its marginals, and distance of its rows to real ones.

Rows are category codes, int64[rows] for each column of the domain. The results are exact, without noise: they are for
the party that owns the rows only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.cells import grouped
from parties.alone.publish.models.strongest import is_found
from protocols.arrays import Codes
from smc import kernels

_TRIES, _LEAF = 3, 16  # number of tries, and most lines of a node without children
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
    order, starts = grouped(others.T, sizes)
    lines, sides = others[order[starts]].astype(np.int32), np.bitwise_or.reduceat(sides[order], starts)
    order, starts = grouped([*rows.T, of.astype(np.int64)], [*sizes, 256])
    queries, of = rows[order[starts]].astype(np.int32), of[order[starts]]
    least, stack = np.zeros(len(queries), dtype=np.int64), np.zeros((1 + sum(lines.shape), 3), dtype=np.int64)
    kernels.nearest_by_tries(*_tries(lines, sides, sizes), queries, of, lines.size // _SCANNED, stack, least)
    far = np.flatnonzero(least < 0)
    scanned = np.zeros(len(far), dtype=np.int64)
    columns, scratch = np.ascontiguousarray(lines.T), np.zeros(kernels.LINES, dtype=np.int32)
    kernels.nearest_of_all(columns, sides, queries[far], of[far], scratch, scanned)
    least[far] = scanned
    found = np.zeros(len(rows), dtype=np.int64)
    found[order] = np.repeat(least, np.diff([*starts, len(rows)]))
    return found


def _tries(lines: NDArray[np.int32], sides: NDArray[np.uint8], sizes: Codes) -> Iterator[NDArray[Any]]:
    """Yield the first six arguments of `kernels.nearest_by_tries`. The blocks of columns have similar sizes."""
    blocks: list[list[int]] = [[] for _ in range(min(_TRIES, len(sizes)))]
    for column in np.argsort(-sizes, kind="stable").tolist():
        min(blocks, key=lambda block: math.prod(sizes[block].tolist())).append(column)
    turned = [blocks[i:] + blocks[:i] for i in range(len(blocks))]
    orders = np.array([list(chain.from_iterable(some)) for some in turned])
    places = [grouped(lines.T[order], sizes[order])[0] for order in orders]
    tables = np.array([lines[place][:, order] for place, order in zip(places, orders, strict=True)], order="C")
    roots, count = np.zeros(len(blocks), dtype=np.int64), np.zeros(1, dtype=np.int64)
    stack, nodes = np.zeros((len(lines) + 1, 4), dtype=np.int64), np.zeros((0, 4), dtype=np.int32)
    while len(nodes) < max(1, count[0]):  # the first call counts
        nodes = np.zeros((count[0], 4), dtype=np.int32)
        kernels.grow_tries(tables, _LEAF, stack, roots, nodes, count)
    numbers = [np.repeat(np.arange(1, len(blocks) + 1), [*map(len, some)]) for some in turned]
    yield from (nodes, roots, np.stack(numbers), orders, tables, np.stack([sides[place] for place in places]))


def copies(original: Codes, synthetic: Codes) -> dict[str, Any]:
    """Return the number of the party's unique rows among the synthetic rows, and the number to expect by chance.

    Independent rows of the same distribution equal a row that occurs once with probability 2 N2 / n, where N2 values
    occur twice (I. J. Good, "The population frequencies of species and the estimation of population parameters", 1953).
    Three standard deviations more are allowed.

    Args:
        original: the party's rows, int64[rows, columns]
        synthetic: synthetic rows, int64[rows, columns]
    """
    both = np.concatenate([original, synthetic]).T
    order, starts = grouped(both, both.max(axis=1) + 1)
    is_own = order < len(original)
    often, of_synthetic = (np.add.reduceat(side.astype(np.int64), starts) for side in (is_own, ~is_own))
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
