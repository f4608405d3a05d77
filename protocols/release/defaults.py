"""Depth and split of the budget of a private tree, from public numbers only: never from the rows.

A leaf's class is right when the leaf holds enough rows for its share of epsilon, and a table of N rows split d times by
attributes of v values (their geometric mean) leaves N / v^d rows to a leaf. The depth is the greatest at which that
number times eps_leaf is still at least `ROWS_PER_LEAF`; half of epsilon goes to the leaves, the rest evenly to the
levels. Deeper trees lose more by wrong leaves than they gain by further splits; `benchmarks/private_trees` measures it.

Depth 0 is a tree of one leaf, the noisy majority: then the whole epsilon is the leaf's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from smc.errors import InputError

Quality = Literal["max", "gini", "entropy"]

MOST_DEPTH = 5
LEAF_SHARE = Fraction(1, 2)
ROWS_PER_LEAF = 5  # times eps_leaf: the class that leads by half of these rows is found in nine cases of ten
ROWS_FOR_GINI = 40  # times epsilon, for each attribute


@dataclass(frozen=True)
class Defaults:
    """How a private tree is grown. `leaf_share` of epsilon goes to the leaves, the rest evenly to `depth` levels."""

    depth: int
    leaf_share: Fraction
    stop: bool
    quality: Quality

    def split(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """eps_level and eps_leaf: `depth` times the first and the second sum to epsilon exactly."""
        levels = epsilon * (1 - self.leaf_share)
        return (levels / self.depth if self.depth else Fraction(0)), epsilon - levels


def chosen(
    max_rows: int, epsilon: Fraction, domains: tuple[int, ...], classes: int, quality: Quality | None = None
) -> Defaults:
    """The defaults for a table of at most `max_rows` rows, attributes of `domains` values and `classes` classes.

    `quality` is chosen too if it is not given. `InputError` for numbers that no table has.
    """
    if max_rows < 1 or epsilon <= 0 or classes < 1 or not all(size >= 1 for size in domains):
        raise InputError(f"no table has {max_rows} rows, domains {domains}, {classes} classes and epsilon {epsilon}")
    if quality is None:
        quality = "gini" if max_rows * epsilon >= ROWS_FOR_GINI * len(domains) else "max"
    filled = max_rows * epsilon * LEAF_SHARE / ROWS_PER_LEAF  # leaves that have rows enough
    deepest = min(MOST_DEPTH, len(domains))
    depth = max((d for d in range(1, deepest + 1) if filled ** len(domains) >= math.prod(domains) ** d), default=0)
    return Defaults(depth, LEAF_SHARE if depth else Fraction(1), stop=True, quality=quality)
