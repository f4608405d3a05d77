"""Count the rows for each combination of values, with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.base.text import quoted
from parties.jobs.kind import Description, Document
from parties.jobs.kinds.release.histogram import Histogram
from parties.jobs.release.noise import Noise
from parties.jobs.release.postprocessing import consistent, percentages
from parties.jobs.release.question import Question, number
from parties.jobs.release.reading import Cells
from parties.jobs.release.settings import ApartSettings, DrawnSettings
from parties.jobs.settings import Columns, public
from smc.errors import InputError


class TableSettings(DrawnSettings, ApartSettings):
    """Settings of `smc release table`."""

    by: Columns | None = public(
        None, "Columns", "Columns whose combinations are counted, separated by commas", column=True
    )
    within: Columns | None = public(
        None,
        "Percent within",
        "A part of the counted columns. Percentages are then shares of the rows with equal values in these columns",
        none="of all rows",
    )


class Table(Histogram):
    """Count the rows of both parties for each combination of values of some columns. Both learn the noisy counts.

    A row counts for one cell only, so epsilon is spent once. The margins are sums of the cells and cost nothing
    more. The cells are made consistent: none is below 0. Their sum is the noisy sum, but at least 0 and at
    most the bound on all rows. Percentages follow from them.
    """

    name = "release table"
    about = Description("Noisy table", "table", example="--by outcome,sex --epsilon 1")
    Settings = TableSettings

    @override
    def ask(self) -> Question:
        for column in self.settings.within or ():
            if column not in (self.settings.by or ()):
                raise InputError(f"within: {quoted(column)} is not one of the columns of by; name it there too")
        return super().ask()

    @override
    def shown(self, state: Sequence[int], cells: Cells, noise: Noise | None) -> Mapping[str, Any]:
        """Return the result: consistent cells, and the margins of each column."""
        document = dict(super().shown(state, cells, noise))
        noisy = np.array(state, dtype=np.int64)
        whole = noisy if noise is None else consistent(noisy, 2 * self.rows_each)
        shares = self._shares(noisy, whole, cells, noise)
        for cell, value, share in zip(document["numbers"], whole.tolist(), shares, strict=True):
            cell |= {"value": value, **share}
        if self.settings.within is not None:
            document["within"] = list(self.settings.within)
        document["total"]["value"] = int(whole.sum())
        return document | {"margins": self._margins(noisy, whole, cells, noise)}

    def _shares(self, noisy: Any, whole: Any, cells: Cells, noise: Noise | None) -> list[dict[str, float | None]]:
        within = [place for place, column in enumerate(cells.by) if column in (self.settings.within or ())]
        shape = tuple(map(len, cells.domains))
        places = np.arange(whole.size).reshape(shape)
        size = math.prod(shape[axis] for axis in within)
        groups = np.moveaxis(places, within, range(len(within))).reshape(size, -1)
        shares: list[dict[str, float | None]] = [{} for _ in range(whole.size)]
        for group in groups:
            for place, share in zip(group, percentages(whole[group], noisy[group], noise), strict=True):
                shares[place] = share
        return shares

    def _margins(self, noisy: Any, whole: Any, cells: Cells, noise: Noise | None) -> list[Document]:
        shape = tuple(map(len, cells.domains))
        most = Fraction(2 * self.rows_each)
        margins = []
        for axis, (column, values) in enumerate(zip(cells.by, cells.domains, strict=True)):
            others = tuple(i for i in range(len(shape)) if i != axis)
            opened, fitting = (table.reshape(shape).sum(axis=others).tolist() for table in (noisy, whole))
            reach = None if noise is None else noise.reach(whole.size // len(values))
            terms = whole.size // len(values)
            shares = percentages(np.array(fitting), np.array(opened), noise, terms)
            for value, total, fit, share in zip(values, opened, fitting, shares, strict=True):
                margin = number(total, reach, Fraction(0), most) | {"value": fit} | share
                margins.append({"cell": {column: value}, **margin})
        return margins
