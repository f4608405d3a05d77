"""Test whether one score predicts a target better than another."""

from __future__ import annotations

from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description
from parties.jobs.release.evaluate.scored import Scoring, TargetSettings
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.settings import DecisionSettings
from parties.jobs.settings import Name, public
from protocols import judging
from protocols.arrays import Numbers
from smc.engines import Engine
from smc.errors import InputError


class BetterSettings(TargetSettings, DecisionSettings):
    """Settings of `smc evaluate better`."""

    than: Name | None = public(None, "Other scores", "Column of scores to compare with", column=True)


class Better(Scoring):
    """Test whether scores, or a model's scores, predict a target better than other scores, on the rows of both
    parties.

    The areas under both ROC curves are compared exactly: yes if the first is larger. Each area is over the rows
    that have its score. Only this bit is opened.
    """

    name = "evaluate better"
    about = Description(
        "Better scores",
        "answer",
        example="--model model.json --target-value bad --than old_score",
        job_example="--scores score --target outcome --than old_score",
    )
    Settings = BetterSettings

    @override
    def ask(self) -> Question:
        rows, than = self.rows_each, required(self.settings.than, "evaluate better.than")
        judging.check_rows(rows)
        if than == self.settings.scores:
            raise InputError("than: is also the column of scores; name another column")
        first, second = self.scored(self.settings.scores), self.scored(than)
        numbers = 2 * (len(first.edges) - 1)

        def decide(engine: Engine, both: Numbers) -> list[int]:
            tables = both[:numbers].reshape(2, -1), both[numbers:].reshape(2, -1)
            return [int(judging.larger(engine, *tables, rows))]

        return self.decided(
            first,
            f"whether the area under the ROC curve of {first.words} for {first.target} is larger than that of "
            f"{second.words}",
            numbers + 2 * (len(second.edges) - 1),
            lambda counts: own_vector(first.count(counts), second.count(counts)), decide, {"than": than},
        )  # fmt: skip
