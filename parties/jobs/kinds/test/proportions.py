"""Test whether the share of an outcome differs between two groups."""

from __future__ import annotations

from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.kinds.test.trend import Trend, TrendSettings
from parties.jobs.release.significance import Alternative, alternative
from smc.errors import InputError


class ProportionsSettings(TrendSettings):
    """Settings of `smc test proportions`."""

    alternative: Alternative = alternative("in the group that is later in the schema, the share is greater or less")


class Proportions(Trend):
    """Test whether the share of an outcome differs between two groups of the rows of both parties. Both learn yes
    or no.

    The test of two proportions uses the pooled variance. The square of its statistic is the chi-square statistic of
    the two-by-two table.
    """

    name, Settings = "test proportions", ProportionsSettings
    about = Description("Test of two proportions", "test", example="--target outcome --by arm")
    what = "differs between the two groups of"

    @override
    def _scores(self, groups: tuple[str, ...]) -> list[int]:
        if len(groups) != 2:
            raise InputError(
                f"by: two groups are compared, not {len(groups)}: choose two with where, or use test trend"
            )
        return [0, 1]
