"""Cost of AND gates of GMW: bytes, microseconds, and gates per second, for triples made ahead and for their use.

    python -m benchmarks.gmw --ot extension --link grpc

Two parties of this machine compute a chain of single AND gates (what a layer costs), a batch of products of 32-bit
integers (993 gates each), and a batch of comparisons of 32-bit integers. "memory" joins two threads of one process,
which share one interpreter; "grpc" two processes, by mutual TLS on loopback. Bytes are those of both directions.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_args

import click
import numpy as np

from parties.bench import pair
from protocols.millionaires import strict
from smc.circuit import Builder, Form, Netlist, multiply
from smc.engines import Engine, make_engine
from smc.local import run_local
from smc.ot import OTKind
from smc.session import Session

LAYERS = 256
WIDTH = 32


@dataclass(frozen=True)
class Options:
    """Settings of the measurement."""

    ot: OTKind
    form: Form
    batch: int
    comparisons: int
    runs: int


@lru_cache
def chain() -> Netlist:
    """Return a circuit with one AND gate in each layer."""
    builder = Builder()
    x = builder.input(LAYERS + 1)
    wire = x[0]
    for i in range(LAYERS):
        wire = (wire & x[i + 1]) ^ x[i]
    builder.output(wire)
    return builder.build()


@lru_cache
def product(form: Form) -> Netlist:
    """Return a circuit for the product of two integers, cut to their width."""
    builder = Builder(form)
    builder.output(multiply(builder.input(WIDTH), builder.input(WIDTH), WIDTH))
    return builder.build()


def run_chain(engine: Engine, options: Options) -> None:
    """Run the chain once."""
    engine.run(chain(), engine.constant(np.ones((LAYERS + 1, 1), dtype=np.uint8)))


def run_products(engine: Engine, options: Options) -> None:
    """Run a batch of products; the inputs do not matter."""
    left = engine.constant(np.ones((WIDTH, options.batch), dtype=np.uint8))
    engine.run(product(options.form), left, left)


def run_comparisons(engine: Engine, options: Options) -> None:
    """Run a batch of comparisons, and check the results. Both parties know all inputs."""
    values = np.random.default_rng(1).integers(0, 1 << WIDTH, (2, options.comparisons), dtype=np.uint64)
    if not np.array_equal(strict(engine, values[engine.party], WIDTH), values[0] > values[1]):
        raise RuntimeError("a comparison gave a wrong result")


JOBS: dict[str, Callable[[Engine, Options], None]] = {
    "chain of single gates": run_chain,
    "products": run_products,
    "comparisons": run_comparisons,
}


@dataclass(frozen=True)
class Figures:
    """Figures of one run, with its base oblivious transfers; bytes are those of both directions."""

    seconds: float
    offline_seconds: float
    offline_bytes: int
    online_bytes: int
    gates: int
    layers: int

    def line(self, name: str) -> str:
        """Return a row of the table."""
        online = self.seconds - self.offline_seconds
        return (
            f"{name:24}{self.gates / 1e6:10.3f}{self.seconds:10.3f}{online:10.3f}"
            f"{self.gates / self.seconds / 1e6:10.2f}{self.gates / online / 1e6:10.2f}"
            f"{self.offline_bytes / self.gates:10.3f}{self.online_bytes / self.gates:10.3f}"
            f"{online / self.layers * 1e6:12.0f}"
        )


HEADER = (
    f"{'':24}{'million':>10}{'seconds':>10}{'seconds':>10}{'M gates/s':>10}{'M gates/s':>10}{'bytes':>10}{'bytes':>10}"
    f"{'us a layer':>12}\n{'':24}{'gates':>10}{'':>10}{'online':>10}{'':>10}{'online':>10}{'offline':>10}{'online':>10}"
    f"{'online':>12}"
)


def measure(session: Session, options: Options) -> list[str]:
    """Run this party's side of all jobs, and return the rows of the table."""
    run_chain(make_engine(session.branch("warm"), "gmw", options.ot), options)  # compiles kernels if necessary
    rows = []
    for name, job in JOBS.items():
        runs = [_run(session.branch(f"{name} {turn}"), job, options) for turn in range(options.runs)]
        rows.append(sorted(runs, key=lambda figures: figures.seconds)[options.runs // 2].line(name))
    return rows


def _run(session: Session, job: Callable[[Engine, Options], None], options: Options) -> Figures:
    with session.phase("job") as whole:
        job(make_engine(session, "gmw", options.ot, form=options.form), options)
    offline = session.meter.phases["job/triples"]
    offline_bytes = offline.bytes_sent + offline.bytes_received
    online_bytes = whole.bytes_sent + whole.bytes_received - offline_bytes
    layers = whole.rounds - offline.rounds
    return Figures(whole.seconds, offline.seconds, offline_bytes, online_bytes, whole.and_gates, layers)


def over_grpc(options: Options, arguments: list[str]) -> list[str]:
    """Measure with a second process of this program, started with the same arguments; return the rows."""
    command = ["-m", "benchmarks.gmw", *arguments, "--peer"]
    with pair.beside(command) as session:
        return measure(session, options)


@click.command(help=__doc__)
@click.option("--ot", type=click.Choice(get_args(OTKind)), default="extension", show_default=True)
@click.option("--form", type=click.Choice(get_args(Form)), default="size", show_default=True)
@click.option("--link", type=click.Choice(["memory", "grpc"]), default="grpc", show_default=True)
@click.option("--batch", default=4096, show_default=True, help="Products.")
@click.option("--comparisons", default=1_000_000, show_default=True, help="Comparisons.")
@click.option("--runs", default=3, show_default=True, help="The median run is shown.")
@click.option("--peer", nargs=2, hidden=True)
def main(
    ot: OTKind, form: Form, link: str, batch: int, comparisons: int, runs: int, peer: tuple[str, str] | None
) -> None:
    options = Options(ot, form, batch, comparisons, runs)
    if peer is not None:
        with pair.join(Path(peer[0]), peer[1]) as session:
            measure(session, options)
        return
    if link == "memory":
        rows = run_local(lambda session: measure(session, options), timeout=600)[0]
    else:
        rows = over_grpc(options, sys.argv[1:])
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(f"GMW, {ot} OT, circuits of least {form}, link {link}\n\n{HEADER}")
    click.echo("\n".join(rows))
    click.echo(f"\nlargest memory of this process: {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
