"""Rate, delay and window of a link, for cost estimates, emulated links and measurements."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from smc.errors import InputError

_RATES = {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3, "bit": 1.0}  # decimal units, as in `tc`
_SHOWN_TIMES = {"s": 1.0, "ms": 1e-3}
_TIMES = {**_SHOWN_TIMES, "us": 1e-6}
_SIZES = {"mib": 2**20, "kib": 2**10}
WINDOW_BYTES = 2**20
PIECES = 16  # pieces of a window, in which it is released
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *([a-z]+)")


@dataclass(frozen=True)
class LinkShape:
    """Link with `rate` in bits per second and `delay` in seconds, both one way and equal in each direction.

    None means unlimited rate or no delay. `window` is the number of bytes that a sender may have in transit: at most
    one window passes in a round trip, whatever the rate. Without a rate the window is never full, and only the delay
    matters. In text form the second number is the round trip, two delays: `str(LinkShape(100e6, 0.02))` is
    "100mbit,40ms". The window comes third, unless it is the default. Raise InputError for a rate or a delay that is not
    above 0 and finite, or a window below 1 KiB.
    """

    rate: float | None = None
    delay: float | None = None
    window: int = WINDOW_BYTES

    def __post_init__(self) -> None:
        if self.window < 1024:
            raise InputError(f"the window of a link must be 1 KiB or more, got {self.window} bytes")
        for name in ("rate", "delay"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"the {name} of a link must be more than 0 and finite, got {value}")

    @classmethod
    def parse(cls, text: str) -> LinkShape:
        """Read "RATE,ROUND-TRIP,WINDOW" or the name of a preset. One or two of the three may be missing.

        Raises:
            InputError: The text has none of these forms.
        """
        words = text.strip().lower()
        if words in PRESETS:
            return PRESETS[words]
        rate, delay, window = None, None, None
        for word in words.split(","):
            match = _NUMBER.fullmatch(word.strip())
            number, unit = (float(match[1]), match[2]) if match else (0.0, "")
            if number > 0 and unit in _RATES and (rate, delay, window) == (None, None, None):
                rate = number * _RATES[unit]
            elif number > 0 and unit in _TIMES and (delay, window) == (None, None):
                delay = number * _TIMES[unit] / 2
            elif number > 0 and unit in _SIZES and window is None:
                window = round(number * _SIZES[unit])
            else:
                raise InputError(
                    f"the link {text[:60]!r} must be RATE,ROUND-TRIP such as 100mbit,40ms (units {', '.join(_RATES)}; "
                    f"{', '.join(_TIMES)}) or one of {', '.join(PRESETS)}"
                )
        return cls(rate, delay, WINDOW_BYTES if window is None else window)

    @property
    def round_trip(self) -> float:
        """Round-trip time in seconds."""
        return 2 * (self.delay or 0.0)

    def __str__(self) -> str:
        parts = []
        if self.rate is not None:
            parts.append(_in_units(self.rate, _RATES))
        if self.delay is not None:
            parts.append(_in_units(self.round_trip, _SHOWN_TIMES))
        if self.window != WINDOW_BYTES:
            parts.append(_in_units(self.window, _SIZES))
        return ",".join(parts) or "loopback"


def _in_units(value: float, units: Mapping[str, float]) -> str:
    """Return the value in the largest unit in which it is at least 1, with at most six digits; largest unit first."""
    name, unit = next(((n, u) for n, u in units.items() if value >= u), list(units.items())[-1])
    return f"{float(f'{value / unit:.6g}'):.12g}{name}"


PRESETS = {
    "loopback": LinkShape(),
    "lan": LinkShape(1e9, 0.25e-3),
    "wan": LinkShape(100e6, 20e-3),
}


class Direction:
    """One direction of a link, which computes arrival times.

    Bytes leave one after the other at the link's rate and arrive one delay later. At most one window of bytes is in
    transit. The window has room again one delay after the receiver has read bytes.
    """

    def __init__(self, shape: LinkShape) -> None:
        self._seconds_per_byte = 8 / shape.rate if shape.rate is not None else 0.0
        self._delay = shape.delay or 0.0
        self._free = 0.0  # time at which all bytes handed over have left
        self._window = shape.window
        # otherwise the window is never full
        self._is_narrow = 0 < self._window * self._seconds_per_byte < shape.round_trip
        # bytes in transit, and the time at which the sender learns that they were read
        self._under_way: deque[tuple[int, float]] = deque()
        self._waiting = 0  # number of bytes in transit
        filled = round(self._delay / self._seconds_per_byte) if self._seconds_per_byte else 0
        self.capacity = min(filled, self._window)  # most bytes that have left and not arrived

    def carry(self, size: int, now: float) -> float:
        """Hand a message over to the link, and return the time at which its last byte arrives.

        Args:
            size: Bytes of the message.
            now: The moment of the call in seconds; never earlier than in the call before.
        """
        self._free = max(self._free, now)
        if not self._is_narrow:
            self._free += size * self._seconds_per_byte
            return self._free + self._delay
        while size > 0:
            piece = min(size, self._window // PIECES)
            size -= piece
            self._make_room(piece)
            self._free += piece * self._seconds_per_byte
            self._under_way.append((piece, self._free + 2 * self._delay))
            self._waiting += piece
        return self._free + self._delay

    def _make_room(self, size: int) -> None:
        """Wait until the window has room for `size` more bytes."""
        while (excess := self._waiting + size - self._window) > 0:
            passed, heard = self._under_way.popleft()
            left = max(0, passed - excess)
            if left:
                self._under_way.appendleft((left, heard))
            self._waiting -= passed - left
            self._free = max(self._free, heard - left * self._seconds_per_byte)
