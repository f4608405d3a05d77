"""Choice of the profile for a job whose engine is "auto": the fastest suitable one, the same at both parties.

Suitable profiles are counted in advance from public data. If some of them lose very little on links of every kind
(less than the link's measurement would cost), the size of the job decides: both parties take the profile with the
lowest weighted sum of time and bytes on a usual link. Nothing is measured then, and the profile is agreed on as if the
operator had named it. Otherwise both parties measure the link together, exchange the speed of their machines, and take
the fastest profile there; of a job of many GB, one of fewer bytes (`valued`). If counting the profiles of other engines
takes time, it is left until then. It is left out if it takes more time than it could save: all of the sending, and half
of the computing. A job that is too large to count takes its kind's usual profile. A profile that the operator names is
always used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from parties.base import memory
from parties.base.canonical import canonical
from parties.base.console import size
from parties.base.recent import ResultCache
from parties.jobs.execution import profiles
from parties.jobs.inputs import Inputs
from parties.jobs.settings import ENGINE, KindSettings
from parties.link.measurement import measuring_seconds
from parties.link.pace import USUAL, own_pace_of
from smc.counting import Forecast, Program, forecasts
from smc.counting.rates import SHARD_BYTES
from smc.counting.session import BUILDING
from smc.engines import Profile
from smc.errors import MachineError
from smc.link_shape import PRESETS, LinkShape

if TYPE_CHECKING:
    from parties.jobs.kind import Kind

LINKS = (*PRESETS.values(), LinkShape(10e6, 0.05))  # links of every kind
USUAL_LINK = LinkShape(100e6, 5e-3)  # link on which time is weighed against bytes
# seconds that one byte is worth there: traffic may cost money, and other transfers wait behind it
BYTE_SECONDS = 8 / 10e6
# on a link that is measured the time alone decides, but for bytes beyond the first GB: a GB is worth half a minute
LARGE, LARGE_BYTE_SECONDS = 1 << 30, 3e-8
# seconds, beyond the measurement's, that a job may lose; a command takes half of that to start
UNNOTICED = 0.015
# bytes by an engine of garbled circuits, least and most, of a job for which no other engine is counted: with less, one
# of fewer rounds may be faster; with more, shared bits may save more by fewer bytes than they lose by more rounds
TINY = {"mixed": (1 << 20, 3 << 23), "yao": (0, 1 << 21)}
# bytes in both directions; a job with more under any profile never counts as one that loses very little
SMALL = 1 << 27
# seconds to count the profiles of all other engines, as a multiple of building the circuits of the first one, and those
# that are counted before the link is known
OTHERS_TIMES, AT_ONCE_SECONDS = 6, 0.1
# most of the computing time that another engine saves; in the forecasts of trees on 10 to 10,000 columns it is 0.3
COMPUTING_SAVED = 0.5
SLOW_SECONDS = 120  # a named profile that takes longer is warned of
MOST_KEPT = 4  # choices in the cache: their events take up to some MB each


@dataclass(frozen=True)
class Choice:
    """Profile fixed before the peer is reached, or the forecasts among which the link decides.

    With "auto", a job settled by its size has both; a job too large to be counted has no forecasts. A named profile
    has a forecast only if it has several shards, for their memory, or "trapdoor" as `ot`, for `warning_of`. The
    profiles `uncounted` are counted, by `program`, once the link is known, and only if that pays.
    """

    profile: Profile | None
    forecasts: tuple[Forecast, ...] = ()
    uncounted: tuple[Profile, ...] = ()
    program: Program | None = field(default=None, repr=False, compare=False)

    @property
    def possible(self) -> tuple[Profile, ...]:
        """Profiles that the job may run on."""
        return (self.profile,) if self.profile else (*(counted.profile for counted in self.forecasts), *self.uncounted)

    @property
    def counted(self) -> tuple[Forecast, ...]:
        """Forecasts of the profiles that have been counted so far."""
        return *self.forecasts, *vars(self).get("_others", ())

    @cached_property
    def _others(self) -> tuple[Forecast, ...]:
        return tuple(forecasts(self.program, self.uncounted)) if self.program else ()

    def quickest(self, shape: LinkShape, pace: float = 1.0, counts: bool = True) -> Profile:
        """Return the fastest profile on a link; of a job of many GB, one of fewer bytes (`valued`).

        Args:
            shape: Speed and latency of the link.
            pace: Time that the machines take, as a multiple of the usual machine's.
            counts: Count the uncounted profiles too, if that pays.
        """
        if self.profile:
            return self.profile

        def cost(counted: Forecast) -> float:
            return valued(counted.seconds(shape, pace), counted.bytes)

        best = min(self.forecasts, key=cost)
        most_saved = cost(best) - (1 - COMPUTING_SAVED) * best.seconds(LinkShape(), pace)
        if counts and self.uncounted and most_saved > pace * others_seconds(self.forecasts):
            best = min((best, *self._others), key=cost)
        return best.profile


def warning_of(choice: Choice) -> str:
    """Return a warning if a named profile is forecast to take 2 minutes or more on this machine; else an empty text.

    A job that was not counted gives no warning.
    """
    if choice.profile is None or not choice.forecasts:
        return ""
    seconds = choice.forecasts[0].seconds(LinkShape(), own_pace_of(choice.profile.ot) / USUAL)
    if seconds < SLOW_SECONDS:
        return ""
    span = f"{seconds / 60:.0f} minutes" if seconds < 60 * SLOW_SECONDS else f"{seconds / 3600:.0f} hours"
    remedy = "; --ot extension takes far less" if choice.profile.ot == "trapdoor" else ""
    return f"forecast for {choice.profile}: about {span}{remedy}"


def memory_of_shard(choice: Choice) -> int:
    """Return the approximate upper bound on a shard's memory in bytes; a default if the job was not counted."""
    return max((counted.shard_bytes for counted in choice.forecasts), default=SHARD_BYTES)


def check_memory(choice: Choice) -> None:
    """Raise MachineError if the shards of a job together take more memory than is free here.

    A job of one shard is not checked. Each shard of a job that was not counted takes `SHARD_BYTES`.
    """
    shards, free = max(profile.shards for profile in choice.possible), memory.free()
    if shards == 1 or free is None:
        return
    needed = shards * memory_of_shard(choice)
    if needed > free:
        need = f"{shards} shards take about {size(needed)} of memory here, and {size(free)} are free"
        raise MachineError(f"{need}: agree on fewer shards, or free memory")


_recent = ResultCache[str, Choice](MOST_KEPT)


def choice_for(task: Kind, inputs: Inputs) -> Choice:
    """Return the choice of a task; the choices of the last few tasks are cached.

    Args:
        task: The task.
        inputs: This party's inputs; only their public part is used.
    """
    specification = task.specification()

    def find() -> Choice:
        cost = task.cost_of_run(inputs)
        program = (lambda: cost.program) if cost.is_countable else None
        return choice(specification, program, task.about.integers, usual(task.settings))

    return _recent.get(canonical({**specification, "on_shares": task.on_shares}), find)


def choice(
    specification: Mapping[str, Any], program: Callable[[], Program] | None, integers: bool, otherwise: Profile
) -> Choice:
    """Return the choice of the profile for a job: one profile, or several among which the link decides.

    Args:
        specification: The public specification of the job.
        program: Maker of the program to count; None if the job cannot be counted.
        integers: Whether the job computes on integers, which limits the suitable profiles.
        otherwise: Profile of a job that cannot be counted.
    """
    if (named := profiles.named(specification)) is not None:
        is_counted = program is not None and (named.shards > 1 or named.ot == "trapdoor")
        return Choice(named, tuple(forecasts(program(), [named])) if is_counted and program else ())
    if program is None:
        return Choice(otherwise)
    conversation, suited = program(), profiles.contenders(integers, profiles.shards_of(specification))
    stages: dict[tuple[bool, bool], list[Profile]] = {}
    for profile in suited:
        stages.setdefault((profile.engine == suited[0].engine, profile.garbles), []).append(profile)
    counted: tuple[Forecast, ...] = ()
    for stage in sorted(stages, reverse=True):
        if counted and others_seconds(counted) > AT_ONCE_SECONDS:
            rest = {*suited} - {one.profile for one in counted}
            return Choice(None, counted, tuple(one for one in suited if one in rest), conversation)
        counted += tuple(forecasts(conversation, stages[stage]))
        if (best := tiny(counted)) is not None:
            return Choice(best, counted)
    return Choice(settled(counted), counted)


def others_seconds(counted: tuple[Forecast, ...]) -> float:
    """Return the approximate seconds to count the profiles of the other engines, by those of the first one."""
    return OTHERS_TIMES * counted[0].lines().get(BUILDING, 0.0)


def usual(settings: KindSettings) -> Profile:
    """Return the usual profile of a kind with these settings."""
    fields = {name: getattr(settings, name) for name in ENGINE}
    fields |= {"engine": settings.usual} if settings.engine == "auto" else {}
    return profiles.profile_of(fields, getattr(settings, "shards", None) or 1)


def tiny(counted: tuple[Forecast, ...]) -> Profile | None:
    """Return the profile of a job whose size by the first engine lets no other one win, see `TINY`; else None."""
    first = counted[0].profile.engine
    if first not in TINY:
        return None
    of_first = [one.bytes for one in counted if one.profile.engine == first]
    least, most = TINY[first]
    is_small = max(of_first) <= most and (min(of_first) >= least or len(of_first) < len(counted))
    return settled(counted) if is_small else None


def settled(forecasts: tuple[Forecast, ...]) -> Profile | None:
    """Return the profile with the least weight among those that lose very little on links of every kind.

    Very little is at most the seconds of a measurement plus `UNNOTICED`. Return None if no profile qualifies, or
    if a profile has more than `SMALL` bytes.
    """
    if max(counted.bytes for counted in forecasts) > SMALL:
        return None
    candidates = list(forecasts)
    for shape in LINKS:
        seconds = {counted.profile: counted.seconds(shape) for counted in forecasts}
        limit = min(seconds.values()) + measuring_seconds(shape) + UNNOTICED
        candidates = [counted for counted in candidates if seconds[counted.profile] <= limit]
    return min(candidates, key=lambda counted: (weight(counted), str(counted.profile))).profile if candidates else None


def valued(seconds: float, sent: int) -> float:
    """Return the seconds of a job on its link, plus the value of bytes beyond `LARGE` in seconds.

    Args:
        seconds: Its time.
        sent: Bytes sent by both parties together.
    """
    return seconds + max(0, sent - LARGE) * LARGE_BYTE_SECONDS


def weight(counted: Forecast) -> float:
    """Return the seconds on a usual link plus the value of the bytes in seconds."""
    return counted.seconds(USUAL_LINK) + counted.bytes * BYTE_SECONDS


def agreed_fields(specification: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """Return the specification, with the profile in place of "auto" if it is fixed before the peer is reached.

    Args:
        specification: The public specification of the job.
        choice: The job's choice.
    """
    if choice.profile is None or specification["engine"] != "auto":
        return dict(specification)
    fields = {name: getattr(choice.profile, name) for name in ENGINE}
    return {**specification, **{name: value for name, value in fields.items() if value is not None}}
