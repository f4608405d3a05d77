"""Cost of a tree of many holders of rows on one machine: `python -m tests.support.many_holders --out holders.json`.

Both parties that compute and the first holder are processes of their own; the other holders are threads of one more
process. Every holder has a connection to each party over TLS, and reads its own file. Ten files are drawn, which the
holders share in turn. Processor seconds of the first holder are those of its process from its consent to the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from parties.base import console
from parties.base.console import StatusLine
from parties.jobs import contributing
from parties.link.identity import create, load_certificate, load_identity
from parties.link.options import LinkOptions
from parties.sources.settings import TableSettings
from protocols.shares import sent
from tests.support.ports import free_port

NUMBERS, ROWS, COLUMNS, DEPTH, FILES = (3, 10, 30, 100), 100_000, 8, 6, 10
WAIT = 1800.0
NODES = ("a", "b")


def write_tables(directory: Path) -> None:
    """Write the schema, and tables in which every column says something about the class."""
    names = [f"x{column}" for column in range(COLUMNS)]
    attributes = "\n".join(f'{name} = ["0", "1"]' for name in [*names, "y"])
    (directory / "schema.toml").write_text(f'target = "y"\n[attributes]\n{attributes}\n')
    for number in range(FILES):
        random = np.random.default_rng(number)
        bits = random.integers(0, 2, (ROWS, COLUMNS))
        score = bits @ np.arange(COLUMNS, 0, -1) + (bits[:, 0] ^ bits[:, 1]) * 5 + random.normal(0, 4, ROWS)
        lines = np.column_stack([bits, score > np.median(score)]).astype(int)
        np.savetxt(directory / f"{number}.csv", lines, "%d", ",", header=",".join([*names, "y"]), comments="")


def give(directory: Path, number: int, ports: Sequence[int]) -> dict[str, Any]:
    """Take part as holder `number`, and return what it sent and what that took."""
    identity = load_identity(directory / f"h{number}.key", directory / f"h{number}.crt")
    ways = [
        LinkOptions(
            identity, load_certificate(directory / f"{node}.crt"), connect=f"127.0.0.1:{port}", wait=WAIT,
            timeout=WAIT, kernels=[],
        )
        for node, port in zip(NODES, ports, strict=True)
    ]  # fmt: skip
    table = TableSettings.model_validate(
        {
            "source": str(directory / f"{number % FILES}.csv"),
            "schema": directory / "schema.toml",
            "max_rows": ROWS,
        }
    )
    begun, sizes, plain = [0.0, 0.0], list[int](), contributing._give

    def counted(links: Any, numbers: Any, *more: Any) -> None:
        sizes.append(len(numbers))
        plain(links, numbers, *more)

    def consent(lines: list[str], parameters: Any) -> None:
        begun[:] = time.perf_counter(), time.process_time()

    if number == 0:
        contributing._give = counted  # type: ignore[assignment]
    contributing.contribute(ways, table, consent, StatusLine(None))
    seconds, processor = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return {"seconds": seconds, "processor": processor, "questions": len(sizes), "sent": sent(sizes)}


def run(directory: Path, number: int) -> dict[str, Any]:
    """Run the job with `number` holders."""
    ports, port = (free_port(), free_port()), free_port()
    listed = ",".join(str(directory / f"h{holder}.crt") for holder in range(number))
    job = ["id3", "--plain", "--max-depth", DEPTH, "--schema", directory / "schema.toml", "--max-rows", ROWS]
    job += ["--engine", "mixed", "--compute-only", "--holders", listed, "--wait", WAIT]
    ways = (["--listen", f"127.0.0.1:{port}"], ["--connect", f"127.0.0.1:{port}"])
    started: list[subprocess.Popen[Any]] = []
    for node, peer, at, way in zip(NODES, NODES[::-1], ports, ways, strict=True):
        keys = ["--identity", f"{node}.key", "--certificate", f"{node}.crt", "--peer", f"{peer}.crt"]
        more = [*keys, *way, "--holders-at", f"127.0.0.1:{at}", "--report", f"{node}.json", "--force", "--json"]
        command = [sys.executable, "-m", "parties", *map(str, [*job, *more])]
        started.append(subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL))
    mine = [sys.executable, "-m", "tests.support.many_holders", "--directory", str(directory), "--ports"]
    mine += [",".join(map(str, ports))]
    first = subprocess.Popen([*mine, "--only", "0"], stdout=subprocess.PIPE, text=True)
    others = subprocess.Popen([*mine, "--only", f"1-{number - 1}"], stdout=subprocess.DEVNULL)
    said, _ = first.communicate()
    if any(process.wait() for process in (*started, first, others)):
        raise SystemExit("a process failed")
    report = json.loads((directory / "a.json").read_text())
    total, holders = report["total"], report["phases"]["holders"]
    between = {name: total[name] for name in ("rounds", "and_gates")}
    between |= {name: total[name] - holders[name] for name in ("bytes_sent", "bytes_received")}
    return {"holders": number, "between": between, "holder": json.loads(said)}


def table(measured: Sequence[dict[str, Any]]) -> str:
    """Return the lines of the table in docs/scale.md."""
    lines = [
        "| holders | rows | time | between the two | questions | a holder sends | its processor time |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in measured:
        holder, between = one["holder"], one["between"]
        both = console.size(between["bytes_sent"] + between["bytes_received"])
        lines.append(
            f"| {one['holders']} | {one['holders'] * ROWS:,} | {holder['seconds']:.0f} s | {both} "
            f"| {holder['questions']} | {sum(holder['sent']):,} bytes | {holder['processor']:.1f} s |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure all numbers of holders, or take part as some of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--holders", default=",".join(map(str, NUMBERS)))
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--ports")
    parser.add_argument("--only")
    typed = parser.parse_args()
    if typed.only is not None:
        low, _, high = typed.only.partition("-")
        ports = [*map(int, typed.ports.split(","))]
        if not high:
            sys.stdout.write(json.dumps(give(typed.directory, int(low), ports)))
            return
        threads = [
            threading.Thread(target=give, args=(typed.directory, number, ports))
            for number in range(int(low), int(high) + 1)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return
    numbers = [*map(int, typed.holders.split(","))]
    with TemporaryDirectory() as name:
        directory = Path(name)
        write_tables(directory)
        for party in [*NODES, *(f"h{number}" for number in range(max(numbers)))]:
            create(party, ["127.0.0.1"], directory)
        measured = []
        for number in numbers:
            measured.append(run(directory, number))
            sys.stdout.write(table(measured[-1:]).splitlines()[-1] + "\n")
            sys.stdout.flush()
    if typed.out is not None:
        typed.out.write_text(json.dumps(measured, indent=1) + "\n")
    sys.stdout.write(table(measured) + "\n")


if __name__ == "__main__":
    main()
