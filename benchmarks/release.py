"""Cost of private release: noise, noisy counts and noisy choices, by two processes.

    python -m benchmarks.release [--only WORDS] [--runs N] [--out FILE.json]            (or: make bench-release)

Two processes of this machine are joined by gRPC with mutual TLS on loopback. The time of a run begins when the engine
is made (with base OTs) and ends when both parties have the result. TLS and handshake come before, and compiled circuits
and kernels are warm. The figure is the median of the runs; cases with 2^16 candidates or more run once. Bytes are those
of both directions. Peak memory is that of the larger process since its start.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from parties.base import files
from parties.bench import machine, pair
from parties.bench.json_rows import json_rows
from protocols.release.choice import choice_law, noisy_choice
from protocols.release.gaussian import discrete_gaussian
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, netlist, sample
from protocols.release.numbers import noisy_sum_netlist, noisy_sums
from smc.engines import Engine, Profile, engine_of
from smc.session import Session

WIDTH = 16  # bits of a count
Row = dict[str, Any]

PROFILES = (
    Profile("yao"),
    Profile("gmw"),
    Profile("gmw", form="size"),
    Profile("gmw", "ferret", form="size"),
)


@dataclass(frozen=True)
class Case:
    """A program to run under a profile; costs are divided by `items`."""

    name: str
    items: int
    profile: Profile
    run: Callable[[Engine], object]

    @property
    def label(self) -> str:
        """Text in which `--only` searches."""
        return f"{self.name}, {self.profile}"


def noise(law: Law, batch: int) -> Callable[[Engine], object]:
    """Return a program that draws secret samples; it opens the last one, so both parties have them at its end."""
    return lambda engine: engine.reveal(sample(engine, law, batch).take(slice(batch - 1, batch)))


def counts(law: Law, batch: int) -> Callable[[Engine], object]:
    """Return a program of noisy counts."""
    return lambda engine: noisy_sums(engine, np.arange(batch) % (1 << WIDTH), WIDTH, law)


def choice(candidates: int) -> Callable[[Engine], object]:
    """Return a program of a noisy maximum at epsilon 1."""
    law = choice_law(Fraction(1), 1, True, candidates)
    return lambda engine: noisy_choice(engine, np.arange(candidates)[:, None] % 1000, WIDTH, law)


def cases() -> Iterator[Case]:
    """Yield all cases, those that should need little memory first."""
    for profile in PROFILES:
        for batch in (1, 1000):
            yield Case(f"noisy count, {batch:,} at once", batch, profile, counts(DiscreteLaplace(Fraction(1)), batch))
    for exponent, profiles in ((12, PROFILES), (16, PROFILES), (19, PROFILES[:3])):  # silent OT: minutes
        for profile in profiles:
            yield Case(f"noisy max over 2^{exponent}", 1 << exponent, profile, choice(1 << exponent))
    for profile in PROFILES:
        for security in (40, 64, 128):
            for scale in (1, 10):
                law = DiscreteLaplace(Fraction(scale), security)
                name = f"4,096 discrete Laplace, scale {scale}, 2^-{security}"
                yield Case(name, 4096, profile, noise(law, 4096))
        yield Case("4,096 discrete Gaussian, sigma 20, 2^-40", 4096, profile, noise(discrete_gaussian(400), 4096))


def measure(session: Session, only: str, runs: int) -> list[Row]:
    """Run this party's side of all cases whose label contains `only`, and return the rows."""
    return [_measured(session, case, runs) for case in cases() if only in case.label]


def _measured(session: Session, case: Case, runs: int) -> Row:
    warms = case.items < 1 << 16
    seconds = []
    for turn in range(runs + 1 if warms else 1):
        here = session.branch(f"{case.label} {turn}")
        pair.meet(session)
        start = time.perf_counter()
        with here.phase("run"):
            case.run(engine_of(here, case.profile))
        pair.meet(session)
        seconds.append(time.perf_counter() - start)
    cost = here.meter.phases["run"]
    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session.send("memory", np.array([mine], dtype=np.int64))
    peer = int(session.receive("memory", np.int64, (1,))[0])
    return {
        "case": case.name,
        "profile": str(case.profile),
        "seconds": round(statistics.median(seconds[warms:]), 4),
        "bytes": cost.bytes_sent + cost.bytes_received,
        "bytes_each": round((cost.bytes_sent + cost.bytes_received) / case.items, 1),
        "and_gates_each": round(cost.and_gates / case.items, 1),
        "rounds": cost.rounds,
        "peak_megabytes": max(mine, peer) // 1024,
    }


def circuits() -> Row:
    """Return the AND gates of a sample by law; they are counted without a run."""
    sizes: Row = {}
    for security in (40, 64, 128):
        for scale, epsilon in ((1, "1"), (10, "0.1")):
            laplace = DiscreteLaplace(Fraction(scale), security)
            sizes[f"discrete Laplace, epsilon {epsilon}, 2^-{security}"] = netlist(laplace).and_count
            sizes[f"noisy count, epsilon {epsilon}, 2^-{security}"] = noisy_sum_netlist(WIDTH, laplace).and_count
        for sigma in (20, 1000):
            gaussian = discrete_gaussian(sigma**2, security)
            sizes[f"discrete Gaussian, sigma {sigma}, 2^-{security}"] = netlist(gaussian).and_count
    return sizes


@click.command(help=__doc__)
@click.option("--only", default="", help="Only cases whose name and profile contain this.")
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="The median is shown.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the figures there, as JSON.")
@click.option("--peer", nargs=2, hidden=True)
def main(only: str, runs: int, out: Path | None, peer: tuple[str, str] | None) -> None:
    if peer is not None:
        with pair.join(Path(peer[0]), peer[1]) as session:
            measure(session, only, runs)
        return
    with pair.beside(["-m", "benchmarks.release", "--only", only, "--runs", str(runs), "--peer"]) as session:
        rows = measure(session, only, runs)
    click.echo(f"{'':44}{'':22}{'seconds':>9}{'B each':>11}{'ANDs':>7}{'rounds':>8}{'MB':>6}")
    for row in rows:
        click.echo(
            f"{row['case']:44}{row['profile']:22}{row['seconds']:9.4f}{row['bytes_each']:11,.1f}"
            f"{row['and_gates_each']:7.0f}{row['rounds']:8}{row['peak_megabytes']:6}"
        )
    if out is not None:
        document = {"machine": machine.facts(), "runs": runs, "and_gates": circuits(), "rows": rows}
        files.write_text(out, json_rows(document) + "\n")


if __name__ == "__main__":
    main()
