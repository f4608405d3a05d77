"""Emulation of a slower link: the arrival time of each frame.

The model is a line behind a queue (`smc.link_shape.Direction`). Frames leave one after the other at the link's rate and
arrive one delay after their last byte has left, so that the window limits the bytes under way. The arrival follows from
the time at which a frame is handed over; the emulation only waits for it.
"""

from __future__ import annotations

import time

from smc.link_shape import Direction, LinkShape

# Bytes that travel with a frame: gRPC 5, HTTP/2 9, TLS 1.3 22, and TCP, IP and Ethernet 66.
FRAME_OVERHEAD_BYTES = 102


class Line:
    """One direction of an emulated link, used by the sending thread alone.

    `capacity` is the number of bytes that may have left and not arrived.
    """

    def __init__(self, shape: LinkShape) -> None:
        self._line = Direction(shape)
        self.capacity = self._line.capacity

    def carry(self, size: int) -> float:
        """Hand over a frame of `size` bytes now; return its arrival time, in seconds of `time.monotonic`."""
        return self._line.carry(size + FRAME_OVERHEAD_BYTES, time.monotonic())
