"""Test whether the share of an outcome rises or falls over groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.base.text import quoted
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
from parties.jobs.release.values import Values, decimal
from parties.jobs.settings import Name, public
from protocols.arrays import Numbers
from smc.circuit import Integer, Wire
from smc.errors import InputError

MOST_WIDTH = 60  # bits of a sum


class TrendSettings(SignificanceSettings):
    """Settings of `smc test trend`."""

    target: Name | None = public(None, "Outcome", "Column of the outcome", column=True)
    value: Name | None = public(
        None, "Value", "Value of the outcome whose share is tested", none="the last of two values"
    )
    by: Name | None = public(None, "Groups", "Column of the groups", column=True)
    alternative: Alternative = alternative("the share grows or falls in later groups")


class Trend(Significance):
    """Test whether the share of an outcome rises or falls over ordered groups of the rows of both parties. Both
    learn yes or no.

    This is the Cochran-Armitage test. If the groups are numbers, these are the scores. Else the scores are 0, 1,
    2 ... in the order of the schema.
    """

    name, Settings = "test trend", TrendSettings
    about = Description("Test of a trend", "test", example="--target outcome --by dose")
    what = "rises or falls with"

    @override
    def ask(self) -> Question:
        from protocols.quantiles import chi2_quantile
        from protocols.significance import trend_exceeds

        target = required(self.settings.target, f"{self.name}.target")
        by = required(self.settings.by, f"{self.name}.by")
        if by == target:
            raise InputError("by: name another column than the target")
        cells = self.cells(by, target)
        groups, values = cells.domains
        value = self._value(values)
        scores, bound = self._scores(groups), self.rows_each
        greatest = max(scores)
        if (bound * greatest**2).bit_length() > MOST_WIDTH:
            raise InputError("by: the numbers of its values are too large: give it ranges, or lower max_rows")
        yes = values.index(value)
        learnt = f"whether the share of {target} = {quoted(value)} {self.what} {by} in the rows of both tables"
        learnt += f"{self.rows_in_words} (level {self.settings.level:g})"
        about: dict[str, Any] = {"target": target}
        weights = np.array(scores, dtype=np.int64)

        def by_group(counts: Any) -> Numbers:
            """Return the rows with and without the value, int64[groups, 2]."""
            table = cells.count(counts, target)
            return np.stack([table[:, yes], table.sum(axis=1) - table[:, yes]], axis=1)

        if self.settings.epsilon is not None:
            return self.simulated(
                f"{learnt}, by a table with noise",
                [Part(2 * len(groups), bound, False, self.noise(1 + self.replaced))],
                lambda counts: by_group(counts).ravel(),
                lambda opened: self._statistic(opened, weights),
                _null,
                _least,
                **about,
            )

        def own(counts: Any) -> Numbers:
            """Return N, R, A, B, C of this party's rows, as `protocols.significance` defines them."""
            of_yes, rows = (table := by_group(counts))[:, 0], table.sum(axis=1)
            return np.array([rows.sum(), of_yes.sum(), of_yes @ weights, rows @ weights, rows @ weights**2])

        squared, sign = chi2_quantile(self.tail, 1), self.sign
        widths = [max(1, (bound * greatest**power).bit_length()) for power in (0, 0, 1, 1, 2)]

        def circuit(*numbers: Integer) -> Wire:
            return trend_exceeds(numbers, squared, sign)

        return decision(learnt, widths, own, circuit, lambda state: self.answer(bool(state[0])), **about)

    def _value(self, values: tuple[str, ...]) -> str:
        value: str | None = self.settings.value
        if len(values) < 2:
            raise InputError("target: needs at least two values; choose another column")
        if value is None and len(values) != 2:
            raise InputError(f"value: the outcome has {len(values)} values: name the value whose share is tested")
        if value is not None and value not in values:
            raise InputError(f"value: {quoted(value)} is not one of the outcome's values; name one of them")
        return values[-1] if value is None else value

    def _scores(self, groups: tuple[str, ...]) -> list[int]:
        """Return the scores of the groups as integers from 0. A linear change of scores keeps the statistic."""
        if len(groups) < 2:
            raise InputError("by: needs at least two groups; choose another column")
        numbers = [decimal(group) for group in groups]
        if None in numbers:
            return list(range(len(groups)))
        return list(Values(tuple(numbers)).from_zero.whole)

    def _statistic(self, opened: Reals, weights: Numbers) -> Reals:
        """Return the statistic of each table, float64[tables]; signed if the alternative has a direction."""
        table = np.maximum(opened, 0).reshape(len(opened), -1, 2)
        of_yes, rows = table[:, :, 0], table.sum(axis=2)
        n, r = rows.sum(axis=1), of_yes.sum(axis=1)
        gap = n * (of_yes @ weights) - r * (rows @ weights)
        spread = r * (n - r) * (n * (rows @ weights**2) - (rows @ weights) ** 2)
        root = np.sqrt(n) * gap / np.sqrt(np.where(spread > 0, spread, np.inf))
        return np.asarray(self.sign * root if self.sign else np.abs(root))


def _least(opened: Reals) -> float:
    table = np.maximum(opened, 0).reshape(-1, 2)
    return float(table.sum(axis=1).min() * table.sum(axis=0).min() / max(table.sum(), 1))


def _null(rng: np.random.Generator, opened: Numbers) -> Reals:
    """Draw tables whose groups all have the overall share, float64[SIMULATED, numbers]."""
    table = np.maximum(opened, 0).reshape(-1, 2)
    rows = table.sum(axis=1)
    share = table[:, 0].sum() / max(rows.sum(), 1)
    of_yes = rng.binomial(rows, share, (SIMULATED, len(rows)))
    return np.stack([of_yes, rows - of_yes], axis=2).reshape(SIMULATED, -1).astype(np.float64)
