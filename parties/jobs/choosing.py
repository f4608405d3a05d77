"""Which profile a job runs on if its engine is "auto": the quickest of those that suit it, the same at both parties.

All are counted ahead, from what is public. Where some of them lose so little on links of every kind that measuring the
link would take longer, the job is settled by its size: of these it takes the one whose time on a usual link and whose
bytes weigh least together, nothing is measured, and the profile is agreed on as if it had been said. Else both parties
measure the link together, tell each other how quick their machines are, and take the quickest there. A job too large to
be counted takes its kind's usual profile. What is said wins: nothing is chosen then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parties.base import memory
from parties.base.canonical import canonical
from parties.base.console import size
from parties.base.recent import Recent
from parties.jobs import profiles
from parties.jobs.inputs import Inputs, MachineError
from parties.jobs.settings import ENGINE, EngineSettings
from parties.link.measurement import measuring_seconds
from smc.counting import Forecast, Program, forecasts
from smc.counting.rates import SHARD_BYTES
from smc.engines import Profile
from smc.link_shape import PRESETS, LinkShape

if TYPE_CHECKING:
    from parties.jobs.kind import Kind

LINKS = (*PRESETS.values(), LinkShape(10e6, 0.05))  # of every kind
USUAL_LINK = LinkShape(100e6, 5e-3)  # on which time is weighed against bytes
BYTE_SECONDS = 8 / 10e6  # that a byte is worth there: it may be paid for, and others wait behind it
UNNOTICED = (
    0.015  # seconds more, besides what measuring takes, that a job may lose: a command takes half of one to start
)
TINY = 1 << 21  # bytes by garbled circuits, of few rounds: no shared bits, of many, could save what their rounds cost
SMALL = 1 << 27  # bytes both ways by every profile: beyond, what is lost is never so little
MOST_KEPT = 4  # choices: their events take up to some MB each


@dataclass(frozen=True)
class Choice:
    """What is known before the peer is reached: the profile, or the forecasts of those among which the link decides.

    With "auto" both are there if the job is settled by its size, and no forecasts if it is too large to be counted.
    With a named profile of several shards both are there, too: what these take of memory is said by its forecast.
    """

    profile: Profile | None
    forecasts: tuple[Forecast, ...] = ()

    @property
    def possible(self) -> tuple[Profile, ...]:
        """The profiles that the job may run on."""
        return (self.profile,) if self.profile else tuple(counted.profile for counted in self.forecasts)

    def quickest(self, shape: LinkShape, pace: float = 1.0) -> Profile:
        """Return the profile on such a link, of machines that take `pace` times as long as the usual one."""
        return self.profile or min(self.forecasts, key=lambda counted: counted.seconds(shape, pace)).profile


def memory_of_shard(choice: Choice) -> int:
    """Return the bytes of memory that a shard takes at most, about, as far as the job was counted."""
    return max((counted.shard_bytes for counted in choice.forecasts), default=SHARD_BYTES)


def check_memory(choice: Choice) -> None:
    """`MachineError` if there is less memory here than the job's shards take, as far as it was counted."""
    shards, free = max(profile.shards for profile in choice.possible), memory.free()
    if shards == 1 or free is None:
        return
    needed = shards * memory_of_shard(choice)
    if needed > free:
        least = f"{shards} shards take about {size(needed)} of memory here, and {size(free)} are free"
        raise MachineError(f"{least}: agree on fewer shards, or free some")


_recent = Recent[str, Choice](MOST_KEPT)


def choice_for(task: Kind, inputs: Inputs) -> Choice:
    """Return the choice of a task; that of the last few tasks is kept."""
    specification = task.specification()

    def find() -> Choice:
        cost = task.cost(inputs)
        program = (lambda: cost.program) if cost.is_countable else None
        return choice(specification, program, task.about.integers, usual(task.settings))

    return _recent.get(canonical(specification), find)


def choice(
    specification: Mapping[str, Any], program: Callable[[], Program] | None, integers: bool, otherwise: Profile
) -> Choice:
    """Return the choice for a specification and its program; without one it cannot be counted."""
    if (named := profiles.named(specification)) is not None:
        return Choice(named, tuple(forecasts(program(), [named])) if named.shards > 1 and program else ())
    if program is None:
        return Choice(otherwise)
    conversation, suited = program(), profiles.contenders(integers, profiles.shards_of(specification))
    counted = tuple(forecasts(conversation, [profile for profile in suited if profile.garbles]))
    if (best := tiny(counted)) is not None:
        return Choice(best, counted)
    counted += tuple(forecasts(conversation, [profile for profile in suited if not profile.garbles]))
    return Choice(settled(counted), counted)


def usual(settings: EngineSettings) -> Profile:
    """Return the usual profile of a kind with these settings."""
    fields = {name: getattr(settings, name) for name in ENGINE}
    shards = getattr(settings, "shards", None) or 1
    return Profile(**fields | ({"engine": settings.usual} if settings.engine == "auto" else {}), shards=shards)


def tiny(garbled: tuple[Forecast, ...]) -> Profile | None:
    """Return the profile of a job that is so small by garbled circuits that nothing else is counted; or None."""
    return settled(garbled) if max(counted.bytes for counted in garbled) <= TINY else None


def settled(forecasts: tuple[Forecast, ...]) -> Profile | None:
    """Return the profile that weighs least of those that lose little more than measuring takes on links of every kind;
    None if none does."""
    if max(counted.bytes for counted in forecasts) > SMALL:
        return None
    enough = list(forecasts)
    for shape in LINKS:
        seconds = {counted.profile: counted.seconds(shape) for counted in forecasts}
        most = min(seconds.values()) + measuring_seconds(shape) + UNNOTICED
        enough = [counted for counted in enough if seconds[counted.profile] <= most]
    return min(enough, key=lambda counted: (weight(counted), str(counted.profile))).profile if enough else None


def weight(counted: Forecast) -> float:
    """Return seconds on a usual link, and what the bytes are worth there."""
    return counted.seconds(USUAL_LINK) + counted.bytes * BYTE_SECONDS


def agreed_fields(specification: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """Return the specification with the profile in place of "auto", if it is known before the peer is reached."""
    if choice.profile is None or specification["engine"] != "auto":
        return dict(specification)
    fields = {name: getattr(choice.profile, name) for name in ENGINE}
    return {**specification, **{name: value for name, value in fields.items() if value is not None}}
