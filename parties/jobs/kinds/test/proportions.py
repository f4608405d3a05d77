"""Test whether the share of an outcome differs between two groups."""

from __future__ import annotations

from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.kinds.test.trend import Trend
from smc.errors import InputError


class Proportions(Trend):
    """Test whether the share of an outcome differs between two groups of the rows of both parties. Both learn yes
    or no.

    The test of two proportions uses the pooled variance. The square of its statistic is the chi-square statistic of
    the two-by-two table.
    """

    name = "test proportions"
    about = Description("Test of two proportions", "test", example="--target outcome --by arm")
    what = "differs between the two groups of"

    @override
    def _scores(self, groups: tuple[str, ...]) -> list[int]:
        if len(groups) != 2:
            raise InputError(
                f"by: two groups are compared, not {len(groups)}: choose two with where, or use test trend"
            )
        return [0, 1]
