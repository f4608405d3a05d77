"""How fast oblivious transfers of each kind are made: millions a second, and bytes (python -m benchmarks.ot --help).

Both parties run in two threads of one process, joined by a channel in memory: no network, and two cores are in use. Of
the runs the median is given, and set-up (base OTs in both directions) apart.

    correlated   one direction, the receiver's own choices
    drawn        one direction, choices that the protocol draws: what other libraries call random correlated OT
    random       one direction, two keys an OT by hashing
    bits         both directions, keys of one bit: what AND triples are made of; one in each direction counts as one
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any, get_args

from smc.local import run_local
from smc.ot import OTKind, Transfers
from smc.session import Session

WAYS = "correlated", "drawn", "random", "bits"


def measure(kind: OTKind, count: int, runs: int) -> dict[str, Any]:
    """One row of the table: seconds of set-up, million OTs a second of each way to use them, bytes a correlated OT."""

    def program(session: Session) -> dict[str, float]:
        sending = session.party == 0
        transfers = Transfers(session, kind)
        sender, receiver = transfers.sender, transfers.receiver
        choice = session.prg.bits(count)
        ways: dict[str, Callable[[], Any]] = {
            "correlated": lambda: sender.correlated(count) if sending else receiver.correlated(choice),
            "drawn": lambda: (sender if sending else receiver).random_correlated(count),
            "random": lambda: sender.random(count) if sending else receiver.random(choice),
            "bits": lambda: list(transfers.random_strings([(1, count // 8)])),
        }
        start = time.perf_counter()
        transfers.setup()
        found = {"setup": time.perf_counter() - start}
        ways["correlated"]()  # warms up
        for name, way in ways.items():
            seconds = []
            for _ in range(runs):
                with session.phase(name) as cost:
                    start = time.perf_counter()
                    way()
                    seconds.append(time.perf_counter() - start)
            found[name] = statistics.median(seconds)
            found[f"{name} bytes"] = (cost.bytes_sent + cost.bytes_received) / runs / count
        return found

    left, right = run_local(program)
    rates = {name: count / 1e6 / max(left[name], right[name]) for name in WAYS}
    setup = max(left["setup"], right["setup"])
    return {"kind": kind, "setup_seconds": setup, **rates, "bytes": left["correlated bytes"]}


def main() -> None:
    """Print a table, or JSON with --json."""
    fast = [kind for kind in get_args(OTKind) if kind != "trapdoor"]
    parser = argparse.ArgumentParser(description="Million OTs a second of each kind.")
    parser.add_argument("kinds", nargs="*", metavar="kind", default=fast, help=f"of {', '.join(get_args(OTKind))}")
    parser.add_argument("--count", type=int, default=1 << 20, help="OTs a run")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - set(get_args(OTKind)):
        parser.error(f"no such kind of OT: {', '.join(sorted(unknown))}")
    rows = [measure(kind, arguments.count, arguments.runs) for kind in arguments.kinds]
    if arguments.json:
        print(json.dumps({"count": arguments.count, "million_ots_per_second": rows}, indent=2))
        return
    print(f"{arguments.count:12,} OTs, M/s", *(f"{name:>11}" for name in WAYS), "  bytes an OT   set-up", sep="")
    for row in rows:
        rates = "".join(f"{row[name]:11.1f}" for name in WAYS)
        print(f"{row['kind']:21}{rates}{row['bytes']:14.2f}{row['setup_seconds'] * 1000:6.0f} ms")


if __name__ == "__main__":
    main()
