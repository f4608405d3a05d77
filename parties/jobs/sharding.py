"""The shards of a job: as processes of this machine, or where Ray has room for them, for as long as its work takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from parties.jobs.shard_processes import Processes
from parties.link.opening import Link
from smc.engines import Engine, Profile


@contextmanager
def sharded(link: Link, engine: Engine, profile: Profile, memory: int = 0) -> Iterator[None]:
    """Give an engine its shards, if its profile has several, for the enclosed work; each takes so much `memory`."""
    if profile.shards == 1:
        yield
        return
    assert link.options is not None
    shards: Processes
    if link.options.ray is None:
        shards = Processes(link.session(), link.options, profile)
    else:
        from parties.jobs.ray_shards import OnRay

        shards = OnRay(link.session(), link.options, profile, memory)
    engine.shards = shards
    threading.Thread(target=_kill_with_link, args=(link, shards), name="smc-shards", daemon=True).start()
    try:
        yield
        shards.finish()
    finally:
        engine.shards = None
        shards.kill()


def _kill_with_link(link: Link, shards: Processes) -> None:
    """Once the job's link is over, by whomever, nobody waits for its shards any more."""
    link.channel.ended.wait()
    shards.kill()
