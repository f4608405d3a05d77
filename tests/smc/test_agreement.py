"""Both parties compute the same function, or both see the difference before either reads an opening."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from smc.agreement import DIFFERS, DIGEST_BYTES
from smc.circuit import Builder
from smc.counting import forecast
from smc.engines import Choice, Engine, Profile, engine_of
from smc.errors import JobMismatchError, ProtocolError
from smc.primitives import bits as bitpack
from smc.recipes import ENGINES, EngineName, OTKind
from smc.session import AnnouncedOpenings, Session
from tests.support.duels import End, duel

NUMBERS = bitpack.from_integers([50, 45, 7], 16)


def larger_by(engine: Engine, margin: int, own: Any = NUMBERS) -> list[int]:
    builder = Builder(engine.form)
    x, y = builder.input(len(own)), builder.input(len(own))
    builder.output([x > y.wide_add(margin)])
    return engine.reveal(*engine.run(builder.build(), *engine.both(own)))[0].tolist()[0]


def added(engine: Engine, constant: int) -> list[int]:
    builder = Builder(engine.form)
    builder.output(builder.input(16) + builder.input(16))
    (own, _), public = engine.both(NUMBERS), engine.constant(bitpack.from_integers([constant] * 3, 16))
    return engine.reveal(*engine.run(builder.build(), own, public))[0].tolist()


def selected(engine: Engine, entry: int) -> list[int]:
    word = engine.words.select([Choice(engine.both(NUMBERS[:1])[0], [[entry]])], 8)[0][0]
    return engine.reveal(engine.words.bits(word))[0].tolist()


def owned(engine: Engine, owner: int) -> list[int]:
    bits = engine.input(owner, NUMBERS if engine.party == owner else None, *NUMBERS.shape)
    return engine.reveal(bits)[0].tolist()


def played(profile: Profile, one: Callable[[Engine], Any], two: Callable[[Engine], Any], announced: bool) -> list[End]:
    def party(program: Callable[[Engine], Any]) -> Callable[[Session], Any]:
        def run(session: Session) -> Any:
            if announced:
                session.openings = AnnouncedOpenings()
            return program(engine_of(session, profile))

        return run

    return list(duel((party(one), party(two))))


def assert_both_see(ends: list[End], what: str) -> None:
    for end in ends:
        assert type(end.error) is JobMismatchError, end.error
        assert what in str(end.error)


CASES: dict[str, tuple[Callable[[Engine], Any], Callable[[Engine], Any], str]] = {
    "margins of another width": (lambda e: larger_by(e, 20), lambda e: larger_by(e, 28), "circuits or public numbers"),
    "margins of one width": (lambda e: larger_by(e, 5), lambda e: larger_by(e, 7), "circuits or public numbers"),
    "a constant": (lambda e: added(e, 3), lambda e: added(e, 4), "circuits or public numbers"),
    "a public table": (lambda e: selected(e, 9), lambda e: selected(e, 11), "circuits or public numbers"),
    "the owner": (lambda e: owned(e, 0), lambda e: owned(e, 1), "different functions"),  # one may be ahead
    "the batch": (
        lambda e: larger_by(e, 5),
        lambda e: larger_by(e, 5, NUMBERS[:, :2]),
        "the numbers of values or their bits",
    ),
    "the width": (
        lambda e: larger_by(e, 5),
        lambda e: larger_by(e, 5, NUMBERS[:9]),
        "the numbers of values or their bits",
    ),
    "the steps": (lambda e: larger_by(e, 5), lambda e: added(e, 5), "their steps differ"),
    "after an opening": (
        lambda e: (larger_by(e, 5), larger_by(e, 6)),
        lambda e: (larger_by(e, 5), larger_by(e, 7)),
        "circuits or public numbers",
    ),
}


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("engine", [*ENGINES, "clear"])
@pytest.mark.parametrize("case", CASES)
def test_both_parties_see_what_differs(case: str, engine: EngineName, announced: bool) -> None:
    one, two, what = CASES[case]
    if engine == "clear" and case == "the owner":
        pytest.skip("both wait for the other's input")
    assert_both_see(played(Profile(engine), one, two, announced), what)


@pytest.mark.parametrize("ot", get_args(OTKind))
def test_no_engine_meets_another(ot: OTKind) -> None:
    other: OTKind = "iknp" if ot != "iknp" else "extension"

    def party(kind: OTKind) -> Callable[[Session], Any]:
        return lambda session: larger_by(engine_of(session, Profile("yao", kind)), 5)

    ends = duel((party(ot), party(other)))
    assert all(type(end.error) is JobMismatchError for end in ends), [end.error for end in ends]


def test_an_evaluator_of_another_circuit_sends_no_share() -> None:
    ends = played(Profile("yao"), lambda e: larger_by(e, 5), lambda e: larger_by(e, 7), announced=False)
    assert ">reveal" not in ends[1].events
    assert f">{DIFFERS}" in ends[1].events


def test_announced_openings_are_compared_before_a_share_leaves() -> None:
    """Nothing but the opening differs: no message came before it."""
    ends = played(
        Profile("gmw"),
        lambda e: e.reveal(e.both(NUMBERS)[0]),
        lambda e: e.reveal(e.both(NUMBERS)[0][:9]),
        announced=True,
    )
    assert_both_see(ends, "the numbers of values or their bits")
    assert not any(">reveal" in end.events for end in ends)


def test_a_share_of_another_function_cannot_be_read() -> None:
    one, two = Session(0, None, bytes(32)), Session(1, None, bytes(32))  # type: ignore[arg-type]
    share = np.arange(64, dtype=np.uint8)
    one.note("circuit", lambda: b"margin 5")
    two.note("circuit", lambda: b"margin 7")
    assert np.array_equal(one.masked(one.masked(share)), share)
    assert (one.masked(share) == share).mean() < 0.2
    assert (two.masked(one.masked(share)) == share).mean() < 0.2


def test_a_digest_costs_its_bytes_and_nothing_else() -> None:
    """One digest each way for a circuit, one for its opening: no message and no round."""

    def bare(session: Session) -> None:
        session.agreement.expect = lambda: None  # type: ignore[method-assign]

    costs = []
    for quiet in (False, True):

        def program(session: Session, quiet: bool = quiet) -> Any:
            if quiet:
                bare(session)
            larger_by(engine_of(session, Profile("gmw")), 5)
            return session.meter.total

        ends = duel((program, program))
        costs.append([end.result for end in ends])
    for with_digest, without in zip(*costs, strict=True):
        assert with_digest.messages == without.messages
        assert with_digest.rounds == without.rounds
        assert with_digest.bytes_sent == without.bytes_sent + 2 * DIGEST_BYTES
    counted = forecast(lambda e: larger_by(e, 5), Profile("gmw"))
    assert [cost.bytes_sent for cost in counted.costs] == [cost.bytes_sent for cost in costs[0]]


def test_a_message_of_the_wrong_size_with_the_right_digest_is_an_error_of_the_protocol() -> None:
    def short(session: Session) -> None:
        session.note("circuit")
        session.send("x", np.zeros(3, dtype=np.uint8))

    def long(session: Session) -> None:
        session.note("circuit")
        session.receive("x", np.uint8, (4,))

    error = duel((short, long))[1].error
    assert type(error) is ProtocolError
    assert "19 bytes at step 'x', expected 20" in str(error)
