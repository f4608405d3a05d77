"""The settings of synthetic rows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import LocalPath
from parties.jobs.release.columns import Ways
from parties.jobs.release.settings import Delta, NoisySettings
from parties.jobs.settings import ManyGatesSettings, output, public
from parties.jobs.tabular_settings import Columns

MOST_CELLS = 1 << 17

Cells = Annotated[int, Field(strict=True, ge=1 << 10, le=1 << 24)]
RowCount = Annotated[int, Field(strict=True, ge=1, le=2**31)]


class SynthesiseSettings(ManyGatesSettings, NoisySettings):
    """`smc synthesise`."""

    delta: Delta | None = public(None, "Delta", "The chance that epsilon does not hold; far below one over the rows")
    columns: Columns | None = public(
        None,
        "Columns",
        "The columns of the synthetic rows, with commas between them",
        none="all of the schema",
        column=True,
    )
    select: Literal["aim", "mst"] = public(
        "aim", "Selection", "How marginals are chosen: aim asks a model again and again, mst joins columns to a tree"
    )
    ways: Ways = public(2, "Ways", "How many columns together aim is to get right: 1, 2 or 3")
    generator: Literal["graphical", "relaxed"] = public(
        "graphical", "Generator", "What makes rows of the marginals: a graphical model, or relaxed projection"
    )
    model_cells: Cells = public(MOST_CELLS, "Model", "How many cells the model of aim may have")
    rows: RowCount | None = public(None, "Rows", "How many rows are made", none="as many as there seem to be")
    csv: LocalPath | None = output("Write the synthetic rows as CSV.")
