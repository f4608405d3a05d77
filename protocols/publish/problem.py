"""Public settings of joint publishing, on which both parties must agree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from protocols import problem as of_groups
from protocols.counts import Indices
from protocols.precision import count_width
from protocols.rules import NO_RULES, Against, Rules
from smc.errors import InputError

Score = Literal["balance", "ncp"]


@dataclass(frozen=True)
class Problem:
    """Public settings of joint publishing, equal at both parties. Raise InputError for values that do not fit.

    `domains` are the numbers of values of the attributes to recode, `others` those of columns published unchanged.
    Against the `public` each class has at least k rows of both parties together. Against the `peer` the rows of either
    party in a class are none or at least k; the class then has at least k rows of both, because it is not empty.
    `models` are l and t of the last column of `others`, a sensitive column; they are against the same reader as k.
    `score` is the criterion that chooses an edge: how evenly it divides rows, or the loss after it (normalised
    certainty penalty). `missing` is the sensitive column's value that stands for no value. l and t ignore rows with
    this value, and a class with only such rows breaks l and t.
    """

    domains: tuple[int, ...]
    max_rows: int  # upper bound on a party's rows
    k: int
    against: Against = "peer"
    others: tuple[int, ...] = ()
    models: Rules = NO_RULES
    score: Score = "balance"
    missing: int | None = None

    def __post_init__(self) -> None:
        if not self.domains or min(*self.domains, *self.others, 1, 1) < 1 or self.max_rows < 1:
            raise InputError("publishing needs an attribute to recode, a value of each column and room for one row")
        if self.k < 1:
            raise InputError(f"k is {self.k}: it must be a number of rows from 1 up")
        most = self.max_rows if self.against == "peer" else 2 * self.max_rows
        if self.k > most:
            whose = "of a party" if self.against == "peer" else "in all"
            raise InputError(f"k is {self.k:,}, but there are at most {most:,} rows {whose}")
        if self.models.any:
            if not self.others or self.models.k > 1 or self.models.against != self.against:
                raise InputError(
                    "l and t need a sensitive column that is published unchanged, and the value of against that k has"
                )
            if self.known.sum() < 2:
                raise InputError("l and t need a sensitive column with at least two values other than the missing one")
            self.models.check(self.groups.classes, self.max_rows)

    @property
    def columns(self) -> tuple[int, ...]:
        """Number of values of each published column."""
        return (*self.domains, *self.others)

    @property
    def count_width(self) -> int:
        """Bits of a count of the rows of both parties."""
        return count_width(2 * self.max_rows)

    @property
    def classes(self) -> int:
        """Number of values by which rows are counted: the values of the sensitive column for l and t, else one."""
        return self.others[-1] if self.models.any else 1

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether l and t count rows with each value, bool[classes]: False for `missing`."""
        return np.arange(self.classes) != (-1 if self.missing is None else self.missing)

    @cached_property
    def groups(self) -> of_groups.Problem:
        """Settings of the circuits of `protocols.feasibility` that decide l and t.

        Missing values of the sensitive column are not counted.
        """
        return of_groups.Problem((), int(self.known.sum()), self.max_rows, rules=self.models)

    @property
    def least(self) -> int:
        """Fewest rows of both parties in a class, for circuits; 1 against the peer, where each party checks k."""
        # against the peer the rule for both follows from the rule for each
        return self.k if self.against == "public" else 1

    def keeps(self, counts: Indices, whole: Indices) -> NDArray[np.bool_]:
        """Return whether a party's rows of each class keep the rules by themselves, bool[...]; an empty class does.

        Against the public the result is True everywhere: a circuit decides.

        Args:
            counts: This party's rows of each class by sensitive value, int64[..., classes]; private.
            whole: All rows of this party by sensitive value, int64[classes]; private.
        """
        rows = counts.sum(axis=-1)
        if self.against == "public":
            return np.ones(rows.shape, dtype=np.bool_)
        fit = (rows == 0) | (rows >= self.k)
        if self.models.any:
            known = counts[..., self.known]
            fit &= self.models.keeps(known, whole[self.known]) & ((rows == 0) | known.any(axis=-1))
        return np.asarray(fit, dtype=np.bool_)
