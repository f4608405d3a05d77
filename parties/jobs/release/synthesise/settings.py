"""Settings of synthetic rows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import LocalPath
from parties.jobs.release.columns import Ways
from parties.jobs.release.settings import ApartSettings, Delta, NoisySettings, failure
from parties.jobs.settings import Columns, ManyGatesSettings, output, public

MOST_CELLS = 1 << 17

Cells = Annotated[int, Field(strict=True, ge=1 << 10, le=1 << 24)]
RowCount = Annotated[int, Field(strict=True, ge=1, le=2**31)]


class SynthesiseSettings(ManyGatesSettings, NoisySettings, ApartSettings):
    """Settings of `smc synthesise`."""

    delta: Delta | None = failure(". Choose it far below 1 / rows", "")
    columns: Columns | None = public(
        None, "Columns", "Columns of the synthetic rows, separated by commas", none="all of the schema", column=True
    )
    select: Literal["aim", "mst"] = public(
        "aim",
        "Selection",
        "Which column sets are counted. aim improves a model step by step. mst joins the columns to a tree",
        advanced=True,
    )
    ways: Ways = public(2, "Ways", "Number of columns whose joint distribution the method AIM preserves: 1, 2 or 3")
    generator: Literal["graphical", "relaxed"] = public(
        "graphical",
        "Generator",
        "How rows are made from the noisy counts: by a graphical model, or by relaxed projection",
        advanced=True,
    )
    model_cells: Cells = public(
        MOST_CELLS,
        "Model",
        "With select aim: maximum number of cells of the model. A larger model takes more memory",
        advanced=True,
    )
    rows: RowCount | None = public(
        None, "Rows", "Number of synthetic rows", none="as many as both parties have, by the noisy counts"
    )
    csv: LocalPath | None = output("Write the synthetic rows as CSV.")
