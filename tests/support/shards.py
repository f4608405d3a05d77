"""Shards of both parties in this process: two parties' threads, each shard with an in-memory channel of its own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from smc.channel import Channel, memory_pair
from smc.engines import Engine, Profile, XorSharedEngine, engine_of
from smc.engines.shards import LocalShards
from smc.session import Session


@dataclass(eq=False)
class Meeting:
    """Where the shards of both parties meet. `wrap` may put something around a channel: of a party, shard, attempt."""

    wrap: Callable[[int, int, int, Channel], Channel] = lambda party, number, attempt, channel: channel
    sessions: dict[tuple[int, int, int], Session] = field(default_factory=dict)
    _channels: dict[tuple[int, int], tuple[Channel, Channel]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def engine_of(self, session: Session, profile: Profile) -> Engine:
        """Return the engine of a profile, with its shards."""
        engine = engine_of(session, profile)
        attempts: Counter[int] = Counter()

        def shard(number: int) -> XorSharedEngine:
            attempt, party = attempts[number], session.party
            attempts[number] += 1
            with self._lock:
                channel = self._channels.setdefault((number, attempt), memory_pair())[party]
            identifier = session.derive("shard", number, attempt, size=32)
            here = Session(party, self.wrap(party, number, attempt, channel), identifier)
            self.sessions[party, number, attempt] = here
            made = engine_of(here, replace(profile, shards=1))
            assert isinstance(made, XorSharedEngine)
            return made

        if profile.shards > 1:
            engine.shards = LocalShards(session, profile.shards, shard)
        return engine
