"""Kill two nodes again and again while jobs run side by side, sharded and with noise: `make kills`.

    python -m tests.support.kills --kills 60

Three jobs run at a time: a tree in shards, a forest with noise in shards, and a noisy count. At random moments a node
is killed (`kill -9`) and started anew. Every job must end with one result at both parties. Each must have opened each
level once a session, and what has noise must have been charged once. The tables permit more tries than by default: a
kill can come before a session gets further than the one before it, more than five times in a row.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parties.node.records import audit, database
from parties.operator.interface import ENDED
from tests.support.line_table import tables
from tests.support.nodes import RESEARCH, Nodes, job, submit, verified

AT_ONCE = 3
LONGEST = 5.0  # seconds from one kill to the next, counted from when both nodes are connected
NOISY = ("forest", "count")
TRIES = "tries = 50\n"


@dataclass
class Outcome:
    """What became of the jobs: those of each family, how they ended, what is wrong."""

    kills: int = 0
    seconds: float = 0.0
    jobs: Counter[str] = field(default_factory=Counter)
    sessions: Counter[int] = field(default_factory=Counter)  # jobs by how many sessions were begun for them
    wrong: list[str] = field(default_factory=list)


def fields(family: str, number: int) -> dict[str, Any]:
    """Return the parameters of the number-th job, which no other job has."""
    match family:
        case "tree":
            return {"tolerance": (number + 1) / 1_000_000, "shards": 2}
        case "forest":
            noise = {"epsilon": 1 + number / 1000, "trees": 2, "max_depth": 2, "stop": "off"}
            return {**noise, "shards": 2}
        case _:
            return {"protocol": "release count", "epsilon": 1 + number / 1000}


def furnished(directory: Path) -> Nodes:
    """Return two nodes that are not started, on a link on which jobs last."""
    nodes = Nodes(directory)
    rows, schema = tables(300, seed=7)
    nodes.furnish(rows, schema, (TRIES, TRIES + RESEARCH), 'emulate = "50mbit,5ms"')
    return nodes


def work(nodes: Nodes, kills: int, seed: int | None = None) -> Outcome:
    """Start the nodes, keep `AT_ONCE` jobs running while they are killed, and look at every job afterwards."""
    chosen = random.Random(seed)
    found, start, running, all_jobs = Outcome(), time.monotonic(), list[str](), dict[str, str]()
    nodes.start()
    while found.kills < kills:
        running = [identifier for identifier in running if not _ended(nodes, identifier)]
        while len(running) < AT_ONCE:
            family = ("tree", *NOISY)[len(all_jobs) % 3]
            identifier = submit(nodes.a, purpose="research", **fields(family, len(all_jobs)))
            all_jobs[identifier] = family
            running.append(identifier)
        time.sleep(chosen.uniform(0.05, LONGEST))
        victim = chosen.choice([nodes.a, nodes.b])
        victim.kill()
        found.kills += 1
        victim.start()
        nodes.await_both()
    for identifier, family in all_jobs.items():
        found.jobs[family] += 1
        look(nodes, identifier, family, found)
    for node in (nodes.a, nodes.b):
        if not verified(node)["ok"]:
            found.wrong.append(f"the records of {node.directory.name} are not whole")
    found.seconds = round(time.monotonic() - start, 1)
    return found


def look(nodes: Nodes, identifier: str, family: str, found: Outcome) -> None:
    """Note what is wrong with a job, which is waited for."""
    left, right = nodes.finished(identifier)
    place = f"{family} {identifier[:8]}"
    if (left.state, right.state) != ("done", "done"):
        found.wrong.append(f"{place} is {left.state} at a ({left.why}), {right.state} at b ({right.why})")
        return
    results = [node.client.result(identifier).tree for node in (nodes.a, nodes.b)]
    if results[0] != results[1]:
        found.wrong.append(f"{place} has other results at a and b")
    for node in (nodes.a, nodes.b):
        with closing(sqlite3.connect(node.directory / "state" / "node.sqlite")) as connection:
            entries = [entry for entry in map(audit.entry, database.rows(connection)) if entry.job == identifier]
        begun = sum(entry.kind == "started" for entry in entries)
        charges = sum(entry.kind == "spent" for entry in entries)
        # a session may repeat the last level of the one before, if the other node was killed before it noted it
        sessions = accumulate(entry.kind == "started" for entry in entries)
        noted = [
            (session, entry.fields.get("depth"))
            for session, entry in zip(sessions, entries, strict=True)
            if entry.kind == "opened"
        ]
        if charges != (family in NOISY):
            found.wrong.append(f"{place} was charged {charges} times at {node.directory.name}")
        if len(noted) != len(set(noted)):
            found.wrong.append(f"{place} has noted a level twice in a session at {node.directory.name}")
        if node is nodes.a:
            found.sessions[begun] += 1


def _ended(nodes: Nodes, identifier: str) -> bool:
    return all(job(node, identifier).state in ENDED for node in (nodes.a, nodes.b))


def main() -> int:
    """Run, and print what became of the jobs; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60, help="[60]")
    parser.add_argument("--seed", type=int, help="of the moments and the victims  [the system's]")
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        nodes = furnished(Path(place))
        try:
            found = work(nodes, options.kills, options.seed)
        finally:
            nodes.close()
    sessions = ", ".join(f"{jobs} with {number}" for number, jobs in sorted(found.sessions.items()))
    print(f"{found.kills} kills in {found.seconds:.0f} s; {dict(found.jobs)}; sessions of a job: {sessions}")
    print("\n".join(found.wrong) or "no job is lost, each was charged once, all records are whole")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
