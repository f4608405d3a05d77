"""Runs whose cost depends on opened values: a run that costs far more than its forecast stops in order before a
step."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import Field

from parties.base.console import size
from parties.jobs.inputs import Inputs
from parties.jobs.kind import LargerThanForecastError, OnStep, Step
from parties.jobs.settings import AnyField, public
from parties.jobs.tabular import BySchema

if TYPE_CHECKING:
    from smc.engines import Engine

STOPPED_AT = 4  # times the forecast: twice the largest error measured for trees on public tables
LEAST_STOP = 100_000_000  # bytes: a smaller run continues, unless its settings have a limit

MostBytes: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**50)]


def most_bytes_field(step: str) -> AnyField:
    """Return the field `most_bytes` of a kind whose run may stop before the named step."""
    return public(
        None,
        "Byte limit",
        f"Maximum bytes of both directions together. Once exceeded, the run stops before {step}",
        none="4 times the forecast, and 100 MB at least",
        advanced=True,
    )


class StoppingKind(BySchema):
    """A kind whose settings have `most_bytes`. Its runs call `stopping`."""

    enlarged: ClassVar[str]  # the object that may become larger than forecast, with its verb
    smaller: ClassVar[str]  # advice on a smaller run

    def stopping(self, engine: Engine, on_step: OnStep) -> OnStep:
        """Return `on_step` for a run that stops before a step once it has cost more than allowed.

        The cost follows from the opened values, and the limit is public. So both parties stop, and the stop reveals
        nothing.

        Args:
            engine: Engine of the run; its session counts the bytes.
            on_step: Called with each step.
        """
        total = engine.session.meter.total
        already_spent = total.bytes_sent + total.bytes_received

        def watched(step: Step) -> None:
            self._stop_if_larger(total.bytes_sent + total.bytes_received - already_spent, step)
            on_step(step)

        return watched

    def _stop_if_larger(self, spent: int, step: Step) -> None:
        """Raise LargerThanForecastError if the run so far has cost more than allowed."""
        allowed: int | None = getattr(self.settings, "most_bytes")  # noqa: B009 (of the kinds that have it)
        if spent <= (allowed or LEAST_STOP):
            return
        if allowed is None:
            if self.forecast is None or spent <= STOPPED_AT * self.forecast:
                return
            bound = f"forecast {size(self.forecast)}"
        else:
            bound = f"allowed {size(allowed)}"
        more = f"allow more on both sides: --most-bytes {4 * spent} (most_bytes in a job), or {self.smaller}"
        where = f"stopped before {step.words}"
        problem = f"{self.enlarged} larger than forecast: {size(spent)} so far, {bound}; {where}; {more}"
        raise LargerThanForecastError(problem, step.state, spent, self.allowing)

    @property
    def is_measured(self) -> bool:
        """Whether typical runs of such tasks are known."""
        return True

    @cached_property
    def forecast(self) -> int | None:
        """Bytes of a typical run in both directions, on the named profile, or on the first contender for "auto".

        None if the job is too large to be counted, or no typical run is known.
        """
        if not ((cost := self.cost(Inputs())).is_countable and self.is_measured):
            return None
        from parties.jobs.engine_selection import choice_for
        from smc.counting import forecast

        choice = choice_for(self, Inputs())  # cached: the choice was made before the run
        if choice.forecasts:
            return choice.forecasts[0].bytes
        return forecast(cost.program, choice.possible[0]).bytes

    def allowed_settings(self, most_bytes: int) -> Any:
        """Return the settings with this limit."""
        return self.settings.model_copy(update={"most_bytes": most_bytes})

    def allowing(self, most_bytes: int) -> Self:
        """Return the task with this limit of bytes, both directions together."""
        return type(self)(self.allowed_settings(most_bytes), self.schema)
