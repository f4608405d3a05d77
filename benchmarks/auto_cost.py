"""Measure whether `auto` pays: what choosing the profile costs beside what the best profile takes.

    python -m benchmarks.auto_cost ../shared/data     (ten minutes; --wide alone needs no table: two minutes)

Each party has every other row of a table that `smc prepare` proposes. `smc id3` with its defaults runs between two
processes over loopback, with each profile and with `auto`, in turn. The figure is user and system time of the busier
process: it counts the choice too, and other programs disturb it less than they disturb the time. For wide tables, the
time to count the profiles stands beside the forecast of the fastest of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.tree_costs import TABLES, raw_file
from parties.base.files import write_text
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs.execution.engine_selection import choice
from parties.jobs.execution.profiles import INTEGER
from parties.jobs.inputs import Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema
from scripts import foretold
from smc.engines import Profile
from smc.link_shape import LinkShape

RESULTS = Path(__file__).parent / "results" / "auto_cost.json"
COLUMNS = (10, 100, 300, 1_000, 3_000, 10_000)
ROWS = 2_000  # of a party of a wide table
Row = dict[str, Any]


def options(profile: Profile) -> list[str]:
    """Return the options of a command that name a profile."""
    words = ["--engine", profile.engine, "--ot", profile.ot]
    words += ["--garbling", profile.garbling] if profile.garbles else []
    return words + (["--form", profile.form] if profile.form else [])


def of_table(name: str, raw: Path, target: str, runs: int) -> Row:
    """Return the processor seconds of every profile and of `auto`, medians of `runs`, in turn."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        rows = foretold.halves(raw_file(raw, place), place, target)
        job = ["id3", "--target", target, "--max-rows", str(rows)]
        ways = {str(profile): [*job, *options(profile)] for profile in INTEGER} | {"auto": job}
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(runs):
            for way, words in ways.items():
                taken[way].append(foretold.measured(words, place))
        seconds = {way: statistics.median(times) for way, times in taken.items()}
    best = min((way for way in seconds if way != "auto"), key=seconds.__getitem__)
    return {"table": name, "best": best, "ratio": seconds["auto"] / seconds[best], "seconds": seconds}


def of_columns(columns: int) -> Row:
    """Return the seconds to count the profiles of a wide tree, and the forecast of the fastest on a local network."""
    values: dict[str, tuple[str, ...]] = {f"c{i}": ("a", "b", "c", "d") for i in range(columns)}
    values["t"] = ("no", "yes")
    task = ExactTree(Id3Settings(max_rows=ROWS, max_depth=2), Schema(values), "t")
    cost, start = task.cost_of_run(Inputs()), time.process_time()
    program = (lambda: cost.program) if cost.is_countable else None
    counted = choice(task.specification(), program, True, Profile("mixed")).forecasts
    seconds = time.process_time() - start
    return {
        "columns": columns,
        "counting": seconds,
        "fastest": min((each.seconds(LinkShape()) for each in counted), default=None),
        "slowest": max((each.seconds(LinkShape()) for each in counted), default=None),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the tables")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="tables with this text alone, and nothing is written")
    parser.add_argument("--wide", action="store_true", help="count wide tables alone, and write nothing")
    given = parser.parse_args()
    wide = []
    for columns in COLUMNS:
        wide.append(of_columns(columns))
        print(wide[-1], flush=True)
    if given.wide:
        return
    rows = []
    for name, path, target in TABLES:
        if given.only in name:
            rows.append(of_table(name, given.data / path, target, given.runs))
            print(rows[-1], flush=True)
    if not given.only:
        write_text(RESULTS, json_rows({"machine": machine.facts(), "rows": rows, "wide": wide}) + "\n")


if __name__ == "__main__":
    main()
