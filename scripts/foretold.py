"""Measure the processor time of jobs, compare it with the forecast of `smc estimate`, and write docs/measured.md.

    python -m scripts.foretold ../shared/data/adult/adult.csv           # or: make foretold

The forecast is the sum of `computing`, `messages` and all of `besides` in `smc estimate KIND --json`, over loopback.
The measured value is the user and system time of the busier of the two processes of `smc KIND`, after one run that is
not counted. Each party has every other row of the table, as `smc prepare` proposes it. Under make, bytecode is not
kept, so each run compiles all sources.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parties.alone.preparing.writing import row_bound
from parties.base.files import write_text
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.cli import run
from parties.link.identity import create
from tests.support.ports import free_port

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "foretold.json"
PAGE = ROOT / "docs" / "measured.md"
BEGIN, END = "<!-- made by scripts/foretold.py -->\n", "<!-- until here -->\n"
PROGRAM = [sys.executable, "-m", "parties.cli"]
DEADLINE = 600.0  # seconds for a run
TARGET, ROWS = "salary-class", 17_000
NUMBERS = "--columns age,hours-per-week --bounds 17:90,1:99"
JOBS = f"""
id3
id3 --splits multiway
id3 --plain --max-depth 4
id3 --criterion gini --prune chi2
id3 --epsilon 1 --max-depth 4
forest --trees 5
boost --rounds 3 --depth 3 --epsilon 1
millionaires --value 5
equality --value 5
rules --support 0.1 --confidence 0.8 --columns sex,race,workclass,salary-class
rank --measure iv
scorecard --good >50K --epsilon 1
test chi2 --columns sex,salary-class
test trend --by age
test welch --column hours-per-week --by sex
variance --column hours-per-week --above 100
quantile --column age --at 0.5 --epsilon 1
release count --where 'sex = Male' --epsilon 1
release histogram --by education --epsilon 1
release edges --numeric age --epsilon 1
cluster {NUMBERS} --k 4 --epsilon 1
regress joint --columns age,hours-per-week,sex --epsilon 1
synthesise --columns age,workclass,education,sex,salary-class --epsilon 1 --delta 1e-9
publish joint --recode age,education,sex --keep salary-class --k 10
evaluate drift --columns age,education
"""
Row = dict[str, Any]


def halves(raw: Path, place: Path, target: str = TARGET) -> int:
    """Write rows, settings and keys of two parties, a and b; each has every other row. Return the bound on its rows."""
    with redirect_stdout(io.StringIO()):
        if run(["prepare", str(raw), "--target", target, "--table", "rows", "--guess", "--out", str(place / "out")]):
            raise SystemExit(2)
    head, *lines = raw.read_text().splitlines()
    bound = row_bound(-(-len(lines) // 2))
    for party, name in enumerate("ab"):
        (place / f"{name}.csv").write_text("\n".join([head, *lines[party::2], ""]))
        settings = (place / "out" / "party.toml").read_text()
        for key, value in {"source": f'"{name}.csv"', "schema": '"out/schema.toml"', "max_rows": str(bound)}.items():
            settings = re.sub(rf"^{key} = .*", f"{key} = {value}", settings, flags=re.MULTILINE)
        (place / f"{name}.toml").write_text(settings)
        create(name, ["127.0.0.1"], place)
    return bound


def foretold(job: list[str], place: Path) -> float:
    """Return the processor seconds in the estimate of a job."""
    words = [*PROGRAM, "estimate", *job, "--json"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=DEADLINE)
    if done.returncode:
        raise SystemExit(f"estimate {shlex.join(job)}: {done.stderr.strip().splitlines()[-1]}")
    document = json.loads(done.stdout)
    work = document["estimates"][0]["work"]
    return float(work["computing"] + work["messages"] + sum(document["besides"].values()))


def measured(job: list[str], place: Path) -> float:
    """Return the processor seconds of the busier of the two parties."""
    where, running = f"127.0.0.1:{free_port()}", []
    for name, peer, way in (("a", "b", "--listen"), ("b", "a", "--connect")):
        words = [*PROGRAM, *job, "--config", f"{name}.toml", "--identity", f"{name}.key"]
        words += ["--certificate", f"{name}.crt", "--peer", f"{peer}.crt", way, where]
        words += ["--out", f"{name}.out", "--force"] * (job[0] == "synthesise")
        running.append(subprocess.Popen(words, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    taken = []
    for process in running:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{shlex.join(job)}: {errors.strip().splitlines()[-1]}")
        taken.append(used.ru_utime + used.ru_stime)
    return max(taken)


def _row(line: str, place: Path, runs: int) -> Row:
    words = shlex.split(line)
    of_rows = words[0] not in ("millionaires", "equality")
    targeted = words[0] in ("id3", "forest", "boost", "rank", "scorecard", "regress") or "trend" in words
    job = words + ["--target", TARGET] * targeted
    job += ["--max-rows", str(ROWS)] * of_rows
    said = foretold([*job, "--config", "a.toml"] if of_rows else words[:1], place)
    seconds = [measured(job, place) for _ in range(runs + 1)][1:]
    return {"job": line, "seconds": statistics.median(seconds), "foretold": said}


def _line(row: Row) -> str:
    cells = f"`{row['job']}`", *(f"{row[key]:.2f}" for key in ("seconds", "foretold")), f"{_ratio(row):.2f}"
    return f"| {' | '.join(cells)} |"


def _ratio(row: Row) -> float:
    return float(row["seconds"] / row["foretold"])


def markdown(rows: list[Row]) -> str:
    """Return the table, and the sentence before it."""
    ratios = sorted(map(_ratio, rows))
    return "\n".join([
        f"These {len(rows)} jobs took {ratios[0]:.2f} to {ratios[-1]:.2f} times the predicted seconds:", "",
        "| job | measured processor seconds | predicted | measured / predicted |", "|---|---:|---:|---:|",
        *map(_line, rows), "",
    ])  # fmt: skip


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="UCI's Adult, a CSV file with a header")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="jobs with this text alone, and nothing is written")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        place = Path(name)
        halves(options.table, place)
        rows = []
        for line in filter(None, JOBS.splitlines()):
            if options.only in line:
                rows.append(_row(line, place, options.runs))
                print(_line(rows[-1]), flush=True)
    if not options.only:
        write_text(RESULTS, json_rows({"machine": machine.facts(), "runs": options.runs, "rows": rows}) + "\n")
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + BEGIN + markdown(rows) + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
