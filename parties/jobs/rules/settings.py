"""Settings of association rules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs.kind import Adjacency
from parties.jobs.release.missing_values import Missing, missing_values
from parties.jobs.release.settings import Epsilon, neighbours
from parties.jobs.settings import (
    Columns,
    ManyGatesSettings,
    MostBytes,
    Name,
    RowBound,
    most_bytes_field,
    of_people,
    output,
    public,
    row_bound,
)
from parties.jobs.tabular import TabularSettings

Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
MOST_CANDIDATES = 1 << 20
FIRST = 10  # default number of sets


class RulesSettings(ManyGatesSettings, TabularSettings):
    """Settings of `smc rules`."""

    columns: Columns | None = public(
        None, "Columns", "Columns whose values may occur in rules", none="all of the schema", column=True
    )
    transaction: Name | None = public(
        None,
        "Baskets",
        "Key column of the baskets: sets and counts are then of baskets, not of rows",
        none="each row by itself",
    )
    support: Share = public(0.1, "Support", "Share of all rows that a frequent set needs")
    confidence: Share = public(0.8, "Confidence", "Confidence: share of a rule's rows that must agree with it")
    lift: Annotated[float, Field(strict=True, ge=0, le=1000, allow_inf_nan=False)] = public(
        1.0, "Lift", "Minimum lift: how much more often than all rows they agree; 0 = any"
    )
    max_length: Annotated[int, Field(strict=True, ge=2, le=8)] = public(4, "Longest", "Longest item set")
    most: Annotated[int, Field(strict=True, ge=1, le=MOST_CANDIDATES)] | None = public(
        None,
        "Most candidates",
        "Stop before deciding on more sets of a length, or more rules; bounds the cost",
        none=f"{MOST_CANDIDATES:,}",
        advanced=True,
    )
    most_bytes: MostBytes | None = most_bytes_field("a length of sets, or the rules,")
    k: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = public(
        5,
        "Least rows",
        "Minimum rows of an opened set; for people, multiplied by at_most",
    )
    epsilon: Epsilon | None = public(
        None,
        "Epsilon",
        "Choose and count the most frequent sets with noise; rules follow from the counts",
        none="yes or no for each set and rule, no numbers",
    )
    first: Annotated[int, Field(strict=True, ge=1, le=200)] | None = public(
        None, "How many", "With epsilon: number of sets that are chosen", none=f"{FIRST} with epsilon"
    )
    missing: Missing = missing_values("in the columns")
    adjacency: Adjacency = neighbours()
    show: Literal["non-redundant", "maximal", "all"] = public(
        "non-redundant", "Shown", "Rules to show: without redundant ones, of maximal sets only, or all", advanced=True
    )
    max_rows: RowBound = row_bound()
    at_most: AtMost | None = of_people()
    svg: LocalPath | None = output("Draw the rules as a graph, SVG.")
