"""What joint recodings cost at most: against recodings of every shape, counted without a peer."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.publish import cost_model
from protocols.publish.cuts import Cut, Cuts, open_boxes, widest_first
from protocols.publish.problem import Problem
from smc.counting import forecast
from smc.engines import Profile

PROFILES = (Profile("yao"), Profile("gmw", "ferret"), Profile("gmw", "extension", form="size"))


def any_cuts(domains: tuple[int, ...], classes: int, chance: random.Random) -> Cuts:
    """Cut boxes in any attribute at any edge until there are so many classes."""
    cuts: Cuts = ()
    left = classes - 1
    while boxes := open_boxes(domains, cuts):
        level: list[Cut | None] = []
        for box in boxes:
            attribute = chance.choice(widest_first(domains, box) or (0,))
            low, high = box[attribute]
            may = left > 0 and high - low > 1 and chance.random() < 0.9
            level.append(Cut(attribute, chance.randint(low + 1, high - 1)) if may else None)
            left -= may
        cuts = (*cuts, tuple(level))
    return cuts


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.integers(2, 12), min_size=1, max_size=4),
    st.integers(1, 30),
    st.sampled_from(["peer", "public"]),
    st.sampled_from(["balance", "ncp"]),
    st.integers(0, 1 << 30),
)
def test_no_recoding_costs_more(
    profile: Profile, sizes: list[int], k: int, against: Any, score: Any, seed: int
) -> None:
    domains, chance = tuple(sizes), random.Random(seed)
    problem = Problem(domains, 60, k, against=against, score=score)
    classes = min(math.prod(domains), 2 * problem.max_rows // k)
    most = cost_model.most_bytes(problem, profile)
    for _ in range(3):
        cuts = any_cuts(domains, chance.randint(1, classes), chance)
        assert forecast(lambda engine, cuts=cuts: cost_model.with_cuts(engine, problem, cuts), profile).bytes <= most
    halved = cost_model.halving(domains, classes)
    assert forecast(lambda engine: cost_model.with_cuts(engine, problem, halved), profile).bytes <= most
