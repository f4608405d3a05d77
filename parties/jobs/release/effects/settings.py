"""Settings of regressions with intervals."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from parties.jobs.release.settings import Delta, DrawnSettings, failure
from parties.jobs.settings import AnyField, Columns, Fold, HeldOut, Name, fold, held_out, numbers, public

USUAL_STEPS = 6


def target(help_text: str) -> AnyField:
    """Return the field `target`: the column of outcomes."""
    return public(None, "Target", help_text, column=True)


class EffectsSettings(DrawnSettings):
    """Settings of every regression with intervals."""

    columns: Columns | None = public(
        None, "Columns", "Columns whose effects are estimated, separated by commas", column=True
    )
    numeric: Columns | None = numbers("those of the schema's types")
    delta: Delta | None = failure()
    steps: Annotated[int, Field(strict=True, ge=4, le=20)] = public(
        USUAL_STEPS,
        "Steps",
        "Newton steps, which share epsilon. The first two find a start",
        advanced=True,
    )


class ModelSettings(EffectsSettings):
    """Settings of a regression whose result is also a model, for `smc predict` and `smc evaluate`."""

    held_out: HeldOut | None = held_out()
    fold: Fold | None = fold()


class ClassifiedSettings(ModelSettings):
    """Settings of a logistic regression."""

    target: Name | None = target("Column of the outcome; it has two values")
    target_value: Name | None = public(
        None, "Value that is meant", "Value of the target whose odds are estimated", none="yes"
    )
