"""Answers with noise added at the source: seconds for a million of them, and errors beside two other libraries.

    [SMC_LDP=interpreter] python -m benchmarks.local [--out FILE]                  (or: make bench-local)

SMC_LDP names a Python that has pure-ldp 1.2 and multi-freq-ldpy 0.2.5, with xxhash older than 3.5. Errors are mean
squared errors of the shares of 32 categories (Zipf) among 20,000 people, over the seeds. multi-freq-ldpy sets negative
shares to 0 and the sum to 1, so we do the same with ours in this comparison. pure-ldp's RAPPOR (permanent bits only)
decodes all 32 candidates by a non-negative regression. Ours reports only candidates that a test confirms, and the
others count as 0. The closed form is that of a share of 0; for larger shares it is a little too small.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.peers.programs import answered
from parties.alone.local.answers import AT_ONCE
from parties.alone.local.categories import DirectResponse
from parties.alone.local.coins import Coins
from parties.alone.local.hadamard import HadamardResponse
from parties.alone.local.mechanism import Mechanism
from parties.alone.local.numbers import BitHistogram, OneBitMean
from parties.alone.local.rappor import Rappor
from parties.alone.local.sketch import CountMeanSketch
from parties.alone.local.subset import SubsetSelection
from parties.alone.local.unary import UnaryEncoding
from parties.base import files, pictures
from parties.bench import machine
from parties.bench.json_rows import json_rows
from smc.primitives.prg import Prg

PEOPLE, SIZE, EPSILONS = 20_000, 32, (0.5, 1.0, 3.0)
EPSILON = 1.0  # of the timed answers
OURS = 5  # factor: our ways run with this many times the seeds
CANDIDATES = tuple(f"text {i}" for i in range(1000))
PAPER = Rappor(bits=128, hashes=2, cohorts=8, f=0.5, p=0.5, q=0.75)
Row = dict[str, Any]


def million(rows: int) -> list[Row]:
    """Return the seconds of each way to answer and to decode."""
    random = np.random.default_rng(1)
    names = tuple(f"text {i}" for i in range(100))
    shares = 1 / np.arange(1, 101)
    codes = random.choice(100, rows, p=shares / shares.sum())
    inputs = {"categories": codes, "numbers": random.normal(50, 15, rows), "texts": [names[code] for code in codes]}
    made: dict[str, Mechanism] = {
        "direct, 100 categories": DirectResponse(names, EPSILON),
        "optimised unary, 100 categories": UnaryEncoding(names, EPSILON),
        "hadamard, 100 categories": HadamardResponse(names, EPSILON),
        "rappor, 128 bits": PAPER,
        "sketch, 256 rows of 256 bits": CountMeanSketch(256, 256, EPSILON),
        "mean, one bit": OneBitMean(0.0, 100.0, EPSILON),
        "histogram, 4 of 32 buckets": BitHistogram(0.0, 100.0, 32, 4, EPSILON),
    }
    found = []
    for name, mechanism in made.items():
        values: Any = inputs[mechanism.about]
        parts, start = [], time.perf_counter()
        for first in range(0, rows, AT_ONCE):
            part = values[first : first + AT_ONCE]
            people = np.arange(first, first + len(part), dtype=np.uint64)
            parts.append(mechanism.report(part, Coins(people, "benchmark", bytes(32))))
        answered = time.perf_counter()
        tally = mechanism.tally(np.concatenate(parts))
        mechanism.estimate(tally, CANDIDATES if mechanism.about == "texts" else ())
        decoded = time.perf_counter()
        row = {"what": name, "rows": rows, "bytes": mechanism.width}
        found.append(row | {"answer": round(answered - start, 3), "decode": round(decoded - answered, 3)})
        click.echo(json.dumps(found[-1]))
    return found


def ways(epsilon: float) -> dict[str, Mechanism]:
    """Return our ways by name; RAPPOR has permanent bits only, and two hashes."""
    names = tuple(f"v{i}" for i in range(SIZE))
    f = round(2 / (1 + math.exp(epsilon / 4)), 6)  # 4 ln((1 - f/2) / (f/2)) = epsilon
    return {
        "direct": DirectResponse(names, epsilon),
        "optimised unary": UnaryEncoding(names, epsilon),
        "symmetric unary": UnaryEncoding(names, epsilon, optimised=False),
        "subset": SubsetSelection(names, epsilon),
        "hadamard": HadamardResponse(names, epsilon),
        "rappor": Rappor(bits=32, hashes=2, cohorts=8, f=f, p=0.0, q=1.0),
    }


def errors(seeds: int, epsilon: float, kept: Sequence[Row]) -> list[Row]:
    """Return our mean squared errors, those of other libraries, and the least of any way: that of subset selection.

    Without an interpreter with these libraries, their kept errors are used.
    """
    random = np.random.default_rng(2)
    shares = 1 / np.arange(1, SIZE + 1)
    codes = random.choice(SIZE, PEOPLE, p=shares / shares.sum())
    truth = np.bincount(codes, minlength=SIZE) / PEOPLE
    names, ours, found = tuple(f"v{i}" for i in range(SIZE)), ways(epsilon), list[Row]()
    others = _others(codes.tolist(), seeds, epsilon, ours["rappor"])
    beside = [row for row in kept if row["epsilon"] == epsilon]
    for other, theirs in others.items():
        each = np.mean((np.array(theirs) - truth) ** 2, axis=1)
        what, library = other.split(", ")
        about = {"what": what, "beside": library, "seeds": seeds, "theirs": float(each.mean())}
        beside.append({**about, "spread": float(each.std(ddof=1))})
    for name, mechanism in ours.items():
        values: Any = [names[code] for code in codes] if mechanism.about == "texts" else codes
        estimates = []
        for _ in range(OURS * seeds):
            coins = Coins(np.arange(PEOPLE, dtype=np.uint64), "benchmark")
            said = mechanism.estimate(mechanism.tally(mechanism.report(values, coins)), names)
            share = dict(zip(said.names, said.values, strict=True))
            estimates.append([share.get(each, 0.0) for each in names])
        for row in (row for row in beside if row["what"] == name):
            raw = row["beside"] == "pure-ldp" and name != "rappor"
            mine = np.array(estimates) if raw else np.maximum(estimates, 0)
            if row["beside"] == "multi-freq-ldpy":
                mine = mine / mine.sum(axis=1, keepdims=True)
            figures = {key: row[key] for key in ("what", "beside", "seeds", "theirs", "spread")}
            found.append({"epsilon": epsilon, **figures, "ours": float(np.mean((mine - truth) ** 2))})
            if raw:
                least = ours["subset"].variance
                found[-1] |= {"closed form": mechanism.variance / PEOPLE, "least": least / PEOPLE}
            click.echo(json.dumps(found[-1]))
    return found


def _others(values: list[int], seeds: int, epsilon: float, rappor: Any) -> dict[str, list[list[float]]]:
    python = os.environ.get("SMC_LDP", "")
    if not python:
        click.echo("SMC_LDP does not name an interpreter with pure-ldp and multi-freq-ldpy: theirs are as they were")
        return {}
    asked = {"values": values, "size": SIZE, "epsilon": epsilon, "seeds": seeds, "f": rappor.f}
    asked |= {"bits": rappor.bits, "hashes": rappor.hashes, "cohorts": rappor.cohorts}
    script = Path(__file__).parent / "peers" / "local_answers.py"
    answer: dict[str, list[list[float]]] = answered(python, script, asked)
    return answer


def picture() -> str:
    """Draw the deviation of the share of a category that nobody has, as each mechanism states it, against epsilon."""
    from matplotlib.figure import Figure

    people, epsilons = 10_000, np.geomspace(0.25, 6, 24)
    with pictures.style():
        figure = Figure(figsize=(8, 3), layout="constrained")
        panels: Any = figure.subplots(1, 2, sharey=True)
        for axes, size in zip(panels, (4, 128), strict=True):
            names = tuple(map(str, range(size)))
            for colour, (label, make) in zip(COLOURS, LINES.items(), strict=True):
                axes.loglog(
                    epsilons, [100 * _absent(make(names, e), people) for e in epsilons], color=colour, label=label
                )
            axes.set_title(f"{size} categories", fontsize=10)
            axes.set_xlabel("epsilon")
            axes.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
            axes.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
            axes.minorticks_off()
            axes.grid(color=pictures.RULE, linewidth=0.3)
        panels[0].set_ylabel("deviation, % of people")
        panels[1].legend(frameon=False)
        return pictures.svg(figure, Title="Deviation against epsilon for direct, unary, subset and Hadamard responses")


COLOURS = tuple(pictures.PALETTE[i] for i in (6, 1, 5, 3, 2))
LINES: dict[str, Callable[[tuple[str, ...], float], Mechanism]] = {
    "direct": DirectResponse,
    "unary, symmetric": lambda names, epsilon: UnaryEncoding(names, epsilon, optimised=False),
    "unary, optimised": UnaryEncoding,
    "subset": SubsetSelection,
    "hadamard": HadamardResponse,
}


def _absent(made: Mechanism, people: int) -> float:
    """Return this deviation, from reports of people who all have the first category."""
    coins = Coins(np.arange(people, dtype=np.uint64), "picture", stream=Prg(bytes(16)))
    found = made.estimate(made.tally(made.report(np.zeros(people, dtype=np.int64), coins)))
    return float(np.sqrt(np.mean(found.deviations[1:] ** 2)))


@click.command()
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--seeds", default=20, show_default=True)
@click.option("--out", type=click.Path(path_type=Path))
@click.option("--errors-only", is_flag=True, help="Measure errors only, and put them into the JSON that is there.")
@click.option("--picture", "drawn", type=click.Path(path_type=Path), help="Draw the picture of docs/local.md only.")
def main(rows: int, seeds: int, out: Path | None, errors_only: bool, drawn: Path | None) -> None:
    """Measure, print, and write."""
    if drawn is not None:
        files.write_text(drawn, picture())
        return
    known = json.loads(out.read_text()) if out is not None and out.exists() else {"errors": []}
    document = {"machine": machine.facts(), "seconds": known["seconds"] if errors_only else million(rows)}
    kept = [] if os.environ.get("SMC_LDP") else known["errors"]
    document["errors"] = [row for epsilon in EPSILONS for row in errors(seeds, epsilon, kept)]
    if out is not None:
        files.write_text(out, json_rows(document) + "\n")


if __name__ == "__main__":
    main()
