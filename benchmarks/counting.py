"""Speed of counting a party's own rows for each level of a tree: seconds of a level, and peak memory.

    python -m benchmarks.counting [--rows N] [--depth N] [--memory 2GB] [--threads N] [--out FILE.json]

DuckDB writes the rows to Parquet files in a temporary folder, 10 million rows each. The folder is removed afterwards.
Each row needs about 10 bytes of disk. The rows have seven columns of text with 2 to 8 values (one with `?` for missing)
and three numbers that are put into four or five ranges (age and income are whole numbers, bmi has a fraction). A class
with three values depends on some of them. In all there are 2.8 million combinations. The tree is the one that ID3 finds
in these rows, by the clear engine and with a peer without rows, so each level asks the same counts as a joint run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from parties.base import files
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts
from parties.sources import ColumnSettings, TableSettings, open_table
from parties.tables.schema import Schema
from protocols.counts import Counts, LevelCounts, RowCounts
from protocols.id3 import Problem, id3
from protocols.tree import Tree
from smc.engines import make_engine
from smc.local import run_local
from smc.session import Session

TEXTS = {
    "sex": ("female", "male"),
    "smoker": ("never", "former", "current"),
    "region": ("north", "east", "south", "west", "centre"),
    "ward": ("surgery", "medicine", "cardiology", "neurology", "oncology", "paediatrics", "emergency", "other"),
    "admission": ("elective", "emergency", "transfer", "birth"),
    "insurance": ("public", "private", "none"),
    "diabetes": ("yes", "no", "?"),
}
RANGES: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "age": (("child", "young", "middle", "old", "very old"), (18, 40, 65, 80)),
    "income": (("low", "medium", "high", "very high"), (10000, 30000, 60000)),
    "bmi": (("under", "normal", "over", "far over"), (18.5, 25, 30)),
}
TARGET, CLASSES = "outcome", ("home", "readmitted", "died")
SCHEMA = Schema({**TEXTS, **{name: names for name, (names, _) in RANGES.items()}, TARGET: CLASSES})
PIECE = 10_000_000  # rows of a file


def make(folder: Path, start: int, rows: int) -> None:
    """Write one Parquet file of rows; the columns are hashes of the row's number."""
    with duckdb.connect() as database:
        texts = ", ".join(
            f"(?::VARCHAR[])[1 + (hash(i * 31 + {k}) % {len(values)})::INT] AS {name}"
            for k, (name, values) in enumerate(TEXTS.items())
        )
        database.execute("SET enable_progress_bar = false")
        database.execute(
            f"""
            COPY (
                SELECT * EXCLUDE (noise, id),
                    CASE WHEN noise % 100 < 10 + age / 4 + CASE ward WHEN 'oncology' THEN 20 ELSE 0 END
                         THEN CASE WHEN noise % 7 < 2 AND age > 60 THEN 'died' ELSE 'readmitted' END
                         ELSE 'home' END AS {TARGET}
                FROM (
                    SELECT i AS id, {texts},
                        (hash(i * 7 + 101) % 95)::UTINYINT AS age,
                        (1000 + hash(i * 11 + 1) % 90000)::INTEGER AS income,
                        (15 + (hash(i * 5 + 1) % 250) / 10.0)::DOUBLE AS bmi,
                        hash(i * 13 + 7) AS noise
                    FROM range({start}, {start + rows}) AS numbers(i)
                )
            ) TO '{folder / f"{start}.parquet"}' (FORMAT parquet)
            """,
            list(map(list, TEXTS.values())),
        )


class Timed:
    """A source of counts that records the time of each level: (nodes, seconds)."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.levels: list[tuple[int, float]] = []

    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """See `Counts.level`."""
        start = time.perf_counter()
        found = self._counts.level(tree, attributes)
        self.levels.append((len(found.classes), time.perf_counter() - start))
        nodes, seconds = self.levels[-1]
        print(f"level {len(self.levels) - 1}: {nodes:6,} nodes {seconds:8.2f} s", flush=True)
        return found


def measure(folder: Path, rows: int, depth: int, memory: str, threads: int | None) -> dict[str, Any]:
    """Count a tree's levels; return the seconds of reading the files once, and of each level."""
    columns = {name: ColumnSettings(edges=edges) for name, (_, edges) in RANGES.items()}
    settings = TableSettings(
        source=str(folder), schema=folder, max_rows=rows, columns=columns, memory=memory, threads=threads
    )
    domains = tuple(len(SCHEMA.attributes[name]) for name in SCHEMA.features(TARGET))
    nobody = RowCounts(domains, len(CLASSES), np.zeros((0, len(domains)), int), np.zeros(0, int))
    problem = Problem(domains, len(CLASSES), rows, max_depth=depth)
    with open_table(settings, SCHEMA, TARGET) as source:
        start = time.perf_counter()
        found = source.check()
        reading = time.perf_counter() - start
        print(f"read and checked {found:,} rows: {reading:.2f} s", flush=True)
        timed = Timed(source)

        def program(session: Session) -> Tree:
            return id3(make_engine(session, "clear"), problem, nobody if session.party else timed)

        run_local(program, timeout=3600)
    return {
        "read_seconds": round(reading, 3),
        "levels": [{"nodes": nodes, "seconds": round(seconds, 3)} for nodes, seconds in timed.levels],
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
    }


def main() -> None:
    """Make the rows, measure, print and write the figures."""
    parser = argparse.ArgumentParser(description="Seconds to count a party's own rows for each level of a tree.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--depth", type=int, default=6, help="the deepest level")
    parser.add_argument("--memory", default="2GB", help="DuckDB's limit")
    parser.add_argument("--threads", type=int, help="DuckDB's threads; default: all cores")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    fresh = multiprocessing.get_context("spawn")  # so that the memory of making the rows does not count
    with tempfile.TemporaryDirectory(prefix="smc-counting-") as directory:
        folder = Path(directory)
        for start in range(0, given.rows, PIECE):
            with ProcessPoolExecutor(1, fresh) as worker:
                worker.submit(make, folder, start, min(PIECE, given.rows - start)).result()
            print(f"made {min(start + PIECE, given.rows):,} rows", flush=True)
        size = sum(file.stat().st_size for file in folder.iterdir())
        with ProcessPoolExecutor(1, fresh) as worker:
            found = worker.submit(measure, folder, given.rows, given.depth, given.memory, given.threads).result()
    row = {"rows": given.rows, "bytes": size, "memory": given.memory, "threads": given.threads, **found}
    report = {"machine": facts(("duckdb", "ibis-framework", "numpy", "sqlglot")), "counting": row}
    print(json.dumps(report, indent=2))
    if given.out is not None:
        files.write_text(given.out, json_rows(report) + "\n")


if __name__ == "__main__":
    main()
