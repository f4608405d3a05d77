"""Predicted time of a counted run on a link, from the traces of both parties.

A message leaves when its sender reaches it and the link is free. It takes size / rate to pass, or longer if the window
limits the bytes in transit, and arrives after the delay. The receiving party waits for its arrival. Every message also
costs each party some computing (frames, encryption). There are no other assumptions: pipelining and waiting follow from
the two sequences of events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from smc.counting.rates import FRAME_BYTES, HAND_OVER_SECONDS, SECONDS_PER_BYTE, SECONDS_PER_MESSAGE
from smc.counting.session import Event
from smc.errors import InputError
from smc.link_shape import Direction, LinkShape


def message_seconds(trace: Sequence[Event]) -> float:
    """Return the processor seconds of a party for the messages of its trace, independent of the link."""
    sizes = [amount for kind, amount in trace if kind != "work"]
    return len(sizes) * SECONDS_PER_MESSAGE + sum(sizes) * SECONDS_PER_BYTE


def predicted_seconds(traces: tuple[list[Event], list[Event]], shape: LinkShape, pace: float = 1.0) -> float:
    """Predict the seconds until both parties have ended their traces.

    Args:
        traces: The events of party 0 and of party 1, in order.
        shape: Rate, delay and window of the link.
        pace: Ratio of the computing time of "work" events to that of the reference machine. If in doubt, 1.

    Raises:
        InputError: The two traces do not fit: different sizes, a message without a reader, or both parties wait at
            once.
    """
    clock = [0.0, 0.0]
    ways = Direction(shape), Direction(shape)
    place = [0, 0]
    # messages to party 0 and to party 1: size, time of arrival
    arrivals: tuple[deque[tuple[float, float]], ...] = (deque(), deque())
    while True:
        moved = False
        for party in (0, 1):
            trace, peer = traces[party], 1 - party
            while place[party] < len(trace):
                kind, amount = trace[place[party]]
                if kind == "work":
                    clock[party] += pace * amount
                elif kind == "send":
                    clock[party] += SECONDS_PER_MESSAGE + amount * SECONDS_PER_BYTE
                    arrival = ways[party].carry(round(amount) + FRAME_BYTES, clock[party])
                    arrivals[peer].append((amount, arrival + HAND_OVER_SECONDS))
                elif arrivals[party]:
                    size_, arrival = arrivals[party].popleft()
                    if size_ != amount:
                        raise InputError(
                            f"the program sends {size_:g} bytes where the other party expects {amount:g}: "
                            "give both ends of each message the same size"
                        )
                    clock[party] = max(clock[party], arrival) + SECONDS_PER_MESSAGE + amount * SECONDS_PER_BYTE
                else:
                    break
                place[party] += 1
                moved = True
        if not moved:
            break
    if any(place[party] < len(traces[party]) for party in (0, 1)) or any(arrivals):
        raise InputError(
            "the two parties' messages do not fit: both wait for the other at once, or a message is not read; "
            "let each message have one sender and one receiver (docs/extending-engines.md)"
        )
    return max(clock)
