"""How fast a link is: the two numbers that a cost estimate, an emulated link and a measurement all speak of."""

from __future__ import annotations

import re
from dataclasses import dataclass

from smc.errors import InputError

_RATES = {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3, "bit": 1.0}  # decimal, as `tc` has them
_SHOWN_TIMES = {"s": 1.0, "ms": 1e-3}
_TIMES = {**_SHOWN_TIMES, "us": 1e-6}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *([a-z]+)")


@dataclass(frozen=True)
class LinkShape:
    """A link's `rate` in bits per second and `delay` in seconds, both one way and the same each way.

    None stands for what is too fast to matter. As text the second number is the round trip, two delays:
    `str(LinkShape(100e6, 0.02))` is "100mbit,40ms".
    """

    rate: float | None = None
    delay: float | None = None

    def __post_init__(self) -> None:
        for name in ("rate", "delay"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"the {name} of a link must be more than 0 and finite, got {value}")

    @classmethod
    def parse(cls, text: str) -> LinkShape:
        """Read "RATE,ROUND-TRIP", one of the two alone, or the name of a preset; `InputError` for anything else."""
        words = text.strip().lower()
        if words in PRESETS:
            return PRESETS[words]
        rate, delay = None, None
        for word in words.split(","):
            match = _NUMBER.fullmatch(word.strip())
            number, unit = (float(match[1]), match[2]) if match else (0.0, "")
            if number > 0 and unit in _RATES and rate is None and delay is None:
                rate = number * _RATES[unit]
            elif number > 0 and unit in _TIMES and delay is None:
                delay = number * _TIMES[unit] / 2
            else:
                raise InputError(
                    f"the link {text[:60]!r} must be RATE,ROUND-TRIP such as 100mbit,40ms (units {', '.join(_RATES)}; "
                    f"{', '.join(_TIMES)}) or one of {', '.join(PRESETS)}"
                )
        return cls(rate, delay)

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
        return ",".join(parts) or "loopback"


def _in_units(value: float, units: dict[str, float]) -> str:
    """The value in the largest unit of which it is one or more, six digits at most; units come largest first."""
    name, unit = next(((n, u) for n, u in units.items() if value >= u), list(units.items())[-1])
    return f"{float(f'{value / unit:.6g}'):.12g}{name}"


PRESETS = {
    "loopback": LinkShape(),
    "lan": LinkShape(1e9, 0.25e-3),
    "wan": LinkShape(100e6, 20e-3),
}
