"""`smc id3` and MPyC's secure ID3 side by side, on the same data, in the same minutes.

    python -m benchmarks.peers.id3 --out benchmarks/results/peers.json       (or: make bench-peers)

Two parties of ours hold half of the rows each and trust nobody else; MPyC's three compute on shares, and two of them
together could read all. Both stop at 5 % of the rows; ours splits by entropy, MPyC by Gini impurity. The programs take
turns, so that a busy moment of the machine meets both. Seconds are those of whole processes, from the start of the
first to the end of the last. MPyC is timed in both of its modes, branches in series and in parallel; the table
compares with the faster one.
"""

from __future__ import annotations

import signal
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from benchmarks.peers import programs, samples
from benchmarks.peers.processes import RunError
from benchmarks.peers.programs import Program, Run
from benchmarks.peers.samples import Sample
from parties.base import console
from parties.base.files import write_text
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs.tree.settings import Id3Settings
from smc.errors import SmcError

OURS = "smc"
PEERS = {"mpyc series": False, "mpyc parallel": True}
KINDS = ("seconds", "bytes")
DATA = programs.ROOT.parent / "shared" / "data"
DEADLINE = 300.0  # seconds for one run

Results = dict[str, Any]


def take_turns(turns: Mapping[str, Program], repeats: int) -> dict[str, list[Run]]:
    """Run every program `repeats` times, one after the other in each repetition, and return the runs."""
    runs: dict[str, list[Run]] = {name: [] for name in turns}
    for _ in range(repeats):
        for name, program in turns.items():
            runs[name].append(program())
    return runs


def spread(values: Sequence[float]) -> Results:
    """Return median, least and greatest value."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summary(sample: Sample, runs: Mapping[str, Sequence[Run]]) -> Results:
    """Return one data set's result as JSON. A ratio divides the median of the peer's faster mode by ours."""
    measured: Results = {
        name: {
            "seconds": spread([round(run.seconds, 4) for run in own]),
            "bytes": spread([run.bytes for run in own]),
            "nodes": samples.size(own[-1].tree),
            "accuracy": round(samples.accuracy(own[-1].tree, sample), 4),
        }
        for name, own in runs.items()
    }
    best = min(PEERS, key=lambda name: measured[name]["seconds"]["median"])
    ratios = {what: round(measured[best][what]["median"] / measured[OURS][what]["median"], 3) for what in KINDS}
    return {
        "data": sample.name,
        **sample.shape,
        "min_rows": sample.min_rows,
        "programs": measured,
        "faster_peer": best,
        "peer_over_smc": ratios,
    }


def measure(chosen: Sequence[Sample], python: Path, engine: str | None, repeats: int) -> list[Results]:
    """Measure every data set. The first one runs once before, untimed, to fill the caches of both programs."""
    results: list[Results] = []
    with console.progress("preparing") as progress:
        for sample in chosen:
            with tempfile.TemporaryDirectory(prefix="smc-peers-") as name:
                turns = {OURS: programs.prepare_smc(sample, _place(name, OURS), engine, DEADLINE)}
                for peer, parallel in PEERS.items():
                    turns[peer] = programs.prepare_mpyc(sample, _place(name, peer), python, parallel, DEADLINE)
                if not results:
                    progress.doing("warming up")
                    take_turns(turns, 1)
                progress.doing(f"{sample.name}: {', '.join(turns)} in turn, {repeats} times")
                results.append(summary(sample, take_turns(turns, repeats)))
    return results


def _place(directory: str, name: str) -> Path:
    """Make a new directory for one program, and return it."""
    place = Path(directory) / name
    place.mkdir()
    return place


def table(results: Sequence[Results]) -> Table:
    """Return the results as a table for people: medians, with least and greatest value in brackets."""
    shown = Table(box=None, padding=(0, 1))
    shown.add_column("data set", no_wrap=True)
    for name in ("rows", "smc s", "MPyC s", "ratio", "smc bytes", "MPyC bytes", "ratio", "nodes", "accuracy"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in results:
        ours, peer = row["programs"][OURS], row["programs"][row["faster_peer"]]
        shown.add_row(
            row["data"],
            f"{row['rows']:,}",
            *(_seconds(one["seconds"]) for one in (ours, peer)),
            f"{row['peer_over_smc']['seconds']:.2f}",
            *(console.size(one["bytes"]["median"]) for one in (ours, peer)),
            f"{row['peer_over_smc']['bytes']:.2f}",
            f"{ours['nodes']} / {peer['nodes']}",
            f"{ours['accuracy']:.1%} / {peer['accuracy']:.1%}",
        )
    return shown


def _seconds(values: Mapping[str, float]) -> str:
    return f"{values['median']:.2f} ({values['min']:.2f}..{values['max']:.2f})"


@click.command()
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Directory of the CSVs.")
@click.option("--only", default="", metavar="TEXT", help="Only data sets with TEXT in their name.")
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--engine", help="Engine of `smc id3`  [its default]")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JSON.")
def main(data: Path, only: str, repeats: int, engine: str | None, out: Path | None) -> None:
    """Measure `smc id3` beside MPyC's secure ID3, on this machine."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # in order, so that no process is left behind
    try:
        chosen = [sample for sample in samples.samples(data) if only in sample.name]
        if not chosen:
            raise RunError(f"--only: no data set has {only!r} in its name; there are: {', '.join(samples.KNOWN)}")
        python = programs.install(programs.ROOT / ".bench" / "mpyc", programs.MPYC)
        results = measure(chosen, python, engine, repeats)
        console.show(table(results))
        console.out.print(
            "ratio: MPyC over smc, so above 1 smc is better; nodes and accuracy on the same rows: smc / MPyC"
        )
        if out is not None:
            facts = machine.facts() | {"peer_packages": programs.installed(python)}
            settings = {"repeats": repeats, "engine": engine or "default", "delta": Id3Settings().tolerance}
            out.parent.mkdir(parents=True, exist_ok=True)
            write_text(out, json_rows({"machine": facts, "settings": settings, "results": results}) + "\n")
    except (RunError, SmcError, OSError) as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
