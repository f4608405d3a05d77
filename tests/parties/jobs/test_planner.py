"""`--engine auto`: the quickest contender, alike for both parties."""

from __future__ import annotations

from parties.jobs import planner
from smc.counting import forecast
from smc.link_shape import PRESETS, LinkShape


def test_auto_takes_the_quickest_contender_and_both_parties_the_same() -> None:
    program = planner.millionaires_program(32)
    for shape in (*PRESETS.values(), LinkShape(1e6, 0.1)):
        chosen = planner.choose(program, planner.contenders(integers=False), shape)
        assert chosen == planner.choose(program, planner.contenders(integers=False), shape)
        quickest = min(forecast(program, profile).seconds(shape) for profile in planner.contenders(integers=False))
        assert forecast(program, chosen).seconds(shape) == quickest
