"""How many rows of both parties have each combination of values of several columns, with margins that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.release.histogram import Histogram
from parties.jobs.release.noise import Noise
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.question import number
from parties.jobs.release.reading import Cells
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.settings import public
from parties.jobs.tabular_settings import Columns


class TableSettings(DrawnSettings):
    """`smc release table`."""

    by: Columns | None = public(
        None, "Columns", "The columns whose values are counted together, with commas between them", column=True
    )


class Table(Histogram):
    """How many rows of both parties have each combination of values of some columns? Both learn noisy numbers.

    A row counts for one cell only, so epsilon is spent once. The margins are sums of the cells and cost nothing more;
    the cells are made consistent: none below 0, and their sum that of the noisy ones.
    """

    name = "release table"
    title = "Noisy table"
    Settings = TableSettings
    example = "--data mine.csv --schema schema.toml --by outcome,sex --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --by outcome,sex --epsilon 1 "
    noun = "table"

    @override
    def shown(self, state: Sequence[int], cells: Cells, noise: Noise | None) -> Mapping[str, Any]:
        """Return the result: cells that are consistent, and the margins by each column."""
        document = dict(super().shown(state, cells, noise))
        noisy = np.array(state, dtype=np.int64)
        whole = noisy if noise is None else consistent(noisy, 2 * self.settings.max_rows)
        for cell, value in zip(document["numbers"], whole.tolist(), strict=True):
            cell["value"] = value
        document["total"]["value"] = int(whole.sum())
        return document | {"margins": self._margins(noisy, whole, cells, noise)}

    def _margins(self, noisy: Any, whole: Any, cells: Cells, noise: Noise | None) -> list[Document]:
        """Return sums of the cells by each column; the interval is that of the sum of the noisy cells."""
        shape = tuple(map(len, cells.domains))
        most = Fraction(2 * self.settings.max_rows)
        margins = []
        for axis, (column, values) in enumerate(zip(cells.by, cells.domains, strict=True)):
            others = tuple(i for i in range(len(shape)) if i != axis)
            opened, fitting = (table.reshape(shape).sum(axis=others).tolist() for table in (noisy, whole))
            reach = None if noise is None else noise.reach(whole.size // len(values))
            for value, total, fit in zip(values, opened, fitting, strict=True):
                margins.append({"cell": {column: value}, **number(total, reach, Fraction(0), most), "value": fit})
        return margins
