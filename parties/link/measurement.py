"""How fast the link is: measured by both parties together at its start, so that both hold the same numbers.

Both take part in fixed turns and tell each other what they timed: round trips of 8-byte messages first, then bursts
each way that grow until they take long enough to be timed well.
"""

from __future__ import annotations

import time

from smc.channel import Buffer, Channel
from smc.errors import ProtocolError
from smc.link_shape import LinkShape
from smc.meter import Cost, Meter

A_MEASUREMENT = 0.02  # seconds on a link that is too fast to matter
MOST_RATE = 1e12  # bits a second: a burst timed as shorter passed through memory
LENIENCE = 1.5  # times our own clock's, and a second, that the peer may say that something took
ROUND_TRIPS = 3  # of which the shortest counts: the others met something else than the link
FIRST_BURST = 16 * 1024  # bytes: 131 ms at 1 Mbit/s
LAST_BURST = 1024 * 1024
GROWTH = 4  # of the bursts, at most
ENOUGH_SECONDS = 0.02  # a burst of that length is timed well
LONGEST_SECONDS = 0.15  # what a burst should take at most
ROUND_TRIPS_OF_A_BURST = 3  # it may take so many where they are longer: TCP needs them until it fills a long link


class MeteredChannel(Channel):
    """A channel with a meter of its own: `cost` is what has passed since it was made."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self._meter = Meter()

    def send(self, step: str, payload: Buffer) -> None:
        """See `Channel.send`."""
        self._meter.sent(memoryview(payload).nbytes)
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        """See `Channel.receive`."""
        self._meter.received(size)
        return self._inner.receive(step, size)

    @property
    def cost(self) -> Cost:
        """Bytes, messages, rounds and seconds."""
        self._meter.report()  # which notes the seconds
        return self._meter.total


def measuring_seconds(shape: LinkShape) -> float:
    """Return how long `measure` takes on such a link, about."""
    passing = 0.0 if shape.rate is None else 2 * 8 * LAST_BURST / shape.rate
    return (
        A_MEASUREMENT
        + 8 * shape.round_trip
        + min(passing, 4 * max(LONGEST_SECONDS, ROUND_TRIPS_OF_A_BURST * shape.round_trip))
    )


def measure(channel: Channel, party: int) -> LinkShape:
    """Measure rate (of the slower direction) and delay (half the shortest round trip); alike on both sides.

    Takes about eight round trips and, each way, up to 1.4 MB or some tenths of a second. `ProtocolError` if the peer
    says that something took longer than all of it by our own clock.
    """
    trip = _round_trip(channel, party)
    enough = max(round(ENOUGH_SECONDS * 1e9), ROUND_TRIPS_OF_A_BURST * trip)
    longest = max(round(LONGEST_SECONDS * 1e9), enough)
    size, taken = FIRST_BURST, _burst(channel, party, FIRST_BURST)
    while size < LAST_BURST and taken < enough:
        size = min(LAST_BURST, GROWTH * size, max(2 * size, size * longest // taken))
        taken = _burst(channel, party, size)
    return LinkShape(rate=min(MOST_RATE, 8e9 * size / taken), delay=trip / 2e9)


def _round_trip(channel: Channel, party: int) -> int:
    """Time the way there and back, in nanoseconds. The parties take turns, so both time as many trips."""
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
    """Time `size` bytes, in nanoseconds, as they take in the slower direction: first party 0 sends, then party 1."""
    taken, start = 0, time.monotonic_ns()
    for sender in (0, 1):
        if sender == party:
            channel.send("measure start", b"")
            channel.send("measure burst", bytes(size))
        else:
            channel.receive("measure start", 0)
            begun = time.monotonic_ns()
            channel.receive("measure burst", size)
            taken = time.monotonic_ns() - begun
    return max(_both(channel, taken, start))


def _both(channel: Channel, nanoseconds: int, start: int) -> tuple[int, int]:
    """Return what either party has timed since our clock showed `start`, in nanoseconds, at least 1."""
    channel.send("measure time", nanoseconds.to_bytes(8, "little"))
    theirs = int.from_bytes(channel.receive("measure time", 8), "little")
    if theirs > LENIENCE * (time.monotonic_ns() - start) + 1e9:
        raise ProtocolError(f"measuring the link: the peer says that {theirs / 1e9:.3g} s passed, which did not")
    return max(nanoseconds, 1), max(theirs, 1)
