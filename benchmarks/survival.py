"""Survival over mTLS on this machine, beside lifelines: verdicts, seconds and bytes of compare; how near curves are.

python -m venv /tmp/lifelines && /tmp/lifelines/bin/pip install lifelines     # by itself: it wants an old pandas
/tmp/lifelines/bin/python benchmarks/survival.py --tables tables.json         # lung, rossi, larynx; lifelines' p
python benchmarks/survival.py tables.json
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BINS = {"lung": 24, "rossi": 52, "larynx": 24}  # rossi is in weeks, and its p-value next to 0.05
BINS_OF_CURVE, RUNS, MAX_ROWS = 12, 200, 500


def write_tables(path: Path) -> None:
    """Write lifelines' data sets, each with its p-value of the unbinned log-rank test."""
    from lifelines import datasets, statistics

    frames = {
        "lung": (datasets.load_lung(), "time", "status", "sex", 1.5),
        "rossi": (datasets.load_rossi(), "week", "arrest", "fin", 0.5),
        "larynx": (datasets.load_larynx(), "time", "death", "Stage_III", 0.5),
    }
    tables = {}
    for name, (frame, time, event, arm, cut) in frames.items():
        t, e, a = frame[time], frame[event].astype(int), (frame[arm] > cut).astype(int)
        p = statistics.logrank_test(t[a == 0], t[a == 1], e[a == 0], e[a == 1]).p_value
        tables[name] = {"time": list(map(float, t)), "event": list(map(int, e)), "arm": list(map(int, a)), "p": p}
    path.write_text(json.dumps(tables))


def schema_of(table: dict[str, Any], bins: int) -> str:
    """Return a schema with `bins` bins of equal width."""
    high = math.ceil(max(table["time"]))
    edges = [high * i / bins for i in range(1, bins)]
    head = f'[attributes.months]\ntype = "real"\nlow = 0\nhigh = {high}\nstep = 0.1\nedges = '
    return f'{head}{[round(e, 3) for e in edges]}\n\n[attributes.died]\ntype = "flag"\n'


def compare(place: Path, table: dict[str, Any], bins: int) -> dict[str, Any]:
    """Run the command between two processes; return the answer and the cost."""
    python = [sys.executable, "-m", "parties"]
    text = '[attributes]\narm = ["0", "1"]\n\n' + schema_of(table, bins)
    (place / "schema.toml").write_text(text)
    for party, name in enumerate("ab"):
        subprocess.run([*python, "identity", "create", name], cwd=place, check=False, capture_output=True)
        rows = list(zip(table["time"], table["event"], table["arm"], strict=True))[party::2]
        with (place / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [["months", "died", "arm"], *([t, "no" if e == 0 else "yes", a] for t, e, a in rows)]
            )
    asked = f"--time months --event died --arm arm --schema schema.toml --max-rows {MAX_ROWS} --json --force"
    links = (["--listen", "127.0.0.1:29471"], ["--connect", "127.0.0.1:29471"])
    files = [f"--data {name}.csv --identity {name}.key --certificate {name}.crt" for name in "ab"]
    running = [
        subprocess.Popen(
            [*python, "survive", "compare", *asked.split(), *link, *f"{own} --peer {peer}.crt".split()],
            cwd=place, stdout=subprocess.PIPE, text=True,
        )
        for own, peer, link in zip(files, "ba", links, strict=True)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=120)[0] for process in running]
    document: dict[str, Any] = json.loads(outputs[0])
    return document


def error_of_curves(table: dict[str, Any]) -> float:
    """Return the root mean square error of S(t) at epsilon 1, all rows one arm, beside the curve without noise."""
    import numpy as np

    from parties.jobs.release.postprocessing import consistent
    from parties.jobs.release.survive.estimates import curve

    random, chance = np.random.default_rng(0), 1 - math.exp(-1)
    places = np.minimum((np.array(table["time"]) * BINS_OF_CURVE / max(table["time"])).astype(int), BINS_OF_CURVE - 1)
    counts = np.zeros((2, BINS_OF_CURVE), dtype=np.int64)
    np.add.at(counts, (table["event"], places), 1)
    exact = curve(counts.astype(float), 0).survival
    errors = []
    for _ in range(RUNS):
        noise = random.geometric(chance, counts.shape) - random.geometric(chance, counts.shape)
        errors.append(np.mean((curve(consistent(counts + noise, 10**6).astype(float), 0).survival - exact) ** 2))
    return float(np.sqrt(np.mean(errors)))


def main() -> None:
    """Print a line for each table."""
    if sys.argv[1] == "--tables":
        write_tables(Path(sys.argv[2]))
        return
    for name, table in json.loads(Path(sys.argv[1]).read_text()).items():
        with tempfile.TemporaryDirectory() as place:
            result = compare(Path(place), table, BINS[name])
        verdict = "differ" if result["differ"] else "alike"
        cost = result["cost"]
        print(
            f"{name}: {len(table['time'])} rows, {BINS[name]} bins, lifelines p = {table['p']:.4g}, ours {verdict}: "
            f"{cost['seconds']:.2f} s, {(cost['bytes_sent'] + cost['bytes_received']) / 1e6:.2f} MB; "
            f"RMSE of S(t) with {BINS_OF_CURVE} bins {error_of_curves(table):.4f}"
        )


if __name__ == "__main__":
    main()
