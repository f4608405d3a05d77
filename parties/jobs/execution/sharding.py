"""The shards of a job, for the duration of its work: processes of this machine, or actors of Ray."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from parties.jobs.execution.shard_processes import Processes
from parties.link.opening import Link
from smc.engines import Engine, Profile


@contextmanager
def sharded(link: Link, engine: Engine, profile: Profile, memory: int = 0) -> Iterator[None]:
    """Give an engine its shards during the enclosed work, if its profile has several.

    Args:
        link: The job's link.
        engine: The engine that gets the shards.
        profile: Profile of the engine.
        memory: Bytes of memory that each shard reserves in Ray.
    """
    if profile.shards == 1:
        yield
        return
    assert link.options is not None
    shards: Processes
    if link.options.ray is None:
        shards = Processes(link.session(), link.options, profile)
    else:
        from parties.jobs.execution.ray_shards import OnRay

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
    link.channel.ended.wait()
    shards.kill()
