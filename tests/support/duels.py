"""An honest party and one that leaves the protocol, in two threads: how each ends, and what the honest one sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from smc.channel import Buffer, Channel
from smc.errors import SmcError
from smc.local import run_local
from smc.session import Session

Program = Callable[[Session], Any]
Wrap = Callable[[int, Channel], Channel]
SECRET = ("yao.tables", "gmw.open", "reveal", "additive", "bits", "correlation", "flips")  # labels' ends


@dataclass
class End:
    """How a party ended, and its messages in order: '>' and the label of one sent, '<' and that of one received."""

    result: Any = None
    error: SmcError | None = None
    events: list[str] = field(default_factory=list)

    def sent_after(self, label: str, number: int) -> list[str]:
        """Return labels sent after message `number`, from 0, of this label came in; all, if it never came."""
        places = [place for place, event in enumerate(self.events) if event == f"<{label}"]
        start = places[number] if number < len(places) else -1
        return [event[1:] for event in self.events[start + 1 :] if event[0] == ">"]

    def gave_away(self, label: str, number: int) -> list[str]:
        """Return those of these labels whose messages follow from the party's secrets."""
        return [sent for sent in self.sent_after(label, number) if sent.endswith(SECRET)]


class _Log(Channel):
    """A channel that notes the labels that pass."""

    def __init__(self, inner: Channel, events: list[str]) -> None:
        self._inner = inner
        self._events = events

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self._events.append(f">{step}")
        self._inner.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        try:
            return self._inner.receive(step, size)
        finally:  # also what was refused came in
            self._events.append(f"<{step}")


def duel(programs: tuple[Program, Program], seed: bytes | None = None, wrap: Wrap | None = None) -> tuple[End, End]:
    """Run the programs of party 0 and party 1 and return how each ended; an error of one leaves the other to end."""
    ends = End(), End()

    def logged(party: int, channel: Channel) -> Channel:
        outer = wrap(party, channel) if wrap is not None else channel
        return _Log(outer, ends[party].events)

    def program(session: Session) -> None:
        end = ends[session.party]
        try:
            end.result = programs[session.party](session)
        except SmcError as error:
            end.error = error

    run_local(program, seed=seed, wrap=logged)
    return ends
