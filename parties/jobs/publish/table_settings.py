"""The settings of a joint table."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs.kind import Extra
from parties.jobs.privacy_models import Against, against
from parties.jobs.release.settings import Epsilon, neighbours
from parties.jobs.settings import BooleanSettings, of_people, own_file, public
from parties.jobs.spending import Adjacency
from parties.jobs.tabular_settings import Name, RowBound, TabularSettings, row_bound


class JointTableSettings(BooleanSettings, TabularSettings):
    """`smc publish joint-table`."""

    by: Name | None = public(None, "Rows by", "A row of the table for each value of this column", column=True)
    across: Name | None = public(
        None, "Columns by", "A column of the table for each value of this column", none="none", column=True
    )
    summed: Name | None = public(
        None, "Sum of", "Add up the numbers of this column", none="the rows are counted", alias="sum", column=True
    )
    threshold: Annotated[int, Field(strict=True, ge=3, le=2**32)] = public(
        3, "Threshold", "Cells and totals of fewer rows are hidden"
    )
    against: Against = against("the threshold is for each party's own rows or for those of both together")
    zeros: Literal["hidden", "shown"] = public(
        "hidden",
        "Zeros",
        "Whether an empty cell is hidden like a small one, or shown: then both learn which are empty",
    )
    to: LocalPath | None = own_file("To", "Seal the numbers to this certificate; neither party can read them.")
    analyst: Annotated[str, Field(max_length=20_000)] | None = public(
        None,
        "Analyst",
        "The certificate that numbers are sealed to, as text",
        none="nobody: with epsilon, both see the numbers",
        node=True,
    )
    epsilon: Epsilon | None = public(
        None, "Epsilon", "Open the numbers to both, with noise", none="no noise: they are sealed to the analyst"
    )
    adjacency: Adjacency = neighbours("What noise hides")
    max_rows: RowBound = row_bound()
    at_most: AtMost | None = of_people()


class JointTableExtra(Extra):
    """`smc estimate publish joint-table`."""

    hidden: Annotated[int, Field(strict=True, ge=0)] = public(0, "Hidden", "So many cells will be hidden")
