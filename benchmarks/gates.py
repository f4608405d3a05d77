"""Speed of garbling and evaluating AND gates: by one thread, and by two processes with a link between them.

    python -m benchmarks.gates [--runs N] [--json]            (or: make benchmarks)

With one thread, tables are written to memory and read from it, so only the work of one party is timed. The circuits are
batches of AES-128 (6,400 AND gates each) and of products of 64-bit integers (4,033 each), for each garbling scheme. In
the pipeline, garbler and evaluator are two processes, joined by gRPC with mutual TLS on loopback. The evaluator works
while the next tables are garbled and sent. A whole run can reach this speed. Figures are medians, after a warm-up run.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from parties.bench import machine, pair
from parties.bench.cases import multiplication
from smc.channel import Buffer, Channel
from smc.circuit import Netlist
from smc.circuit.library import aes128
from smc.recipes import Garbling
from smc.session import Session
from smc.yao.evaluator import Evaluator
from smc.yao.garbler import Garbler
from smc.yao.schemes import SCHEMES as SCHEMES_BY_NAME
from smc.yao.walk import ROWS

BATCHES = (1, 256, 1024)
CIRCUITS: dict[str, Callable[[], Netlist]] = {
    "AES-128": aes128,
    "multiplication 64": partial(multiplication, 64, "size"),
}
SCHEMES: tuple[Garbling, ...] = get_args(Garbling)
Row = dict[str, Any]


class Ring(Channel):
    """A channel that keeps messages in a small ring of memory and plays back its content.

    As with a link, a large garbled circuit is never in memory as a whole. So the evaluator gets other tables of the
    right sizes. It takes just as long with them, because no branch depends on their content.
    """

    def __init__(self) -> None:
        self._slots = np.zeros((4, ROWS * max(scheme.row_bytes for scheme in SCHEMES_BY_NAME.values())), dtype=np.uint8)
        self._place = 0

    def send(self, step: str, payload: Buffer) -> None:
        """Write a message to the next place of the ring."""
        message = np.frombuffer(payload, dtype=np.uint8)
        self._next()[: len(message)] = message

    def receive(self, step: str, size: int) -> Buffer:
        """Return the content of the next place of the ring."""
        return self._next()[:size].data

    def _next(self) -> Any:
        self._place = (self._place + 1) % len(self._slots)
        return self._slots[self._place]


def delta(session: Session) -> Any:
    """Return the garbler's secret."""
    return session.prg.words(2) | np.array([1, 0], dtype=np.uint64)


def one_thread(scheme: Garbling, netlist: Netlist, batch: int, runs: int) -> tuple[float, float]:
    """Return million AND gates per second: garbled, and evaluated."""
    session = Session(0, Ring(), bytes(32))
    garbler, evaluator = Garbler(session, delta(session), scheme), Evaluator(session, scheme)
    inputs = session.prg.words(sum(netlist.input_widths), batch, 2)
    times: list[list[float]] = [[], []]
    for _ in range(runs + 1):
        for which, work in enumerate((garbler.garble, evaluator.evaluate)):
            start = time.perf_counter()
            work(netlist, [inputs], batch)
            times[which].append(time.perf_counter() - start)
    count = netlist.and_count * batch / 1e6
    garbled, evaluated = (count / statistics.median(seconds[1:]) for seconds in times)
    return garbled, evaluated


def cases() -> Iterator[tuple[str, Netlist, Garbling, int]]:
    """Yield name of the circuit, netlist, scheme and batch of everything that is measured."""
    for name, make in CIRCUITS.items():
        for scheme in SCHEMES:
            for batch in BATCHES:
                yield name, make(), scheme, batch


def pipeline(session: Session, runs: int) -> list[float]:
    """Run a party's side of every case; return million AND gates per second, until the evaluator has its labels."""
    rates = []
    for name, netlist, scheme, batch in cases():
        here = session.branch(f"{name} {scheme} {batch}")
        garbling = session.party == 0
        work = Garbler(here, delta(here), scheme).garble if garbling else Evaluator(here, scheme).evaluate
        inputs = here.prg.words(sum(netlist.input_widths), batch, 2)
        seconds = []
        for _ in range(runs + 1):
            _meet(session)
            start = time.perf_counter()
            work(netlist, [inputs], batch)
            _meet(session)
            seconds.append(time.perf_counter() - start)
        rates.append(netlist.and_count * batch / 1e6 / statistics.median(seconds[1:]))
    return rates


def _meet(session: Session) -> None:
    """Wait until both parties are here."""
    session.send("meet", np.empty(0, dtype=np.uint8))
    session.receive("meet", np.uint8, (0,))


def two_processes(runs: int) -> list[float]:
    """Run the pipeline with a second process of this program, and return the rates."""
    with tempfile.TemporaryDirectory(prefix="smc-bench-") as name:
        arguments = ["-m", "benchmarks.gates", "--runs", str(runs), "--peer"]
        with pair.lead(Path(name), arguments) as session:
            return pipeline(session, runs)


def measure(runs: int) -> list[Row]:
    """Return a row for every case; rates are million AND gates per second."""
    rows = []
    for (name, netlist, scheme, batch), rate in zip(cases(), two_processes(runs), strict=True):
        garbled, evaluated = one_thread(scheme, netlist, batch, runs)
        row = {"circuit": name, "scheme": scheme, "batch": batch, "and_gates": netlist.and_count * batch}
        rates = {"garbled": garbled, "evaluated": evaluated, "pipeline": rate}
        rows.append(row | {name: round(value, 2) for name, value in rates.items()})
    return rows


@click.command(help=__doc__)
@click.option("--runs", type=click.IntRange(1), default=7, show_default=True, help="The median is shown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--peer", nargs=2, hidden=True)
def main(runs: int, as_json: bool, peer: tuple[str, str] | None) -> None:
    if peer is not None:
        with pair.join(Path(peer[0]), peer[1]) as session:
            pipeline(session, runs)
        return
    rows = measure(runs)
    if as_json:
        document = {"machine": machine.facts(), "runs": runs, "million_and_gates_per_second": rows}
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(f"{'million AND gates a second':34}{'batch':>6}{'garbled':>10}{'evaluated':>11}{'pipeline':>10}")
    for row in rows:
        rates = f"{row['garbled']:10.1f}{row['evaluated']:11.1f}{row['pipeline']:10.1f}"
        click.echo(f"{row['circuit']:20}{row['scheme']:14}{row['batch']:6,}{rates}")


if __name__ == "__main__":
    main()
