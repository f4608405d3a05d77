"""Settings of clusters with noise."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import LocalPath
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.settings import Columns, Name, output, public

Bounds = Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]


class ClusterSettings(DrawnSettings):
    """Settings of `smc cluster`."""

    columns: Columns | None = public(None, "Columns", "Columns of numbers, separated by commas", column=True)
    bounds: Bounds | None = public(
        None,
        "Bounds",
        "Public bounds LOW:HIGH, one pair for each column in order. A value outside counts as the nearer bound",
        left_out="those of the schema, if all these columns have a numeric type there",
    )
    k: Annotated[int, Field(strict=True, ge=1, le=100)] | None = public(
        None,
        "Clusters",
        "Number of clusters",
        none="with method grid, the default up to four columns: chosen from its counts, from 2 to ln(2 max_rows); else "
        "required",
    )
    method: Literal["grid", "in-process", "hybrid"] | None = public(
        None,
        "Method",
        "grid = noisy counts of grid cells; in-process = noisy rounds of k-means; hybrid = a grid, then one round",
        none="grid up to four columns; beyond by epsilon and the row bound",
        advanced=True,
    )
    parts: Annotated[int, Field(strict=True, ge=2, le=1_000_000)] | None = public(
        None,
        "Parts",
        "With a grid: number of intervals that each column is cut into",
        none="computed from epsilon and the row bound",
        advanced=True,
    )
    iterations: Annotated[int, Field(strict=True, ge=1, le=20)] | None = public(
        None,
        "Iterations",
        "With method in-process: number of k-means rounds. They share epsilon",
        none="computed from epsilon and the row bound",
        advanced=True,
    )
    shares: Literal["growing", "even"] | None = public(
        None,
        "Shares",
        "With method in-process: growing = each round has 1.5 times the epsilon of the round "
        "before; even = equal parts",
        none="growing",
        advanced=True,
    )
    svg: LocalPath | None = output("Draw the clusters as SVG.")
    csv: LocalPath | None = output("Write the clusters as CSV.", advanced=True)
