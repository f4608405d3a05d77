"""Public parameters of an ID3, which both parties must agree on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from protocols import reciprocal
from protocols.edges import Runs, compared, spread
from protocols.precision import Precision, count_width, derive
from protocols.rules import NO_RULES, Rules
from smc.errors import InputError
from smc.recipes import GARBLED, Prices

Prune = Literal["mdl", "chi2", "pessimistic"]  # see `protocols.pruning`
Criterion = Literal["entropy", "gini", "gain-ratio"]


@dataclass(frozen=True)
class Problem:
    """Public parameters of an ID3, equal at both parties. Raise InputError for values out of range.

    Attributes:
        domains: Number of values of each attribute (answers of each question), in the public order.
        classes: Number of classes.
        max_rows: Upper bound on a party's rows.
        delta: Tolerance: by entropy, a chosen attribute has a conditional entropy within delta of the least.
        min_rows: A node with at most this number of rows is a leaf.
        max_depth: Greatest depth of a leaf; None for no limit.
        rules: Rules for leaves, see `protocols.rules`.
        runs: Questions of each ordered column; see `protocols.edges`.
        edges: Most edges of a run that a node compares, spread evenly over the remaining ones; None for all.
        prune: Method of pruning while the tree grows; None for none.
        criterion: Score by which attributes are compared.
        trees: Number of trees.
        drawn: Number of attributes drawn for each node to choose from; None for all remaining ones.
        seed: Public seed of these draws.
    """

    domains: tuple[int, ...]
    classes: int
    max_rows: int
    delta: float = 0.001
    min_rows: int = 0
    max_depth: int | None = None
    rules: Rules = NO_RULES
    runs: Runs = ()
    edges: int | None = None
    prune: Prune | None = None
    criterion: Criterion = "entropy"
    trees: int = 1
    drawn: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.classes < 1 or min(self.domains, default=1) < 1 or self.max_rows < 1:
            raise InputError("ID3 needs at least one class, one value per attribute and room for one row")
        if self.min_rows < 0 or (self.max_depth is not None and self.max_depth < 0):
            raise InputError("the minimum of rows and the maximum depth cannot be negative")
        if self.edges is not None and self.edges < 1:
            raise InputError("a node must compare at least one edge of each column")
        if self.trees < 1 or (self.drawn is not None and self.drawn < 1):
            raise InputError("a forest needs at least one tree, and a node at least one attribute to choose from")
        if self.trees > 1 and self.rules.close:
            raise InputError("t cannot be used with several trees, because each tree has different rows; remove t")
        self.rules.check(self.classes, self.max_rows)

    def check(self) -> None:
        """Raise InputError if the scores of attributes do not fit 64-bit words."""
        if self.criterion == "gini":
            self.fractions()
        if self.criterion != "gini" or self.rules.diversity == "entropy" or self.prune in ("mdl", "chi2"):
            self.precision()

    def fractions(self, prices: Prices = GARBLED) -> reciprocal.Parameters:
        """Derive the parameters of 1 / n for counts up to the union's size, cheapest at `prices`: see `protocols.gini`.

        Raise InputError if no choice fits 64-bit words.
        """
        return reciprocal.derive(Fraction(self.delta) / 4, 2 * self.max_rows, prices)

    def precision(self, prices: Prices = GARBLED) -> Precision:
        """Derive the logarithm's parameters for counts up to the size of the union, cheapest at `prices`."""
        return derive(self.delta, 2 * self.max_rows, prices=prices)

    @property
    def count_width(self) -> int:
        """Bits of a count of the rows of both parties."""
        return count_width(2 * self.max_rows)

    def counts_attributes(self, depth: int, left: int) -> bool:
        """Return whether a level's rows are counted by each attribute's values too.

        Args:
            depth: Depth of the level.
            left: Greatest number of attributes that a node of the level can choose from.
        """
        last = depth == self.max_depth or not left
        return not last and (self.rules.any or self.prune is not None or left > 1)

    @property
    def compared(self) -> tuple[int, ...]:
        """Numbers of values of the attributes that the root compares; no node compares attributes with more values."""
        return compared(self.runs, self.domains, self.edges)

    def candidates(self, tree: int, depth: int, place: int, left: Sequence[int]) -> tuple[int, ...]:
        """Return the attributes that a node chooses from: all remaining ones, some edges of each run, or a public draw.

        Args:
            tree: Index of the node's tree, from 0.
            depth: Depth of the node; the root has depth 0.
            place: The node's position among the open nodes of its tree at this depth, from 0.
            left: Attributes left at the node, in rising order.

        Returns:
            The attributes, in rising order; equal at both parties.
        """
        left = tuple(left) if self.edges is None else spread(self.runs, tuple(left), self.edges)
        if self.drawn is None or self.drawn >= len(left):
            return left
        text = f"smc forest {self.seed} {tree} {depth} {place}".encode()
        words = hashlib.shake_256(text).digest(8 * len(left))
        keys = [(words[8 * i : 8 * i + 8], attribute) for i, attribute in enumerate(left)]
        return tuple(sorted(attribute for _, attribute in sorted(keys)[: self.drawn]))
