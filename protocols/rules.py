"""Rules for the leaves of an exact tree: k-anonymity, l-diversity and t-closeness of the rows of a leaf.

A leaf discloses something about its *group*, the rows that end in it, with n rows, n(c) of class c. The group keeps the
rules if it is empty, or if

* n >= k (k-anonymity: Samarati, Sweeney 1998);
* it is l-diverse (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007). Distinct: l classes have a row. Entropy:
  e^H >= l with H the entropy of its classes, that is n ln n - sum_c n(c) ln n(c) >= n ln l;
* it is t-close (Li, Li, Venkatasubramanian 2007): its classes are distributed at a distance of at most t from those of
  all rows, the root's. The distance is half the sum of the absolute differences (variational). For ordered classes it
  is the earth mover's: with m classes, the sum of the absolute differences of the distributions' partial sums, divided
  by m - 1 (ordered). For two classes both distances are equal.

k = l = t = 1 rule out nothing.

Against whom. `public`: the group is that of the union. It protects against readers without rows. But a party can
subtract its own rows, and the rest of the group may break the rules. `peer`: each party's own rows in the leaf must be
none or keep the rules, compared with all rows of that party. They are the rest when the peer subtracts its rows
(m-privacy for m = 1: Goryczka, Xiong, Fung 2013). For k and l the union then keeps the rules too, because an entropy is
concave. For t it may break them if the parties' distributions differ.

All rules are decided in integers, except entropy l-diversity, which is rounded to the safe side: a group that keeps it
by less than the error of the computation is refused. A group of exactly l classes, all of one size, is such a case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices
from smc.engines.words import MAX_WIDTH
from smc.errors import InputError

Diversity = Literal["distinct", "entropy"]
Distance = Literal["variational", "ordered"]
Against = Literal["peer", "public"]

ENTROPY_ERROR = 1e-9  # margin for ln l and an entropy, far above the rounding error of double precision


@dataclass(frozen=True)
class Rules:
    """Rules for every leaf; see the module's first lines. Raise InputError for values out of range.

    Attributes:
        k: Least number of rows of a leaf that is not empty; 1 for no rule.
        l: Least number of classes in it, or of e^(entropy of its classes); 1 for no rule.
        diversity: What l bounds: the number of "distinct" classes, or the "entropy".
        t: Greatest distance of its distribution of classes from that of all rows; 1 for no rule.
        distance: Kind of this distance.
        against: Whose rows keep the rules: those of each party alone ("peer"), or those of both together ("public").
    """

    k: int = 1
    l: float = 1  # noqa: E741 (its name everywhere)
    diversity: Diversity = "distinct"
    t: float = 1
    distance: Distance = "variational"
    against: Against = "peer"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}: it must be a number of rows from 1 up")
        if not 1 <= self.l < math.inf:
            raise InputError(f"l is {self.l}: it must be a number of classes from 1 up")
        if self.diversity == "distinct" and self.l != int(self.l):
            raise InputError(
                f"l is {self.l}: a number of distinct classes must be a whole number; or use diversity entropy"
            )
        if not 0 < self.t <= 1:
            raise InputError(f"t is {self.t}: it must be above 0 and at most 1")
        if self.diversity == "entropy" and self.l == 1:
            raise InputError("diversity applies to l only; give an l above 1, or remove diversity")
        if self.distance == "ordered" and self.t == 1:
            raise InputError("distance applies to t only; give a t below 1, or remove distance")
        if self.against == "public" and not self.any:
            raise InputError("against applies to k, l and t only; give one of them, or remove against")

    @property
    def any(self) -> bool:
        """True if any of k, l and t can forbid a leaf."""
        return self.k > 1 or self.diverse or self.close

    @property
    def diverse(self) -> bool:
        """True if l can forbid a leaf."""
        return self.l > 1

    @property
    def close(self) -> bool:
        """True if t-closeness can forbid a leaf: t is below 1, the largest distance."""
        return self.t < 1

    def check(self, classes: int, max_rows: int) -> None:
        """Raise InputError for rules that no leaf can keep, or whose numbers do not fit a word.

        Args:
            classes: Number of classes; public.
            max_rows: Upper bound on the rows of a party; public.

        Raises:
            InputError: k or l is larger than any leaf allows, or t does not fit a word.
        """
        rows = max_rows if self.against == "peer" else 2 * max_rows
        if self.k > rows:
            whose = "of a party" if self.against == "peer" else "in all"
            raise InputError(f"k is {self.k:,}, but there are at most {rows:,} rows {whose}: choose a smaller --k")
        if self.diversity == "entropy" and not self.l < min(classes, rows / 3):
            limit = min(classes, rows / 3)
            raise InputError(f"l is {self.l:g}: for entropy it must be below {limit:,.6g} here; choose a smaller --l")
        if self.l > min(classes, rows):
            raise InputError(
                f"l is {self.l:g}, but a leaf can have {min(classes, rows):,} classes at most; choose a smaller --l"
            )
        if self.close and self.against == "public" and self.largest(classes, rows).bit_length() >= MAX_WIDTH:
            digits = len(str((1 << (MAX_WIDTH - 1)) * self.fraction[1] // self.largest(classes, rows))) - 1
            fewer = f"give --t at most {digits} digits after the point or " if digits else ""
            raise InputError(
                f"t {self.t:g} with up to {rows:,} rows in all does not fit {MAX_WIDTH}-bit words: "
                f"{fewer}choose a smaller --max-rows"
            )

    @property
    def fraction(self) -> tuple[int, int]:
        """Numerator and denominator of t, in lowest terms; exact for the decimal number that was given."""
        return Fraction(str(self.t)).as_integer_ratio()

    def largest(self, classes: int, rows: int) -> int:
        """Return an upper bound on the absolute value of the numbers that the decision on t-closeness compares.

        Args:
            classes: Number of classes.
            rows: Upper bound on the number of all rows.
        """
        return 2 * max(2, classes) * self.fraction[1] * rows**2

    def keeps(self, counts: Indices, whole: Indices) -> NDArray[np.bool_]:
        """Return which groups keep the rules, bool[...]; local, in the clear.

        Args:
            counts: Counts of the groups by class, int64[..., classes].
            whole: Counts by class of all rows that the groups are part of, int64[classes], at most 2^31 in all.
        """
        rows = counts.sum(axis=-1)
        fit = rows >= self.k
        if self.diversity == "entropy":
            entropy = x_log_x(rows) - x_log_x(counts).sum(axis=-1)  # n H
            fit &= entropy >= rows * (math.log(self.l) + ENTROPY_ERROR)
        else:
            fit &= (counts > 0).sum(axis=-1) >= self.l
        if self.close:
            fit &= self._is_close(counts, whole)
        return fit | (rows == 0)

    def _is_close(self, counts: Indices, whole: Indices) -> NDArray[np.bool_]:
        """Return whether each group's distance from all rows (`whole`) is at most t = a / b.

        Both sides are multiplied by b n N to be integers.
        """
        numerator, denominator = self.fraction
        classes, rows, everything = len(whole), counts.sum(axis=-1), int(whole.sum())
        fits = self.largest(classes, everything).bit_length() < MAX_WIDTH
        exact: Any = np.int64 if fits else object  # Python's integers are unbounded
        part, n = counts.astype(exact), rows.astype(exact)
        differences = part * everything - n[..., None] * whole.astype(exact)
        parts = differences.cumsum(axis=-1) if self.distance == "ordered" else differences
        numerator *= classes - 1 if self.distance == "ordered" else 2
        return np.asarray(denominator * np.abs(parts).sum(axis=-1) <= numerator * n * everything, dtype=np.bool_)


NO_RULES = Rules()
USUAL_LEAVES = 200  # default bound on the leaves of a tree
USUAL_COUNTS = 25_000  # default bound on the counts that all splits of a binary tree compare: at most about 250 MB
USUAL = Rules(k=5)  # default rules: every leaf has no row or at least 5 rows of each party


def usual_depth(rules: Rules, domains: Sequence[int], max_rows: int, compared: int = 0) -> int:
    """Return the default depth of a tree, 1 or more, from public parameters.

    R rows that are split d times by attributes of v values leave R / v^d to a leaf. Here v is the geometric mean of the
    domains. R is the bound on the rows that k refers to: a party's against the peer, the union's against the public.
    The depth is the greatest d, up to the number of attributes, with R / v^d >= k, and with v^d at most `USUAL_LEAVES`,
    so that people can read the tree. In a tree of binary splits, all 2^d - 1 splits together must also compare at most
    `USUAL_COUNTS` counts. Without such a d the depth is 1. The arithmetic is exact, so both parties find one depth.

    Args:
        rules: The rules for leaves; public.
        domains: Number of values of each attribute, at least one attribute; public.
        max_rows: Upper bound on the rows of a party; public.
        compared: Number of counts that a split of a binary tree compares; 0 for other trees.
    """
    rows = max_rows if rules.against == "peer" else 2 * max_rows
    cells, number = math.prod(domains), len(domains)
    most, needed, depth = rows**number, rules.k**number * cells, 0
    leaves, readable = cells, USUAL_LEAVES**number
    while depth < number and needed <= most and leaves <= readable:
        if compared * (2 ** (depth + 1) - 1) > USUAL_COUNTS:
            break
        needed, leaves, depth = needed * cells, leaves * cells, depth + 1
    return min(max(1, depth), number)


def x_log_x(counts: Indices) -> NDArray[np.float64]:
    """Return x ln x of counts, in double precision; 0 ln 0 = 0."""
    return np.asarray(counts * np.log(np.maximum(counts, 1)), dtype=np.float64)
