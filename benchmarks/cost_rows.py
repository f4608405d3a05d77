"""Rows of docs/cost.md: what oblivious transfer and what is made of it costs, and programs under profiles.

Each row is the words that say what is counted, then AND gates (of programs), bytes that each party sends, messages and
rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from smc.arithmetic import bits_to_shares, product
from smc.circuit import Netlist
from smc.counting import CountingSession, Program, forecast
from smc.counting.roles import CountingTransfers
from smc.engines import Profile
from smc.local import run_local
from smc.meter import Cost
from smc.ot import EllipticReceiver, EllipticSender, OTKind, Transfers
from smc.session import Session

Row = Sequence[str]
Costs = tuple[Cost, Cost]


def cells(costs: Costs, gates: bool = False) -> list[str]:
    own, peer = costs
    numbers = [own.bytes_sent, peer.bytes_sent, own.messages, max(own.rounds, peer.rounds)]
    return [f"{number:,}" for number in ([own.and_gates] if gates else []) + numbers]


# Oblivious transfer and what is made of it: both roles are counted by themselves.


def counted(kind: OTKind, use: Callable[[Transfers], object]) -> Costs:
    """Return both parties' costs of a use of oblivious transfer."""
    sessions = CountingSession(0), CountingSession(1)
    for session in sessions:
        use(CountingTransfers(session, kind))
    return sessions[0].meter.total, sessions[1].meter.total


def correlated(count: int) -> Callable[[Transfers], object]:
    """Return a use: party 0 sends `count` correlated OTs with the receiver's own choices."""

    def use(transfers: Transfers) -> object:
        if transfers.session.party == 0:
            return transfers.sender.correlated(count)
        return transfers.receiver.correlated(np.zeros(count, dtype=np.uint8))

    return use


def random(count: int, choices: int) -> Callable[[Transfers], object]:
    """Return a use: party 0 sends `count` random 1-out-of-`choices` OTs."""

    def use(transfers: Transfers) -> object:
        if transfers.session.party == 0:
            return transfers.sender.random(count, choices)
        return transfers.receiver.random(np.zeros(count, dtype=np.uint8), choices)

    return use


def base(count: int) -> Costs:
    """Return the costs of `count` base OTs, which really run."""

    def both(session: Session) -> Cost:
        if session.party == 0:
            sender = EllipticSender(session, "base")
            sender.setup()
            sender.random(count)
        else:
            EllipticReceiver(session, "base").random(np.zeros(count, dtype=np.uint8))
        return session.meter.total

    return run_local(both)


def base_rows() -> Iterator[Row]:
    for count in (1, 128):
        yield f"{count}", *cells(base(count))


def trapdoor_rows() -> Iterator[Row]:
    for count, choices in ((1, 2), (1, 4), (256, 2), (1000, 2)):
        yield f"{count:,}", f"{choices}", *cells(counted("trapdoor", random(count, choices)))


def correlated_rows(*kinds: OTKind, most: int = 10**6) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        for kind in kinds:
            for count in (1, 1000, 10**6, 10**7):
                if count <= most:
                    yield kind, f"{count:,}", *cells(counted(kind, correlated(count)))

    return rows


def additive_rows() -> Iterator[Row]:
    zeros = np.zeros((64, 1000), dtype=np.uint8)
    words = np.zeros(1000, dtype=np.uint64)
    kinds: tuple[OTKind, ...] = ("extension", "ferret")
    for kind in kinds:
        for count in (1, 1000):
            cost = counted(kind, lambda transfers, n=count: bits_to_shares(transfers, zeros[:1, :n]))  # type: ignore[misc]
            yield f"{count:,} bits to shares", kind, *cells(cost)
        for width in (1, 64):
            cost = counted(kind, lambda transfers, w=width: product(transfers, zeros[:w], words))  # type: ignore[misc]
            yield f"1,000 products, factor of {width} bits", kind, *cells(cost)


def triple_rows() -> Iterator[Row]:
    kinds: tuple[OTKind, ...] = ("iknp", "extension", "ferret")
    for kind in kinds:
        for count in (64, 64_000, 6_400_000):
            cost = counted(kind, lambda transfers, n=count: list(transfers.random_strings([(1, n // 8)])))  # type: ignore[misc]
            yield f"{count:,}", kind, *cells(cost)


# Programs: counted under profiles.


def program_rows(programs: dict[str, Program], profiles: Sequence[Profile]) -> Callable[[], Iterator[Row]]:
    """Return a function that yields the rows of these programs under these profiles."""

    def rows() -> Iterator[Row]:
        for name, program in programs.items():
            for profile in profiles:
                yield name, str(profile), *cells(forecast(program, profile).costs, gates=True)

    return rows


def gates(netlist: Netlist, batch: int) -> Program:
    """Return a program that only computes the AND gates of a circuit, on public inputs."""

    def program(engine: Any) -> object:
        inputs = [engine.constant(np.zeros((width, batch), dtype=np.uint8)) for width in netlist.input_widths]
        return engine.run(netlist, *inputs)

    return program


def zeros(*shape: int) -> Any:
    """Return private inputs; their values do not matter."""
    return np.zeros(shape, dtype=np.uint64)
