"""Test whether the area under the ROC curve is large enough."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description, exact
from parties.jobs.release.evaluate.scored import Scoring, TargetSettings
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.settings import DecisionSettings
from parties.jobs.settings import public
from protocols import judging
from protocols.arrays import Numbers
from smc.engines import Engine
from smc.errors import InputError


class AucSettings(TargetSettings, DecisionSettings):
    """Settings of `smc evaluate auc`. A job without `at_least` is refused."""

    at_least: Annotated[float, Field(strict=True, ge=0, le=1)] | None = public(
        None, "Least area", "Required area under the ROC curve, such as 0.8"
    )


class Auc(Scoring):
    """Test whether the area under the ROC curve reaches a bound, over the rows of both parties. Both learn yes or
    no, exactly.

    The scores are binned: rows in one bin count as equal. Only the answer is opened, one bit about the rows of
    both.
    """

    name = "evaluate auc"
    about = Description(
        "Area under the ROC curve",
        "answer",
        example="--model model.json --target-value bad --at-least 0.8",
        job_example="--scores score --target outcome --at-least 0.8",
    )
    Settings = AucSettings

    @override
    def ask(self) -> Question:
        rows, least = self.rows_each, required(self.settings.at_least, "evaluate auc.at_least")
        judging.check_rows(rows)
        known = self.scored(self.settings.scores)
        numerator, denominator = exact(least).as_integer_ratio()
        if denominator > 10**6:
            raise InputError("at_least: give at most six decimals")
        shape = (2, len(known.edges) - 1)

        def decide(engine: Engine, numbers: Numbers) -> list[int]:
            return [int(judging.at_least(engine, numbers.reshape(shape), numerator, denominator, rows))]

        return self.decided(
            known,
            f"whether the area under the ROC curve of {known.words} for {known.target} is {least:g} or more",
            2 * shape[1], lambda counts: own_vector(known.count(counts)), decide, {"at_least": least},
        )  # fmt: skip
