"""What both parties know and must agree on before an ID3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protocols.edges import Runs
from protocols.precision import Precision, count_width, derive
from protocols.rules import NO_RULES, Rules
from smc.errors import InputError
from smc.recipes import GARBLED, Prices

Prune = Literal["mdl", "chi2", "pessimistic"]  # see `protocols.pruning`


@dataclass(frozen=True)
class Problem:
    """The public parameters, on which both parties must agree."""

    domains: tuple[int, ...]  # number of values of each attribute (answers of each question), in the public order
    classes: int
    max_rows: int  # no party has more rows than this
    delta: float = 0.001
    min_rows: int = 0
    max_depth: int | None = None
    rules: Rules = NO_RULES
    runs: Runs = ()  # of questions that ask one ordered column by its edges
    prune: Prune | None = None

    def __post_init__(self) -> None:
        if self.classes < 1 or min(self.domains, default=1) < 1 or self.max_rows < 1:
            raise InputError("ID3 needs at least one class, one value per attribute and room for one row")
        if self.min_rows < 0 or (self.max_depth is not None and self.max_depth < 0):
            raise InputError("the minimum of rows and the maximum depth cannot be negative")
        self.rules.check(self.classes, self.max_rows)

    def precision(self, prices: Prices = GARBLED) -> Precision:
        """Derive the logarithm's parameters for counts up to the size of the union, cheapest at those prices."""
        return derive(self.delta, 2 * self.max_rows, prices=prices)

    @property
    def count_width(self) -> int:
        """Bits of a count of the union."""
        return count_width(2 * self.max_rows)
