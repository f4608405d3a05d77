"""The settings of association rules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs.release.settings import Epsilon, neighbours
from parties.jobs.settings import ManyGatesSettings, of_people, output, public
from parties.jobs.spending import Adjacency
from parties.jobs.stopping import MostBytes, most_bytes_field
from parties.jobs.tabular_settings import Columns, Name, RowBound, TabularSettings, row_bound

Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
MOST_CANDIDATES = 1 << 20
FIRST = 10  # sets, if nobody says


class RulesSettings(ManyGatesSettings, TabularSettings):
    """`smc rules`."""

    columns: Columns | None = public(
        None, "Columns", "The columns whose values may stand in rules", none="all of the schema", column=True
    )
    transaction: Name | None = public(
        None,
        "Baskets",
        "The column that says to which basket a row belongs, a key: sets are then of what is in one basket, in any of "
        "its rows, and baskets are counted",
        none="each row by itself",
    )
    support: Share = public(0.1, "Support", "A set of values is frequent if this share of all rows has all of them")
    confidence: Share = public(0.8, "Confidence", "A rule holds if this share of the rows that it speaks of agrees")
    lift: Annotated[float, Field(strict=True, ge=0, le=1000, allow_inf_nan=False)] = public(
        1.0, "Lift", "And if they agree so many times as often as all rows do; 0 for any"
    )
    max_length: Annotated[int, Field(strict=True, ge=2, le=8)] = public(4, "Longest", "Of so many values at most")
    most: Annotated[int, Field(strict=True, ge=1, le=MOST_CANDIDATES)] | None = public(
        None,
        "Most candidates",
        "A run that would decide on more sets of a length, or on more rules, stops: so what it costs at most is known",
        none=f"{MOST_CANDIDATES:,}",
    )
    most_bytes: MostBytes | None = most_bytes_field("a length of sets, or the rules,")
    k: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = public(
        5,
        "Least rows",
        "A set that fewer rows have is never told; of people, fewer than so many times at_most",
    )
    epsilon: Epsilon | None = public(
        None,
        "Epsilon",
        "With it the most frequent sets are chosen and counted with noise, and rules follow from these numbers",
        none="yes or no for each set and rule, no numbers",
    )
    first: Annotated[int, Field(strict=True, ge=1, le=200)] | None = public(
        None, "How many", "With epsilon: so many sets are chosen", none=f"{FIRST} with epsilon"
    )
    adjacency: Adjacency = neighbours()
    show: Literal["non-redundant", "maximal", "all"] = public(
        "non-redundant",
        "Shown",
        "Rules that a shorter one does not say already, or those of maximal sets, or all",
    )
    max_rows: RowBound = row_bound()
    at_most: AtMost | None = of_people()
    svg: LocalPath | None = output("Draw the rules as a graph.")
