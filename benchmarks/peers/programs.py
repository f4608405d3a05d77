"""The compared programs. Each is prepared for a data set as a function that runs it once."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.processes import RunError, free_ports, run_together
from benchmarks.peers.samples import Sample, Tree
from parties.link import identity
from parties.sources.cells import cells
from parties.tables import schema

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
DIFFPRIVLIB = ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.4.6", "scipy==1.17.1")
MPYC = ("mpyc==0.11", "numpy", "gmpy2")
MPYC_PARTIES = 3
SPLIT_SEED = 1  # for the division of rows between parties, the same in every benchmark


@dataclass(frozen=True)
class Run:
    """One run: seconds from the start of the first process to the end of the last, and payload bytes of all parties."""

    seconds: float
    bytes: int
    tree: Tree


Program = Callable[[], Run]


def prepare_smc(sample: Sample, directory: Path, engine: str | None, deadline: float) -> Program:
    """Return `smc id3 --plain` as a program of two processes over gRPC with mutual TLS; each has half of the rows.

    `directory` is empty and gets keys, schema and rows. The public bound on a party's rows is the number of all rows.
    """
    schema.propose(cells(sample.path), sample.target).schema.save(directory / "schema.toml")
    job = ["id3", "--plain", "--min-rows", str(sample.min_rows), "--max-rows", str(len(sample.rows))]
    job += ["--engine", engine] if engine is not None else []
    command = prepare_command(sample.rows, directory, job, deadline)

    def run() -> Run:
        seconds, total, printed = command()
        return Run(seconds, total, printed["tree"])

    return run


def prepare_command(
    rows: Sequence[Mapping[str, str]] | None, directory: Path, job: Sequence[str], deadline: float
) -> Callable[[], tuple[float, int, Any]]:
    """Return a function that runs a command by two processes: it returns seconds, bytes both ways, and party 0's JSON.

    `directory` gets keys and, if there are `rows`, half of them for each; `schema.toml` is there. Without rows the
    command ends in an option that takes a number.
    """
    if rows is not None:
        _split(rows, directory)
    for party in (0, 1):
        identity.create(f"party{party}", ["127.0.0.1"], directory)

    def run() -> tuple[float, int, Any]:
        (port,) = free_ports(1)
        commands = [
            [
                *(sys.executable, "-m", "parties", *job),
                *([str(party)] if rows is None else ["--schema", "schema.toml", "--data", f"rows{party}.csv"]),
                *("--json", "--identity", f"party{party}.key", "--certificate", f"party{party}.crt"),
                *("--peer", f"party{1 - party}.crt", ("--listen", "--connect")[party], f"127.0.0.1:{port}"),
                *("--report", f"cost{party}.json", "--force"),
            ]
            for party in (0, 1)
        ]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        seconds, (printed, _) = run_together(commands, directory, deadline, environment)
        total = json.loads((directory / "cost0.json").read_text(encoding="utf-8"))["total"]
        return seconds, total["bytes_sent"] + total["bytes_received"], json.loads(printed)

    return run


def prepare_mpyc(sample: Sample, directory: Path, python: Path, parallel: bool, deadline: float) -> Program:
    """Return `mpyc_id3.py` as a program of three processes on loopback, with branches in series or in parallel."""
    script = Path(__file__).with_name("mpyc_id3.py")
    job = ["--data", str(sample.path.resolve()), "--target", sample.target, "--min-rows", str(sample.min_rows)]
    job += ["--parallel"] if parallel else []
    job += ["-L", str(sample.bits)]

    def run() -> Run:
        addresses = [f"-P127.0.0.1:{port}" for port in free_ports(MPYC_PARTIES)]
        commands = [
            [str(python), str(script), *job, "--tree", f"tree{party}.json", "-I", str(party), *addresses]
            for party in reversed(range(MPYC_PARTIES))  # the listening parties start first
        ]
        seconds, logs = run_together(commands, directory, deadline)
        tree = json.loads((directory / "tree0.json").read_text(encoding="utf-8"))
        return Run(seconds, sum(map(bytes_sent, logs)), tree)

    return run


def bytes_sent(log: str) -> int:
    """Return the bytes that one party has sent, payload and MPyC's framing, from the log's last line."""
    found = re.findall(r"\|bytes sent: (\d+)$", log, re.MULTILINE)
    if len(found) != 1:
        raise RunError("MPyC did not log once how many bytes it sent")
    return int(found[0])


def install(directory: Path, requirements: Sequence[str]) -> Path:
    """Return the Python of a virtual environment with these packages; it is made in `directory` if missing.

    If that fails, raise RunError with the installer's last line.
    """
    python = directory / "bin" / "python"
    marker = directory / ".installed"
    wanted = " ".join(requirements)
    if not marker.is_file() or marker.read_text(encoding="utf-8") != wanted:
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        for command in ([sys.executable, "-m", "venv", "--clear", str(directory)], pip):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = (done.stderr or done.stdout).strip().splitlines()[-1:]
                raise RunError(f"cannot install {wanted}: {''.join(last)}")
        marker.write_text(wanted, encoding="utf-8")
    return python


def answered(python: Path | str, program: Path, asked: Any) -> Any:
    """Run a program in its own environment, with a JSON document as input, and return the JSON that it prints."""
    command = [str(python), str(program)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def found(python: Path, program: Path, arrays: Mapping[str, Any], *words: str) -> Any:
    """Run a program with a file of arrays and words as arguments, and return the JSON that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, **arrays)
        command = [str(python), str(program), str(path), *words]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def installed(python: Path) -> dict[str, str]:
    """Return the versions of the packages that a Python has, by name, without pip."""
    command = [str(python), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {one["name"]: one["version"] for one in listed if one["name"] not in ("pip", "setuptools")}


def _split(rows: Sequence[Mapping[str, str]], directory: Path) -> None:
    """Write each party's rows: a random half, the same every time."""
    rows = random.Random(SPLIT_SEED).sample(rows, len(rows))
    for party in (0, 1):
        with (directory / f"rows{party}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows[party::2])
