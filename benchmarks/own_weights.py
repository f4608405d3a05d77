"""Weights of `smc align fuzzy` from one's own table: beside splink on that table, and their matches.

    python -m benchmarks.own_weights [--python SPLINK]

A table of 2,000 people has a share of duplicates with planted typing errors, see `benchmarks.linkage`. `smc align
weights` and splink estimate m and u from it. The true ones are those of two other tables with an error rate of their
own. An error is in bits of a match weight, the mean of all levels. F1 is that of our match of two held-out tables, with
log2(2 x 2,000) as threshold.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.linkage import COLUMNS, ROWS, RULES, SPLINK, TABLES, Row, f1, matched_in_clear, people, write
from benchmarks.peers.programs import ROOT, install
from parties.jobs.align.fuzzy import comparisons_of
from protocols.alignment.estimation import levels
from protocols.alignment.weights import UNIT

GIVEN = [
    "forename=exact:0.7:0.01+dice@0.8:0.1:0.01+dice@0.5:0.1:0.05+else:0.1:0.93",
    "surname=exact:0.7:0.01+dice@0.8:0.1:0.01+dice@0.5:0.1:0.05+else:0.1:0.93",
    "born=exact:0.8:0.01+dice@0.7:0.1:0.05+else:0.1:0.94",
    "city=exact:0.7:0.05+dice@0.6:0.1:0.05+else:0.2:0.9",
]
SHARES = (0.0, 0.05, 0.1, 0.2)
JOB = {"blocking_rules": RULES, "threshold_match_weight": math.log2(2 * ROWS)}


def with_duplicates(share: float) -> list[Row]:
    """Return a table of `ROWS` people, of whom a share has a second row; rows have numbers in place of identities."""
    first, second = people(1, ROWS, 0.12)
    common = {number for number, _ in first}
    table = first + [row for row in second if row[0] in common][: round(share * ROWS)]
    random.Random(1).shuffle(table)
    return [(str(row), cells) for row, (_, cells) in enumerate(table)]


def true_weights(pair: list[list[Row]]) -> list[float]:
    """Return the match weight of each level by the known pairs of two tables."""
    rows = pair[0] + pair[1]
    first_of = {number: row for row, (number, _) in enumerate(pair[0])}
    same = [(first_of[number], len(pair[0]) + row) for row, (number, _) in enumerate(pair[1]) if number in first_of]
    every = np.stack(np.divmod(np.arange(len(pair[0]) * len(pair[1])), len(pair[1])))
    every[1] += len(pair[0])
    found = []
    for at, comparison in enumerate(comparisons_of(GIVEN).values()):
        texts = [cells[at] or None for _, cells in rows]
        size = len(comparison.levels) + 2
        m = np.bincount(levels(comparison, texts, *np.array(same).T), minlength=size)[1:] + 0.5
        u = np.bincount(levels(comparison, texts, *every), minlength=size)[1:] - m + 1
        found += np.log2(m / m.sum() * u.sum() / u).tolist()
    return found


def error(weights: list[float], true: list[float]) -> float:
    """Return the mean error of weights in bits; NaN marks a level without an estimate, which is left out."""
    return round(float(np.nanmean(np.abs(np.array(weights) - true))), 3)


def weights_of(texts: list[str]) -> list[float]:
    """Return the match weights of comparisons."""
    return [weight / UNIT for one in comparisons_of(texts).values() for weight in one.weights[1:]]


@click.command()
@click.option("--python", type=click.Path(path_type=Path), help="Python with splink, instead of a new environment.")
def main(python: Path | None) -> None:
    """Measure."""
    pairs = [people(seed, ROWS, errors) for seed, errors in list(TABLES.values())[1:]]
    true = true_weights(people(5, ROWS, 0.12))
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"{share}.csv" for share in SHARES]
        for path, share in zip(paths, SHARES, strict=True):
            write(path, with_duplicates(share))
        program = Path(__file__).parent / "peers" / "splink_own_weights.py"
        python = python or install(Path(tempfile.gettempdir()) / "smc-splink", SPLINK)
        done = subprocess.run([str(python), str(program), *map(str, paths)], capture_output=True, text=True, check=True)
        peers = json.loads(done.stdout)
        command = [sys.executable, "-m", "parties", "align", "weights", "--json", "--comparisons", ",".join(GIVEN)]
        command += ["--blocking-rules", ",".join(RULES)]
        ours: list[dict[str, Any]] = [
            json.loads(subprocess.run([*command, str(path)], capture_output=True, check=True, cwd=ROOT).stdout)
            for path in paths
        ]
    sets = {"given": GIVEN, **{f"own, {share}": one["comparisons"] for share, one in zip(SHARES, ours, strict=True)}}
    for share, own, peer in zip(SHARES, ours, peers, strict=True):
        pairs_of = [pair for column in COLUMNS for pair in peer[column]]
        splink = [math.log2(m / u) if m and u else math.nan for m, u in pairs_of]
        errors = {"ours": error(weights_of(own["comparisons"]), true), "splink": error(splink, true)}
        untrained = sum(map(math.isnan, splink))
        click.echo(json.dumps({"share": share, "duplicates": own["duplicates"], **errors, "untrained": untrained}))
    for label, texts in sets.items():
        found = [round(f1(matched_in_clear(pair, {**JOB, "comparisons": texts})), 4) for pair in pairs]
        click.echo(json.dumps({"weights": label, "error": error(weights_of(texts), true), "f1": found}))


if __name__ == "__main__":
    main()
