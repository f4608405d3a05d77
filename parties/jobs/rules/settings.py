"""Settings of association rules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs import settings as fields
from parties.jobs.kind import Adjacency
from parties.jobs.release.missing_values import Missing, missing_values
from parties.jobs.release.settings import ApartSettings, Epsilon, neighbours
from parties.jobs.settings import Columns, ManyGatesSettings, Name, RowBound, output, public

Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
MOST_CANDIDATES = 1 << 20
FIRST = 10  # default number of sets


class RulesSettings(ManyGatesSettings, ApartSettings):
    """Settings of `smc rules`."""

    columns: Columns | None = public(
        None, "Columns", "Columns whose values may occur in rules", none="all of the schema", column=True
    )
    transaction: Name | None = public(
        None,
        "Baskets",
        "Column that names the basket of a row. Sets and counts are then of baskets, not of rows. No basket has rows "
        "of both parties",
        none="each row is a basket",
    )
    support: Share = public(0.1, "Support", "Minimum support: share of all rows that must have a set of values")
    confidence: Share = public(
        0.8,
        "Confidence",
        "Minimum confidence: of the rows that meet a rule's condition, the share that must have its conclusion too",
    )
    lift: Annotated[float, Field(strict=True, ge=0, le=1000, allow_inf_nan=False)] = public(
        1.0, "Lift", "Minimum lift: a rule's confidence divided by the share of all rows with its conclusion; 0 = any"
    )
    max_length: Annotated[int, Field(strict=True, ge=2, le=8)] = public(
        4, "Longest", "Maximum number of values in a set"
    )
    most: Annotated[int, Field(strict=True, ge=1, le=MOST_CANDIDATES)] | None = public(
        None,
        "Most candidates",
        "Maximum number of candidate sets of one length, and of rules. The run stops before it exceeds this number",
        none=f"{MOST_CANDIDATES:,}",
        advanced=True,
    )
    most_bytes: fields.MostBytes | None = fields.most_bytes_field("the next length of sets, or the rules")
    k: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = public(
        5, "Least rows", "Minimum rows of a set that is opened. If a person may have N rows, the minimum is k x N rows"
    )
    epsilon: Epsilon | None = public(
        None,
        "Epsilon",
        "Epsilon, the privacy loss of a row. The most frequent sets are chosen and counted with noise",
        none="no noise: yes or no for each set and rule, no numbers",
    )
    first: Annotated[int, Field(strict=True, ge=1, le=200)] | None = public(
        None, "How many", "With epsilon: number of frequent sets to open", none=f"{FIRST} with epsilon"
    )
    missing: Missing = missing_values("in the columns")
    adjacency: Adjacency = neighbours()
    show: Literal["non-redundant", "maximal", "all"] = public(
        "non-redundant",
        "Shown",
        "Rules to show. non-redundant omits rules that follow from others; maximal shows only "
        "rules of sets that no other frequent set contains",
        advanced=True,
    )
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()
    svg: LocalPath | None = output("Draw the rules as a graph, SVG.")
