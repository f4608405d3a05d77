"""Test whether two arms survive differently: yes or no, by the log-rank test."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.text import listed, quoted
from parties.jobs.kind import Description, Document
from parties.jobs.release.kind import Release
from parties.jobs.release.presenting import shown
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.settings import ApartSettings, DecisionSettings
from parties.jobs.release.survive.times import TimesSettings, arm_column, times
from parties.jobs.settings import Name, public
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.arrays import Numbers
    from smc.engines import Engine


class CompareSettings(TimesSettings, DecisionSettings, ApartSettings):
    """Settings of `smc survive compare`."""

    arm: Name | None = arm_column("the two groups")
    level: Annotated[float, Field(strict=True, ge=1e-6, le=0.5)] = public(
        0.05, "Level", "Significance level: probability that equal arms are reported as different"
    )


class Compare(Release):
    """Test whether two arms of the rows of both parties survive differently. Both learn yes or no, exactly, by the
    log-rank test.

    The test uses the binned times: a row censored in a bin is at risk in it. Only the answer is opened, one bit
    about the rows of both. Answers at many levels, or for many subsets, reveal the statistic bit by bit.
    """

    name = "survive compare"
    about = Description("Comparison of survival", "answer", example="--time months --event died --arm arm")
    Settings = CompareSettings

    @override
    def ask(self) -> Question:
        arm, event, time = self.settings.arm, self.settings.event, self.settings.time
        known = times(self)
        if len(known.arms) != 2:
            raise InputError(
                f"arm: {quoted(arm)} has {len(known.arms)} values ({listed(known.arms[:5])}), two arms are compared: "
                f"--where '{arm} in [...]' chooses two"
            )
        shape, level, rows = (2, 2, len(known.bins)), self.settings.level, self.rows_each
        quantile = NormalDist().inv_cdf(1 - level / 2) ** 2

        def decide(engine: Engine, numbers: Numbers) -> list[int]:
            from protocols.logrank import differ

            return [int(differ(engine, numbers.reshape(shape), quantile, rows))]

        def show(state: Any) -> Mapping[str, Any]:
            return {"time": time, "event": event, "arm": arm, "arms": list(known.arms)} | {
                "bins": len(known.bins), "level": level, "differ": bool(state[0]),
            }  # fmt: skip

        return Question(
            f"whether the rows of both tables{self.where.words()} with {arm} = {known.arms[0]} and {known.arms[1]} "
            f"differ in their survival, by {time} and {event}: a log-rank test of {len(known.bins)} bins at the level "
            f"{level:g}",
            int(np.prod(shape)), lambda counts: own_vector(known.count(counts)), decide, show,
            opens="decision", bits=1, target=time or "",
        )  # fmt: skip

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        first, second = map(shown, document["arms"])
        answer = "yes, they differ" if document["differ"] else "no difference is shown"
        return [
            f"{shown(document['arm'])} = {first} and {second}: {answer}",
            f"log-rank test of {document['bins']} bins of {shown(document['time'])}, level {document['level']:g}",
        ]
