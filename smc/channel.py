"""Channel of labelled byte strings between two parties, in order; both parties have equal roles.

`parties.link.channel` adapts a gRPC stream to this interface. `memory_pair` joins two threads of one process for tests,
harnesses and benchmarks.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from typing_extensions import override

from smc.errors import LinkError, PeerLeftError, ProtocolError

Buffer = bytes | bytearray | memoryview


class Channel(ABC):
    """Ordered, reliable, labelled byte channel to the peer.

    Sizes are public in every protocol, so the receiver always passes the label and the size that it expects. Any other
    message of the peer raises a `ProtocolError` that names both.
    """

    @abstractmethod
    def send(self, step: str, payload: Buffer) -> None:
        """Queue a message for the peer.

        The bytes are copied or sent before the call returns, so the caller may reuse the buffer. The call blocks while
        the bounded outgoing buffer is full.

        Args:
            step: The label of the message; the receiver expects an equal one.
            payload: The bytes.

        Raises:
            LinkError: The link is down, or the deadline passes.
        """

    @abstractmethod
    def receive(self, step: str, size: int) -> Buffer:
        """Return the next message.

        Args:
            step: Label that the message must have.
            size: Exact size of the message in bytes.

        Raises:
            ProtocolError: The peer's next message has another label or size.
            LinkError: The peer is gone, or silent past the deadline.
        """


HEAD_BYTES = 16  # first bytes of a refused message, kept by its error


def check_message(step: str, size: int, got_step: str, got_size: int) -> None:
    """Raise an error that names both messages if a message is not the expected one.

    Args:
        step: The expected label.
        size: The expected size in bytes.
        got_step: The label of the message.
        got_size: The size of the message in bytes.

    Raises:
        ProtocolError: The labels or the sizes differ.
    """
    if got_step != step:
        raise ProtocolError(f"the peer is at step '{got_step}' while this party is at step '{step}'")
    if got_size != size:
        raise ProtocolError(f"the peer sent {got_size} bytes at step '{step}', expected {size}")


@contextmanager
def refused(step: str, payload: Buffer) -> Iterator[None]:
    """Attach the label and the first bytes of a message to a `ProtocolError` raised inside the block.

    Args:
        step: The label of the message.
        payload: Its bytes; the error keeps the first `HEAD_BYTES`.
    """
    try:
        yield
    except ProtocolError as error:
        error.refused = step, bytes(memoryview(payload)[:HEAD_BYTES])
        raise


@dataclass(frozen=True)
class _Message:
    step: str
    payload: bytes


class MemoryChannel(Channel):
    """One end of a channel between two threads of a process. Sending and receiving fail after a deadline."""

    def __init__(
        self,
        outgoing: queue.Queue[_Message | None],
        incoming: queue.Queue[_Message | None],
        timeout: float,
    ) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._timeout = timeout

    @override
    def send(self, step: str, payload: Buffer) -> None:
        try:
            self._outgoing.put(_Message(step, bytes(payload)), timeout=self._timeout)
        except queue.Full:
            raise LinkError(f"the peer accepted no data for {self._timeout:g} s at step '{step}'") from None

    @override
    def receive(self, step: str, size: int) -> bytes:
        try:
            message = self._incoming.get(timeout=self._timeout)
        except queue.Empty:
            raise LinkError(f"the peer was silent for {self._timeout:g} s at step '{step}'") from None
        if message is None:
            raise PeerLeftError(f"the peer ended the session at step '{step}'")
        with refused(message.step, message.payload):
            check_message(step, size, message.step, len(message.payload))
        return message.payload

    def close(self) -> None:
        """End the session for the peer: its next receive fails once the queue is empty."""
        try:
            self._outgoing.put(None, timeout=self._timeout)
        except queue.Full:
            return


def memory_pair(timeout: float = 60.0, depth: int = 4096) -> tuple[MemoryChannel, MemoryChannel]:
    """Return two joined in-memory channels.

    Args:
        timeout: Seconds that a send or a receive waits before raising `LinkError`.
        depth: Most messages in transit in each direction; a send blocks while the queue is full.
    """
    there: queue.Queue[_Message | None] = queue.Queue(depth)
    back: queue.Queue[_Message | None] = queue.Queue(depth)
    return MemoryChannel(there, back, timeout), MemoryChannel(back, there, timeout)
