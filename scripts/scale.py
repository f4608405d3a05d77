"""Write the cost and the limits of large trees into docs/scale.md: `python -m scripts.scale`.

Bytes are counted exactly: a level with c comparisons of questions costs f + b c bytes, in whole batches. f and b come
from counts at two sizes, and a third size checks them. Speed is forecast from the difference between the two sizes,
on a shard's part of the link.

python -m scripts.scale --measure ROWS [--times 5] [--levels 2 6]    # processor time and memory of real runs
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from parties.base.console import size
from parties.link.identity import create
from protocols.cost_model import level_in_parts
from protocols.id3 import Problem
from smc.counting import CountingEngine, Forecast, forecast
from smc.engines import Profile
from smc.link_shape import LinkShape

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- made by scripts/scale.py -->\n", "<!-- until here -->\n"
ROWS = 10**9  # upper bound on each party's rows
PROFILES = (Profile("mixed", garbling="three-halves"), Profile("lean", form="depth"), Profile("lean", "ferret"))
LINKS = ("10gbit,0.5ms", "1gbit,0.5ms", "100mbit,40ms")
SHARDS = (1, 4, 16, 64)
COMPARISONS, QUESTIONS = 1 << 14, 16  # their x ln x fill six batches exactly
MOST_COUNTED = 1_000  # questions of a node; the circuit that chooses among more takes minutes to build
BOUNDS = (10**4, 10**6, ROWS)
WAYS = tuple((link, shards) for link in (LINKS[0], LINKS[2]) for shards in (1, 64))
LEVELS = ((1_000, 1_000), (1_000_000, 16), (1_000_000, 10_000))
DEPTHS = (2, 6)  # of measured trees: a small one shows the cost of starting, a larger one that of computing
PR_SET_CHILD_SUBREAPER = 36  # option of prctl(2) on Linux
COUNT_BYTES = 4 * 8  # counts of a comparison: two values, two classes


def level(nodes: int, questions: int, profile: Profile, rows: int = ROWS) -> Forecast:
    """Return the forecast of a level: nodes that each choose one of `questions` with two answers, for two classes."""
    problem = Problem((2,) * questions, 2, rows)

    def program(engine: CountingEngine) -> None:
        level_in_parts(engine, problem, 1, nodes, nodes, problem.domains, 6 * nodes * questions)

    return forecast(program, profile)


class Linear:
    """Cost of levels under a profile: `fixed` bytes for each level, and `comparison` bytes for each comparison.

    Args:
        profile: The profile.
        questions: Number of questions that each node compares.
        rows: Bound on each party's rows.
    """

    def __init__(self, profile: Profile, questions: int, rows: int = ROWS) -> None:
        nodes = -(-COMPARISONS // questions)
        self._comparisons = nodes * questions
        self._once, self._twice = (level(times * nodes, questions, profile, rows) for times in (1, 2))
        self.comparison = (self._twice.bytes - self._once.bytes) / self._comparisons
        self.fixed = self._once.bytes - self.comparison * self._comparisons
        counted = level(3 * nodes, questions, profile, rows).bytes
        if abs(counted - self.of(3 * self._comparisons)) > counted // 50:  # tolerance: silent OT comes in large pieces
            raise ValueError(f"{profile}: a level costs {counted} bytes, not {self.of(3 * self._comparisons)}")

    def of(self, comparisons: int) -> float:
        """Return the bytes of a level with this number of comparisons."""
        return self.fixed + self.comparison * comparisons

    def a_second(self, link: str, shards: int) -> float:
        """Return comparisons per second of all shards, if each has its own core and an equal part of the link."""
        shape = LinkShape.parse(link)
        assert shape.rate is not None
        part = replace(shape, rate=shape.rate / shards)
        return shards * self._comparisons / (self._twice.seconds(part) - self._once.seconds(part))


def number(value: float) -> str:
    """Return a number for a table, rounded to two significant digits."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def duration(seconds: float) -> str:
    """Return seconds as text in a suitable unit."""
    for unit, least in (("y", 31_557_600.0), ("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * least:
            return f"{number(seconds / least)} {unit}"
    return f"{number(seconds)} s"


def rows_of(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown; the first row is its head."""
    head, *lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [head, "|---|" + "---:|" * (len(cells[0]) - 1), *lines, ""]


def section() -> str:
    """Return the section of the page: tables with their texts."""
    lines = [
        "**One comparison** scores one question with two answers at one node, for two classes. The table shows",
        f"its bytes both ways, by the bound on each party's rows. They include 1/{QUESTIONS} of the other costs "
        f"of a node,\nbecause a node has {QUESTIONS} questions here.\n",
        *rows_of(
            [
                ("profile", *(f"{rows:,} rows" for rows in BOUNDS)),
                *(
                    (str(profile), *(size(round(linear(profile, QUESTIONS, rows).comparison)) for rows in BOUNDS))
                    for profile in PROFILES
                ),
            ]
        ),
        f"**Comparisons a second**: a forecast for {ROWS:,} rows, if each shard has a core of its own.\n",
        *rows_of(
            [
                ("profile", "link", *map(in_words, SHARDS)),
                *(
                    (str(profile), link, *(number(linear(profile).a_second(link, shards)) for shards in SHARDS))
                    for profile in PROFILES
                    for link in LINKS
                ),
            ]
        ),
        f"**Whole levels** of a tree of {ROWS:,} rows: time and bytes of the quickest of the three",
        "profiles. The last column is the memory for the counts in each party's process.\n",
        *rows_of(
            [
                ("nodes x questions", "comparisons", *(f"{link}, {in_words(n)}" for link, n in WAYS), "counts"),
                *(
                    (
                        f"{nodes:,} x {questions:,}",
                        number(nodes * questions),
                        *(_quickest(nodes * questions, questions, link, shards) for link, shards in WAYS),
                        size(nodes * questions * COUNT_BYTES),
                    )
                    for nodes, questions in LEVELS
                ),
            ]
        ),
        f"**Several shards compared with one**, for a level of {COMPARISONS // QUESTIONS:,} nodes and "
        f"{QUESTIONS} questions. Each cell has the",
        "additional bytes and the change in rounds. Rounds fall because batches run side by side.\n",
        *rows_of([("profile", *map(in_words, SHARDS[1:])), *map(_beyond, PROFILES)]),
    ]
    return "\n".join(lines)


@cache
def linear(profile: Profile, questions: int = 16, rows: int = ROWS) -> Linear:
    """Return the cost of a profile's levels; it is counted once."""
    return Linear(profile, questions, rows)


def in_words(shards: int) -> str:
    """Return a number of shards for the head of a table."""
    return f"{shards} shard{'s' * (shards > 1)}"


def _quickest(comparisons: int, questions: int, link: str, shards: int) -> str:
    known = [linear(profile, min(questions, MOST_COUNTED)) for profile in PROFILES]
    seconds, sent = min((comparisons / each.a_second(link, shards), each.of(comparisons)) for each in known)
    return f"{duration(seconds)}, {size(round(sent))}"


def _beyond(profile: Profile) -> list[str]:
    alone = level(COMPARISONS // QUESTIONS, QUESTIONS, profile)
    cells = [str(profile)]
    for shards in SHARDS[1:]:
        several = level(COMPARISONS // QUESTIONS, QUESTIONS, replace(profile, shards=shards))
        rounds = [max(cost.rounds for cost in counted.costs) for counted in (alone, several)]
        cells.append(f"{size(several.bytes - alone.bytes)}, {rounds[1] - rounds[0]:+d}")
    return cells


def measure(rows: int, times: int, levels: Sequence[int]) -> None:
    """Run real pairs of processes; print the median of both parties' processor seconds, peak memory and bytes."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # so orphans are counted as children
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        _furnish(directory, rows)
        head = ("engine", "levels", "shards", "processor, s", "largest process in the runs so far, MB", "bytes")
        print("\n".join(rows_of([head])[:2]))
        for profile in PROFILES[:2]:
            for depth in levels:
                for shards in (4, 2, 1):
                    taken = [_taken(directory, replace(profile, shards=shards), depth) for _ in range(times)]
                    seconds, sent = statistics.median(seconds for seconds, _ in taken), taken[0][1]
                    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
                    print(f"| {profile} | {depth} | {shards} | {seconds:.1f} | {most:,.0f} | {sent:,} |", flush=True)


def _taken(directory: Path, profile: Profile, depth: int) -> tuple[float, int]:
    """Return the processor seconds of all processes of a run, user and system, and its bytes both ways."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    sent = _pair(directory, profile, depth)
    with suppress(ChildProcessError):
        while os.wait():
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, sent


def _furnish(directory: Path, rows: int) -> None:
    """Write two parties' keys and rows: twelve columns of four values; the class follows from the first four."""
    names = [f"c{i}" for i in range(12)]
    values = '["0", "1", "2", "3"]'
    schema = "[attributes]\n" + "".join(f"{name} = {values}\n" for name in names) + 'y = ["0", "1"]\n'
    (directory / "schema.toml").write_text(schema)
    for party, name in enumerate("ab"):
        create(name, ["127.0.0.1"], directory)
        cells = np.random.default_rng(party).integers(0, 4, (rows, 12))
        table = np.column_stack([cells, (cells[:, :4] * (1, 2, 3, 5)).sum(axis=1) % 2])
        lines = [",".join([*names, "y"]), *(",".join(map(str, row)) for row in table.tolist())]
        (directory / f"{name}.csv").write_text("\n".join(lines) + "\n")


def _pair(directory: Path, profile: Profile, depth: int) -> int:
    """Run `smc id3` at both parties, and return the bytes both ways."""
    port = 20_000 + secrets.randbelow(10_000)  # below the ports that systems assign; the next are for shards
    running = []
    for name, peer, way in (("a", "b", "--listen"), ("b", "a", "--connect")):
        what = ["--data", f"{name}.csv", "--schema", "schema.toml", "--target", "y", "--plain", f"--max-depth={depth}"]
        link = ["--identity", f"{name}.key", "--certificate", f"{name}.crt", "--peer", f"{peer}.crt"]
        out = ["--report", f"{name}.json", "--force", "--json"]
        parts = ["--engine", profile.engine, "--garbling", profile.garbling, "--shards", str(profile.shards)]
        command = [sys.executable, "-m", "parties.cli", "id3", *what, *link, way, f"127.0.0.1:{port}", *out, *parts]
        running.append(subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if any(process.wait() for process in running):
        raise SystemExit("a run has failed")
    total = json.loads((directory / "a.json").read_text())["total"]
    return int(total["bytes_sent"] + total["bytes_received"])


def main() -> None:
    """Write the page's section; with --measure, measure instead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=int, metavar="ROWS")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--levels", type=int, nargs="+", default=DEPTHS)
    given = parser.parse_args()
    if given.measure is not None:
        measure(given.measure, given.times, given.levels)
        return
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + section() + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
