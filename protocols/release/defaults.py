"""Depth and split of epsilon of a private tree, from public numbers only: never from the rows.

Every level and the leaves get the same share, epsilon / (depth + 1) each. N rows that are split d times by attributes
of v values (the geometric mean of the domains) leave N / v^d to a leaf, and a leaf's class is found when it has enough
rows for its share. So the depth is the greatest with N / v^d * epsilon / (d + 1) at least `ROWS_PER_LEAF`, or 1 if that
of one level is at least `ROWS_OF_ONE_LEVEL`: a tree of one leaf says nothing that is worth its epsilon. A column asked
by its edges counts as two values, and may be asked again; as every edge is one more candidate with noise of its own, a
leaf must have `ROWS_BY_EDGES` then. "stop" is always on: it costs a few points of accuracy where N is known well, and
saves the tree where the bound is far above N.
Depth 0 is a tree of one leaf, the noisy majority, which gets the whole epsilon.

The constants come from `benchmarks/private_trees`, which measures on public tables that the depth is never far from
the best one. The quality is `max` unless another is asked for: Gini's impurity tells more and takes twice the noise,
and of the tables measured it is better on one only, where few splits change a majority. The arithmetic is exact, so
that both parties find the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smc.errors import InputError

MOST_DEPTH = 5
ROWS_PER_LEAF = Fraction(3)  # times the leaf's epsilon
ROWS_BY_EDGES = Fraction(5)  # the same, where ordered columns are asked by their edges
ROWS_OF_ONE_LEVEL = Fraction(5, 2)


@dataclass(frozen=True)
class Defaults:
    """Depth and stop of a private tree; `leaf_share` of epsilon is for the leaves, the rest evenly for the levels."""

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
        by_edges: For each attribute, True if the tree asks for it by its edges. Default: none is.

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
    """Return the greatest d with enough rows in a leaf, rows / v^d / (d + 1); v^n is the product of n domains."""
    cells, number = math.prod(domains), len(domains)

    def fits(depth: int) -> bool:
        least = ROWS_OF_ONE_LEVEL if depth == 1 else rows_per_leaf
        return (rows / (depth + 1) / least) ** number >= cells**depth

    return max(filter(fits, range(1, most + 1)), default=0)
