"""Conversion of messages to frames and back. All input is checked; a fault raises ProtocolError."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from google.protobuf.message import DecodeError

from parties.link.exchange_pb2 import ABORT, DATA, GOODBYE, HELLO, Frame, Kind
from smc.channel import Buffer, check_message, refused
from smc.errors import ProtocolError

CHUNK_BYTES = 1024 * 1024  # the fastest size measured: as large as a message of tables, which then travels uncut
MAX_FRAME_BYTES = 2 * 1024 * 1024  # gRPC itself refuses larger ones
MAX_STEP_CHARACTERS = 200
SHORT_BYTES = 4096  # a rest of this size or less is no frame of its own
_KINDS = (DATA, HELLO, ABORT, GOODBYE)
_VARINT, _LENGTH_DELIMITED = 0, 2  # wire types of protocol buffers


_PAYLOAD_TAG = bytes([Frame.DESCRIPTOR.fields_by_name["payload"].number << 3 | _LENGTH_DELIMITED])
_SEQUENCE_TAG = bytes([Frame.DESCRIPTOR.fields_by_name["sequence"].number << 3 | _VARINT])


def _varint(number: int) -> bytes:
    """Return a number in the encoding of protocol buffers: seven bits a byte, the lowest first."""
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


@lru_cache(maxsize=4096)
def _fields(step: str, size: int, more: bool) -> bytes:
    return b"".join((Frame(kind=DATA, step=step, more=more).SerializeToString(), _PAYLOAD_TAG, _varint(size)))


def _head(number: int, step: str, size: int, more: bool) -> bytes:
    """Return data frame `number` without its payload of `size` bytes: built by hand, which takes half the time."""
    return _SEQUENCE_TAG + _varint(number) + _fields(step, size, more)


def _next_piece(left: int) -> tuple[int, bool]:
    """Return the size of a message's next piece, if `left` bytes remain, and whether more pieces follow."""
    return (CHUNK_BYTES, True) if left > CHUNK_BYTES + SHORT_BYTES else (left, False)


class FrameWriter:
    """Numbers and serialises the frames of one direction, starting with number `first`."""

    def __init__(self, first: int = 0) -> None:
        self._sequence = first

    def write(self, kind: Kind, step: str, payload: bytes = b"") -> bytes:
        """Return the next frame as bytes.

        Args:
            kind: Kind of frame.
            step: Label of the step.
            payload: Content.
        """
        frame = Frame(sequence=self._sequence, kind=kind, step=step, payload=payload)
        self._sequence += 1
        return frame.SerializeToString()

    def cut(self, step: str, payload: Buffer) -> Iterator[bytes]:
        """Yield the frames of one message: pieces of `CHUNK_BYTES`, and the rest in the last one.

        A rest of up to `SHORT_BYTES` is part of the piece before it: so a message of OTs and their check travels uncut.

        Args:
            step: Label of the step.
            payload: The message.
        """
        rest, more = memoryview(payload).cast("B"), True
        while more:
            size, more = _next_piece(len(rest))
            self._sequence += 1
            # Protocol buffers may be concatenated field by field: so the payload is copied once, not three times.
            yield b"".join((_head(self._sequence - 1, step, size, more), rest[:size]))
            rest = rest[size:]


class Received(NamedTuple):
    """A frame that arrived in order; the payload is a view of the received bytes."""

    kind: Kind
    step: str
    payload: Buffer
    more: bool


class FrameReader:
    """Parser of the frames from the peer, which checks their numbers. Only an abort may skip some."""

    def __init__(self) -> None:
        self._sequence = 0

    def read(self, data: bytes, step: str = "", left: int = 0) -> Received:
        """Return the frame that serialised bytes contain, which must be the next one.

        A piece of the expected message, as `FrameWriter.cut` writes it, is recognised by its first bytes. It is not
        parsed, and its payload is a view of `data`.

        Args:
            data: The bytes.
            step: Label of the expected message.
            left: Bytes of that message that are due.

        Raises:
            ProtocolError: The bytes are no frame, or not the next one.
        """
        size, more = _next_piece(left)
        head = _head(self._sequence, step, size, more)
        if len(data) == len(head) + size and data.startswith(head):
            self._sequence += 1
            return Received(DATA, step, memoryview(data)[len(head) :], more)
        try:
            frame = Frame.FromString(data)
        except DecodeError:
            raise ProtocolError("the peer sent bytes that are not a frame") from None
        kind, step = frame.kind, frame.step
        if kind not in _KINDS:
            raise ProtocolError(f"the peer sent a frame of unknown kind {int(kind)}")
        if len(step) > MAX_STEP_CHARACTERS or not step.isprintable():
            raise ProtocolError("the peer sent a frame with an unreadable step label")
        if frame.sequence != self._sequence and not (kind == ABORT and frame.sequence > self._sequence):
            raise ProtocolError(
                f"the peer sent frame {frame.sequence} where frame {self._sequence} was due: "
                "one was lost, repeated or reordered"
            )
        self._sequence += 1
        return Received(kind, step, frame.payload, frame.more)


def assemble(step: str, size: int, next_frame: Callable[[str, int], Received]) -> Buffer:
    """Return one message from as many frames as it takes.

    Args:
        step: Label of the step.
        size: Exact size of the message, in bytes.
        next_frame: Returns the next frame, from the label and the bytes that are due.

    Raises:
        ProtocolError: The frames are not that message.
    """
    first = next_frame(step, size)
    if first.kind == DATA and first.step == step and len(first.payload) == size and not first.more:
        return first.payload
    with refused(first.step, first.payload):
        payload, more = _piece(first, step, size)
        if not more:
            check_message(step, size, step, len(payload))
            return payload
        import numpy as np  # loaded by the session already; its memory is neither zeroed nor, if large, in small pages

        whole, done = np.empty(size, dtype=np.uint8).data, 0
        while True:
            if not more:
                check_message(step, size, step, done + len(payload))
            whole[done : done + len(payload)] = payload
            done += len(payload)
            if not more:
                return whole.toreadonly()
            payload, more = _piece(next_frame(step, size - done), step, size - done)


def _piece(frame: Received, step: str, left: int) -> tuple[Buffer, bool]:
    """Return the payload of a frame, and whether more follows.

    Refuse a frame that cannot be the next piece of the message at `step`, of which `left` bytes are due.
    """
    if frame.kind == GOODBYE:
        raise ProtocolError(f"the peer ended the session while this party is at step '{step}'")
    if frame.kind != DATA:
        raise ProtocolError(f"the peer sent {Kind.Name(frame.kind)} at step '{step}', expected DATA")
    check_message(step, 0, frame.step, 0)
    payload = frame.payload
    if frame.more and len(payload) != CHUNK_BYTES:
        raise ProtocolError(f"the peer sent a piece of {len(payload)} bytes at step '{step}', not {CHUNK_BYTES}")
    if frame.more and left <= CHUNK_BYTES:
        raise ProtocolError(f"the peer sent more bytes at step '{step}' than the {left} that were due")
    return payload, frame.more
