"""Faults of frames: what a broken line, or a peer that leaves the protocol, does to one of those that it sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from parties.link.exchange_pb2 import DATA, Frame

DELAY = 0.02  # seconds
SILENT = ("drop", "withhold", "reorder")  # after these the other may wait in vain


@dataclass
class Fault:
    """What befalls the frame of this number, from 0, of those with data that a party sends; `sent` counts them."""

    kind: str
    number: int
    sent: int = 0

    def __call__(self, frames: Iterator[bytes], cut: Callable[[], object]) -> Iterator[bytes]:
        """Yield the frames that arrive of those that are sent; `cut` ends the stream for both."""
        held: list[bytes] = []
        for frame in frames:
            is_hit, is_later = False, self.sent > self.number
            if Frame.FromString(frame).kind == DATA:
                is_hit = self.sent == self.number
                self.sent += 1
            if is_hit:
                match self.kind:
                    case "close":
                        cut()
                        return
                    case "reorder":
                        held.append(frame)
                    case _:
                        yield from FAULTS[self.kind](frame)
            elif not (is_later and self.kind == "withhold"):
                yield frame
                yield from held
                held.clear()


def _changed(frame: bytes, change: Callable[[bytes], bytes]) -> list[bytes]:
    """Return the frame with another payload, well formed."""
    parsed = Frame.FromString(frame)
    parsed.payload = change(parsed.payload)
    return [parsed.SerializeToString()]


def _late(frame: bytes) -> list[bytes]:
    time.sleep(DELAY)
    return [frame]


def _nothing(_: bytes) -> list[bytes]:
    return []


FAULTS: dict[str, Callable[[bytes], list[bytes]]] = {
    "delay": _late,
    "drop": _nothing,
    "withhold": _nothing,  # this frame and all after it
    "close": _nothing,
    "repeat": lambda frame: [frame, frame],
    "reorder": _nothing,  # it comes behind the next
    "truncate": lambda frame: _changed(frame, lambda payload: payload[:-1] if payload else b"x"),
    "oversize": lambda frame: _changed(frame, lambda payload: payload + b"\0"),
    "garble": lambda frame: [frame[: len(frame) // 2]],
    "flip": lambda frame: _changed(frame, lambda payload: bytes(octet ^ 1 for octet in payload[:1]) + payload[1:]),
}
