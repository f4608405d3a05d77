"""Settings of a joint table."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath, Settings
from parties.jobs import settings as fields
from parties.jobs.kind import Adjacency
from parties.jobs.release.settings import Epsilon, neighbours
from parties.jobs.settings import BooleanSettings, Name, RowBound, own_file, public
from parties.jobs.tabular import TabularSettings

NAME = "publish joint-table"


class JointTableSettings(BooleanSettings, TabularSettings):
    """Settings of `smc publish joint-table`."""

    by: Name | None = public(None, "Rows by", "Column whose values become the table's rows", column=True)
    across: Name | None = public(
        None, "Columns by", "Column whose values become the table's columns", none="none", column=True
    )
    summed: Name | None = public(
        None,
        "Sum of",
        "Sum this column instead of counting rows",
        none="the rows are counted",
        alias="sum",
        column=True,
    )
    threshold: Annotated[int, Field(strict=True, ge=3, le=2**32)] = public(
        3, "Threshold", "Minimum rows of a cell or total, of each party if sealed; smaller ones are hidden"
    )
    against: fields.Against = fields.against(
        "the threshold holds for each party's rows", "only for the rows of both together"
    )
    zeros: Literal["hidden", "shown"] = public(
        "hidden", "Zeros", "Cells without rows: hidden like small cells, or shown to both parties (not with epsilon)"
    )
    to: LocalPath | None = own_file("To", "Seal the numbers to this certificate; neither party can read them.")
    analyst: Annotated[str, Field(max_length=20_000)] | None = public(
        None,
        "Analyst",
        "Text of the analyst's certificate file, not its name. The numbers are sealed to it, so only the analyst can "
        "read them",
        none="nobody: with epsilon, both see the numbers",
        node=True,
    )
    epsilon: Epsilon | None = public(
        None,
        "Epsilon",
        "Epsilon, the privacy loss of a row. Both parties then see the numbers, with noise",
        none="no noise: they are sealed to the analyst",
    )
    adjacency: Adjacency = neighbours()
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()


class JointTableExtra(Settings):
    """Settings of `smc estimate publish joint-table`."""

    hidden: Annotated[int, Field(strict=True, ge=0)] = public(0, "Hidden", "Number of hidden cells to count with")
