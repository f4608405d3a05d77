"""What is measured at the start of a session: alike on both sides, and never better than the link."""

from __future__ import annotations

import pytest

from parties.link import measurement
from parties.link.opening import open_link
from smc.channel import Buffer, Channel
from smc.errors import JobMismatchError, LinkError, ProtocolError
from smc.link_shape import LinkShape
from smc.local import run_local
from tests.support.emulated import EmulatedLink

pytestmark = pytest.mark.slow

JOB = {"protocol": "test", "delta": 0.001}


@pytest.mark.parametrize("text", ["500kbit,30ms", "8mbit,10ms", "100mbit,4ms", "40ms", "20mbit", "loopback"])
def test_both_hold_the_same_numbers_and_none_flatters_the_link(text: str) -> None:
    shape = LinkShape.parse(text)

    def program(session):  # type: ignore[no-untyped-def]
        return measurement.measure(session.channel, session.party), session.meter.report()["total"]["bytes_sent"]

    (left, metered), (right, _) = run_local(program, wrap=EmulatedLink(shape))
    assert left == right
    assert metered == 0
    assert left.round_trip >= shape.round_trip
    assert left.rate is not None
    if shape.rate is not None and shape.rate < 1e6:  # or a late wake-up could count
        assert left.rate < 3 * shape.rate


class Counting(Channel):
    """Notes the sizes of what is sent."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self.sizes: list[int] = []

    def send(self, step: str, payload: Buffer) -> None:
        self.sizes.append(memoryview(payload).nbytes)
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)


@pytest.mark.parametrize(("enough", "largest"), [(1e-9, measurement.FIRST_BURST), (1e9, measurement.LAST_BURST)])
def test_bursts_grow_until_they_take_long_enough(monkeypatch, enough: float, largest: int) -> None:
    monkeypatch.setattr(measurement, "ENOUGH_SECONDS", enough)
    monkeypatch.setattr(measurement, "ROUND_TRIPS_OF_A_BURST", 0)
    counted: list[Counting] = []

    def wrap(party: int, channel: Channel) -> Channel:
        counted.append(Counting(channel))
        return counted[-1]

    run_local(lambda session: measurement.measure(session.channel, session.party), wrap=wrap)
    for channel in counted:
        assert max(channel.sizes) == largest
        assert sum(channel.sizes) < 3 * measurement.LAST_BURST


@pytest.mark.parametrize("lie", [0, 2**64 - 1])
def test_a_peer_that_lies_ends_the_measurement_all_the_same(lie: int) -> None:
    class Liar(Channel):
        def __init__(self, inner: Channel) -> None:
            self._inner = inner

        def send(self, step: str, payload: Buffer) -> None:
            self._inner.send(step, lie.to_bytes(8, "little") if step == "measure time" else payload)

        def receive(self, step: str, size: int) -> Buffer:
            return self._inner.receive(step, size)

    def program(session):  # type: ignore[no-untyped-def]
        try:
            return measurement.measure(session.channel, session.party)
        except LinkError as error:  # the two may part company
            return error

    honest = run_local(program, wrap=lambda party, channel: Liar(channel) if party else channel)[0]
    assert isinstance(honest, LinkShape if lie == 0 else ProtocolError)
    if isinstance(honest, LinkShape):
        assert honest.rate is not None
        assert honest.rate <= measurement.MOST_RATE
    else:
        assert "the peer's time of 1.84e+10 s exceeds the measurement" in str(honest)


def test_what_it_takes_is_metered_apart() -> None:
    def program(session):  # type: ignore[no-untyped-def]
        channel = measurement.MeteredChannel(session.channel)
        measurement.measure(channel, session.party)
        return channel.cost, session.meter.report()["total"]["bytes_sent"]

    for cost, metered in run_local(program):
        assert metered == 0
        assert measurement.FIRST_BURST < cost.bytes_sent < 2 * measurement.LAST_BURST
        assert cost.messages > 2 * measurement.ROUND_TRIPS
        assert cost.seconds > 0


def test_over_grpc_it_is_part_of_the_handshake(parties) -> None:  # type: ignore[no-untyped-def]
    shape = LinkShape.parse("1mbit,10ms")

    def program(link):  # type: ignore[no-untyped-def]
        link.channel.send("x", b"x")
        link.channel.receive("x", 1)
        return link.measured, link.session().meter.report()["total"]["bytes_sent"]

    left, right = parties.run(program, program, shape=shape, measure=True)
    assert left == right
    measured, metered = left
    assert measured.round_trip >= shape.round_trip
    assert measured.rate < 3 * shape.rate
    assert metered == 0


def test_it_runs_only_when_asked_for(parties) -> None:  # type: ignore[no-untyped-def]
    assert parties.run(lambda link: link.measured, lambda link: link.measured) == (None, None)


@pytest.mark.parametrize("asking", [0, 1])
def test_one_that_asks_and_one_that_does_not_are_told_so(parties, asking: int) -> None:  # type: ignore[no-untyped-def]
    listening, address = parties.listen(lambda link: None, measure=asking == 0)
    dialling = parties.connect(address, lambda link: None, measure=asking == 1)
    outcome = listening.outcome(), dialling.outcome()
    assert [type(error) for error in outcome] == [JobMismatchError, JobMismatchError]
    assert "measuring the link: ours yes, peer's no; both parties must ask for it" in str(outcome[asking])
    assert "measuring the link: ours no, peer's yes" in str(outcome[1 - asking])


def test_another_job_is_told_first(parties) -> None:  # type: ignore[no-untyped-def]
    listening, address = parties.listen(lambda link: None, {"a": 1}, measure=True)
    with (
        pytest.raises(JobMismatchError, match="a: ours 2, peer's 1"),
        open_link(parties.options("bob", "alice", connect=address), {"a": 2}),
    ):
        pass
    assert "a: ours 1, peer's 2" in str(listening.outcome())
