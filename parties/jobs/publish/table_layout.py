"""Layout of a joint table: its rows and columns, a data row's addition to a cell, and the noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parties.alone.publish.hiding.tabulation import TOTAL, with_totals
from parties.base.arrays import Numbers
from parties.base.settings import required
from parties.base.text import quoted
from parties.jobs.publish.table_settings import JointTableSettings
from parties.jobs.release import reading, values
from parties.jobs.release.noise import Noise, laplace
from parties.jobs.release.predicates import parse
from parties.jobs.spending import exact
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts
    from protocols.publish.small_cells import CellProblem

NAME = "publish joint-table"
MOST_CELLS = 600  # at worst, linear programmes take about ten seconds while the peer waits


@dataclass(frozen=True, eq=False)
class Layout:
    """A table with settings whose columns the schema has."""

    settings: JointTableSettings
    schema: Schema

    def check(self) -> None:
        """Raise InputError if the table or its numbers are too large, or if the summed values are not nonnegative
        numbers."""
        if self.problem.cells > MOST_CELLS:
            raise InputError(f"a table of {self.problem.cells} cells is too large: at most {MOST_CELLS}, totals too")
        for column in self.axes:
            if TOTAL in self.schema.attributes[column]:
                raise InputError(
                    f"{quoted(column)} has the value {quoted(TOTAL)}, which is also the name of the "
                    f"totals; rename the value"
                )
        self.counted.check()
        if min(self.whole) < 0:
            raise InputError(f"sum: {quoted(str(self.settings.summed))} has negative values: the rules need 0 and more")
        from protocols.release.numbers import MOST_BITS, sum_width

        width = self.width + 1 if self.noise is None else sum_width(self.width, self.noise.law(self.samples))
        if width > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower max_rows")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table, including totals."""
        sizes = [len(self.schema.attributes[name]) for name in self.axes]
        return (sizes[0] + 1, sizes[1] + 1 if len(sizes) > 1 else 1)

    @property
    def axes(self) -> tuple[str, ...]:
        """Column that forms the rows, and the column that forms the columns, if any."""
        by = required(self.settings.by, f"{NAME}.by")
        return (by,) if self.settings.across is None else (by, self.settings.across)

    @cached_property
    def problem(self) -> CellProblem:
        """Small-cell problem of the protocol."""
        from protocols.publish.small_cells import CellProblem

        s = self.settings
        return CellProblem(self.shape[0] * self.shape[1], s.max_rows, s.threshold, s.against, s.zeros)

    @cached_property
    def numbers(self) -> values.Values | None:
        """Summed numbers by value; None if rows are counted."""
        column = self.settings.summed
        return None if column is None else values.read(column, self.schema.attributes[column], "a sum")

    @property
    def whole(self) -> tuple[int, ...]:
        """Units that a row adds, by its value of the summed column."""
        return (1,) if self.numbers is None else self.numbers.whole

    @property
    def unit(self) -> Fraction:
        """Value of a unit."""
        return Fraction(1) if self.numbers is None else self.numbers.unit

    @property
    def width(self) -> int:
        """Bits of an own number."""
        return max(1, (self.settings.max_rows * max(self.whole)).bit_length())

    @cached_property
    def noise(self) -> Noise | None:
        """Noise on each number. For sums, the other half of epsilon is for the row counts behind them."""
        return None if self.settings.epsilon is None else self._laplace(max(1, *self.whole))

    @cached_property
    def rows_noise(self) -> Noise | None:
        """Noise on the row counts that decide whether a sum is shown; None if the table itself shows row counts."""
        return None if self.noise is None or self.numbers is None else self._laplace(1)

    def _laplace(self, greatest: int) -> Noise:
        """Return noise for numbers of which a row changes one cell and its totals by at most `greatest` each.

        A replaced row leaves one cell and enters another.
        """
        cells = 2 * len(self.axes)
        change = 2 * (cells - 1) if self.settings.adjacency == "replace" else cells
        assert self.settings.epsilon is not None
        epsilon = exact(self.settings.epsilon)
        share, settings = epsilon if self.numbers is None else epsilon / 2, self.settings
        return laplace(share, change * greatest, settings.adjacency, settings.together)

    @property
    def samples(self) -> int:
        """Number of noise samples of a table."""
        return self.problem.cells * (1 if self.numbers is None else 2)

    @property
    def counted(self) -> reading.Cells:
        """Cells of the table, further divided by the summed value."""
        return reading.Cells(
            self.schema, parse("", self.schema)[0], (*self.axes, *filter(None, [self.settings.summed]))
        )

    @property
    def target(self) -> str:
        """Column by whose values a source counts."""
        return self.settings.summed or self.axes[-1]

    def own_numbers(self, counts: Counts) -> Numbers:
        """Return this party's rows and its numbers in every cell, int64[2, cells]."""
        table = self.counted.count(counts, self.target).reshape(
            self.shape[0] - 1, max(1, self.shape[1] - 1), len(self.whole)
        )
        inner = (table.sum(axis=-1), table @ np.array(self.whole, dtype=np.int64))
        return np.stack([with_totals(cells).reshape(-1) for cells in inner])
