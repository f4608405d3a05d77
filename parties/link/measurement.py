"""How fast the link is: measured by both parties together at its start, so that both hold the same numbers.

Both take part in fixed turns and tell each other what they timed: round trips of 8-byte messages first, then bursts
each way that grow until they take long enough to be timed well.
"""

from __future__ import annotations

import time

from smc.channel import Channel
from smc.link_shape import LinkShape

ROUND_TRIPS = 3  # of which the shortest counts: the others met something else than the link
FIRST_BURST = 16 * 1024  # bytes: 131 ms at 1 Mbit/s
LAST_BURST = 1024 * 1024
GROWTH = 4  # of the bursts, at most
ENOUGH_SECONDS = 0.02  # a burst of that length is timed well
LONGEST_SECONDS = 0.15  # what a burst should take at most
ROUND_TRIPS_OF_A_BURST = 3  # it may take so many where they are longer: TCP needs them until it fills a long link


def measure(channel: Channel, party: int) -> LinkShape:
    """Measure rate (of the slower direction) and delay (half the shortest round trip); alike on both sides.

    Takes about eight round trips and, each way, up to 1.4 MB or some tenths of a second.
    """
    trip = _round_trip(channel, party)
    enough = max(round(ENOUGH_SECONDS * 1e9), ROUND_TRIPS_OF_A_BURST * trip)
    longest = max(round(LONGEST_SECONDS * 1e9), enough)
    size, taken = FIRST_BURST, _burst(channel, party, FIRST_BURST)
    while size < LAST_BURST and taken < enough:
        size = min(LAST_BURST, GROWTH * size, max(2 * size, size * longest // taken))
        taken = _burst(channel, party, size)
    return LinkShape(rate=8e9 * size / taken, delay=trip / 2e9)


def _round_trip(channel: Channel, party: int) -> int:
    """Time the way there and back, in nanoseconds. The parties take turns, so both time as many trips."""
    sent, shortest = 0, 2**63
    for turn in range(2 * ROUND_TRIPS + 1):
        if turn % 2 == party:
            sent = time.monotonic_ns()
            channel.send("measure round trip", bytes(8))
        else:
            channel.receive("measure round trip", 8)
            if sent:
                shortest = min(shortest, time.monotonic_ns() - sent)
    return min(_both(channel, shortest))


def _burst(channel: Channel, party: int, size: int) -> int:
    """Time `size` bytes, in nanoseconds, as they take in the slower direction: first party 0 sends, then party 1."""
    taken = 0
    for sender in (0, 1):
        if sender == party:
            channel.send("measure start", b"")
            channel.send("measure burst", bytes(size))
        else:
            channel.receive("measure start", 0)
            start = time.monotonic_ns()
            channel.receive("measure burst", size)
            taken = time.monotonic_ns() - start
    return max(_both(channel, taken))


def _both(channel: Channel, nanoseconds: int) -> tuple[int, int]:
    """Return what either party has timed, in nanoseconds, at least 1."""
    channel.send("measure time", nanoseconds.to_bytes(8, "little"))
    return max(nanoseconds, 1), max(int.from_bytes(channel.receive("measure time", 8), "little"), 1)
