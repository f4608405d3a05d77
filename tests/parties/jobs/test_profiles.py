"""`--engine auto`: the quickest contender, alike for both parties."""

from __future__ import annotations

from parties.jobs import profiles
from parties.jobs.inputs import Inputs
from parties.jobs.small.millionaires import Millionaires
from smc.counting import cheapest, forecast
from smc.link_shape import PRESETS, LinkShape


def test_auto_takes_the_quickest_contender_and_both_parties_the_same() -> None:
    program = Millionaires(Millionaires.Settings()).program(Inputs())
    for shape in (*PRESETS.values(), LinkShape(1e6, 0.1)):
        chosen = cheapest(program, profiles.contenders(integers=False), shape).profile
        assert chosen == cheapest(program, profiles.contenders(integers=False), shape).profile
        quickest = min(forecast(program, profile).seconds(shape) for profile in profiles.contenders(integers=False))
        assert forecast(program, chosen).seconds(shape) == quickest
