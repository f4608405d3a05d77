"""Speed of the link: two processes on this machine over gRPC with mutual TLS, without computing.

    python -m benchmarks.link [--megabytes N] [--runs N] [--json]

    one way     megabytes a second of messages of 1, 4 and 16 MiB from party 0 to party 1, until the last has come
    round trip  microseconds for 16 bytes there and back
    processor   of both parties: seconds for each gigabyte, microseconds for each round trip

Medians of the runs; a run before them is not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from parties.bench import pair
from smc.session import Session

SIZES = (1, 4, 16)  # MiB
TRIPS = 300
MIB = 1 << 20


def play(session: Session, megabytes: int, runs: int) -> dict[str, float]:
    """Measure one party's side of the link, and return the medians; only those of party 0 count."""
    figures: dict[str, list[float]] = {}
    leads = session.party == 0
    for run in range(runs + 1):
        for size in SIZES:
            block = np.zeros(size * MIB, dtype=np.uint8)
            times = megabytes // size
            start, busy = time.perf_counter(), time.process_time()
            for _ in range(times):
                if leads:
                    session.send("block", block)
                else:
                    session.receive("block", np.uint8, block.shape)
            peer = _end(session, time.process_time() - busy)
            seconds = time.perf_counter() - start
            if run:
                gigabytes = times * size * MIB / 1e9
                figures.setdefault(f"{size} MiB, MB/s", []).append(gigabytes * 1e3 / seconds)
                figures.setdefault(f"{size} MiB, processor s/GB", []).append(
                    (time.process_time() - busy + peer) / gigabytes
                )
        start, busy = time.perf_counter(), time.process_time()
        for _ in range(TRIPS):
            if leads:
                session.send("there", np.zeros(16, dtype=np.uint8))
                session.receive("back", np.uint8, (16,))
            else:
                session.receive("there", np.uint8, (16,))
                session.send("back", np.zeros(16, dtype=np.uint8))
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        peer = _end(session, busy)
        if run:
            figures.setdefault("round trip, us", []).append(seconds / TRIPS * 1e6)
            figures.setdefault("round trip, processor us", []).append((busy + peer) / TRIPS * 1e6)
    return {name: statistics.median(values) for name, values in figures.items()}


def _end(session: Session, busy: float) -> float:
    """Wait until party 1 has everything; at party 0 return the processor seconds of party 1."""
    if session.party == 0:
        return float(session.receive("end", np.float64, (1,))[0])
    session.send("end", np.array([busy]))
    return 0.0


def main() -> None:
    """Print a table, or JSON with --json."""
    parser = argparse.ArgumentParser(description="How fast the link is.")
    parser.add_argument("--megabytes", type=int, default=512, help="of each size, a run")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--join", nargs=2, metavar=("DIRECTORY", "ADDRESS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.join is not None:
        with pair.join(Path(arguments.join[0]), arguments.join[1]) as session:
            play(session, arguments.megabytes, arguments.runs)
        return
    words = ["-m", "benchmarks.link", "--megabytes", str(arguments.megabytes), "--runs", str(arguments.runs), "--join"]
    with pair.beside(words) as session:
        figures = play(session, arguments.megabytes, arguments.runs)
    if arguments.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
        return
    for name, figure in figures.items():
        print(f"{name:26}{figure:10.2f}")


if __name__ == "__main__":
    main()
