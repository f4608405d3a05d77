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

from parties.alone.publish.models.strongest import is_found
from protocols.arrays import Codes

_NEAR, _FAR = 64, 1 << 14  # rows compared at once, which fit into a second-level cache


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


def nearest(rows: Codes, others: Codes) -> NDArray[np.int64]:
    """Return the number of columns in which the nearest of `others` differs from each row, int64[rows].

    Args:
        rows: int64[rows, columns]
        others: int64[others, columns]

    Raises:
        ValueError: there are no others
    """
    if not len(others):
        raise ValueError("the table has no rows to compare with")
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    columns = np.ascontiguousarray(np.unique(others, axis=0).T)
    # Categories are renumbered, so that a column with at most 256 categories fits into bytes.
    pairs = zip(distinct.T, columns, strict=True)
    recoded = [np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in pairs]
    size = np.uint8 if all(codes.max(initial=0) < 256 for codes in recoded) else np.uint32
    near = [codes[: len(distinct)].astype(size) for codes in recoded]
    far = [codes[len(distinct) :].astype(size) for codes in recoded]
    least = np.full(len(distinct), len(columns), dtype=np.int64)
    counted = np.uint8 if len(columns) < 256 else np.uint32
    for start in range(0, len(distinct), _NEAR):
        part = slice(start, start + _NEAR)
        for begin in range(0, columns.shape[1], _FAR):
            differing = np.zeros((len(least[part]), len(far[0][begin : begin + _FAR])), dtype=counted)
            for column, other in zip(near, far, strict=True):
                differing += column[part, None] != other[None, begin : begin + _FAR]
            np.minimum(least[part], differing.min(axis=1), out=least[part])
    return least[inverse]


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
