"""The settings of clusters with noise."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.jobs.release.settings import DrawnSettings
from parties.jobs.settings import public
from parties.jobs.tabular_settings import Columns, Name

Bounds = Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]


class ClusterSettings(DrawnSettings):
    """`smc cluster`."""

    columns: Columns | None = public(None, "Columns", "The columns of numbers, with commas between them", column=True)
    bounds: Bounds | None = public(
        None,
        "Bounds",
        "LOW:HIGH for each, in their order; never taken from the rows. What is outside is moved to the nearer bound",
    )
    k: Annotated[int, Field(strict=True, ge=1, le=100)] | None = public(None, "Clusters", "So many clusters")
    method: Literal["grid", "in-process", "hybrid"] | None = public(
        None,
        "Method",
        "One noisy count for each cell of a grid, rounds of noisy sums of the clusters, or a grid and then one round",
        none="grid up to four columns; beyond by epsilon and the row bound",
    )
    parts: Annotated[int, Field(strict=True, ge=2, le=1_000_000)] | None = public(
        None, "Parts", "Of a grid: parts of each column", none="by epsilon and the row bound"
    )
    iterations: Annotated[int, Field(strict=True, ge=1, le=20)] | None = public(
        None, "Iterations", "In-process: so many rounds", none="by epsilon and the row bound"
    )
    shares: Literal["growing", "even"] | None = public(
        None,
        "Shares",
        "In-process: from the second each round's epsilon is 1.5 times that of the one before, or the same",
        none="growing",
    )
