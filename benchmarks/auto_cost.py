"""Measure whether `auto` pays: what choosing the profile costs beside what the best profile takes.

    python -m benchmarks.auto_cost ../shared/data     (or: make bench-auto; about 15 minutes on two idle cores)

Each party has every other row of a table that `smc prepare` proposes, or random rows of a wide table. `smc id3` runs
between two processes over loopback, with each profile and with `auto`, in turn: with its defaults, and of depth 2 for
wide tables. The figure is user and system time of the busier process: it counts the choice too, and other programs
disturb it less than they disturb the time. It is a median of RUNS runs. A way that has taken MOST seconds in total is
not repeated.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from contextlib import redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.tree_costs import TABLES, raw_file
from parties.base.files import write_text
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs.execution.engine_selection import choice
from parties.jobs.execution.profiles import INTEGER
from parties.jobs.inputs import Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.link.identity import create
from parties.tables.schema import Schema
from scripts import foretold
from smc.counting import forecasts
from smc.engines import Profile
from smc.kernels.warm import warm
from smc.link_shape import LinkShape

RESULTS = Path(__file__).parent / "results" / "auto_cost.json"
COLUMNS = (10, 100, 1_000, 10_000)
ROWS = 2_000  # of a party of a wide table
MOST = 20.0  # seconds after which a way is not repeated
Row = dict[str, Any]


def options(profile: Profile) -> list[str]:
    """Return the options of a command that name a profile."""
    words = ["--engine", profile.engine, "--ot", profile.ot]
    words += ["--garbling", profile.garbling] if profile.garbles else []
    return words + (["--form", profile.form] if profile.form else [])


def of_ways(job: list[str], place: Path, runs: int) -> Row:
    """Return the processor seconds of a job on each profile and on `auto`, medians of up to `runs`, in turn.

    Args:
        job: The command and its options.
        place: Folder of both parties' files, as `foretold.halves` writes them.
        runs: Largest number of runs of each way.
    """
    ways = {"auto": job} | {str(profile): [*job, *options(profile)] for profile in INTEGER}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    foretold.measured(job, place)  # not counted: the files are read for the first time
    for _ in range(runs):
        for way, words in ways.items():
            if sum(taken[way]) < MOST:
                taken[way].append(foretold.measured(words, place))
    seconds = {way: round(statistics.median(times), 3) for way, times in taken.items()}
    best = min((way for way in seconds if way != "auto"), key=seconds.__getitem__)
    return {"best": best, "ratio": round(seconds["auto"] / seconds[best], 3), "seconds": seconds}


def of_table(name: str, raw: Path, target: str, runs: int) -> Row:
    """Return the row of a table, see `of_ways`.

    Args:
        name: Name of the table.
        raw: Its raw file.
        target: Its target.
        runs: Largest number of runs of each way.
    """
    with TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        place = Path(folder)
        rows = foretold.halves(raw_file(raw, place), place, target)
        job = ["id3", "--target", target, "--max-rows", str(rows)]
        return {"table": name, **of_ways(job, place, runs)}


def of_columns(columns: int, runs: int) -> Row:
    """Return the row of a wide table, the seconds to count its profiles, and the forecasts of those, over loopback.

    Args:
        columns: Number of columns beside the target.
        runs: Largest number of runs of each way; 0 to count alone.
    """
    values: dict[str, tuple[str, ...]] = {f"c{i}": ("a", "b", "c", "d") for i in range(columns)}
    values["t"] = ("n", "y")
    schema = Schema(values)
    task = ExactTree(Id3Settings(max_rows=ROWS, max_depth=2), schema, "t")
    cost, start = task.cost_of_run(Inputs()), time.process_time()
    program = (lambda: cost.program) if cost.is_countable else None
    choice(task.specification(), program, True, Profile("mixed")).quickest(LinkShape())
    row: Row = {"columns": columns, "counting": round(time.process_time() - start, 3)}
    counted = forecasts(cost.program, INTEGER)
    row["forecasts"] = {str(one.profile): round(one.seconds(LinkShape()), 3) for one in counted}
    if not runs:
        return row
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write_wide(schema, place)
        job = ["id3", "--target", "t", "--max-rows", str(ROWS), "--max-depth", "2"]
        return row | of_ways(job, place, runs)


def write_wide(schema: Schema, place: Path) -> None:
    """Write rows, settings and keys of two parties; the target often follows the first two columns.

    Args:
        schema: The schema; its last column is the target.
        place: The folder.
    """
    schema.save(place / "schema.toml")
    for party, name in enumerate("ab"):
        cells = np.random.default_rng(party).integers(0, 4, (ROWS, len(schema.attributes)))
        cells[:, -1] = (cells[:, 0] + cells[:, 1] + (cells[:, -1] == 0)) % 2
        names = np.array(["a", "b", "c", "d"])[cells]
        names[:, -1] = np.where(cells[:, -1] == 1, "y", "n")
        lines = [",".join(line) for line in [list(schema.attributes), *names.tolist()]]
        write_text(place / f"{name}.csv", "\n".join([*lines, ""]))
        settings = f'[tables.rows]\nsource = "{name}.csv"\nschema = "schema.toml"\nmax_rows = {ROWS}\n'
        write_text(place / f"{name}.toml", settings)
        create(name, ["127.0.0.1"], place)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=Path(), help="folder of the tables")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="tables with this text alone, and nothing is written")
    parser.add_argument("--wide", action="store_true", help="count wide tables alone, and write nothing")
    given = parser.parse_args()
    warm()
    wide, rows = [], []
    for columns in () if given.only else COLUMNS:
        wide.append(of_columns(columns, 0 if given.wide else given.runs))
        print(wide[-1], flush=True)
    if given.wide:
        return
    for name, path, target in TABLES:
        if given.only in name:
            rows.append(of_table(name, (given.data / path).resolve(), target, given.runs))
            print(rows[-1], flush=True)
    if not given.only:
        write_text(RESULTS, json_rows({"machine": machine.facts(), "rows": rows, "wide": wide}) + "\n")


if __name__ == "__main__":
    main()
