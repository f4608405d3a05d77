"""Commands of one party on a large table: seconds, processor seconds and peak memory of each command.

    python -m benchmarks.own_tables [--rows N] [--twin N] [--csv] [--only NAME ...] [--out FILE.json] [--markdown]

DuckDB writes the rows to a Parquet file, or to CSV: ten columns of text with eight values each, and a class with two
values that depends on two of them. Nearly all rows differ. Each command runs as a process of its own with its default
settings. The model of `predict` is a tree of depth 3 at most, learnt with noise from a million of these rows. The plan
of `publish anonymise` has ten quasi-identifiers and 5-anonymity. `--twin` is the number of rows of the published or
synthetic table of `compare` and the attacks: a quarter of the rows by default. On a busy machine, processor seconds are
more reliable than seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from parties.base import files
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts

NAMES = [f"c{i}" for i in range(10)]
SMC = [sys.executable, "-m", "parties"]
LEARNT = 1_000_000  # rows of the model
TABLE, TWIN, LEARNING = "rows", "twin", "learning"


def make(folder: Path, rows: int, twin: int, kind: str) -> None:
    """Write the tables, the schema and the plan."""
    columns = ", ".join(f"substr('abcdefgh', 1 + (random() * 8)::INT % 8, 1) {name}" for name in NAMES)
    label = "CASE WHEN random() < 0.3 + (c0 < 'd')::INT * 0.2 + (c1 < 'c')::INT * 0.2 THEN 'a' ELSE 'b' END y"
    with duckdb.connect(config={"memory_limit": "2GB", "threads": 1}) as database:
        database.execute("SELECT setseed(0.5)")
        for name, number in ((TABLE, rows), (TWIN, twin), (LEARNING, min(rows, LEARNT))):
            path = folder / f"{name}.{kind}"
            query = f"SELECT *, {label} FROM (SELECT {columns} FROM range({number}))"
            database.execute(f"COPY ({query}) TO '{path}' (FORMAT {kind})")
    values = json.dumps([*"abcdefgh"])
    attributes = "".join(f"{name} = {values}\n" for name in NAMES)
    (folder / "schema.toml").write_text(f'target = "y"\n[attributes]\n{attributes}y = ["a", "b"]\n')
    roles = "".join(f'[columns.{name}]\nrole = "quasi-identifier"\n' for name in NAMES)
    models = 'models = [{ model = "k-anonymity", k = 5 }]\n'
    plan = f'source = "{TABLE}.{kind}"\n{models}algorithm = "mondrian"\n{roles}[columns.y]\nrole = "sensitive"\n'
    (folder / "plan.toml").write_text(plan)


def commands(kind: str) -> dict[str, list[str]]:
    """Return the arguments of each command."""
    table, twin = f"{TABLE}.{kind}", f"{TWIN}.{kind}"
    attacked = ["--published", twin, "--known", table, "--columns", ",".join(NAMES)]
    compared = ["--synthetic", twin, "--schema", "schema.toml"]
    return {
        "schema": ["--data", table, "--target", "y", "--out", "proposal.toml"],
        "predict": ["--tree", "tree.json", "--data", table],
        "publish plan": ["--data", table, "--out", "proposed.toml"],
        "publish anonymise": ["--plan", "plan.toml", "--out", f"published.{kind}"],
        "attack link": attacked,
        "attack infer": [*attacked, "--sensitive", "y"],
        "attack membership --model": ["tree.json", "--members", table, "--others", twin],
        "attack membership --synthetic": [twin, "--members", table, "--others", f"{LEARNING}.{kind}"],
        "compare": ["--data", table, *compared],
    }


def run(folder: Path, arguments: list[str]) -> dict[str, Any]:
    """Run a command, and return its seconds, processor seconds and peak memory."""
    start = time.perf_counter()
    with (folder / "answer.txt").open("w") as answer:
        child = subprocess.Popen([*SMC, *arguments], cwd=folder, stdout=answer, stderr=subprocess.PIPE)
        complaint = child.stderr.read() if child.stderr is not None else b""
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {complaint.decode()}")
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_memory_gb": round(used.ru_maxrss * 1024 / 1e9, 2),
    }


def markdown(report: dict[str, Any]) -> str:
    """Return the table of docs/scale.md."""
    head = ["| command | rows | format | seconds | processor seconds | memory |", "|---|---:|---|---:|---:|---:|"]
    table = report["table"]
    return "\n".join(
        [
            *head,
            *(
                f"| `smc {row['command']}` | {table['rows']:,} | {table['format']} | {row['seconds']:.1f} | "
                f"{row['processor_seconds']:.1f} | {row['peak_memory_gb']:.2f} GB |"
                for row in report["commands"]
            ),
        ]
    )


def main() -> None:
    """Make the table, measure, print and write the figures."""
    parser = argparse.ArgumentParser(description="Commands of one party on a large table.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--twin", type=int, help="rows of the second table; default: a quarter")
    parser.add_argument("--csv", action="store_true", help="CSV in place of Parquet")
    parser.add_argument("--only", nargs="*", help="commands to run; default: all")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/scale.md")
    given = parser.parse_args()
    kind = "csv" if given.csv else "parquet"
    rows = []
    with tempfile.TemporaryDirectory(prefix="own-tables-") as name:
        folder = Path(name)
        make(folder, given.rows, given.rows // 4 if given.twin is None else given.twin, kind)
        learning = ["--data", f"{LEARNING}.{kind}", "--schema", "schema.toml", "--max-rows", str(2 * LEARNT)]
        run(folder, ["id3", "--alone", *learning, "--epsilon", "1", "--max-depth", "3", "--out", "tree.json"])
        for command, arguments in commands(kind).items():
            if given.only is None or command in given.only:
                rows.append({"command": command, **run(folder, [*command.split(), *arguments])})
                print(json.dumps(rows[-1]), flush=True)
    about = {"rows": given.rows, "twin": given.twin, "columns": len(NAMES) + 1, "format": kind}
    report = {"machine": facts(("duckdb", "numpy", "pyarrow")), "table": about, "commands": rows}
    if given.markdown:
        print(markdown(report))
    if given.out is not None:
        files.write_text(given.out, json_rows(report) + "\n")


if __name__ == "__main__":
    main()
