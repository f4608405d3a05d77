"""What publishing rows costs and leaves: Adult by each algorithm, and trees that are trained on what is published.

    python -m benchmarks.publishing --adult FOLDER [--runs N] [--out FILE.json]   (or: make bench-publish MORE=FOLDER)
    python -m benchmarks.publishing --rows 10000000
    python -m benchmarks.publishing --wide 200000 60
    python -m benchmarks.publishing --arx FOLDER

One process. FOLDER has adult.csv and its hierarchies/. Seconds are those of the search for the recoding, from distinct
cells in memory; reading these, one GROUP BY by DuckDB, stands apart; the median of the runs is shown, and those of the
processor too, which other work on the machine does not make more. With `--rows` a
random table of so many rows in Parquet is anonymised by `smc publish anonymise`, a process of its own: its seconds from
start to end with the published file written, those of processors, and its peak memory. DuckDB is given 500 MB. With
`--wide` a random CSV file of so many rows and columns goes through `smc publish plan` and, with the plan as it stands,
`smc publish anonymise`.

With `--arx` stands ARX's optimum of a lattice beside ours, on its own table and hierarchies: FOLDER is a clone of
github.com/arx-deidentifier/genetic-benchmark (Meurers, Bild, Do, Prasser, "A scalable software solution for anonymizing
high-dimensional biomedical data", GigaScience 10(10), 2021), whose results/ are as published. Nine quasi-identifiers,
k = 5, any number of rows may be left out; utility is 1 less the mean penalty of a cell, which ARX calls granularity.

If SMC_ANJANA names an interpreter that has anjana (`pip install anjana==1.2.3` in an environment of its own), the same
cases by it stand beside ours: its seconds are those of its function, from a data frame in memory.

Accuracy is that of `benchmarks.published_trees`.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import tomli_w

from benchmarks.private_trees.tables import folds
from benchmarks.published_trees import FOLDS, SEED, accuracy
from parties.alone.publish.cells import Cells
from parties.alone.publish.recoding.anonymising import anonymised, cells_of
from parties.alone.publish.recoding.fulldomain import Search
from parties.alone.publish.settings import PublishPlan
from parties.base import files
from parties.bench import machine
from parties.bench.json_rows import json_rows

Row = dict[str, Any]

TREES = {  # hierarchy file of each column that has one
    "age": "age",
    "education": "education",
    "marital-status": "marital",
    "occupation": "occupation",
    "sex": "sex",
    "native-country": "country",
    "race": "race",
    "workclass": "workclass",
}
NUMBERS = {"capital-gain": 5000, "capital-loss": 500, "hours-per-week": 10}  # widths of the lowest ranges
SIX, EIGHT = list(TREES)[:6], list(TREES)
TWELVE = [*EIGHT, "relationship", *NUMBERS]  # all but a weight of the census and `education` as a number
LABEL = "salary-class"
MEMORY = "500MB"  # memory limit of DuckDB for a random table


@dataclass(frozen=True)
class Case:
    """A case of anonymising: quasi-identifiers, privacy models, algorithm, and the largest share of rows left out."""

    name: str
    quasi: list[str]
    models: list[Row]
    algorithm: str = "flash"
    most: float = 0.0

    def plan(self, adult: Path) -> PublishPlan:
        """Return the case as a plan."""
        columns: Row = {name: {"role": "quasi-identifier", **_rule(name)} for name in self.quasi}
        columns[LABEL] = {"role": "sensitive"}
        content = {"source": "adult.csv", "columns": columns, "models": self.models}
        content |= {"algorithm": self.algorithm, "max_suppressed": self.most}
        return PublishPlan.model_validate(content, context={"directory": adult})


def _rule(name: str) -> Row:
    if name in TREES:
        return {"tree": f"hierarchies/{TREES[name]}.csv", "numeric": name == "age"}
    return {"ranges": [NUMBERS[name], 2 * NUMBERS[name]], "numeric": True} if name in NUMBERS else {}


def k_anonymity(k: int) -> Row:
    """Return the model of k-anonymity."""
    return {"model": "k-anonymity", "k": k}


def cases() -> Iterator[Case]:
    """Yield all cases except the whole lattice."""
    yield Case("6 columns, k = 5", SIX, [k_anonymity(5)])
    yield Case("6 columns, k = 5", SIX, [k_anonymity(5)], "mondrian")
    yield Case("6 columns, k = 10, 2% left out", SIX, [k_anonymity(10)], most=0.02)
    yield Case("8 columns, k = 10, 2% left out", EIGHT, [k_anonymity(10)], most=0.02)
    yield Case("8 columns, k = 10", EIGHT, [k_anonymity(10)], "mondrian")
    diverse: Row = {"model": "l-diversity", "column": LABEL, "l": 2}
    close: Row = {"model": "t-closeness", "column": LABEL, "t": 0.2}
    for model, name in ((diverse, "l = 2"), (close, "t = 0.2")):
        yield Case(f"6 columns, k = 5, {name}", SIX, [k_anonymity(5), model])
        yield Case(f"6 columns, k = 5, {name}", SIX, [k_anonymity(5), model], "mondrian")


def read_cells(plan: PublishPlan) -> tuple[Cells, float]:
    """Return a table's cells, and the seconds of reading them."""
    start = time.perf_counter()
    with ExitStack() as opened:
        cells = cells_of(plan, opened)[1]
    return cells, time.perf_counter() - start


def measure(case: Case, adult: Path, runs: int) -> Row:
    """Return a case's seconds, and the information that its result keeps."""
    plan = case.plan(adult)
    cells, reading = read_cells(plan)
    seconds, used = [], []
    for _ in range(runs):
        start, before = time.perf_counter(), time.process_time()
        outcome = anonymised(cells, plan, plan.check())
        seconds.append(time.perf_counter() - start)
        used.append(time.process_time() - before)
    sizes = outcome.partition.count(cells, Search(cells, plan.check()).rollup.layout).sizes
    left_out = outcome.report["suppressed"]
    return {
        "case": case.name,
        "algorithm": case.algorithm,
        "reading_seconds": round(reading, 3),
        "seconds": round(statistics.median(seconds), 3),
        "processor_seconds": round(statistics.median(used), 3),
        "classes": outcome.report["classes"],
        "suppressed": left_out,
        "discernibility": int((sizes**2).sum()) + left_out * cells.rows,
        "lost": round(float(np.mean(list(outcome.report["lost"].values()))), 4),
        "counted": outcome.report.get("counted"),
        "lattice": outcome.report.get("lattice"),
    }


def peer(adult: Path) -> list[Row]:
    """Return anjana's results for the cases that it supports; none if SMC_ANJANA names no interpreter."""
    python = os.environ.get("SMC_ANJANA")
    if not python:
        return []
    wanted = []
    for case in cases():
        if case.algorithm == "flash" and case.quasi == SIX:
            found: Row = {"case": case.name, "quasi": case.quasi, "percent": 100 * case.most}
            for model in case.models:
                found |= {name: value for name, value in model.items() if name in ("k", "l", "t")}
            wanted.append(found)
    trees = {name: str(adult / "hierarchies" / f"{TREES[name]}.csv") for name in SIX}
    job = {"table": str(adult / "adult.csv"), "trees": trees, "drop": ["fnlwgt"], "label": LABEL, "cases": wanted}
    script = Path(__file__).with_name("publishing_peer.py")
    done = subprocess.run([python, script], input=json.dumps(job), capture_output=True, text=True, check=True)
    return [{"algorithm": "anjana", **json.loads(line)} for line in done.stdout.splitlines() if line.startswith("{")]


def beside_arx(folder: Path, place: Path) -> list[Row]:
    """Return ARX's published utility for its own table Adult, and ours."""
    import csv

    with (folder / "results" / "Experiment1_kAnon.csv").open(newline="") as file:
        published = {
            float(row["externalUtility"])
            for row in csv.DictReader(file, delimiter=";")
            if (row["algorithm"], row["dataset"], row["k"]) == ("OPTIMAL", "ADULT", "5")
        }
    text = (folder / "data" / "adult_int.csv").read_text().replace(";", ",")
    (place / "adult.csv").write_text(text)
    trees = (folder / "hierarchies").resolve()
    columns = {
        name: {"role": "quasi-identifier", "tree": str(trees / f"adult_int_hierarchy_{name}.csv")}
        for name in text.split("\n", 1)[0].strip().split(",")
    }
    found: list[Row] = [{"way": "ARX, optimum", "utility": round(utility, 4)} for utility in published]
    lattice: Row = {"algorithm": "flash", "utility": "ncp", "max_suppressed": 1.0}
    ways = {
        "flash, ncp": lattice,
        "flash, ncp, local": lattice | {"local": True},
        "mondrian": {"algorithm": "mondrian"},
    }
    for way, settings in ways.items():
        content: Row = {"source": "adult.csv", "columns": columns, "models": [k_anonymity(5)], **settings}
        plan = PublishPlan.model_validate(content, context={"directory": place})
        report = anonymised(read_cells(plan)[0], plan, plan.check()).report
        kept = 1 - float(np.mean(list(report["lost"].values())))
        found.append({"way": way, "utility": round(kept, 4), "suppressed": report["suppressed"]})
    return found


def classify(adult: Path, runs: int) -> Row:
    """Classify all nodes of the lattice of 8 columns, k = 5, and return the figures."""
    plan = Case("", EIGHT, [k_anonymity(5)]).plan(adult)
    cells = read_cells(plan)[0]
    seconds, used = [], []
    for _ in range(runs):
        start, before = time.perf_counter(), time.process_time()
        search = Search(cells, plan.check())
        found = search.solutions()
        seconds.append(time.perf_counter() - start)
        used.append(time.process_time() - before)
    return {
        "seconds": round(statistics.median(seconds), 3),
        "processor_seconds": round(statistics.median(used), 3),
        "nodes": found.size,
        "solutions": int(found.sum()),
        "counted": search.rollup.steps,
    }


def accuracies(adult: Path) -> list[Row]:
    """Return the accuracy of trees trained on published rows, for each way to publish them."""
    whole = read_cells(Case("", TWELVE, [k_anonymity(2)]).plan(adult))[0]
    labels = np.repeat(whole.sensitive[0], whole.counts).astype(np.int64)
    cells = np.repeat(np.arange(len(whole.counts)), whole.counts)
    fold = folds(labels, FOLDS, SEED)
    found = [accuracy("as it came", None, 0, whole, cells, labels, fold)]
    for k, algorithm in ((10, "mondrian"), (10, "mondrian-relaxed"), (50, "mondrian")):
        for quasi in (EIGHT, TWELVE):
            case = Case("", quasi, [k_anonymity(k)], algorithm)
            found.append(accuracy(f"{algorithm}, k = {k}", case.plan(adult), len(quasi), whole, cells, labels, fold))
    flash = Case("", EIGHT, [k_anonymity(10)], "flash", 0.02)
    found.append(accuracy("flash, k = 10, 2%", flash.plan(adult), len(EIGHT), whole, cells, labels, fold))
    return found


def large(rows: int, directory: Path) -> Row:
    """Anonymise a random table by Mondrian, k = 10; its correlated columns have 4 to 200 values each."""
    import duckdb

    values = [4, 6, 10, 16, 30, 60, 100, 200]
    names = [f"q{i}" for i in range(len(values))]
    columns = ", ".join(
        f"floor(least(0.999, 0.5 * u + 0.5 * random()) * {n})::INT AS {q}" for q, n in zip(names, values, strict=True)
    )
    table = directory / "table.parquet"
    with duckdb.connect() as connection:
        random = f"SELECT random() AS u FROM range({rows})"
        connection.execute("SET threads = 1; SELECT setseed(0.5)")
        connection.execute(f"COPY (SELECT {columns}, (u * 10)::INT AS s FROM ({random})) TO '{table}' (FORMAT parquet)")
    content: Row = {"source": table.name, "memory": MEMORY, "algorithm": "mondrian", "models": [k_anonymity(10)]}
    content["columns"] = {
        name: {"role": "quasi-identifier", "numeric": True, "ranges": [n]}
        for name, n in zip(names, values, strict=True)
    } | {"s": {"role": "sensitive"}}
    (directory / "publish.toml").write_text(tomli_w.dumps(content))
    report = directory / "report.json"
    command = [sys.executable, "-m", "parties", "publish", "anonymise", "--plan", str(directory / "publish.toml")]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--out", str(directory / "out.parquet"), "--report", str(report)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "rows": rows,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_megabytes": used.ru_maxrss // 1024,
        "classes": json.loads(report.read_text())["classes"],
    }


def wide(rows: int, columns: int, directory: Path) -> Row:
    """Plan and anonymise a random table of categories, whole numbers and decimals; a tenth of these are missing."""
    import duckdb

    kinds = (
        "chr(97 + floor(power(0.5 * u + 0.5 * random(), 2) * {n})::INT)",
        "floor((0.3 * u + 0.7 * random()) * {n} * 20)::INT",
        "CASE WHEN random() < 0.1 THEN NULL ELSE round(random() * {n} * 10, 2) END",
    )
    cells = ", ".join(f"{kinds[i % 3].format(n=3 + i % 20)} AS q{i}" for i in range(columns))
    with duckdb.connect(str(directory / "work.duckdb")) as connection:
        connection.execute("SET threads = 1; SELECT setseed(0.5)")
        random = f"SELECT random() AS u FROM range({rows})"
        connection.execute(f"COPY (SELECT {cells} FROM ({random})) TO '{directory / 'raw.csv'}' (HEADER)")
    plan, out = directory / "publish.toml", directory / "out.csv"
    found: Row = {"rows": rows, "columns": columns}
    commands = {
        "plan": ["plan", "--data", str(directory / "raw.csv"), "--out", str(plan), "--json"],
        "anonymise": ["anonymise", "--plan", str(plan), "--out", str(out), "--json"],
    }
    for name, arguments in commands.items():
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "parties", "publish", *arguments], check=True, capture_output=True, text=True
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        found |= {
            f"{name}_seconds": round(time.perf_counter() - start, 1),
            f"{name}_processor_seconds": round(processor, 1),
            f"{name}_peak_megabytes": used.ru_maxrss // 1024,  # of the larger process so far
        }
    report = json.loads(done.stdout)
    lost = round(float(np.mean(list(report["lost"].values()))), 4)
    return found | {"classes": report["classes"], "smallest_class": report["smallest_class"], "lost": lost}


@click.command(help=__doc__)
@click.option("--adult", type=click.Path(path_type=Path, exists=True, file_okay=False), help="The folder with Adult.")
@click.option("--rows", type=click.IntRange(100), help="A random table of so many rows, and nothing else.")
@click.option(
    "--wide", "shape", type=click.IntRange(5), nargs=2, help="A random raw table of so many rows and columns."
)
@click.option("--arx", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Beside ARX's own results.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="The median is shown.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the figures there, as JSON.")
def main(
    adult: Path | None,
    rows: int | None,
    shape: tuple[int, int] | None,
    arx: Path | None,
    runs: int,
    out: Path | None,
) -> None:
    document: Row = {"machine": machine.facts(), "runs": runs}
    if arx is not None:
        with tempfile.TemporaryDirectory(prefix="bench-publish-") as name:
            document["arx"] = beside_arx(arx, Path(name))
        click.echo(json.dumps(document["arx"]))
    if rows is not None:
        with tempfile.TemporaryDirectory(prefix="bench-publish-") as name:
            document["large"] = large(rows, Path(name))
        click.echo(json.dumps(document["large"]))
    if shape is not None:
        with tempfile.TemporaryDirectory(prefix="bench-publish-") as name:
            document["wide"] = wide(*shape, Path(name))
        click.echo(json.dumps(document["wide"]))
    if adult is not None:
        document["rows"] = []
        for case in cases():
            row = measure(case, adult.resolve(), runs)
            document["rows"].append(row)
            click.echo(
                f"{row['case']:34}{row['algorithm']:10}{row['seconds']:8.3f} s{row['classes']:7,} classes"
                f"{row['suppressed']:6} left out, lost {row['lost']:.1%}, discernibility {row['discernibility']:,}"
            )
        document["anjana"] = peer(adult.resolve())
        for row in document["anjana"]:
            click.echo(json.dumps(row))
        document["lattice"] = classify(adult.resolve(), runs)
        click.echo(json.dumps(document["lattice"]))
        document["accuracy"] = accuracies(adult.resolve())
        for row in document["accuracy"]:
            click.echo(f"{row['published']:24}{row['quasi_identifiers']:3} columns {row['accuracy']:.4f}")
    if out is not None:
        files.write_text(out, json_rows(document) + "\n")


if __name__ == "__main__":
    main()
