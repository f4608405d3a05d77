"""How fast oblivious transfers of each kind are made: millions a second, and bytes (python -m benchmarks.ot --help).

Both parties run in two threads of one process, joined by a channel in memory: no network, and two cores are in use. Of
the runs the median is given, and set-up (base OTs in both directions) apart.

    correlated   one direction, the receiver's own choices
    drawn        one direction, choices that the protocol draws: what other libraries call random correlated OT
    random       one direction, two keys an OT by hashing
    bits         both directions, keys of one bit: what AND triples are made of; one in each direction counts as one

With --processor: nanoseconds of a processor a correlated OT, the sender's and the receiver's, whatever the link.
With --sets: what Ferret takes of a processor with other parameters, drawn, whole iterations after the first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any, get_args

from smc.local import run_local
from smc.ot import OTKind, Transfers, make_roles
from smc.ot.ferret import BATCH, FerretReceiver, FerretSender, kept_trees
from smc.ot.lpn import LARGE, SMALL, Parameters
from smc.session import Session

WAYS = "correlated", "drawn", "random", "bits"
SETS = LARGE, Parameters(1300, 11, 18), Parameters(1520, 12, 19), SMALL


def measure(kind: OTKind, count: int, runs: int) -> dict[str, Any]:
    """Return a row of the table: seconds of set-up, million OTs per second by use, bytes of a correlated OT."""

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


def correlated_ns(kind: OTKind, count: int, runs: int) -> tuple[float, float]:
    """Return the processor nanoseconds of a correlated OT, for the sender and for the receiver."""

    def program(session: Session) -> float:
        sender, receiver = make_roles(kind, session, "ot", "ot")
        choice, seconds = session.prg.bits(count), []
        for _ in range(runs + 2):  # two to warm up
            start = time.thread_time()
            if session.party == 0:
                sender.correlated(count)
            else:
                receiver.correlated(choice)
            seconds.append(time.thread_time() - start)
        return statistics.median(seconds[2:]) / count * 1e9

    return run_local(program)


def processor(here: Parameters) -> tuple[float, float]:
    """Return processor nanoseconds per OT, of sender and receiver, over four iterations with these parameters."""
    sets = SMALL, here
    first, each = (usable(number, sets) for number in (0, 1))

    def program(session: Session) -> float:
        role = (FerretSender if session.party == 0 else FerretReceiver)(session, "silent", sets)
        role.setup()
        for _ in range(-(-first // BATCH)):
            role.random_correlated(BATCH)
        start, count = time.thread_time(), -(-4 * each // BATCH)
        for _ in range(count):
            role.random_correlated(BATCH)
        return (time.thread_time() - start) / (count * BATCH) * 1e9

    return run_local(program)


def usable(number: int, sets: tuple[Parameters, Parameters]) -> int:
    """Return the number of OTs of an iteration that are not kept for the next one."""
    here = sets[number]
    return (here.trees - kept_trees(number, sets)) * here.leaves


def compare_sets(runs: int) -> None:
    """Print for each set the processor nanoseconds of an OT, their ratio to the first set's, and the bits sent."""
    times = [[sum(processor(here)) / 2 for here in SETS] for _ in range(runs)]
    print("trees  depth  log2 k  ns an OT  times the first's  bits an OT")
    for which, here in enumerate(SETS):
        own = statistics.median(run[which] for run in times)
        ratio = statistics.median(run[which] / run[0] for run in times)
        sent = 8 * here.message_bytes / usable(1, (SMALL, here))
        print(f"{here.trees:5}{here.depth:7}{here.log_secret:8}{own:10.1f}{ratio:19.2f}{sent:12.2f}")


def main() -> None:
    """Print a table, or JSON with --json."""
    fast = [kind for kind in get_args(OTKind) if kind != "trapdoor"]
    parser = argparse.ArgumentParser(description="Million OTs a second of each kind.")
    parser.add_argument("kinds", nargs="*", metavar="kind", default=fast, help=f"of {', '.join(get_args(OTKind))}")
    parser.add_argument("--count", type=int, default=1 << 20, help="OTs a run")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--processor", action="store_true", help="time of a processor instead of OTs a second")
    parser.add_argument("--sets", action="store_true", help="compare parameters of Ferret")
    arguments = parser.parse_args()
    if arguments.sets:
        compare_sets(arguments.runs)
        return
    if unknown := set(arguments.kinds) - set(get_args(OTKind)):
        parser.error(f"no such kind of OT: {', '.join(sorted(unknown))}")
    if arguments.processor:
        print("kind          sender  receiver, ns an OT")
        for kind in arguments.kinds:
            own, other = correlated_ns(kind, arguments.count, arguments.runs)
            print(f"{kind:14}{own:6.1f}{other:10.1f}")
        return
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
