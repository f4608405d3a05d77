"""What both parties must agree on before they publish rows under one recoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.precision import count_width
from protocols.rules import Against
from smc.errors import InputError


@dataclass(frozen=True)
class Problem:
    """`domains` are the numbers of values of the attributes to recode, `others` those of columns published as they are.

    Against the `public` each class has at least k rows of both together. Against the `peer` those of either party in it
    are none or at least k by themselves: then it has k of both too, for it has some.
    """

    domains: tuple[int, ...]
    max_rows: int  # no party has more rows than this
    k: int
    against: Against = "peer"
    others: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.domains or min(*self.domains, *self.others, 1, 1) < 1 or self.max_rows < 1:
            raise InputError("publishing needs an attribute to recode, a value of each column and room for one row")
        if self.k < 1:
            raise InputError(f"k is {self.k}: it must be a number of rows from 1 up")
        most = self.max_rows if self.against == "peer" else 2 * self.max_rows
        if self.k > most:
            whose = "of a party" if self.against == "peer" else "in all"
            raise InputError(f"k is {self.k:,}, but there are at most {most:,} rows {whose}")

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of values of all columns that are published."""
        return (*self.domains, *self.others)

    @property
    def count_width(self) -> int:
        """Bits of a count of the union."""
        return count_width(2 * self.max_rows)

    @property
    def least(self) -> int:
        """The fewest rows of both parties in a class, which a circuit compares with."""
        return self.k if self.against == "public" else 1  # against the peer the rest follows

    def keeps(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a party's own rows, so many in each class, do not break the rule by themselves."""
        if self.against == "public":
            return np.ones(rows.shape, dtype=np.bool_)
        return np.asarray((rows == 0) | (rows >= self.k), dtype=np.bool_)
