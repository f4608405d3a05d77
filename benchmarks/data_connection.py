"""What a data connection saves: the same works by two processes, over gRPC alone and over the data connection.

    python -m benchmarks.data_connection [--runs N] [--only TEXT] [--json]

Both processes are on this machine, by mutual TLS (docs/two-machines.md, Firewall). The ways take turns. Seconds and
the processor seconds of both processes are medians of the runs; each work runs once before, uncounted.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.gates import delta
from parties.bench import machine, pair
from parties.bench.cases import multiplication
from parties.bench.json_rows import json_rows
from protocols.millionaires import strict
from smc.circuit.library import aes128
from smc.engines import make_engine
from smc.ot import OTKind, Transfers
from smc.session import Session
from smc.yao.evaluator import Evaluator
from smc.yao.garbler import Garbler

MIB, TRIPS, BLOCKS = 1 << 20, 500, 200
KINDS: tuple[OTKind, ...] = ("iknp", "softspoken2", "softspoken4", "softspoken8")
WAYS: dict[str, dict[str, Any]] = {"gRPC": {}, "data connection": {"data_ports": (0,)}}
Work = Callable[[Session], Callable[[], Any]]  # prepares, and returns what is timed


def compare(session: Session) -> Callable[[], Any]:
    """Compare 10^6 pairs of 32 bits with garbled circuits."""
    values = np.random.default_rng(1).integers(0, 1 << 32, (2, 10**6), dtype=np.uint64)
    return lambda: strict(make_engine(session.branch("yao"), "yao", "extension"), values[session.party], 32)


def multiply(session: Session) -> Callable[[], Any]:
    """Garble and evaluate 2^13 products of 64 bits: 33 million AND gates."""
    netlist, batch = multiplication(64, "size"), 1 << 13
    inputs = session.prg.words(sum(netlist.input_widths), batch, 2)
    if session.party == 0:
        return lambda: Garbler(session, delta(session), "half").garble(netlist, [inputs], batch)
    return lambda: Evaluator(session, "half").evaluate(netlist, [inputs], batch)


def encrypt(session: Session) -> Callable[[], Any]:
    """Garble and evaluate AES-128 of one block, 200 times."""
    netlist, inputs = aes128(), session.prg.words(256, 1, 2)
    work: Any = Evaluator(session, "half").evaluate
    if session.party == 0:
        work = Garbler(session, delta(session), "half").garble

    def run() -> None:
        for _ in range(BLOCKS):
            work(netlist, [inputs], 1)
            pair.meet(session)

    return run


def transfer(kind: OTKind, session: Session) -> Callable[[], Any]:
    """Make 2^22 correlated OTs."""
    transfers, count = Transfers(session, kind), 1 << 22
    transfers.setup()
    choice = session.prg.bits(count)
    if session.party == 0:
        return lambda: transfers.sender.correlated(count)
    return lambda: transfers.receiver.correlated(choice)


def one_way(size: int, session: Session) -> Callable[[], Any]:
    """Send 512 MiB from party 0 to party 1, in messages of `size` MiB."""
    block = np.zeros(size * MIB, dtype=np.uint8)

    def run() -> None:
        for _ in range(512 // size):
            if session.party == 0:
                session.send("block", block)
            else:
                session.receive("block", np.uint8, block.shape)

    return run


def there_and_back(session: Session) -> Callable[[], Any]:
    """Send 16 bytes there and back, 500 times."""
    short = np.zeros(16, dtype=np.uint8)

    def run() -> None:
        for _ in range(TRIPS):
            if session.party == 0:
                session.send("there", short)
            session.receive("there", np.uint8, short.shape)
            if session.party == 1:
                session.send("there", short)

    return run


WORKS: dict[str, Work] = {
    "512 MiB in messages of 1 MiB": partial(one_way, 1),
    "512 MiB in messages of 16 MiB": partial(one_way, 16),
    f"{TRIPS} round trips": there_and_back,
    "10^6 comparisons of 32 bits, garbled": compare,
    "2^13 products of 64 bits, garbled": multiply,
    f"{BLOCKS} times AES-128 of one block, garbled": encrypt,
    **{f"2^22 correlated OTs, {kind}": partial(transfer, kind) for kind in KINDS},
}


def play(session: Session, only: str) -> dict[str, tuple[float, float]]:
    """Run one party's side of all works twice; return the second run's seconds, and processor seconds of both."""
    figures = {}
    for name, work in WORKS.items():
        if only in name:
            for run in range(2):
                timed = work(session.branch(f"{name} {run}"))
                pair.meet(session)
                start, busy = time.perf_counter(), time.process_time()
                timed()
                busy = time.process_time() - busy
                if session.party == 0:
                    busy += float(session.receive("end", np.float64, (1,))[0])
                else:
                    session.send("end", np.array([busy]))
                figures[name] = time.perf_counter() - start, busy
    return figures


@click.command(help=__doc__)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="The median is shown.")
@click.option("--only", default="", metavar="TEXT", help="Only works with TEXT in their names.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--peer", nargs=2, hidden=True)
def main(runs: int, only: str, as_json: bool, peer: tuple[str, str] | None) -> None:
    if peer is not None:
        with pair.join(Path(peer[0]), peer[1]) as session:
            play(session, only)
        return
    figures: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(runs):
        for way, options in WAYS.items():
            with pair.beside(["-m", "benchmarks.data_connection", "--only", only, "--peer"], **options) as session:
                for name, figure in play(session, only).items():
                    figures[name][way].append(figure)
    rows: dict[str, dict[str, list[float]]] = {
        name: {
            way: [round(statistics.median(part), 4) for part in zip(*times, strict=True)] for way, times in ways.items()
        }
        for name, ways in figures.items()
    }
    if as_json:
        click.echo(json_rows({"machine": machine.facts(), "runs": runs, "seconds_and_processor": rows}))
        return
    click.echo(f"{'seconds (processor of both)':40}" + "".join(f"{way:>24}" for way in WAYS))
    for name, ways in rows.items():
        click.echo(f"{name:40}" + "".join(f"{seconds:14.3f} ({busy:6.3f}) " for seconds, busy in ways.values()))


if __name__ == "__main__":
    main()
