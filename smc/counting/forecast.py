"""Forecast of the cost of a program under a profile, before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from smc.counting.engines import CountingEngine, make_counting_engine
from smc.counting.rates import HELD_TIMES, SHARD_BYTES
from smc.counting.recording import Group, Recording, group, uncollected
from smc.counting.session import MESSAGES, CountingSession, Event
from smc.counting.timing import message_seconds, predicted_seconds
from smc.engines import Profile
from smc.link_shape import LinkShape
from smc.meter import Cost, Meter

Program = Callable[[CountingEngine], object]


@dataclass(frozen=True)
class Forecast:
    """Predicted meters of both parties, and the traces that predict the time on a link."""

    profile: Profile
    meters: tuple[Meter, Meter] = field(repr=False)
    traces: tuple[list[Event], list[Event]] = field(repr=False)
    engines: tuple[CountingEngine, CountingEngine] = field(repr=False)

    @classmethod
    def begun(cls, profile: Profile) -> Forecast:
        """Return an empty forecast; programs that run on its engines are added to it."""
        left, right = CountingSession(0), CountingSession(1)
        engines = make_counting_engine(left, profile), make_counting_engine(right, profile)
        return cls(profile, (left.meter, right.meter), (left.trace, right.trace), engines)

    @property
    def costs(self) -> tuple[Cost, Cost]:
        """Totals of party 0 and party 1; their seconds are those of counting, not of a run."""
        return self.meters[0].total, self.meters[1].total

    @property
    def bytes(self) -> int:
        """Bytes sent by both parties together."""
        return self.costs[0].bytes_sent + self.costs[1].bytes_sent

    @property
    def shard_bytes(self) -> int:
        """Approximate memory of a shard's process in bytes; the largest over shards and parties."""
        return SHARD_BYTES + HELD_TIMES * max(engine.counted.held_by_shards for engine in self.engines)

    def lines(self, pace: float = 1.0) -> dict[str, float]:
        """Return the processor seconds of each kind of work, of the party that takes more for this kind.

        `seconds` includes all of them except building circuits, which the forecast itself does.

        Args:
            pace: Ratio of the parties' computing time to that of the reference machine (`smc.counting.rates`). If in
                doubt, 1.
        """
        names = {name: None for engine in self.engines for name in engine.counted.lines}
        work = {name: pace * max(engine.counted.lines.get(name, 0.0) for engine in self.engines) for name in names}
        return {**work, MESSAGES: max(map(message_seconds, self.traces))}

    def seconds(self, shape: LinkShape, pace: float = 1.0) -> float:
        """Predict the seconds from the first message to the result.

        Args:
            shape: Rate, delay and window of the link.
            pace: Ratio of the parties' computing time to that of the reference machine (`smc.counting.rates`). If in
                doubt, 1.
        """
        return predicted_seconds(self.traces, shape, pace)


def forecast(program: Program, profile: Profile) -> Forecast:
    """Count a program as party 0 and as party 1.

    Args:
        program: The program; it must follow the public path of a real run. Opened values are 0, unless it sets
            `CountingEngine.answers`.
        profile: The public choices of the run.

    Raises:
        ValueError: The profile names the engine "clear", which costs nothing.

    Examples:
        >>> import numpy as np
        >>> program = lambda engine: engine.reveal(*engine.both(np.zeros((8, 1), dtype=np.uint8)))
        >>> forecast(program, Profile("gmw")).costs[0].bytes_sent
        18
    """
    counts = Forecast.begun(profile)
    for engine in counts.engines:
        program(engine)
    return counts


def forecasts(
    program: Program, profiles: Sequence[Profile], on_profile: Callable[[Profile], object] = lambda _: None
) -> Iterator[Forecast]:
    """Yield the forecast of each profile, with the figures of `forecast`.

    Profiles without shards share one run of the program for each group of profiles with equal conversation.

    Args:
        program: The program; it must follow the public path of a real run.
        profiles: The public choices to compare.
        on_profile: Called with each profile before it is counted, for example to show progress. Default: nothing.

    Examples:
        >>> import numpy as np
        >>> program = lambda engine: engine.reveal(*engine.both(np.zeros((8, 1), dtype=np.uint8)))
        >>> [counted.bytes for counted in forecasts(program, [Profile("yao"), Profile("gmw")])]
        [8916, 36]
    """
    recordings: dict[Group, tuple[Recording, Recording]] = {}
    for profile in profiles:
        on_profile(profile)
        if profile.shards > 1:  # each engine decides whether and how a batch is cut into shards
            yield forecast(program, profile)
            continue
        alike, counts = group(profile), Forecast.begun(profile)
        with uncollected():
            if alike not in recordings:
                first = Recording(program, 0, profile)
                recordings[alike] = first, first if first.is_symmetric else Recording(program, 1, profile)
            for recording, engine in zip(recordings[alike], counts.engines, strict=True):
                recording.play(engine)
        yield counts
