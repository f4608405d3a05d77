"""What a job is said to cost, against what it was counted to, and the bound that no run exceeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from parties.jobs.execution import engine_selection, profiles
from parties.jobs.execution.engine_selection import Choice, choice_for
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Kind
from parties.node import prediction
from parties.node.prediction import predicted
from parties.node.proposal import propose, read_job
from smc.counting import forecast, forecasts
from smc.engines import Profile
from smc.link_shape import LinkShape
from tests.support.ledgers import SCHEMA
from tests.support.proposals import inputs_of, proposal_of

TREE = proposal_of(SCHEMA, max_depth=1).task
MILLIONAIRES = propose(read_job({"protocol": "millionaires", "bits": 8, "engine": "yao"}), Inputs()).task


@pytest.mark.parametrize(("task", "inputs"), [(TREE, inputs_of(SCHEMA)), (MILLIONAIRES, Inputs())])
def test_a_command_is_told_what_was_counted(task: Kind, inputs: Inputs) -> None:
    """Of the profile that is quickest on the link; a step is a phase that is in no other."""
    told = predicted(task, inputs, "wan", at_node=False)
    assert told is not None
    counted = forecast(task.cost(inputs).program, told.profile)
    assert told.profile == choice_for(task, inputs).quickest(LinkShape.parse("wan"))
    assert (told.bytes, told.rounds) == (counted.bytes, tuple(cost.rounds for cost in counted.costs))
    assert told.seconds == counted.seconds(LinkShape.parse("wan"))
    assert len(told.steps) == len({path.partition("/")[0] for path in counted.meters[0].phases})
    assert 0 < sum(told.steps) <= told.bytes
    assert told.estimate == task.cost(Inputs()).estimate
    at_node = predicted(task, inputs, "wan")
    assert at_node is not None
    assert at_node.bytes > told.bytes  # openings are announced
    assert at_node.rounds >= told.rounds


def test_a_bound_is_the_largest_of_all_profiles_or_none() -> None:
    three = [Profile("yao"), Profile("gmw"), Profile("mixed")]
    bounds: dict[str, int | None] = {"yao": 3, "gmw": 7, "mixed": 5}

    class Task:
        @staticmethod
        def most(profile: Profile) -> int | None:
            return bounds[profile.engine]

    task = cast("Any", Task())
    assert prediction._most(task, three) == 7
    assert prediction._most(task, three[:1]) == 3
    for unknown in bounds:
        bounds[unknown] = None
        assert prediction._most(task, three) is None
    assert prediction._most(task, ()) is None


def test_the_bound_is_that_of_any_profile_it_could_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a node; of a command there is none while the link has not decided, and then that profile's."""
    asked: list[Profile] = []
    inputs = inputs_of(SCHEMA)
    cost = TREE.cost(inputs)

    def noted(profile: Profile) -> int | None:
        asked.append(profile)
        return cost.most(profile)

    monkeypatch.setattr(type(TREE), "cost", lambda *_: replace(cost, most=noted))
    choice = Choice(None, tuple(forecasts(TREE.cost(inputs).program, profiles.contenders(TREE.about.integers)[:2])))
    monkeypatch.setattr(prediction, "choice_for", lambda *_: choice)
    assert len(choice.possible) == 2
    first, second = choice.possible
    for at_node, decided, shown in (
        (True, None, {first, second}),
        (True, first, {first}),
        (False, None, set()),
        (False, first, {first}),
        (False, second, {second}),
    ):
        asked.clear()
        monkeypatch.setattr(prediction, "_recent", type(prediction._recent)(9))
        told = predicted(TREE, inputs, "lan", at_node, decided)
        assert told is not None
        assert told.estimate == ("typical" if decided is None else TREE.cost(Inputs()).estimate)
        assert told.profile == (decided or choice.quickest(LinkShape.parse("lan")))
        assert set(asked) == shown


def test_a_command_counts_no_other_engine_before_the_link_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow link the others would be counted: they could save much."""
    monkeypatch.setattr(engine_selection, "AT_ONCE_SECONDS", 0)
    monkeypatch.setattr(engine_selection, "TINY", {})
    choice = engine_selection.choice(TREE.specification(), lambda: TREE.cost(Inputs()).program, True, Profile("mixed"))
    assert choice.uncounted
    monkeypatch.setattr(prediction, "choice_for", lambda *_: choice)
    told = predicted(TREE, inputs_of(SCHEMA), "wan", at_node=False)
    assert told is not None
    assert told.profile in {counted.profile for counted in choice.forecasts}
    assert "_others" not in vars(choice)
    choice.quickest(LinkShape.parse("wan"))
    assert "_others" in vars(choice)
    monkeypatch.setattr(prediction, "forecast", None)  # the decided profile is not counted again
    again = predicted(TREE, inputs_of(SCHEMA), "wan", at_node=False, decided=choice.uncounted[0])
    assert again is not None
    assert again.profile == choice.uncounted[0]
