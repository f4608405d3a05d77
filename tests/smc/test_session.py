"""Channel, meter and session."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from smc.channel import memory_pair
from smc.errors import LinkError, ProtocolError
from smc.local import run_local
from smc.meter import Meter
from smc.primitives.prg import Prg
from smc.session import Session, derive


def test_messages_arrive_in_order_with_their_bytes() -> None:
    left, right = memory_pair()
    for size in (0, 1, 100_000):
        left.send("step", bytes(range(256)) * (size // 256) + bytes(size % 256))
    for size in (0, 1, 100_000):
        assert len(right.receive("step", size)) == size


def test_a_message_is_taken_before_send_returns() -> None:
    left, right = memory_pair()
    buffer = bytearray(b"abc")
    left.send("step", buffer)
    buffer[:] = b"xyz"
    assert right.receive("step", 3) == b"abc"


def test_another_step_or_size_names_both() -> None:
    left, right = memory_pair()
    left.send("here", b"12")
    with pytest.raises(ProtocolError, match=r"'here'.*'there'"):
        right.receive("there", 2)
    left.send("here", b"12")
    with pytest.raises(ProtocolError, match="2 bytes at step 'here', expected 3"):
        right.receive("here", 3)


def test_silence_ends_at_the_deadline() -> None:
    left, right = memory_pair(timeout=0.05)
    with pytest.raises(LinkError, match=r"silent for 0\.05 s at step 'x'"):
        left.receive("x", 1)
    right.close()
    with pytest.raises(LinkError, match="ended the session"):
        left.receive("x", 1)


def test_a_full_pipe_ends_at_the_deadline() -> None:
    left, _ = memory_pair(timeout=0.05, depth=1)
    left.send("x", b"")
    with pytest.raises(LinkError, match="accepted no data"):
        left.send("x", b"")


def test_meter_adds_up_phases_and_rounds() -> None:
    meter = Meter()
    with meter.phase("outer"):
        meter.sent(10)
        meter.received(1)
        meter.received(2)  # still the same wait
        with meter.phase("inner"):
            meter.sent(5)
            meter.received(7)
            meter.gates(3)
    meter.received(100)  # no message went out in between
    with meter.phase("outer"):
        meter.sent(1)
    report = meter.report()
    total, phases = report["total"], report["phases"]
    assert isinstance(total, dict)
    assert isinstance(phases, dict)
    assert (total["bytes_sent"], total["bytes_received"], total["messages"], total["rounds"]) == (16, 110, 7, 2)
    assert total["and_gates"] == 3
    assert set(phases) == {"outer", "outer/inner"}
    assert (phases["outer"]["bytes_sent"], phases["outer"]["bytes_received"]) == (16, 10)
    assert (phases["outer/inner"]["rounds"], phases["outer"]["rounds"]) == (1, 2)
    assert total["seconds"] >= phases["outer"]["seconds"] >= phases["outer/inner"]["seconds"] >= 0


def test_typed_messages_and_both_meters_agree() -> None:
    array = np.arange(12, dtype=np.uint64).reshape(3, 4)

    def program(session: Session) -> object:
        if session.party == 0:
            session.send("a", array)
            session.send("empty", array[:0])
        else:
            assert np.array_equal(session.receive("a", np.uint64, (3, 4)), array)
            assert session.receive("empty", np.uint64, (0, 4)).shape == (0, 4)
        return session.meter.total

    sender, receiver = run_local(program)
    assert sender.bytes_sent == receiver.bytes_received == 96  # type: ignore[attr-defined]
    assert sender.messages == receiver.messages == 2  # type: ignore[attr-defined]


def test_derivation_binds_every_part() -> None:
    parts = ((b"b", b"secret"), (b"s", b"ab"), (b"i", b"7"))
    data = b"".join(kind + len(part).to_bytes(8, "little") + part for kind, part in parts)
    assert derive(b"secret", "ab", 7, size=32) == hashlib.sha256(data).digest()
    contexts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("ab", "c", 0), ("ab", "c", "0")]
    assert len({derive(b"s", *context) for context in contexts}) == len(contexts)
    assert derive(b"s", "x") != derive(b"t", "x")


def test_a_branch_is_another_session() -> None:
    session = Session(0, memory_pair()[0], bytes(32), Prg(bytes(16)))
    names = {session.identifier, session.branch("a").identifier, session.branch("b").identifier}
    assert len(names) == 3
    with pytest.raises(ValueError, match="branch a already"):
        session.branch("a")


def test_bad_sessions_are_refused() -> None:
    channel = memory_pair()[0]
    with pytest.raises(ValueError, match="party"):
        Session(2, channel, bytes(32))
    with pytest.raises(ValueError, match="32 bytes"):
        Session(0, channel, bytes(31))


def test_run_local_raises_the_cause_not_its_echo() -> None:
    def program(session: Session) -> None:
        if session.party == 1:
            raise ZeroDivisionError("the cause")
        session.receive("never", np.uint8, (1,))

    with pytest.raises(ZeroDivisionError, match="the cause"):
        run_local(program)
