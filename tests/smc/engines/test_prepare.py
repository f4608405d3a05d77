"""What can be exchanged before the inputs are known is: the run then sends only what depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smc.agreement import DIGEST_BYTES
from smc.circuit import Builder, Netlist, evaluate
from smc.counting import forecast
from smc.engines import Engine, Profile, engine_of, gmw
from smc.local import run_local
from smc.meter import Meter
from smc.session import Session

pytestmark = pytest.mark.slow

PROFILES = [
    Profile("clear"),
    Profile("yao"),
    Profile("mixed"),
    Profile("gmw"),
    Profile("gmw", "iknp"),
    Profile("gmw", "ferret"),
    Profile("gmw", table_gates=True),
    Profile("lean"),
]


def product(width: int) -> Netlist:
    builder = Builder()
    builder.output(builder.input(width) * builder.input(width))
    return builder.build()


SMALL, LARGE = product(4), product(9)


def bits_of(netlist: Netlist, batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(batch)
    return [rng.integers(0, 2, (width, batch)).astype(np.uint8) for width in netlist.input_widths]


def running(work: list[tuple[Netlist, int]], ahead: list[tuple[Netlist, int]]) -> Any:
    """Prepare, then run and open one circuit after the other; the outputs."""

    def program(engine: Engine) -> list[np.ndarray]:
        with engine.session.phase("ahead"):
            for netlist, batch in ahead:
                engine.prepare(netlist, batch)
        with engine.session.phase("run"):
            outputs = [engine.run(netlist, *map(engine.constant, bits_of(netlist, batch))) for netlist, batch in work]
            return engine.reveal(*(output for several in outputs for output in several))

    return program


def measured(program: Any, profile: Profile) -> tuple[list[np.ndarray], Meter]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> Any:
        meters[session.party] = session.meter
        return program(engine_of(session, profile))

    one, two = run_local(both)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    return one, meters[0]


def public(meter: Meter) -> dict[str, dict[str, float]]:
    """What each phase cost, but for its seconds."""
    return {path: {**cost.as_dict(), "seconds": 0} for path, cost in meter.phases.items()}


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("batches", [(1, 1), (0, 3), (65, 1000)])
def test_work_done_ahead_is_not_done_again(profile: Profile, batches: tuple[int, int]) -> None:
    work = list(zip([SMALL, LARGE], batches, strict=True))
    results, meter = measured(running(work, ahead=work), profile)
    expected = [evaluate(netlist, bits_of(netlist, batch))[0] for netlist, batch in work]
    assert all(np.array_equal(a, b) for a, b in zip(results, expected, strict=True))
    _, plain = measured(running(work, ahead=[]), profile)
    triples = profile.recipe.circuits == "XOR shares" and not profile.uses_table_gates
    assert meter.total.bytes_sent == plain.total.bytes_sent + (DIGEST_BYTES if triples else 0)  # with the engine alone
    assert (meter.phases["ahead"].bytes_sent > 0) == triples
    assert not any(path.startswith("run") and path.endswith("triples") for path in meter.phases if triples)
    if profile.recipe.security is not None:
        assert public(forecast(running(work, ahead=work), profile).meters[0]) == public(meter)


def test_less_than_prepared_leaves_the_rest_and_more_is_made_up_for() -> None:
    prepared = [(LARGE, 100)]
    _, meter = measured(running([(LARGE, 64), (LARGE, 36)], prepared), Profile("gmw"))
    assert "run/triples" not in meter.phases
    results, meter = measured(running([(SMALL, 300), (LARGE, 100)], prepared), Profile("gmw"))
    assert meter.phases["run/triples"].bytes_sent > 0
    assert np.array_equal(results[1], evaluate(LARGE, bits_of(LARGE, 100))[0])


def test_a_batch_that_is_cut_is_prepared_in_the_same_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gmw, "LIVE_TRIPLES", 100 * LARGE.and_count)
    work = [(LARGE, 333)]
    results, meter = measured(running(work, work), Profile("gmw"))
    assert "run/triples" not in meter.phases
    assert np.array_equal(results[0], evaluate(LARGE, bits_of(LARGE, 333))[0])
