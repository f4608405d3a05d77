"""What a job will cost, counted once for each kind of job: the page asks every second, and each session once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parties.base.canonical import canonical
from parties.base.recent import Recent
from parties.jobs.choosing import Choice, choice_for
from parties.jobs.kind import Counted, Estimate, Inputs, Kind
from smc.counting import CountingEngine, forecast
from smc.engines import Profile
from smc.link_shape import LinkShape
from smc.session import AnnouncedOpenings

MOST_KEPT = 1024


@dataclass(frozen=True)
class Prediction:
    """Of a typical run: bytes both ways, rounds of party 0 and 1, seconds on the link, and the bytes of each step.

    `most`: bytes both ways that no run exceeds, by any profile that it could have, or by this one; None if no bound is
    known.
    """

    profile: Profile
    estimate: Estimate
    bytes: int
    rounds: tuple[int, int]
    seconds: float
    steps: tuple[int, ...]
    most: int | None
    assumed: str  # for what it was counted, if that depends on rows


_recent = Recent[tuple[str, Profile | None, str, bool], Prediction](MOST_KEPT)


def predicted(
    task: Kind, inputs: Inputs, link: str, at_node: bool = True, decided: Profile | None = None
) -> Prediction | None:
    """Count what a task will cost on such a link; None if it is too large to be counted ahead.

    With its own profile, with the one that a link has `decided` on, or with the one that would be chosen on such a
    link. `at_node` openings are announced, and the bound holds for any profile that the task could have, which takes as
    many times as long as there are; of a command neither, and no bound while the link has not decided.
    """
    cost = task.cost(inputs)
    if not cost.is_countable:
        return None
    choice = choice_for(task, inputs)
    if decided is not None:
        choice = Choice(decided, choice.forecasts)
    profile = choice.quickest(LinkShape.parse(link))
    key = canonical(task.specification()), choice.profile, link, at_node
    return _recent.get(key, lambda: _counted(cost, choice, profile, link, at_node))


def _counted(cost: Counted, choice: Choice, profile: Profile, link: str, at_node: bool) -> Prediction:

    def announced(engine: CountingEngine) -> object:
        engine.session.openings = AnnouncedOpenings()
        return cost.program(engine)

    known = None if at_node else next((one for one in choice.forecasts if one.profile == profile), None)
    counted = known or forecast(announced if at_node else cost.program, profile)
    outermost = [each for path, each in counted.meters[0].phases.items() if "/" not in path]
    return Prediction(
        profile,
        cost.estimate if choice.profile is not None else "typical",  # on another link by another profile, perhaps
        counted.bytes,
        (counted.costs[0].rounds, counted.costs[1].rounds),
        counted.seconds(LinkShape.parse(link)),
        tuple(each.bytes_sent + each.bytes_received for each in outermost),
        _most(cost, choice.possible if at_node or choice.profile is not None else ()),
        cost.assumed,
    )


def _most(cost: Counted, possible: Sequence[Profile]) -> int | None:
    """Return the largest bound of some profiles."""
    bounds = [cost.most(profile) for profile in possible]
    known = [bound for bound in bounds if bound is not None]
    return max(known) if known and len(known) == len(bounds) else None
