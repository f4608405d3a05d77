"""Meter of bytes, messages, rounds, seconds, AND gates and opened bits, as a tree of named phases.

A phase's cost includes its sub-phases. `rounds` counts the blocks of consecutive receives: a round begins whenever a
party starts to wait after a send (or at the start), and takes at least the one-way latency of the link. The two
parties' counts may differ by a few rounds where one party sends ahead of the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass


@dataclass
class Cost:
    """Cost of a phase for this party. Bytes are payload; `messages` counts sent and received ones."""

    bytes_sent: int = 0
    bytes_received: int = 0
    messages: int = 0
    rounds: int = 0
    seconds: float = 0.0
    and_gates: int = 0
    bits_opened: int = 0

    def add(self, parallel: Sequence[Cost]) -> None:
        """Add costs of parallel work: the maximum of rounds and seconds, the sums of the others."""
        for name in ("bytes_sent", "bytes_received", "messages", "and_gates", "bits_opened"):
            setattr(self, name, getattr(self, name) + sum(getattr(cost, name) for cost in parallel))
        self.rounds += max(cost.rounds for cost in parallel)
        self.seconds += max(cost.seconds for cost in parallel)

    def as_dict(self) -> dict[str, int | float]:
        """Return the cost as a plain JSON object, seconds rounded to the microsecond."""
        fields = asdict(self)
        fields["seconds"] = round(self.seconds, 6)
        return fields


class Meter:
    """Sum of costs under the current path of phases, e.g. `id3/level 2/x ln x`."""

    def __init__(self) -> None:
        self.total = Cost()
        self.phases: dict[str, Cost] = {}
        self._path: list[str] = []
        self._open: list[Cost] = [self.total]
        self._waiting = False
        self._start = time.perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[Cost]:
        """Count everything inside the `with` block under `name`, nested in the enclosing phase."""
        self._path.append(name)
        cost = self.phases.setdefault("/".join(self._path), Cost())
        self._open.append(cost)
        start = time.perf_counter()
        try:
            yield cost
        finally:
            cost.seconds += time.perf_counter() - start
            self._open.pop()
            self._path.pop()

    def sent(self, size: int) -> None:
        """Count one outgoing message of `size` bytes."""
        self._waiting = False
        for cost in self._open:
            cost.bytes_sent += size
            cost.messages += 1

    def received(self, size: int) -> None:
        """Count one incoming message of `size` bytes, and a round unless the message before was incoming too."""
        rounds = 0 if self._waiting else 1
        self._waiting = True
        for cost in self._open:
            cost.bytes_received += size
            cost.messages += 1
            cost.rounds += rounds

    def gates(self, count: int) -> None:
        """Count `count` AND gates (gates times instances)."""
        for cost in self._open:
            cost.and_gates += count

    def opened(self, bits: int) -> None:
        """Count secret bits opened to both parties."""
        for cost in self._open:
            cost.bits_opened += bits

    def together(self, parts: Sequence[Meter]) -> None:
        """Add the costs of other meters, whose work ran in parallel, under the current path.

        The rounds and seconds are the maximum, all other figures the sum. Enclosing phases keep their own seconds.
        """
        paths = dict.fromkeys(path for part in parts for path in part.phases)
        for path in paths:
            cost = self.phases.setdefault("/".join([*self._path, path]), Cost())
            cost.add([part.phases[path] for part in parts if path in part.phases])
        for cost in self._open:
            seconds = cost.seconds  # the block is timed as a whole, so its seconds stay
            cost.add([part.total for part in parts])
            cost.seconds = seconds

    def report(self) -> dict[str, object]:
        """Return the cost report: the total and every phase by its path, ready for JSON."""
        self.total.seconds = time.perf_counter() - self._start
        phases = {path: cost.as_dict() for path, cost in self.phases.items()}
        return {"total": self.total.as_dict(), "phases": phases}
