"""Depth and split of epsilon of a private tree, from public numbers only: never from the rows.

Every level and the leaves get an equal share, epsilon / (depth + 1). N rows that are split d times by attributes of v
values (the geometric mean of the domains) leave N / v^d rows to a leaf. A leaf's class is reliable if the leaf has
enough rows for its share. So the depth is the greatest d with N / v^d * epsilon / (d + 1) at least `ROWS_PER_LEAF`. For
d = 1, `ROWS_OF_ONE_LEVEL` suffice, because a tree of one leaf is not worth its epsilon. A column that is split by edges
counts as two values and may be used again. Every edge is one more candidate with noise, so a leaf then needs
`ROWS_BY_EDGES`. "stop" is always on: it costs a few points of accuracy if N is a tight bound, and saves the tree if the
bound is far above the number of rows. Depth 0 is a tree of one leaf, the noisy majority, which gets the whole epsilon.

The constants come from `benchmarks/private_trees`: on public tables the depth is never far from the best one. The
default quality is `max`. Gini's impurity has more information but takes twice the noise; of the measured tables it is
better on one only, where few splits change a majority. The arithmetic is exact, so both parties get equal defaults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smc.errors import InputError

MOST_DEPTH = 5
ROWS_PER_LEAF = Fraction(3)  # rows of a leaf, times its epsilon
ROWS_BY_EDGES = Fraction(5)  # the same, if ordered columns are split by edges
ROWS_OF_ONE_LEVEL = Fraction(5, 2)


@dataclass(frozen=True)
class Defaults:
    """Depth and "stop" of a private tree; leaves get `leaf_share` of epsilon, the levels equal parts of the rest."""

    depth: int
    leaf_share: Fraction
    stop: bool

    def split(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Return eps_level and eps_leaf: `depth` times the first and the second sum to epsilon exactly."""
        levels = epsilon * (1 - self.leaf_share)
        return (levels / self.depth if self.depth else Fraction(0)), epsilon - levels


def chosen(
    max_rows: int, epsilon: Fraction, domains: tuple[int, ...], classes: int, by_edges: tuple[bool, ...] = ()
) -> Defaults:
    """Return depth, share of the leaves and "stop" of a private tree, from public numbers only.

    Args:
        max_rows: Greatest number of rows of both parties together.
        epsilon: Epsilon of the whole tree, above 0.
        domains: Number of values of each attribute.
        classes: Number of classes.
        by_edges: For each attribute, True if the tree splits it by edges. Default: False for all.

    Raises:
        InputError: A number of rows, values or classes is below 1, or epsilon is not above 0.
    """
    if max_rows < 1 or epsilon <= 0 or classes < 1 or min(domains, default=1) < 1:
        raise InputError(
            f"a tree with noise needs rows, values, classes and an epsilon above 0, not {max_rows} rows, "
            f"domains {domains}, {classes} classes and epsilon {epsilon}"
        )
    by_edges = by_edges or (False,) * len(domains)
    answers = tuple(2 if cut else size for size, cut in zip(domains, by_edges, strict=True) if size > 1 or not cut)
    questions = sum(size - 1 if cut else 1 for size, cut in zip(domains, by_edges, strict=True))
    least = ROWS_BY_EDGES if any(by_edges) else ROWS_PER_LEAF
    depth = _depth(max_rows * epsilon, answers, min(MOST_DEPTH, questions), least)
    return Defaults(depth, Fraction(1, depth + 1), stop=True)


def _depth(rows: Fraction, domains: tuple[int, ...], most: int, rows_per_leaf: Fraction) -> int:
    """Return the greatest d with enough rows / v^d / (d + 1), see the module; v^n is the product of n domains."""
    cells, number = math.prod(domains), len(domains)

    def fits(depth: int) -> bool:
        least = ROWS_OF_ONE_LEVEL if depth == 1 else rows_per_leaf
        return (rows / (depth + 1) / least) ** number >= cells**depth

    return max(filter(fits, range(1, most + 1)), default=0)
