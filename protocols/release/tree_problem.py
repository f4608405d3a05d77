"""Public parameters of a noisy tree, on which both parties must agree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from protocols.edges import Runs
from protocols.precision import count_width
from protocols.release.choice import choice_law
from protocols.release.geometric import OneSidedGeometric
from protocols.release.promise import LEAST_EPSILON
from protocols.release.quality import QUALITIES, Quality
from protocols.tree import Forest, Open
from smc.errors import InputError

Measure = Literal["max", "gini", "entropy"]


@dataclass(frozen=True)
class Problem:
    """Public settings of noisy trees, equal at both parties. Raise InputError for values out of range.

    Attributes:
        domains: Number of values of each attribute (answers of each question), in the public order.
        classes: Number of classes.
        max_rows: Upper bound on a party's rows.
        max_depth: Greatest depth of a leaf.
        epsilon: Epsilon of all trees together.
        leaf_epsilon: Part of epsilon for the classes of the leaves.
        replace: True if neighbouring tables differ by replaced rows, False by added or removed rows.
        rows: Number of these rows: 1, or more if all rows of a person are hidden together.
        quality: Measure of the quality of a split.
        stop: Whether a node may choose to be a leaf.
        trees: Number of trees, on disjoint parts of the rows.
        runs: Questions of each ordered column.
    """

    domains: tuple[int, ...]
    classes: int
    max_rows: int
    max_depth: int
    epsilon: Fraction
    leaf_epsilon: Fraction
    replace: bool = False
    rows: int = 1
    quality: Measure = "max"
    stop: bool = True
    trees: int = 1
    runs: Runs = ()

    def __post_init__(self) -> None:
        if self.classes < 1 or min(self.domains, default=1) < 1 or min(self.max_rows, self.rows, self.trees) < 1:
            raise InputError("a tree needs at least one class, one value per attribute and room for one row")
        if self.max_depth < 0:
            raise InputError("the maximum depth cannot be negative")
        if self.epsilon < LEAST_EPSILON:
            raise InputError(f"epsilon is {float(self.epsilon):g}, must be at least 2^-20")
        if not 0 < self.leaf_epsilon <= self.epsilon:
            raise InputError("the part of epsilon for the leaves must be above 0, and at most epsilon")
        if self.levels and self.leaf_epsilon == self.epsilon:
            raise InputError(
                "the epsilon of the leaves is all of epsilon, so none is left for the splits; make it smaller"
            )

    @property
    def moved(self) -> int:
        """Number of rows by which neighbouring tables differ: a replaced row is one removed and one added."""
        return self.rows * (1 + self.replace)

    @property
    def levels(self) -> int:
        """Greatest number of levels at which a row takes part in a noisy choice of an attribute."""
        return min(self.max_depth, len(self.domains) - (not self.stop)) if self.domains else 0

    @property
    def level_epsilon(self) -> Fraction:
        """Epsilon of all choices of a level together."""
        return (self.epsilon - self.leaf_epsilon) / self.levels if self.levels else Fraction(0)

    @property
    def count_width(self) -> int:
        """Bits of a count of the rows of both parties."""
        return count_width(2 * self.max_rows)

    @property
    def measure(self) -> Quality:
        """Measure of the quality of questions, for counts of up to the rows of both parties."""
        return QUALITIES[self.quality](2 * self.max_rows)

    def candidates(self, left: int) -> int:
        """Return the number of candidates of the noisy choice at a node: `left` attributes, and "stop" if enabled.

        A node with one candidate needs no noisy choice.
        """
        return left + self.stop

    def counts_attributes(self, depth: int, left: int) -> bool:
        """Return whether a level's rows are counted by each attribute's values too.

        Args:
            depth: Depth of the level.
            left: Greatest number of attributes left at a node of the level.
        """
        return left > 0 and depth < self.max_depth and self.candidates(left) > 1

    def attribute_law(self, left: int) -> OneSidedGeometric:
        """Return the law of the noise on each candidate's score at a node with `left` attributes left."""
        change = self.measure.sensitivity * self.moved
        return choice_law(self.level_epsilon, change, True, self.candidates(left))

    def class_law(self) -> OneSidedGeometric:
        """Return the law of the noise on each count of a leaf's classes."""
        return choice_law(self.leaf_epsilon, self.moved, True, self.classes)

    @property
    def bonus(self) -> int:
        """Public number that is added to the score of "stop"."""
        return round(2 * self.measure.sensitivity * self.moved / self.level_epsilon)

    def check(self) -> None:
        """Raise InputError before the run if the noise or the scores do not fit their range."""
        if self.classes > 1:
            self.class_law()
        if self.levels:
            self.measure.check()
            self.attribute_law(len(self.domains))

    @property
    def beginning(self) -> Forest:
        """Trees before the first decision: one open node each."""
        return (Open(),) * self.trees
