"""A slower link than there is: when each frame would arrive.

The model is a line behind a queue (`smc.link_shape.Direction`): frames leave one after the other at the link's rate and
arrive one delay after their last byte has left, so many may be under way at once as its window holds. Everything
follows from the moment at which a frame is handed over, and nobody needs to do anything until it is due: waiting for
that moment is the whole emulation.
"""

from __future__ import annotations

import time

from smc.link_shape import Direction, LinkShape

# What travels with the bytes of a frame: gRPC 5, HTTP/2 9, TLS 1.3 22, and TCP, IP and Ethernet 66.
FRAME_OVERHEAD_BYTES = 102


class Line:
    """One direction of an emulated link. It is driven by one thread: the one that sends."""

    def __init__(self, shape: LinkShape) -> None:
        self._line = Direction(shape)
        self.capacity = self._line.capacity

    def carry(self, size: int) -> float:
        """Hand over a frame of `size` bytes now; returns when it arrives, in seconds of `time.monotonic`.

        `capacity` is how many bytes may have left and not have arrived.
        """
        return self._line.carry(size + FRAME_OVERHEAD_BYTES, time.monotonic())
