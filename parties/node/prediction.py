"""Cost predictions of jobs, cached: the page asks every second, and each session once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parties.base.canonical import canonical
from parties.base.recent import ResultCache
from parties.jobs.execution.engine_selection import Choice, choice_for
from parties.jobs.kind import Counted, Estimate, Inputs, Kind
from smc.counting import CountingEngine, forecast
from smc.engines import Profile
from smc.link_shape import LinkShape
from smc.session import AnnouncedOpenings

MOST_KEPT = 1024


@dataclass(frozen=True)
class Prediction:
    """Predicted cost of a run: bytes both ways, rounds of party 0 and 1, seconds on the link, bytes of each step.

    `most` bounds the bytes both ways of any run: with this profile if it is decided, else with any that the job could
    have. None if no bound is known.
    """

    profile: Profile
    estimate: Estimate
    bytes: int
    rounds: tuple[int, int]
    seconds: float
    steps: tuple[int, ...]
    most: int | None
    assumed: str  # assumption of the count, if it depends on rows


_recent = ResultCache[tuple[str, Profile | None, str, bool], Prediction](MOST_KEPT)


def predicted(
    task: Kind, inputs: Inputs, link: str, at_node: bool = True, decided: Profile | None = None
) -> Prediction | None:
    """Predict the cost of a task; None if it is too large to be counted in advance.

    The profile is the task's own, the `decided` one, or the one that would be chosen on such a link; for a command,
    among the profiles that the choice has counted.

    Args:
        task: The task.
        inputs: This party's inputs to it.
        link: Kind of link, as `LinkShape.parse` reads it.
        at_node: Count announced openings, and bound all profiles that the task could have; the time grows with their
            number. Commands set it to False: then openings are not announced, and there is no bound before the profile
            is decided.
        decided: Profile on which the parties of a link have agreed, if any.
    """
    cost = task.cost_of_run(inputs)
    if not cost.is_countable:
        return None
    choice = choice_for(task, inputs)
    if decided is not None:
        choice = Choice(decided, choice.counted)
    profile = choice.quickest(LinkShape.parse(link), counts=at_node)
    job = canonical({**task.specification(), "on_shares": task.on_shares})
    key = job, choice.profile, link, at_node
    return _recent.get(key, lambda: _counted(cost, choice, profile, link, at_node))


def _counted(cost: Counted, choice: Choice, profile: Profile, link: str, at_node: bool) -> Prediction:
    def announced(engine: CountingEngine) -> object:
        engine.session.openings = AnnouncedOpenings()
        return cost.program(engine)

    counted_before = None if at_node else next((one for one in choice.forecasts if one.profile == profile), None)
    counted = counted_before or forecast(announced if at_node else cost.program, profile)
    outermost = [each for path, each in counted.meters[0].phases.items() if "/" not in path]
    return Prediction(
        profile,
        cost.estimate if choice.profile is not None else "typical",  # another link may decide on another profile
        counted.bytes,
        (counted.costs[0].rounds, counted.costs[1].rounds),
        counted.seconds(LinkShape.parse(link)),
        tuple(each.bytes_sent + each.bytes_received for each in outermost),
        _most(cost, choice.possible if at_node or choice.profile is not None else ()),
        cost.assumed,
    )


def _most(cost: Counted, possible: Sequence[Profile]) -> int | None:
    bounds = [cost.most(profile) for profile in possible]
    known_bounds = [bound for bound in bounds if bound is not None]
    return max(known_bounds) if known_bounds and len(known_bounds) == len(bounds) else None
