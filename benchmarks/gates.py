"""How fast one thread works: AND gates a second garbled and evaluated, OTs extended, hashes made.

    python benchmarks/gates.py            (or: make benchmarks)

The reference job is a batch of 1024 multiplications of 32-bit integers (993 AND gates each). Tables go to memory, not
to a peer, so that only the work of one party is timed; the median of several runs is given.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from smc.channel import Buffer, Channel
from smc.circuit import Builder, Netlist, multiply
from smc.circuit.library import aes128, sha256_compression
from smc.local import run_local
from smc.ot import ExtensionReceiver, ExtensionSender
from smc.session import Session
from smc.yao.evaluator import Evaluator
from smc.yao.garbler import Garbler

RUNS = 7
OTS = 1 << 20


class Tape(Channel):
    """Keeps what is sent and plays it back."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()

    def send(self, step: str, payload: Buffer) -> None:
        """Keep a message."""
        self._messages.append(bytes(payload))

    def receive(self, step: str, size: int) -> Buffer:
        """Play back the next one."""
        return self._messages.popleft()


def multiplication(width: int) -> Netlist:
    """The product of two integers, cut to their width."""
    builder = Builder()
    x, y = builder.input(width), builder.input(width)
    builder.output(multiply(x, y, width))
    return builder.build()


def gates(netlist: Netlist, batch: int) -> tuple[float, float]:
    """Million AND gates a second: garbled, evaluated."""
    tape = Tape()
    session = Session(0, tape, bytes(32))
    delta = session.prg.words(2) | np.array([1, 0], dtype=np.uint64)
    garbler, evaluator = Garbler(session, delta), Evaluator(session)
    inputs = session.prg.words(sum(netlist.input_widths), batch, 2)
    times: list[list[float]] = [[], []]
    for _ in range(RUNS + 1):  # the first run warms up
        for which, work in enumerate((garbler.garble, evaluator.evaluate)):
            start = time.perf_counter()
            work(netlist, inputs)
            times[which].append(time.perf_counter() - start)
    count = netlist.and_count * batch / 1e6
    garbled, evaluated = (count / statistics.median(runs[1:]) for runs in times)
    return garbled, evaluated


def transfers() -> float:
    """Million random OTs a second by extension, sender and receiver in two threads of one process."""

    def program(session: Session) -> float:
        role = (ExtensionSender, ExtensionReceiver)[session.party](session, "ot")
        role.setup()
        argument: Any = OTS if session.party == 0 else session.prg.bits(OTS)
        random: Callable[[Any], Any] = role.random
        runs = []
        for _ in range(RUNS):
            start = time.perf_counter()
            random(argument)
            runs.append(time.perf_counter() - start)
        return statistics.median(runs)

    return OTS / 1e6 / max(run_local(program))


def main() -> None:
    """Print a table, or JSON with --json."""
    jobs = [
        ("1024 multiplications, 32 bits", multiplication(32), 1024),
        ("1 multiplication, 64 bits", multiplication(64), 1),
        ("128 AES-128 blocks", aes128(), 128),
        ("16 SHA-256 compressions", sha256_compression(), 16),
    ]
    rows = [(name, *gates(netlist, batch)) for name, netlist, batch in jobs]
    rate = transfers()
    if "--json" in sys.argv[1:]:
        table = [{"job": name, "garbled": garbled, "evaluated": evaluated} for name, garbled, evaluated in rows]
        print(json.dumps({"million_and_gates_per_second": table, "million_ots_per_second": rate}, indent=2))
        return
    print(f"{'million AND gates a second':32}{'garbled':>10}{'evaluated':>12}")
    for name, garbled, evaluated in rows:
        print(f"{name:32}{garbled:10.1f}{evaluated:12.1f}")
    print(f"\nmillion OTs a second by extension, both parties on this machine: {rate:.1f}")


if __name__ == "__main__":
    main()
