"""What a job will cost, counted once for each kind of job: the page asks every second, and each session once."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache

from parties.jobs import planner
from parties.node.proposal import Proposal
from protocols import id3
from smc.counting import forecast
from smc.engines import Profile
from smc.link_shape import LinkShape


@dataclass(frozen=True)
class Prediction:
    """Of a typical tree: bytes both ways, rounds of party 0 and 1, seconds on the link, and the bytes of each level."""

    bytes: int
    rounds: tuple[int, int]
    seconds: float
    levels: tuple[int, ...]


_counting = threading.Lock()  # the same job is not counted by two threads at once


def predicted(job: Proposal, profile: Profile, link: str) -> Prediction | None:
    """What the job will cost with this profile on such a link; None if it is too large to be counted ahead."""
    if not job.is_countable:
        return None
    with _counting:
        return _counted(job.problem, profile, link)


@lru_cache(maxsize=1024)
def _counted(problem: id3.Problem, profile: Profile, link: str) -> Prediction:
    counted = forecast(planner.id3_program(problem, splits=planner.TYPICAL_SPLITS), profile)
    outermost = [cost for path, cost in counted.meters[0].phases.items() if "/" not in path]
    return Prediction(
        counted.bytes,
        (counted.costs[0].rounds, counted.costs[1].rounds),
        counted.seconds(LinkShape.parse(link)),
        tuple(cost.bytes_sent + cost.bytes_received for cost in outermost),
    )
