"""Test whether the mean of a column differs between two groups."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description
from parties.jobs.release.question import Part, Question, decision
from parties.jobs.release.significance import (
    SIMULATED,
    Alternative,
    Reals,
    Significance,
    SignificanceSettings,
    alternative,
)
from parties.jobs.release.values import read
from parties.jobs.settings import Name, public
from protocols.arrays import Numbers
from smc.circuit import Integer, Wire
from smc.errors import InputError

MOST_WIDTH = 60  # bits of a sum of squares


class WelchSettings(SignificanceSettings):
    """Settings of `smc test welch`."""

    column: Name | None = public(None, "Column of numbers", "Column whose means are compared", column=True)
    by: Name | None = public(None, "Groups", "Column of the two groups", column=True)
    alternative: Alternative = alternative("in the group that is later in the schema, the mean is greater or less")


class Welch(Significance):
    """Test whether the mean of a column of numbers differs between two groups of the rows of both parties. Both
    learn yes or no.

    The test is Welch's t test, which does not assume equal variances.
    """

    name, Settings = "test welch", WelchSettings
    about = Description("Test of two means", "test", example="--column visits --by arm")

    @override
    def ask(self) -> Question:
        from protocols.significance import welch_exceeds

        column = required(self.settings.column, "test welch.column")
        by = required(self.settings.by, "test welch.by")
        if by == column:
            raise InputError("by: name another column than the one of numbers")
        cells = self.cells(by, column)
        if len(cells.domains[0]) != 2:
            raise InputError(f"by: two groups are compared, not {len(cells.domains[0])}; choose two with where")
        values = read(column, cells.domains[1], "a mean").from_zero
        bound, greatest = self.rows_each, max(values.whole)
        if (bound * greatest**2).bit_length() > MOST_WIDTH:
            raise InputError(f"column: a sum of squares could take more than {MOST_WIDTH} bits: round the values")
        powers = np.array([values.ones, values.vector, values.vector**2])
        learnt = f"whether the mean of {column} differs between the groups of {by} in the rows of both tables"
        learnt += f"{self.rows_in_words} (Welch's test, level {self.settings.level:g})"
        about: dict[str, Any] = {"target": column}

        def own(counts: Any) -> Numbers:
            """Return rows n, sum s and sum of squares q of this party's second group, then of its first group."""
            return (cells.count(counts, column)[::-1] @ powers.T).ravel()

        if self.settings.epsilon is not None:
            # Rows, sums and squares of a group take a third of epsilon each. A row is in one of the two groups.
            parts = []
            for power in range(3):
                change = (greatest**power) * (2 if self.replaced else 1)
                parts.append(Part(2, bound * greatest**power, False, self.noise(change, Fraction(1, 3))))
            order = [0, 3, 1, 4, 2, 5]  # ordered by power, not by group
            return self.simulated(
                f"{learnt}, by sums with noise",
                parts,
                lambda counts: own(counts)[order],
                self._statistic,
                _null,
                **about,
            )
        widths = [max(1, (bound * greatest**power).bit_length()) for power in range(3)] * 2
        level, sign = self.tail, self.sign

        def circuit(*numbers: Integer) -> Wire:
            return welch_exceeds(numbers[:3], numbers[3:], level, sign)

        return decision(learnt, widths, own, circuit, lambda state: self.answer(bool(state[0])), **about)

    def _statistic(self, opened: Reals) -> Reals:
        """Return t for each line of n2, n1, s2, s1, q2, q1, float64[lines]; its absolute value if two-sided."""
        means, variances, _ = _moments(opened)
        t = (means[:, 0] - means[:, 1]) / np.sqrt(variances.sum(axis=1))
        return np.asarray(self.sign * t if self.sign else np.abs(t))


def _moments(opened: Reals) -> tuple[Reals, Reals, Reals]:
    """Return group means, their squared errors and numbers of rows, float64[lines, 2] each, clipped to their bounds."""
    rows, added, squares = (opened[:, 2 * i : 2 * i + 2] for i in range(3))
    rows = np.maximum(rows, 2)
    means = added / rows
    spread = np.maximum(squares - rows * means**2, rows * 1e-9 + 1e-9)
    return means, spread / (rows - 1) / rows, rows


def _null(rng: np.random.Generator, opened: Numbers) -> Reals:
    """Draw opened numbers for normal values with equal means and the opened variances, float64[SIMULATED, 6]."""
    means, errors, rows = (line[0] for line in _moments(opened[None].astype(np.float64)))
    common = float((means * rows).sum() / rows.sum())
    variance = errors * rows
    drawn = rng.normal(common, np.sqrt(errors), (SIMULATED, 2))
    spread = variance * rng.chisquare(np.maximum(rows - 1, 1), (SIMULATED, 2))
    return np.concatenate([np.broadcast_to(rows, drawn.shape), drawn * rows, spread + rows * drawn**2], axis=1)
