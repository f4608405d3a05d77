"""How fast a link is: what a cost estimate, an emulated link and a measurement all speak of."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from smc.errors import InputError

_RATES = {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3, "bit": 1.0}  # decimal, as `tc` has them
_SHOWN_TIMES = {"s": 1.0, "ms": 1e-3}
_TIMES = {**_SHOWN_TIMES, "us": 1e-6}
_SIZES = {"mib": 2**20, "kib": 2**10}
WINDOW_BYTES = 2**20
PIECES = 16  # of a window, in which it is given back
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *([a-z]+)")


@dataclass(frozen=True)
class LinkShape:
    """A link's `rate` in bits per second and `delay` in seconds, both one way and equal in each direction.

    None stands for a rate or a delay too good to matter. `window` is the bytes that a sender may have under way: no
    more pass in a round trip, however high the rate. Without a rate the window is never full, and only the delay
    matters. As text the second number is the round trip, two delays: `str(LinkShape(100e6, 0.02))` is "100mbit,40ms".
    The window comes third, unless it is the usual one.
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
        """Read "RATE,ROUND-TRIP,WINDOW", any of them alone, or the name of a preset.

        Raises:
            InputError: The text is none of these.
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
        """Seconds there and back."""
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
    """Return the value in the largest unit of which it is one or more, six digits at most; units come largest first."""
    name, unit = next(((n, u) for n, u in units.items() if value >= u), list(units.items())[-1])
    return f"{float(f'{value / unit:.6g}'):.12g}{name}"


PRESETS = {
    "loopback": LinkShape(),
    "lan": LinkShape(1e9, 0.25e-3),
    "wan": LinkShape(100e6, 20e-3),
}


class Direction:
    """One direction of a link, which gives arrival times.

    Bytes leave one after the other at the link's rate and arrive one delay later. No more than the window are under
    way: the sender learns one delay later that the receiver has taken bytes.
    """

    def __init__(self, shape: LinkShape) -> None:
        self._seconds_per_byte = 8 / shape.rate if shape.rate is not None else 0.0
        self._delay = shape.delay or 0.0
        self._free = 0.0  # when all that was handed over will have left
        self._window = shape.window
        self._is_narrow = 0 < self._window * self._seconds_per_byte < shape.round_trip  # else it is never used up
        self._under_way: deque[tuple[int, float]] = deque()  # bytes, and when the sender hears that they were taken
        self._waiting = 0  # bytes of these
        filled = round(self._delay / self._seconds_per_byte) if self._seconds_per_byte else 0
        self.capacity = min(filled, self._window)  # bytes that may have left and not have arrived

    def carry(self, size: int, now: float) -> float:
        """Hand over a message to the link, and return the moment at which its last byte arrives.

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
        """Wait until `size` more bytes may be under way."""
        while (excess := self._waiting + size - self._window) > 0:
            passed, heard = self._under_way.popleft()
            left = max(0, passed - excess)
            if left:
                self._under_way.appendleft((left, heard))
            self._waiting -= passed - left
            self._free = max(self._free, heard - left * self._seconds_per_byte)
