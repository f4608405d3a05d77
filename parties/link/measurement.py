"""Measurement of the link's speed, by both parties together at its start, so that both have the same numbers.

Both take part in fixed turns and exchange their times: first for round trips of 8-byte messages, then for bursts each
way, which grow until they last long enough for a reliable time.
"""

from __future__ import annotations

import time

from typing_extensions import override

from smc.channel import Buffer, Channel
from smc.errors import ProtocolError
from smc.link_shape import LinkShape
from smc.meter import Cost, Meter

A_MEASUREMENT = 0.02  # seconds that it takes on a very fast link
MOST_RATE = 1e12  # bits a second: a burst that seems faster passed through memory
LENIENCE = 1.5  # the peer's time may exceed our own clock's by this factor, plus a second
ROUND_TRIPS = 3  # the shortest counts: the others had delays besides the link's
FIRST_BURST = 16 * 1024  # bytes: 131 ms at 1 Mbit/s
LAST_BURST = 1024 * 1024
GROWTH = 4  # largest growth of the bursts
ENOUGH_SECONDS = 0.02  # a burst of that length is timed reliably
LONGEST_SECONDS = 0.15  # longest intended duration of a burst
ROUND_TRIPS_OF_A_BURST = 3  # on a long link a burst may take this many round trips: TCP needs them to fill the link


class MeteredChannel(Channel):
    """Channel that counts its own traffic since it was made, or adds it to `meter`; `cost` has the totals."""

    def __init__(self, inner: Channel, meter: Meter | None = None) -> None:
        self._inner = inner
        self.meter = Meter() if meter is None else meter

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self.meter.sent(memoryview(payload).nbytes)
        self._inner.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        self.meter.received(size)
        return self._inner.receive(step, size)

    @property
    def cost(self) -> Cost:
        """Bytes, messages, rounds and seconds of this channel so far."""
        self.meter.report()  # records the seconds
        return self.meter.total


def measuring_seconds(shape: LinkShape) -> float:
    """Return the approximate seconds that `measure` takes on a link of this rate and delay."""
    passing = 0.0 if shape.rate is None else 2 * 8 * LAST_BURST / shape.rate
    return (
        A_MEASUREMENT
        + 8 * shape.round_trip
        + min(passing, 4 * max(LONGEST_SECONDS, ROUND_TRIPS_OF_A_BURST * shape.round_trip))
    )


def measure(channel: Channel, party: int) -> LinkShape:
    """Measure rate (of the slower direction) and delay (half the shortest round trip); both sides get the same.

    Takes about eight round trips and, each way, up to 1.4 MB or some tenths of a second.

    Args:
        channel: Channel to the peer.
        party: Number of this party.

    Raises:
        ProtocolError: The peer's time for round trips or bursts exceeds 1.5 times ours for them, plus a second.
    """
    trip = _round_trip(channel, party)
    enough = max(round(ENOUGH_SECONDS * 1e9), ROUND_TRIPS_OF_A_BURST * trip)
    longest = max(round(LONGEST_SECONDS * 1e9), enough)
    size, duration = FIRST_BURST, _burst(channel, party, FIRST_BURST)
    while size < LAST_BURST and duration < enough:
        size = min(LAST_BURST, GROWTH * size, max(2 * size, size * longest // duration))
        duration = _burst(channel, party, size)
    return LinkShape(rate=min(MOST_RATE, 8e9 * size / duration), delay=trip / 2e9)


def _round_trip(channel: Channel, party: int) -> int:
    """Time round trips, in nanoseconds. The parties take turns, so both time the same number."""
    sent, shortest, start = 0, 2**63, time.monotonic_ns()
    for turn in range(2 * ROUND_TRIPS + 1):
        if turn % 2 == party:
            sent = time.monotonic_ns()
            channel.send("measure round trip", bytes(8))
        else:
            channel.receive("measure round trip", 8)
            if sent:
                shortest = min(shortest, time.monotonic_ns() - sent)
    return min(_both(channel, shortest, start))


def _burst(channel: Channel, party: int, size: int) -> int:
    """Time `size` bytes in the slower direction, in nanoseconds: first party 0 sends, then party 1."""
    duration, start = 0, time.monotonic_ns()
    for sender in (0, 1):
        if sender == party:
            channel.send("measure start", b"")
            channel.send("measure burst", bytes(size))
        else:
            channel.receive("measure start", 0)
            begun = time.monotonic_ns()
            channel.receive("measure burst", size)
            duration = time.monotonic_ns() - begun
    return max(_both(channel, duration, start))


def _both(channel: Channel, nanoseconds: int, start: int) -> tuple[int, int]:
    """Exchange measured times; return ours and the peer's in nanoseconds, at least 1. Measuring began at `start`."""
    channel.send("measure time", nanoseconds.to_bytes(8, "little"))
    theirs = int.from_bytes(channel.receive("measure time", 8), "little")
    if theirs > LENIENCE * (time.monotonic_ns() - start) + 1e9:
        raise ProtocolError(f"measuring the link: the peer's time of {theirs / 1e9:.3g} s exceeds the measurement")
    return max(nanoseconds, 1), max(theirs, 1)
