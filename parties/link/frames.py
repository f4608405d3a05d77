"""Messages to frames and back. Everything that comes in is checked; what is wrong is a `ProtocolError`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from google.protobuf.message import DecodeError

from parties.link.exchange_pb2 import ABORT, DATA, GOODBYE, HELLO, Frame, Kind
from smc.channel import Buffer, check_message
from smc.errors import ProtocolError

CHUNK_BYTES = 1024 * 1024  # the fastest size measured: as large as a message of tables, which then travels uncut
MAX_FRAME_BYTES = 2 * 1024 * 1024  # gRPC itself refuses larger ones
MAX_STEP_CHARACTERS = 200


_PAYLOAD_TAG = bytes([Frame.DESCRIPTOR.fields_by_name["payload"].number << 3 | 2])  # wire type 2: length, then bytes


def _varint(number: int) -> bytes:
    """Return a number as protocol buffers write it: seven bits a byte, the lowest first."""
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


class FrameWriter:
    """Numbers and serialises the frames of one direction, from number `first` on."""

    def __init__(self, first: int = 0) -> None:
        self._sequence = first

    def write(self, kind: Kind, step: str, payload: bytes = b"", more: bool = False) -> bytes:
        """Return one frame."""
        frame = Frame(sequence=self._sequence, kind=kind, step=step, payload=payload, more=more)
        self._sequence += 1
        return frame.SerializeToString()

    def cut(self, step: str, payload: Buffer) -> Iterator[bytes]:
        """Yield the frames of one message: pieces of `CHUNK_BYTES`, at least one frame even if it is empty."""
        view = memoryview(payload).cast("B")
        last = max(0, (len(view) - 1) // CHUNK_BYTES * CHUNK_BYTES)
        for start in range(0, last + 1, CHUNK_BYTES):
            piece = view[start : start + CHUNK_BYTES]
            # Protocol buffers may be joined, field by field: so the payload is copied once, not three times.
            yield b"".join((self.write(DATA, step, more=start < last), _PAYLOAD_TAG, _varint(len(piece)), piece))


class FrameReader:
    """Parses the frames of the other direction and checks their numbers."""

    def __init__(self) -> None:
        self._sequence = 0

    def read(self, data: bytes) -> Frame:
        """Return the frame in `data`."""
        try:
            frame = Frame.FromString(data)
        except DecodeError:
            raise ProtocolError("the peer sent bytes that are not a frame") from None
        if frame.kind not in (DATA, HELLO, ABORT, GOODBYE):
            raise ProtocolError(f"the peer sent a frame of unknown kind {int(frame.kind)}")
        if len(frame.step) > MAX_STEP_CHARACTERS or not frame.step.isprintable():
            raise ProtocolError("the peer sent a frame with an unreadable step label")
        if frame.sequence != self._sequence:
            raise ProtocolError(
                f"the peer sent frame {frame.sequence} where frame {self._sequence} was due: "
                "one was lost, repeated or reordered"
            )
        self._sequence += 1
        return frame


def assemble(step: str, size: int, next_frame: Callable[[], Frame]) -> Buffer:
    """Return one message of exactly `size` bytes under the label `step`, from as many frames as that takes.

    No more than `size` bytes are ever kept. Raises `ProtocolError` for anything else.
    """
    payload, more = _piece(next_frame(), step, size)
    if not more:
        check_message(step, size, step, len(payload))
        return payload
    whole, done = bytearray(size), 0
    while True:
        if not more:
            check_message(step, size, step, done + len(payload))
        whole[done : done + len(payload)] = payload
        done += len(payload)
        if not more:
            return memoryview(whole).toreadonly()
        payload, more = _piece(next_frame(), step, size - done)


def _piece(frame: Frame, step: str, left: int) -> tuple[bytes, bool]:
    """Return the payload of a frame, and whether more follows.

    Refuse a frame that cannot be the next piece of the message at `step`, of which `left` bytes are due.
    """
    if frame.kind == GOODBYE:
        raise ProtocolError(f"the peer ended the session while this party is at step '{step}'")
    if frame.kind != DATA:
        raise ProtocolError(f"the peer sent {Kind.Name(frame.kind)} at step '{step}', expected DATA")
    check_message(step, 0, frame.step, 0)
    payload = frame.payload  # a copy, each time it is asked for
    if frame.more and len(payload) != CHUNK_BYTES:
        raise ProtocolError(f"the peer sent a piece of {len(payload)} bytes at step '{step}', not {CHUNK_BYTES}")
    if frame.more and left <= CHUNK_BYTES:
        raise ProtocolError(f"the peer sent more bytes at step '{step}' than the {left} that were due")
    return payload, frame.more
