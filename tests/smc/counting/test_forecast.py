"""What is counted beforehand is what a run then measures: bytes, messages, rounds, AND gates, of both parties."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from protocols.circuit import evaluate
from protocols.equality import equal
from protocols.logarithm import open_logarithm
from protocols.majority import majority
from protocols.millionaires import strict, three_way
from smc.circuit import Builder
from smc.counting import CountingEngine, CountingSession, forecast, forecasts
from smc.counting.timing import predicted_seconds
from smc.engines import Bits, Engine, Profile, engine_of
from smc.engines.arithmetic_words import _adder
from smc.errors import InputError
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.recipes import ENGINES, OTKind
from smc.session import AnnouncedOpenings, Session

EXTENSIONS: tuple[OTKind, ...] = ("iknp", "softspoken2", "softspoken4", "softspoken8", "extension", "ferret")
PROFILES = [
    *(Profile("yao", ot) for ot in EXTENSIONS),
    Profile("yao", garbling="three-halves"),
    *(Profile("gmw", ot) for ot in EXTENSIONS),
    Profile("gmw", form="size"),
    Profile("gmw", table_gates=True),
    Profile("gmw", "ferret", table_gates=True),
    Profile("mixed"),
    Profile("mixed", "ferret", "three-halves"),
    Profile("lean"),
    Profile("lean", "ferret", form="size"),
]
RSA_PROFILES = [Profile(engine, "trapdoor", table_gates=table) for engine in ENGINES for table in (None, False)]
Program = Callable[[Engine], Any]


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.uint64)


def inner(engine: Engine) -> object:
    """Sums of some sizes, one of them longer than a message, in both directions."""
    sizes, done = [(5, 3), (0, 2), (70_000, 80), (3, 0)], []
    for owner in (0, 1):
        if engine.party == owner:
            done += engine.inner.owned(sizes, lambda i, part: zeros_of(sizes[i], part), np.uint16)
        else:
            done += engine.inner.chosen(sizes, lambda i, part: np.zeros(part.stop - part.start, np.uint8), np.uint16)
    return engine.inner.lifted(np.concatenate(done))


def zeros_of(size: tuple[int, int], part: slice) -> np.ndarray:
    return np.zeros((part.stop - part.start, size[1]), dtype=np.uint16)


PROGRAMS: dict[str, Program] = {
    "nothing": lambda engine: engine.reveal(),
    "millionaires": lambda engine: three_way(engine, zeros(1), 32),
    "comparisons": lambda engine: strict(engine, zeros(3000), 20),
    "random bits": lambda engine: engine.reveal(engine.random(9, 1000), engine.random(3, 1), engine.random(2, 0)),
    "empty batch": lambda engine: strict(engine, zeros(0), 20),
    "equality": lambda engine: equal(engine, zeros(65), 9),
    "majority": lambda engine: majority(engine, zeros(3, 129), 7),
    "logarithms": lambda engine: open_logarithm(engine, zeros(70), 1000, 0.01, times_x=True),
    "inner products": inner,
    "two in a row": lambda engine: [strict(engine, zeros(5), 8), open_logarithm(engine, zeros(2), 100, 0.05)],
}


def measured(program: Program, profile: Profile) -> tuple[Meter, Meter]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> None:
        meters[session.party] = session.meter
        program(engine_of(session, profile))

    run_local(both)
    return meters[0], meters[1]


def public(cost: Cost) -> dict[str, float]:
    fields = cost.as_dict()
    del fields["seconds"]
    return fields


@pytest.mark.one_of(3)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_forecast_is_exact(profile: Profile, name: str) -> None:
    found = forecast(PROGRAMS[name], profile)
    for counted, real in zip(found.meters, measured(PROGRAMS[name], profile), strict=True):
        assert public(counted.total) == public(real.total)
        assert {path: public(cost) for path, cost in counted.phases.items()} == {
            path: public(cost) for path, cost in real.phases.items()
        }
    assert found.seconds(LinkShape()) >= 0  # and the two traces fit each other


@pytest.mark.parametrize("profile", RSA_PROFILES, ids=str)
def test_the_forecast_by_the_notes_own_transfer_is_exact(profile: Profile) -> None:
    def program(engine: Engine) -> object:
        return open_logarithm(engine, zeros(1), 3, 0.2, times_x=True)

    found = forecast(program, profile)
    for counted, real in zip(found.meters, measured(program, profile), strict=True):
        assert public(counted.total) == public(real.total)


@pytest.mark.parametrize("engine", ["yao", "gmw"])
def test_the_forecast_is_exact_with_the_trapdoor(engine: Any) -> None:
    program: Program = lambda engine: [three_way(engine, zeros(2), 3), engine.random(2, 3)]  # noqa: E731
    found = forecast(program, Profile(engine, "trapdoor"))
    for counted, real in zip(found.meters, measured(program, Profile(engine, "trapdoor")), strict=True):
        assert public(counted.total) == public(real.total)


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw"), Profile("gmw", "ferret")], ids=str)
def test_the_forecast_is_exact_where_batches_are_cut(profile: Profile) -> None:
    """More OTs than a message holds, more labels than a chunk, more triples than one iteration of Ferret."""
    program: Program = lambda engine: strict(engine, zeros(40_000), 20)  # noqa: E731
    found = forecast(program, profile)
    for counted, real in zip(found.meters, measured(program, profile), strict=True):
        assert public(counted.total) == public(real.total)


def announced(engine: CountingEngine) -> None:
    """What only programs that count do: parts repeated, triples ahead, openings announced, phases left by an error."""
    engine.session.openings = AnnouncedOpenings()
    engine.prepare(_adder(8, engine.form), 70)
    with engine.repeated(3), engine.session.phase("thrice"):
        strict(engine, zeros(100), 12)
    with suppress(KeyError), engine.session.phase("left"):
        equal(engine, zeros(3), 4)
        raise KeyError
    engine.session.send("x", zeros(3))
    engine.session.receive("y", np.uint8, (5,))
    engine.answers = iter([[np.ones((1, 2), dtype=np.uint8)]])
    (opened,) = engine.reveal(*equal_bits(engine))
    engine.answers = None
    if opened.all():
        majority(engine, zeros(3, 5), 6)


def equal_bits(engine: Engine) -> list[Bits]:
    return [engine.constant(np.zeros((1, 2), dtype=np.uint8))]


def one_way(engine: Engine) -> list[Bits]:
    """Party 0 alone sends a message of its own, and both open bits."""
    if engine.party == 0:
        engine.session.send("number", np.zeros(3, dtype=np.uint8))
    else:
        engine.session.receive("number", np.uint8, (3,))
    engine.reveal(*equal_bits(engine))
    return equal_bits(engine)


@pytest.mark.parametrize(
    "program", [*PROGRAMS.values(), announced, one_way], ids=[*PROGRAMS, "counted only", "one way"]
)
def test_a_program_recorded_for_many_profiles_counts_as_for_each(program: Program) -> None:
    for found, profile in zip(forecasts(program, PROFILES), PROFILES, strict=True):
        alone = forecast(program, profile)
        assert found.profile == profile
        assert found.traces == alone.traces
        for one, other in zip(found.meters, alone.meters, strict=True):
            assert public(one.total) == public(other.total)
            assert {path: public(cost) for path, cost in one.phases.items()} == {
                path: public(cost) for path, cost in other.phases.items()
            }


def test_a_circuit_is_built_once_however_often_it_runs() -> None:
    once = forecast(lambda engine: strict(engine, zeros(5), 16), Profile("yao")).lines()
    often = forecast(lambda engine: [strict(engine, zeros(50), 16) for _ in range(4)], Profile("yao")).lines()
    assert once["building circuits"] == often["building circuits"] > 0
    assert often["computing"] > once["computing"]


def test_a_slow_machine_takes_its_work_and_no_bytes_longer() -> None:
    program: Program = lambda engine: strict(engine, zeros(20_000), 32)  # noqa: E731
    found = forecast(program, Profile("yao"))
    work = [sum(amount for kind, amount in trace if kind == "work") for trace in found.traces]
    slower = found.seconds(LinkShape(), 100) - found.seconds(LinkShape(), 1)
    assert 0.9 * 99 * max(work) < slower <= 99 * sum(work)


def test_a_circuit_with_one_input() -> None:
    builder = Builder()
    x = builder.input(6)
    builder.output(x * x)
    netlist = builder.build()

    def program(engine: Engine) -> Any:
        return evaluate(engine, netlist, np.zeros((6, 1), dtype=np.uint8) if engine.party == 0 else None)

    for profile in (Profile("yao"), Profile("gmw")):
        found = forecast(program, profile)
        assert public(found.costs[1]) == public(measured(program, profile)[1].total)


def test_the_time_is_that_of_the_slower_way() -> None:
    """One megabyte there and an answer: rate, two delays, and the work in between."""
    one, two = CountingSession(0), CountingSession(1)
    one.sent(1_000_000)
    one.received(0)
    two.received(1_000_000)
    two.work(2.0)
    two.sent(0)
    seconds = predicted_seconds((one.trace, two.trace), LinkShape(8e6, 0.25))
    assert seconds == pytest.approx(1.0 + 2.0 + 2 * 0.25, abs=0.01)
    fast = predicted_seconds((one.trace, two.trace), LinkShape())
    assert fast == pytest.approx(2.0, abs=0.01)


def test_traces_that_do_not_fit_are_refused() -> None:
    one, two = CountingSession(0), CountingSession(1)
    one.sent(10)
    two.received(11)
    with pytest.raises(InputError, match="sends 10 bytes where the other party expects 11"):
        predicted_seconds((one.trace, two.trace), LinkShape())
    two.trace.clear()
    with pytest.raises(InputError, match="a message is not read"):
        predicted_seconds((one.trace, two.trace), LinkShape())


def test_slow_answers_favour_garbled_circuits_and_slow_lines_shares() -> None:
    program: Program = lambda engine: strict(engine, zeros(20_000), 32)  # noqa: E731
    gmw, yao = forecasts(program, [Profile("gmw", form="size"), Profile("yao")])
    assert yao.seconds(LinkShape(None, 1.0)) < gmw.seconds(LinkShape(None, 1.0))
    assert gmw.seconds(LinkShape(1e6, 0.001)) < yao.seconds(LinkShape(1e6, 0.001))
