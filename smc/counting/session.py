"""Counting session: the calls of `smc.session.Session`, without peer, bytes and secrets.

Sent and received messages are added to the meter and to the `trace`; received arrays are zeros. So a program that
computes nothing between its messages costs next to nothing to count. Its counts are exact, because the sizes of all
messages are public and known ahead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import override

from smc.agreement import DIGEST_BYTES, Size
from smc.channel import Buffer, Channel
from smc.primitives.prg import KEY_BYTES, Prg
from smc.session import Session

COMPUTING, MESSAGES, BUILDING = "computing", "messages", "building circuits"  # keys of `lines`
Event = tuple[Literal["send", "receive", "work"], float]  # a message and its bytes, or computing and its seconds


@lru_cache(maxsize=1024)
def no_values(kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return read-only zeros that take no memory.

    Args:
        kind: The dtype of an item.
        shape: The shape of the array.
    """
    return np.broadcast_to(np.zeros((), dtype=kind), shape)


class _NoChannel(Channel):
    """Channel without a peer."""

    @override
    def send(self, step: str, payload: Buffer) -> None:
        raise RuntimeError("a counting session has no channel")

    @override
    def receive(self, step: str, size: int) -> Buffer:
        raise RuntimeError("a counting session has no channel")


class CountingSession(Session):
    """One party's side of a counted run. `trace` lists its events in order."""

    def __init__(self, party: int) -> None:
        super().__init__(party, _NoChannel(), bytes(32), Prg(bytes(KEY_BYTES)))
        self.trace: list[Event] = []
        self.lines: dict[str, float] = {}  # seconds by kind of work
        self.held = 0  # bytes of the largest secrets in memory at once
        self.held_by_shards = 0  # largest `held` of a shard
        self.times = 1  # factor of bytes and computing in the block of `repeated`; the number of messages stays

    def send(self, step: str, array: NDArray[Any]) -> None:
        """Count an outgoing message.

        Args:
            step: The label of the message; not used.
            array: Only its size in bytes counts.
        """
        self.sent(array.nbytes)

    def receive(self, step: str, dtype: DTypeLike, shape: Sequence[int]) -> NDArray[Any]:
        """Count an incoming message, and return zeros that take no memory.

        Args:
            step: The label of the message; not used.
            dtype: The dtype of an item.
            shape: The shape of the array.
        """
        kind = np.dtype(dtype)
        self.received(kind.itemsize * math.prod(shape))
        return no_values(kind, tuple(shape))

    def note(self, step: str, content: Callable[[], bytes] | None = None, **sizes: Size) -> None:
        """Count a digest in front of the next message, as after `Session.note`.

        Args:
            step: The name of the step; not used.
            content: Public bytes; not used.
            sizes: Public sizes; not used.
        """
        self.agreement.expect()

    def masked(self, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the share unchanged: shares are zeros here, and nothing is masked."""
        return share

    def sent(self, size: int) -> None:
        """Count an outgoing message of `size` bytes, and the digest in front of it if one is due."""
        if not self.agreement.is_told:
            self.agreement.is_told = True
            size += DIGEST_BYTES
        self.meter.sent(size * self.times)
        self.trace.append(("send", size * self.times))

    def received(self, size: int) -> None:
        """Count an incoming message of `size` bytes, and the digest in front of it if one is due."""
        if not self.agreement.is_heard:
            self.agreement.is_heard = True
            size += DIGEST_BYTES
        self.meter.received(size * self.times)
        self.trace.append(("receive", size * self.times))

    def add_to_totals(self, seconds: float, what: str) -> None:
        """Add computing time to the totals of a kind of work, but not to the trace.

        Args:
            seconds: The time.
            what: The kind of work, a key of `lines`, which has the seconds of each kind.
        """
        self.lines[what] = self.lines.get(what, 0.0) + seconds

    def hold(self, size: int) -> None:
        """Record that `size` bytes of secrets are in memory at once; `held` keeps the largest number."""
        self.held = max(self.held, size)

    def work(self, seconds: float) -> None:
        """Add computing time to the trace and the totals: `seconds`, times `self.times` repetitions of the step."""
        seconds *= self.times
        self.add_to_totals(seconds, COMPUTING)
        if self.trace and self.trace[-1][0] == "work":
            seconds += self.trace.pop()[1]
        self.trace.append(("work", seconds))
