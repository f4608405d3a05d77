"""One party's view of a lesson: its steps, and each message that it sends or receives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.channel import Buffer, Channel
from smc.circuit import Builder, Netlist
from smc.errors import InputError
from smc.session import Session

SHOWN_LINES, SHOWN_CHARACTERS = 16, 120  # lines of a list, and characters of a line, that are printed


class View(list[dict[str, Any]]):
    """The steps of a lesson as this party sees them: a sentence each, and values by their names."""

    def step(self, text: str, **values: object) -> None:
        """Add a step.

        Args:
            text: One or two sentences.
            values: The values of the step by their names; a list has a line for each item.
        """
        self.append({"text": text, "values": values})

    def __str__(self) -> str:
        lines = []
        for number, step in enumerate(self, 1):
            lines.append(f"{number}. {step['text']}")
            width = max(map(len, step["values"]), default=0)
            for name, value in step["values"].items():
                items = value if isinstance(value, list) else [value]
                hidden = len(items) - SHOWN_LINES
                shown = [*items[:SHOWN_LINES], *([f"... {hidden} more; --json lists all"] if hidden > 0 else [])]
                heads = [name.replace("_", " "), *[""] * (len(shown) - 1)]
                lines += [f"     {head:{width}}  {_cut(str(item))}" for head, item in zip(heads, shown, strict=True)]
        return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


class WatchedChannel(Channel):
    """A channel that lists its messages: direction, step, size and bytes; `last` has the last of each step."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.messages: list[str] = []
        self.last: dict[str, bytes] = {}

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self._note("sent", step, payload)
        self._channel.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        payload = self._channel.receive(step, size)
        self._note("received", step, payload)
        return payload

    def _note(self, direction: str, step: str, payload: Buffer) -> None:
        octets = self.last[step] = bytes(memoryview(payload))
        self.messages.append(f"{direction:8} {step:22} {len(octets):7,} B  {octets.hex()}")


@contextmanager
def watched(session: Session, view: View) -> Iterator[tuple[Session, WatchedChannel]]:
    """Yield a session of its own for a lesson, and its channel; messages and cost become the view's last step.

    Args:
        session: The session of the run, to which the cost is added.
        view: This party's view.
    """
    own = session.branch("lesson")
    own.channel = channel = WatchedChannel(own.channel)
    yield own, channel
    session.meter.together([own.meter])
    cost = own.meter.total
    total = f"{cost.bytes_sent:,} B sent, {cost.bytes_received:,} B received, {rounds_text(cost.rounds)}"
    text = "These are all messages of this lesson. Some begin with a 16-byte check that both run the same program."
    view.step(text, messages=channel.messages, total=total)


def require_bits(number: object, width: int) -> None:
    """Raise InputError unless an input is a whole number of `width` bits.

    Args:
        number: The input.
        width: Allowed number of bits.
    """
    if not isinstance(number, int) or not 0 <= number < 1 << width:
        allowed = "0 or 1" if width == 1 else f"a whole number from 0 to {(1 << width) - 1}"
        raise InputError(f"the input is {number}: give {allowed}")


def and_gate() -> Netlist:
    """Build the circuit of one AND gate of two inputs."""
    builder = Builder()
    left, right = builder.input(1), builder.input(1)
    builder.output([left[0] & right[0]])
    return builder.build()


def bits_text(bits: NDArray[Any]) -> str:
    """Return bits as text, highest bit first.

    Args:
        bits: 0 and 1, least bit first, of any shape.
    """
    return "".join(map(str, np.asarray(bits).reshape(-1)[::-1]))


def rounds_text(rounds: int) -> str:
    """Return a number of rounds with its noun."""
    return f"{rounds} round{'' if rounds == 1 else 's'}"


def label_text(label: NDArray[np.uint64]) -> str:
    """Return a wire label, uint64[2], in hexadecimal with its colour, the lowest bit."""
    return f"{np.ascontiguousarray(label).tobytes().hex()} colour {int(label[0] & np.uint64(1))}"
