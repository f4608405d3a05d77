"""The profile of a job whose engine is "auto": settled by its size, or the quickest on the link, alike for both."""

from __future__ import annotations

import math
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.base.settings import merge
from parties.jobs import choosing, kinds, profiles
from parties.jobs.choosing import UNNOTICED, Choice, choice, choice_for, settled, usual
from parties.jobs.inputs import Inputs
from parties.jobs.small.millionaires import Millionaires
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import ForestSettings, Id3Settings
from parties.link import measurement, pace
from parties.link.measurement import measuring_seconds
from parties.tables import example as example_tables
from parties.tables import schema as schemas
from protocols.millionaires import strict
from smc.counting import Forecast, forecast, forecasts
from smc.counting.rates import FRAME_BYTES, HAND_OVER_SECONDS, SECONDS_PER_BYTE, SECONDS_PER_MESSAGE
from smc.engines import Profile
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.session import Session

AUTO = {"protocol": "test", "engine": "auto"}


def comparisons(many: int) -> Choice:
    zeros = np.zeros(many, dtype=np.uint64)
    return choice(AUTO, lambda: lambda engine: strict(engine, zeros, 32), False, Profile("yao"))


MANY = comparisons(30_000)


def by_events(counted: Forecast, shape: LinkShape, pace: float) -> float:
    """Seconds of a run by the rules of `smc.counting.timing`, for links whose window is never used up: each message by
    itself, in the order of what it waits for."""
    ends: dict[tuple[int, int], float] = {}  # of each event, by party and place
    arrivals: list[list[float]] = [[], []]  # of the messages of each party
    free, place, clock = [0.0, 0.0], [0, 0], [0.0, 0.0]
    while any(place[p] < len(counted.traces[p]) for p in (0, 1)):
        for p in (0, 1):
            if place[p] == len(counted.traces[p]):
                continue
            kind, amount = counted.traces[p][place[p]]
            if kind == "receive":
                number = sum(1 for k, _ in counted.traces[p][: place[p]] if k == "receive")
                if number >= len(arrivals[1 - p]):
                    continue
                clock[p] = max(clock[p], arrivals[1 - p][number])
            clock[p] += pace * amount if kind == "work" else SECONDS_PER_MESSAGE + amount * SECONDS_PER_BYTE
            if kind == "send":
                free[p] = max(free[p], clock[p]) + (round(amount) + FRAME_BYTES) * 8 / (shape.rate or math.inf)
                arrivals[p].append(free[p] + (shape.delay or 0) + HAND_OVER_SECONDS)
            ends[p, place[p]] = clock[p]
            place[p] += 1
    return max(ends.values())


@settings(max_examples=15, deadline=None)
@given(
    rate=st.floats(1e5, 1e11),
    round_trip=st.floats(1e-9, 0.5),
    pace=st.sampled_from([0.25, 1.0, 1.41, 16.0]),
)
def test_the_choice_is_that_of_least_time(rate: float, round_trip: float, pace: float) -> None:
    shape = LinkShape(rate, round_trip / 2, window=2**40)
    times = {counted.profile: by_events(counted, shape, pace) for counted in MANY.forecasts}
    chosen = Choice(None, MANY.forecasts).quickest(shape, pace)
    assert times[chosen] <= min(times.values()) * (1 + 1e-9)


@settings(max_examples=10, deadline=None)
@given(
    clocks=st.tuples(st.floats(0.7, 1.3), st.floats(0.7, 1.3)), paces=st.tuples(st.floats(0.1, 50), st.floats(0.1, 50))
)
def test_both_parties_choose_the_same_whatever_each_has_measured(
    clocks: tuple[float, float], paces: tuple[float, float]
) -> None:
    """Each has a clock that goes wrong in its own way, and a machine of its own."""

    def program(session: Session) -> tuple[LinkShape, Profile]:
        own = clocks[session.party]
        local.now = lambda: int(time.monotonic_ns() * own)
        shape = measurement.measure(session.channel, session.party)
        ours, theirs = (pace.rounded(paces[party]) for party in (session.party, 1 - session.party))
        return shape, MANY.quickest(shape, pace.agreed_pace(ours, theirs))

    local = threading.local()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurement, "time", SimpleNamespace(monotonic_ns=lambda: local.now()))
        left, right = run_local(program)
    assert left == right


def test_what_is_chosen_follows_the_link() -> None:
    slow, fast = LinkShape.parse("1mbit,1ms"), LinkShape.parse("loopback")
    assert MANY.profile is None
    assert MANY.quickest(slow).ot == "ferret"
    assert MANY.quickest(fast) != MANY.quickest(slow)
    assert MANY.quickest(LinkShape.parse("1gbit,300ms,1024mib")).engine == "yao"


def test_a_small_job_is_settled_without_a_measurement_and_a_large_one_is_not() -> None:
    one = choice_for(Millionaires(Millionaires.Settings()), Inputs())
    assert one.profile is not None
    assert one.profile.engine == "yao"
    for shape in choosing.LINKS:
        least = min(counted.seconds(shape) for counted in one.forecasts)
        lost = forecast(Millionaires(Millionaires.Settings()).program(Inputs()), one.profile).seconds(shape) - least
        assert lost <= measuring_seconds(shape) + UNNOTICED
    assert settled(MANY.forecasts) is None


@settings(max_examples=8, deadline=None)
@given(
    many=st.integers(1, 30_000),
    bits=st.integers(1, 40),
    order=st.permutations(profiles.contenders(False)),
)
def test_what_is_settled_loses_little_and_nothing_that_does_beats_it(
    many: int, bits: int, order: list[Profile]
) -> None:
    """And it is the same for both parties, in whatever order they count."""
    numbers = np.zeros(many, dtype=np.uint64)
    counted = tuple(forecasts(lambda engine: strict(engine, numbers, bits), order))
    lost = {one.profile: -1.0 for one in counted}
    for shape in choosing.LINKS:
        least = min(one.seconds(shape) for one in counted)
        for one in counted:
            over = one.seconds(shape) - least - measuring_seconds(shape) - UNNOTICED
            lost[one.profile] = max(lost[one.profile], over)
    enough = [one for one in counted if lost[one.profile] <= 0]
    chosen = settled(counted)
    assert chosen == settled(counted[::-1])
    assert (chosen is None) == (not enough)
    for best in (one for one in enough if one.profile == chosen):
        usual = choosing.USUAL_LINK
        assert not any(one.bytes < best.bytes and one.seconds(usual) < best.seconds(usual) for one in enough)


def tree(max_rows: int, plain: bool) -> Choice:
    demo = example_tables.demo()
    agreed = schemas.load(demo.schema)
    return choice_for(ExactTree(Id3Settings(max_rows=max_rows, plain=plain), agreed, agreed.choose_target()), Inputs())


@pytest.mark.parametrize("plain", [True, False])
def test_a_tiny_tree_does_not_send_five_times_the_bytes_for_thirty_milliseconds(plain: bool) -> None:
    found = tree(10, plain)
    bytes_of = {counted.profile: counted.bytes for counted in found.forecasts}
    assert found.profile is not None
    assert found.profile.engine == "mixed"
    assert 4 * bytes_of[found.profile] < bytes_of[Profile("yao", garbling="three-halves")]


def test_what_is_said_wins() -> None:
    said: dict[str, Any] = {"engine": "gmw", "ot": "iknp", "form": "size"}
    task = Millionaires(merge(Millionaires.Settings(), said))
    assert choice_for(task, Inputs()) == Choice(Profile("gmw", "iknp", form="size"))
    for part in ({"ot": "ferret"}, {"garbling": "three-halves"}, {"form": "depth"}):
        partly = merge(Millionaires.Settings(), part)
        assert partly.engine == "yao"
        assert usual(partly) == Profile("yao", **part)  # type: ignore[arg-type]
    assert merge(ForestSettings(), {"ot": "ferret"}).engine == "lean"


@pytest.mark.parametrize("name", sorted(kinds.names()))
def test_every_kind_has_a_usual_profile_that_suits_it(name: str) -> None:
    kind = kinds.find(name)
    known = {**AUTO}
    assert kind.Settings().engine == "auto"
    assert choice(known, None, kind.integers, usual(kind.Settings())).profile == usual(kind.Settings())
    assert usual(kind.Settings()).recipe.security is not None
    if not kind.integers:
        assert not usual(kind.Settings()).arithmetic


def test_a_settled_profile_is_agreed_on_as_if_it_had_been_said() -> None:
    known = Choice(Profile("yao", garbling="three-halves"), ())
    assert choosing.agreed_fields(AUTO, known) == {
        "protocol": "test", "engine": "yao", "ot": "extension", "garbling": "three-halves",
    }  # fmt: skip
    assert choosing.agreed_fields(AUTO, MANY) == AUTO
    assert profiles.named(choosing.agreed_fields(AUTO, known)) == known.profile
