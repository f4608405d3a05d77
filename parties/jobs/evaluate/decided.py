"""Decisions on scores: is the area under the ROC curve large enough, or one's larger than the other's? A bit each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.evaluate.scored import Scored, Scoring, TargetSettings
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.settings import DecisionSettings
from parties.jobs.settings import public
from parties.jobs.spending import exact
from parties.jobs.tabular_settings import Name
from protocols import judging
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.base.arrays import Numbers
    from smc.engines import Engine


class AucSettings(TargetSettings, DecisionSettings):
    """`smc evaluate auc`."""

    at_least: Annotated[float, Field(strict=True, ge=0, le=1)] | None = public(
        None, "Least area", "Required area under the ROC curve, such as 0.8"
    )


class BetterSettings(TargetSettings, DecisionSettings):
    """`smc evaluate better`."""

    than: Name | None = public(None, "Other scores", "Column of scores to compare with", column=True)


class Auc(Scoring):
    """Is the area under the ROC curve, over the rows of both parties, large enough? Both learn yes or no, exactly.

    Of the binned scores: rows in one bin are equal. Nothing but the answer is opened, a bit about the rows of both.
    """

    name = "evaluate auc"
    title = "Area under the ROC curve"
    Settings = AucSettings
    example = "--data mine.csv --schema schema.toml --model model.json --at-least 0.8 --config party.toml"
    estimate_example = "--schema schema.toml --model model.json --at-least 0.8 "
    job_example = "--scores score --target outcome --at-least 0.8"
    noun = "answer"

    @override
    def ask(self) -> Question:
        rows, least = self.settings.max_rows, required(self.settings.at_least, "evaluate auc.at_least")
        judging.check_rows(rows)
        known = self.scored(self.settings.scores)
        numerator, denominator = exact(least).as_integer_ratio()
        if denominator > 10**6:
            raise InputError("at_least: give at most six decimals")
        shape = (2, len(known.edges) - 1)

        def decide(engine: Engine, numbers: Numbers) -> list[int]:
            return [int(judging.at_least(engine, numbers.reshape(shape), numerator, denominator, rows))]

        return _decision(
            self, known,
            f"whether the area under the ROC curve of {known.words} for {known.target} is {least:g} or more",
            2 * shape[1], lambda counts: own_vector(known.count(counts)), decide, {"at_least": least},
        )  # fmt: skip


class Better(Scoring):
    """Do scores, or a model's, tell a target better than other scores, on the rows of both parties? A bit.

    The areas under both ROC curves are compared exactly: yes if the first is larger. Each is of the rows that have its
    score.
    """

    name = "evaluate better"
    title = "Better scores"
    Settings = BetterSettings
    example = "--data mine.csv --schema schema.toml --model model.json --than old_score --config party.toml"
    estimate_example = "--schema schema.toml --model model.json --than old_score "
    job_example = "--scores score --target outcome --than old_score"
    noun = "answer"

    @override
    def ask(self) -> Question:
        rows, than = self.settings.max_rows, required(self.settings.than, "evaluate better.than")
        judging.check_rows(rows)
        if than == self.settings.scores:
            raise InputError("than: name another column than that of scores")
        first, second = self.scored(self.settings.scores), self.scored(than)
        numbers = 2 * (len(first.edges) - 1)

        def decide(engine: Engine, both: Numbers) -> list[int]:
            tables = both[:numbers].reshape(2, -1), both[numbers:].reshape(2, -1)
            return [int(judging.larger(engine, *tables, rows))]

        return _decision(
            self, first,
            f"whether the area under the ROC curve of {first.words} for {first.target} is larger than that of "
            f"{second.words}",
            numbers + 2 * (len(second.edges) - 1),
            lambda counts: own_vector(first.count(counts), second.count(counts)), decide, {"than": than},
        )  # fmt: skip


def _decision(
    task: Scoring, known: Scored, learnt: str, numbers: int, count: Any, decide: Any, about: dict[str, Any]
) -> Question:
    """Return the question whose answer is one bit."""

    def show(state: Any) -> dict[str, Any]:
        scores = known.column or task.words_of_model
        return {"target": known.target, "scores": scores, **about, "answer": bool(state[0])}

    return Question(
        learnt + task.where.words(), numbers, count, decide, show, opens="decision", bits=1,
        subject=known.target, target=known.target,
    )  # fmt: skip
