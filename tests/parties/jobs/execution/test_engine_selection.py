"""The profile of a job whose engine is "auto": settled by its size, or the quickest on the link, alike for both."""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.base.settings import merge
from parties.jobs import kinds
from parties.jobs.align.fuzzy import FuzzySettings
from parties.jobs.execution import engine_selection, profiles
from parties.jobs.execution.engine_selection import (
    UNNOTICED,
    Choice,
    check_memory,
    choice,
    choice_for,
    settled,
    usual,
    warning_of,
)
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.align.fuzzy import AlignFuzzy
from parties.jobs.kinds.millionaires import Millionaires
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import ForestSettings, Id3Settings
from parties.link import measurement, pace
from parties.link.measurement import measuring_seconds
from parties.node.prediction import predicted
from parties.tables import schema as schemas
from protocols.cost_model import typical, with_tree
from protocols.counts import RowCounts
from protocols.id3 import Problem, id3
from protocols.millionaires import strict
from smc.counting import Forecast, forecast, forecasts
from smc.counting.rates import FRAME_BYTES, HAND_OVER_SECONDS, SECONDS_PER_BYTE, SECONDS_PER_MESSAGE, SHARD_BYTES
from smc.engines import Bits, Profile, XorSharedEngine, YaoEngine
from smc.errors import MachineError
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.session import Session
from tests.support.shards import Meeting

AUTO = {"protocol": "test", "engine": "auto"}


def comparisons(many: int) -> Choice:
    zeros = np.zeros(many, dtype=np.uint64)
    return choice(AUTO, lambda: lambda engine: strict(engine, zeros, 32), False, Profile("yao"))


MANY = comparisons(200_000)


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
    fewer = Choice(None, comparisons(30_000).forecasts)
    assert fewer.quickest(LinkShape.parse("1gbit,300ms,1024mib")).engine == "yao"


def test_a_small_job_is_settled_without_a_measurement_and_a_large_one_is_not() -> None:
    one = choice_for(Millionaires(Millionaires.Settings()), Inputs())
    assert one.profile is not None
    assert one.profile.engine == "yao"
    for shape in engine_selection.LINKS:
        least = min(counted.seconds(shape) for counted in one.forecasts)
        lost = (
            forecast(Millionaires(Millionaires.Settings()).cost(Inputs()).program, one.profile).seconds(shape) - least
        )
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
    for shape in engine_selection.LINKS:
        least = min(one.seconds(shape) for one in counted)
        for one in counted:
            over = one.seconds(shape) - least - measuring_seconds(shape) - UNNOTICED
            lost[one.profile] = max(lost[one.profile], over)
    enough = [one for one in counted if lost[one.profile] <= 0]
    chosen = settled(counted)
    assert chosen == settled(counted[::-1])
    assert (chosen is None) == (not enough)
    for best in (one for one in enough if one.profile == chosen):
        usual = engine_selection.USUAL_LINK
        assert not any(one.bytes < best.bytes and one.seconds(usual) < best.seconds(usual) for one in enough)


@pytest.mark.parametrize(("rows", "values", "engines"), [(10, 2, {"mixed", "yao"}), (2000, 5, {"mixed"})])
def test_a_small_tree_is_counted_by_few_profiles_and_loses_little(rows: int, values: int, engines: set[str]) -> None:
    agreed = schemas.Schema({name: tuple(map(str, range(values))) for name in "abcdt"}, "t")
    task = ExactTree(Id3Settings(max_rows=rows), agreed, "t")
    found = choice_for(task, Inputs())
    assert found.profile is not None
    assert {counted.profile.engine for counted in found.forecasts} == engines
    every = {one.profile: one for one in forecasts(task.cost(Inputs()).program, profiles.contenders(True))}
    for shape in engine_selection.LINKS:
        least = min(counted.seconds(shape) for counted in every.values())
        assert every[found.profile].seconds(shape) <= least + measuring_seconds(shape) + UNNOTICED
    assert 3 * every[found.profile].bytes < every[Profile("yao", garbling="three-halves")].bytes


def test_other_engines_are_counted_once_and_only_where_they_can_save_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow link the choice is that among all; on a fast one, what is not counted could save less than counting."""
    agreed = schemas.Schema({f"c{n}": tuple(map(str, range(9))) for n in range(12)} | {"t": tuple("abcdefgh")}, "t")
    task = ExactTree(Id3Settings(max_rows=20_000), agreed, "t")
    found, slow, fast = choice_for(task, Inputs()), LinkShape.parse("10mbit,10ms"), LinkShape.parse("loopback")
    assert found.profile is None
    assert {counted.profile.engine for counted in found.forecasts} == {"mixed"}
    assert {*found.possible} == {*profiles.contenders(True)}
    counting: list[Any] = []
    monkeypatch.setattr(
        engine_selection, "forecasts", lambda program, some: counting.append(some) or forecasts(program, some)
    )
    near = found.quickest(fast)
    assert counting == []
    assert min(one.seconds(fast) for one in found.forecasts) <= engine_selection.others_seconds(found.forecasts)
    found.quickest(fast, pace=100)  # slow machines also count slowly
    assert counting == []
    far = found.quickest(slow), found.quickest(slow)
    assert counting == [found.uncounted]
    every = Choice(None, tuple(forecasts(task.cost_of_run(Inputs()).program, profiles.contenders(True))))
    assert near.engine == "mixed"
    assert far == (every.quickest(slow), every.quickest(slow))
    assert far[0].engine == "lean"


def test_a_job_of_many_gigabytes_does_not_buy_a_little_time_by_ten_times_the_bytes() -> None:
    """Comparisons of dirty keys on a fast link: silent OT takes half as long again, and a tenth of the bytes."""
    levels = "exact:0.7:0.001+dice@0.8:0.2:0.01+else:0.1:0.989"
    settings = FuzzySettings(
        comparisons=tuple(f"{name}={levels}" for name in "abcd"), blocking_rules=("a",), threshold_match_weight=8.0,
        keys=8_000,
    )  # fmt: skip
    suited = Profile("gmw", form="size"), Profile("gmw", "ferret", form="size")
    fast, silent = forecasts(AlignFuzzy(settings).cost(Inputs()).program, suited)
    loopback = LinkShape.parse("loopback")
    assert fast.seconds(loopback) < silent.seconds(loopback) < 2 * fast.seconds(loopback)
    assert 9 * silent.bytes < fast.bytes
    assert Choice(None, (fast, silent)).quickest(loopback) == silent.profile


@pytest.mark.slow
def test_a_tree_of_all_cases_takes_the_fewest_bytes_near_and_the_fewest_rounds_of_silent_ot_far() -> None:
    """A chess endgame's. Exact forecasts for its tree rank the profiles alike."""
    files = {f"{piece} {axis}": list("abcdefgh"[: 4 if piece == "a" else 8]) for piece in "abc" for axis in "xy"}
    agreed = schemas.Schema({**files, "depth": [str(number) for number in range(18)]})
    task = ExactTree(Id3Settings(max_rows=28_056, plain=True), agreed, "depth")
    near, far = Profile("lean", form="size"), Profile("lean", "ferret", form="depth")
    suited = [Profile("mixed", garbling="three-halves"), near, far]  # the others come nowhere near
    found = Choice(None, tuple(forecasts(task.cost(Inputs()).program, suited)))
    assert found.quickest(LinkShape.parse("loopback")) == near
    assert found.quickest(LinkShape.parse("100mbit,40ms")) == far


def test_a_command_is_foretold_without_announcements_which_a_node_makes() -> None:
    task = Millionaires(Millionaires.Settings())
    command, node = (predicted(task, Inputs(), "lan", at_node=at_node) for at_node in (False, True))
    assert command is not None
    assert node is not None
    assert command.bytes == forecast(task.cost(Inputs()).program, command.profile).bytes
    assert node.bytes == command.bytes + 2


@pytest.mark.parametrize(
    ("ot", "bits", "warns"), [("trapdoor", 32, False), ("trapdoor", 64, True), ("iknp", 64, False)]
)
def test_what_takes_minutes_is_warned_of(monkeypatch: pytest.MonkeyPatch, ot: str, bits: int, warns: bool) -> None:
    """An operation of RSA takes 3 s on the machine of the test, so 64 bits take minutes."""
    monkeypatch.setattr("parties.jobs.execution.engine_selection.own_pace_of", lambda _: 100_000)
    settings = merge(Millionaires.Settings(), {"engine": "yao", "ot": ot, "bits": bits})
    warning = warning_of(choice_for(Millionaires(settings), Inputs()))
    assert warning.startswith(f"forecast for yao {ot} half: about ") is warns
    assert (warning == "") is not warns


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
    assert choice(known, None, kind.about.integers, usual(kind.Settings())).profile == usual(kind.Settings())
    assert usual(kind.Settings()).recipe.security is not None
    if not kind.about.integers:
        assert not usual(kind.Settings()).arithmetic


def test_a_settled_profile_is_agreed_on_as_if_it_had_been_said() -> None:
    known = Choice(Profile("yao", garbling="three-halves"), ())
    assert engine_selection.agreed_fields(AUTO, known) == {
        "protocol": "test", "engine": "yao", "ot": "extension", "garbling": "three-halves",
    }  # fmt: skip
    assert engine_selection.agreed_fields(AUTO, MANY) == AUTO
    assert profiles.named(engine_selection.agreed_fields(AUTO, known)) == known.profile


def test_shards_that_would_not_fit_are_refused_by_their_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes less the more there are, but all together more: refused by what is counted, in one line."""
    problem = Problem((4,) * 5, 2, 100_000, 0.05)

    def found(shards: int) -> Choice:
        named = {"protocol": "test", "engine": "mixed", "shards": shards}
        program = partial(typical, problem=problem, largest=10**5)
        return choice(named, lambda: program, True, Profile("mixed"))

    two, four = found(2), found(4)
    (each, less) = (some.forecasts[0].shard_bytes for some in (two, four))
    assert SHARD_BYTES < less < each
    for some, shards, needed in ((two, 2, 2 * each), (four, 4, 4 * less)):
        monkeypatch.setattr(engine_selection.memory, "free", lambda needed=needed: needed)
        check_memory(some)
        monkeypatch.setattr(engine_selection.memory, "free", lambda needed=needed: needed - 1)
        with pytest.raises(MachineError, match=rf"^{shards} shards take about [^\n]* are free: agree on fewer shards"):
            check_memory(some)
    check_memory(found(1))
    monkeypatch.setattr(engine_selection.memory, "free", lambda: None)
    check_memory(four)


def test_what_a_shard_holds_is_what_the_largest_circuit_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of 16 bytes of the inputs and outputs of the largest run, as in a run with shards in this process."""
    profile, problem = Profile("yao", shards=2), Problem((3, 2, 4), 2, 40, 0.05)
    held = []

    def run(engine: YaoEngine, netlist: Any, *inputs: Bits) -> list[Bits]:
        outputs = XorSharedEngine.run(engine, netlist, *inputs)
        if engine.shards is None:
            held.append(sum(part.data.nbytes for part in (*inputs, *outputs)))
        return outputs

    def program(session: Session) -> Any:
        cells = np.random.default_rng(session.party).integers(0, (*problem.domains, 2), (40, 4))
        rows = RowCounts(problem.domains, problem.classes, cells[:, :3], cells[:, 3])
        return id3(meeting.engine_of(session, profile), problem, rows)

    meeting = Meeting()
    monkeypatch.setattr(YaoEngine, "run", run, raising=False)
    tree = run_local(program)[0]
    monkeypatch.undo()
    counted = forecast(lambda engine: with_tree(engine, problem, tree), profile)
    assert [engine.counted.held_by_shards for engine in counted.engines] == [max(held)] * 2
