"""Two nodes over slow, lossy, forgetful and dead lines: the tree, how often its session was begun, how long it took.

python -m tests.support.line_table        # `make lines`: writes docs/lines.md
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.cable import Line
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, clear_tree, job, submit, verified
from tests.support.places import ROOT
from tests.support.waiting import eventually

PAGE = ROOT / "docs" / "lines.md"
SILENCE = 6.0  # seconds that the link is left alone before a job, on a line that forgets
MEGABIT = 1e6 / 8
LINES = {
    "as it is": Line(),
    "40 ms": Line(delay=0.02),
    "100 ms": Line(delay=0.05),
    "100 Mbit/s, 40 ms": Line(delay=0.02, rate=100 * MEGABIT),
    "10 Mbit/s, 40 ms": Line(delay=0.02, rate=10 * MEGABIT),
    "40 ms, 1 % of segments lost": Line(delay=0.02, loss=0.01),
    "forgets after 30 s of silence": Line(forgets=30.0),
    "forgets after 2 s of silence": Line(forgets=2.0),
}
BREAKS: dict[str, Callable[[Nodes], None]] = {
    "black hole of 30 s amid a job": lambda nodes: nodes.cable.hold(30),
    "cut amid a job, for 5 s": lambda nodes: (nodes.cable.cut(), time.sleep(5), nodes.cable.mend())[0],
}

HEAD = """# Effects of lines on nodes

Two nodes run as two processes, with a relay between them. The relay imitates a bad line in one or
more of these ways:

- It delays all bytes by half of a round trip each way. The ms in the table are the round trip.
- It limits the bytes a second.
- It imitates lost TCP segments. TCP would send a lost segment again after 200 ms and a round trip.
  The relay holds back all later bytes for this time.
- It stops forwarding a connection after a time of silence, as firewalls do. Neither end gets a
  notice. In the table, such a line *forgets*.
- It holds back all bytes for 30 s, as a black hole, once the tree has begun.
- It cuts all connections and refuses new ones for 5 s.

`make lines` measures this again and writes this page. The job is a tree without pruning (`--plain`)
of two tables of {rows} rows. *Seconds* is the time from the proposal of the job to its end at both
nodes. *Sessions* counts the sessions of the job. The engine `clear`, which computes without
secrecy, finds the same tree every time, and the log of each party verifies. The machine had {cores} cores
and a load of {load:.0f}.

| line | seconds | sessions |
|---|---:|---:|
"""


@dataclass(frozen=True)
class Passage:
    """What became of a job on a line: seconds from proposal to end, sessions begun.

    `computing` leaves out those that a node begins after its result, for a signature of the other that is late.
    """

    seconds: float
    sessions: int
    computing: int


def tables(rows: int, seed: int = 5) -> tuple[tuple[str, str], str]:
    """Return two parties' CSV files of one random table of so many rows each, and its schema."""
    chosen = random.Random(seed)
    names = [f"x{i}" for i in range(5)]
    lines = [",".join([str(chosen.randrange(3)) for _ in names] + [chosen.choice("pq")]) for _ in range(2 * rows)]
    head = ",".join([*names, "y"])
    halves = ["\n".join([head, *lines[part::2]]) + "\n" for part in (0, 1)]
    columns = "".join(f'{name} = ["0", "1", "2"]\n' for name in names)
    return (halves[0], halves[1]), f'target = "y"\n[attributes]\n{columns}y = ["p", "q"]\n'


def furnished(directory: Path, rows: int) -> Nodes:
    """Start two nodes that agree to trees for research."""
    nodes = Nodes(directory)
    both, schema = tables(rows)
    nodes.furnish(both, schema, more=("", RESEARCH))
    nodes.start()
    return nodes


def passage(nodes: Nodes, line: Line, trouble: Callable[[Nodes], None] | None = None) -> Passage:
    """Make the nodes' link anew on a line and run a tree over it, amid which there may be trouble.

    AssertionError if the job does not end well, with another tree, or a log that does not verify.
    """
    nodes.cable.line = line
    nodes.cable.cut()
    nodes.cable.mend()
    eventually(lambda: not (nodes.a.client.node().connected and nodes.b.client.node().connected))
    nodes.await_both()
    if line.forgets is not None:
        time.sleep(SILENCE)
    start = time.monotonic()
    identifier = submit(nodes.a, purpose="research")
    if trouble is not None:
        eventually(lambda: (at := job(nodes.b, identifier).progress) is not None and at.depth >= 1)
        trouble(nodes)
    views = nodes.finished(identifier)
    seconds = time.monotonic() - start
    assert [view.state for view in views] == ["done", "done"], [view.why for view in views]
    assert nodes.a.client.result(identifier).tree["tree"] == clear_tree(nodes)
    assert verified(nodes.a)["ok"]
    assert verified(nodes.b)["ok"]
    kinds = [kinds_of(node, identifier) for node in (nodes.a, nodes.b)]
    computing = max(one[: one.index("finished")].count("started") for one in kinds)
    return Passage(seconds, kinds[0].count("started"), computing)


def kinds_of(node: NodeProcess, identifier: str) -> list[str]:
    """The kinds of a job's audit entries, the earliest first."""
    return [entry.kind for entry in reversed(node.client.audit(1000)) if entry.job == identifier]


def main() -> int:
    """Write the page."""
    rows, load = 300, os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        nodes = furnished(Path(place), rows)
        try:
            lines = []
            for name, line in [*LINES.items(), *((name, Line(delay=0.02, rate=10 * MEGABIT)) for name in BREAKS)]:
                found = passage(nodes, line, BREAKS.get(name))
                lines.append(f"| {name} | {found.seconds:.1f} | {found.sessions} |")
                print(lines[-1], flush=True)
        finally:
            nodes.close()
    PAGE.write_text(HEAD.format(rows=rows, cores=os.cpu_count(), load=load) + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
