"""Speed of reading columns of numbers in pieces: seconds of a pass by each kind of job, and peak memory.

    python -m benchmarks.streaming [--rows N] [--times M] [--memory 1GB] [--threads N] [--out FILE.json] [--markdown]

DuckDB writes the rows to a temporary Parquet file: 20 columns of floats from 0 to 10 with two decimals, and a class
with two values. Each row needs about 30 bytes of disk. With --times the file has M names and is read under each. Every
figure comes from its own process. Beside each pass of ours stands DuckDB's plain scan of the files with the same sums
in SQL, in floating point. That scan does not check values, put them on a public grid or clip them, and it is not exact.
Columns with few values are counted by one query before all passes, and the figure is that of the query. On a busy
machine, processor seconds are more reliable than seconds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from parties.base import files
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts
from parties.jobs.kinds.cluster import Cluster
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.kinds.release.marginals import Marginals
from parties.jobs.kinds.release.mean import Mean
from parties.jobs.kinds.release.median import Median
from parties.sources import TableSettings, open_table
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type

NAMES = [f"x{i}" for i in range(20)]
REAL = Domain(read_type({"type": "real", "low": 0, "high": 10, "step": 0.01}))
COARSE = Domain(read_type({"type": "real", "low": 0, "high": 10, "width": 1}))
CLUSTERS = 4
KINDS = {
    "regress, a step of gradient descent": "gradient",
    "regress, least squares": "moments",
    "cluster, a round of 4 clusters": "clusters",
    "synthesise, counts of 190 pairs": "pairs",
    "release mean, by class": "mean",
    "release median, by class": "median",
}


def make(path: Path, rows: int) -> None:
    """Write the Parquet file."""
    columns = ", ".join(
        f"(round((random() + {i % 2} * random()) * {10 / (1 + i % 2)}, 2))::FLOAT x{i}" for i in range(20)
    )
    with duckdb.connect(config={"memory_limit": "2GB", "preserve_insertion_order": False}) as database:
        label = "CASE WHEN random() < 0.4 THEN 'yes' ELSE 'no' END"
        database.execute(f"COPY (SELECT {columns}, {label} y FROM range({rows})) TO '{path}' (FORMAT parquet)")


def scan(what: str, path: Path, threads: int | None) -> dict[str, Any]:
    """Return the figures of DuckDB for the same sums."""
    options: dict[str, Any] = {"preserve_insertion_order": False, **({"threads": threads} if threads else {})}
    z = " + ".join(f"{0.01 * (i + 1):.2f} * {name}" for i, name in enumerate(NAMES))
    sums = ", ".join(f"sum({name})" for name in NAMES)
    pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[:i]]
    query = f"SELECT {', '.join(f'sum({a} * {b})' for a, b in [*pairs, *zip(NAMES, NAMES, strict=True)])} FROM rows"
    if what == "gradient":
        slope = f"CASE y WHEN 'yes' THEN -1 / (1 + exp({z})) ELSE 1 / (1 + exp(-({z}))) END"
        query = f"SELECT {', '.join(f'sum(s * {name})' for name in NAMES)} FROM (SELECT *, {slope} s FROM rows)"
    elif what == "clusters":
        apart = [
            " + ".join(f"({name} - {place}) * ({name} - {place})" for name, place in zip(NAMES, places, strict=True))
            for places in np.random.default_rng(1).integers(10, size=(CLUSTERS, 20)).tolist()
        ]
        least = f"least({', '.join(f'd{i}' for i in range(CLUSTERS))})"
        chosen = " ".join(f"WHEN d{i} = {least} THEN {i}" for i in range(CLUSTERS))
        distances = ", ".join(f"{distance} d{i}" for i, distance in enumerate(apart))
        places = f"SELECT *, CASE {chosen} END c FROM (SELECT *, {distances} FROM rows)"
        query = f"SELECT c, count(*), {sums} FROM ({places}) GROUP BY c"
    elif what == "mean":
        query = "SELECT y, sum(x0), count(x0) FROM rows GROUP BY y"
    elif what == "median":
        query = "SELECT y, x0, count(*) FROM rows GROUP BY y, x0"
    elif what == "pairs":
        sets = ", ".join(f"({a}, {b})" for a, b in pairs)
        places = ", ".join(f"least(floor({name}), 9)::TINYINT {name}" for name in NAMES)
        query = f"SELECT {', '.join(NAMES)}, count(*) FROM (SELECT {places} FROM rows) GROUP BY GROUPING SETS ({sets})"
    with duckdb.connect(config=options) as database:
        database.execute("SET enable_progress_bar = false")
        return timed(lambda: database.execute(query.replace("FROM rows", f"FROM '{path.parent}/*.parquet'")).fetchall())


def stream(what: str, path: Path, rows: int, memory: str, threads: int | None) -> dict[str, Any]:
    """Open the table as a job of this kind does, and time a pass, and the reading and checking before it."""
    columns = [*NAMES, "y"] if what in ("gradient", "moments") else NAMES
    own: dict[str, Any] = {"max_rows": rows, "epsilon": 1.0, "columns": tuple(NAMES)}
    of = COARSE if what == "pairs" else REAL
    schema = Schema({name: ("no", "yes") if name == "y" else of for name in columns})
    task: Any
    if what == "gradient":
        task = made(RegressJoint, own | {"target": "y", "numeric": tuple(NAMES)}, schema)
    elif what == "moments":
        columns = NAMES
        names = tuple(NAMES[:-1])
        task = made(RegressJoint, own | {"method": "ridge", "target": "x19", "columns": names}, schema)
    elif what == "clusters":
        given = {"bounds": ("0:10",) * 20, "k": CLUSTERS, "method": "in-process"}
        task = made(Cluster, own | given, schema)
    elif what == "pairs":
        task = made(Marginals, own | {"ways": 2, "delta": 1e-12}, schema)
    else:
        schema = Schema({"x0": REAL, "y": ("no", "yes")})
        known = {"max_rows": rows, "epsilon": 1.0, "column": "x0", "by": ("y",)}
        task = made({"mean": Mean, "median": Median}[what], known, schema)
    table = TableSettings(source=f"{path.parent}/*.parquet", schema=path, max_rows=rows, memory=memory, threads=threads)
    with open_table(table, task.schema, task.target, task.columns, task.streamed) as source:
        if what in ("mean", "median"):
            return timed(lambda: (source.check(), task.own_rows(source)))
        reading = timed(source.check)
        if what == "gradient":
            rows, loss = task.own_rows(source), task.settings.objective
            found = timed(lambda: rows.slopes(loss, np.linspace(-0.5, 0.5, 21), task.method.clip))
        elif what == "clusters":
            centroids = np.random.default_rng(1).integers(-1024, 1025, size=(CLUSTERS, 20))
            own_sums = task.own_rows(source)
            found = timed(lambda: own_sums(centroids))
        else:
            found = timed(lambda: task.own_rows(source))
    return {**found, "read_and_check_seconds": reading["seconds"]}


def made(kind: Any, fields: dict[str, Any], schema: Schema) -> Any:
    """Return the task of a kind with these settings."""
    return kind.canonical(kind.Settings.model_validate(fields), schema)


def timed(work: Callable[[], object]) -> dict[str, Any]:
    """Return seconds, processor seconds and the process's peak memory."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "processor_seconds": round(time.process_time() - used, 2),
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
    }


def markdown(report: dict[str, Any]) -> str:
    """Return the table of docs/measured.md."""
    lines = [
        "| a pass | seconds | processor seconds | memory | DuckDB's sums: seconds | processor seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in report["passes"]:
        ours, plain = row["ours"], row["duckdb"]
        lines.append(
            f"| {row['kind']} | {ours['seconds']:.1f} | {ours['processor_seconds']:.1f} | "
            f"{ours['peak_memory_gb']:.2f} GB | {plain['seconds']:.1f} | {plain['processor_seconds']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Make the rows, measure, print and write the figures."""
    parser = argparse.ArgumentParser(description="Seconds a pass over columns of numbers, and memory.")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--times", type=int, default=1, help="so many times these rows")
    parser.add_argument("--memory", default="1GB", help="DuckDB's limit")
    parser.add_argument("--threads", type=int, help="DuckDB's threads; default: all cores")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/measured.md")
    given = parser.parse_args()
    fresh = multiprocessing.get_context("spawn")
    passes = []
    with tempfile.TemporaryDirectory(prefix="streaming-") as directory:
        path = Path(directory) / "rows.parquet"
        with ProcessPoolExecutor(1, fresh) as worker:
            worker.submit(make, path, given.rows).result()
        for place in range(1, given.times):
            os.link(path, path.with_name(f"{place}.parquet"))
        rows = given.rows * given.times
        for kind, what in KINDS.items():
            with ProcessPoolExecutor(1, fresh) as worker:
                plain = worker.submit(scan, what, path, given.threads).result()
            with ProcessPoolExecutor(1, fresh) as worker:
                ours = worker.submit(stream, what, path, rows, given.memory, given.threads).result()
            passes.append({"kind": kind, "ours": ours, "duckdb": plain})
            print(json.dumps(passes[-1]), flush=True)
        size = path.stat().st_size
    about = {"rows": rows, "columns": 20, "bytes": size * given.times, "memory": given.memory, "threads": given.threads}
    report = {"machine": facts(("duckdb", "numpy", "pyarrow")), "streaming": about, "passes": passes}
    if given.markdown:
        print(markdown(report))
    if given.out is not None:
        files.write_text(given.out, json_rows(report) + "\n")


if __name__ == "__main__":
    main()
