"""Test whether two columns depend on each other."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description
from parties.jobs.release.question import Part, Question
from parties.jobs.release.significance import SIMULATED, Reals, Significance, SignificanceSettings
from parties.jobs.settings import Columns, public
from protocols.arrays import Numbers
from protocols.counts import Counts
from smc.engines import Engine
from smc.errors import InputError

MOST_CELLS = 4096  # a bit more than 2,000 AND gates each


class Chi2Settings(SignificanceSettings):
    """Settings of `smc test chi2`."""

    columns: Columns | None = public(None, "Two columns", "Two columns, separated by a comma", column=True)


class Chi2(Significance):
    """Test whether two columns depend on each other in the rows of both parties, or only by chance. Both learn yes
    or no.

    The test is Pearson's chi-square. A value that no row of either party has is left out of the test, as if the
    schema did not have it.
    """

    name, Settings = "test chi2", Chi2Settings
    about = Description("Test of independence", "test", example="--columns arm,outcome")

    @override
    def ask(self) -> Question:
        columns = required(self.settings.columns, "test chi2.columns")
        if len(columns) != 2:
            raise InputError(f"columns: name two columns, not {len(columns)}")
        cells = self.cells(*columns)
        rows, across = (len(domain) for domain in cells.domains)
        if min(rows, across) < 2:
            raise InputError("columns: each must have two values at least")
        if rows * across > MOST_CELLS:
            raise InputError(
                f"columns: {rows * across} combinations of values, more than {MOST_CELLS}; choose "
                f"columns with fewer values"
            )
        bound = self.rows_each
        learnt = f"whether {columns[0]} and {columns[1]} depend on each other in the rows of both tables"
        learnt += f"{self.rows_in_words} (chi-square, level {self.settings.level:g})"

        def own_table(counts: Counts) -> Numbers:
            return np.asarray(cells.count(counts, columns[1]).ravel())

        def table(opened: Reals) -> Reals:
            return np.maximum(opened, 0).reshape(-1, rows, across)

        def statistic(opened: Reals) -> Reals:
            """Return X^2 of each table, float64[tables]."""
            counts = table(opened)
            expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
            expected /= np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1)
            gaps = (counts - expected) ** 2 / np.where(expected > 0, expected, 1)
            return np.asarray(gaps.sum(axis=(1, 2)))

        def null(rng: np.random.Generator, opened: Numbers) -> Reals:
            """Draw tables from the shares of the opened margins, float64[SIMULATED, cells]."""
            (counts,) = table(opened[None].astype(np.float64))
            number = max(int(counts.sum()), 1)
            shares = np.outer(counts.sum(axis=1), counts.sum(axis=0)).ravel()
            shares = np.full(shares.size, 1 / shares.size) if not shares.sum() else shares / shares.sum()
            return rng.multinomial(number, shares, SIMULATED).astype(np.float64)

        def least(opened: Reals) -> float:
            """Return the expected number of rows in the rarest cell."""
            (counts,) = table(opened[None])
            rarest = counts.sum(axis=1).min() * counts.sum(axis=0).min()
            return float(rarest / max(counts.sum(), 1))

        about = {"target": columns[1]}
        if self.settings.epsilon is not None:
            noise = self.noise(2 if self.replaced else 1)
            parts = [Part(rows * across, bound, False, noise)]
            return self.simulated(
                f"{learnt}, by a table with noise", parts, own_table,
                statistic, null, least, **about,
            )  # fmt: skip

        def decide(engine: Engine, numbers: Numbers) -> bool:
            from protocols.significance import chi2_exceeds

            return chi2_exceeds(engine, numbers.reshape(rows, across), self.settings.level, bound)

        return self.decided(learnt, rows * across, own_table, decide, **about)
