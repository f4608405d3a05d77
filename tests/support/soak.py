"""Soak two nodes: jobs of every kind one after the other, and what the nodes hold meanwhile: `make soak`.

    python -m tests.support.soak --minutes 120 --out soak.json --picture soak.svg
    python -m tests.support.soak --minutes 120 --share 0.15 ...        # with pauses: all takes 15% of a core

The nodes are processes on this machine, joined by the real link over TLS. What each of them holds is read every few
seconds, and once more after every job, when both have ended it and nothing runs; slopes are taken of the latter. The
kinds come in rounds, each in an order of its own, for what the last kind leaves behind shall not look like growth. The
first round is left out, in which each kind loads its libraries; the jobs after it are cut into blocks.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
from cryptography import x509

from parties.base import files, pictures
from parties.bench.json_rows import json_rows
from parties.link.identity import fingerprint
from parties.operator.interface import ENDED, JobView
from smc.errors import InputError
from tests.support import inside
from tests.support.blame import Case
from tests.support.blame_cases import CASES, ROWS, office
from tests.support.circuits import ADDER
from tests.support.nodes import NodeProcess, Nodes
from tests.support.specified import SCHEMA

HELD = ("memory", "malloc", "blocks", "descriptors", "threads", "database")
UNITS = {"memory": "MB", "malloc": "MB", "blocks": "thousand", "descriptors": "", "threads": "", "database": "kB"}
BLOCKS = 8
STUDENT = 3.707  # of a slope through `BLOCKS` means, 6 degrees of freedom: outside once in a hundred, either side
MORE = """max_rows = 200
least_rows = 50
analysts = ["{analyst}"]
[circuits]
adder = "adder.txt"
[[policy]]
name = "all"
effect = "permit"
exact = true
"""


@dataclass
class Soak:
    """What was held: after `jobs` jobs and so many seconds, by each node; whether nothing ran; how the jobs ended."""

    round: int  # jobs in a round
    seconds: list[float] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    idle: list[bool] = field(default_factory=list)
    held: dict[str, list[float]] = field(default_factory=lambda: {f"{h} {n}": [] for n in "ab" for h in HELD})
    ended: Counter[str] = field(default_factory=Counter)
    why: dict[str, str] = field(default_factory=dict)

    def take(self, nodes: Nodes, seconds: float, jobs: int, idle: bool) -> None:
        """Read what both hold now."""
        self.seconds.append(round(seconds, 1))
        self.jobs.append(jobs)
        self.idle.append(idle)
        for name, node in (("a", nodes.a), ("b", nodes.b)):
            for what, value in held(node).items():
                self.held[f"{what} {name}"].append(value)

    def after_jobs(self, what: str) -> tuple[list[int], list[float]]:
        """Return how many jobs were done, and what was held when nothing ran, without the first round."""
        first = min(self.round, self.jobs[-1] // 2)
        kept = [i for i, idle in enumerate(self.idle) if idle and self.jobs[i] > first]
        return [self.jobs[i] for i in kept], [self.held[what][i] for i in kept]

    def document(self) -> dict[str, Any]:
        """Return what is kept: the lines of `said`, the jobs, and at most 240 samples of each, of those after jobs."""
        taken = [i for i, idle in enumerate(self.idle) if idle]
        kept = taken[:: len(taken) // 240 + 1]
        samples = {"seconds": self.seconds, "jobs": self.jobs, **self.held}
        return {
            "jobs": self.jobs[-1],
            "minutes": round(self.seconds[-1] / 60, 1),
            "round": self.round,
            "ended": dict(self.ended),
            "why": self.why,
            "most": {what: max(values) for what, values in self.held.items()},
            "said": [said(what, *self.after_jobs(what)) for what in self.held],
            "samples": {name: [values[i] for i in kept] for name, values in samples.items()},
        }


def held(node: NodeProcess) -> dict[str, float]:
    """Return what a node's process holds: MB of memory (RSS), those of them that are in use as malloc's and as Python's
    blocks of small objects, descriptors, threads, kB of its database and journal."""
    assert node.process is not None
    process = psutil.Process(node.process.pid)
    with process.oneshot():
        memory, descriptors, threads = process.memory_info().rss, process.num_fds(), process.num_threads()
    size = sum(path.stat().st_size for path in (node.directory / "state").glob("node.sqlite*"))
    own = json.loads((node.directory / inside.FILE).read_text())
    values = (round(memory / 1e6, 1), own["malloc"], own["blocks"], descriptors, threads, round(size / 1e3))
    return dict(zip(HELD, values, strict=True))


def slope(jobs: Sequence[int], values: Sequence[float]) -> tuple[float, float, int]:
    """Return how much more is held for each job, its bound either way, and in how many blocks more than in the last.

    Least squares through means of blocks: samples near each other are alike, means are nearly independent. ValueError
    for fewer than two in a block.
    """
    if len(jobs) < 2 * BLOCKS:
        raise ValueError(f"{len(jobs)} samples are too few")
    x = np.array([part.mean() for part in np.array_split(np.array(jobs, float), BLOCKS)])
    y = np.array([part.mean() for part in np.array_split(np.array(values, float), BLOCKS)])
    if min(values) == max(values):
        return 0.0, 0.0, 0
    x -= x.mean()
    spread = float(x @ x)
    rate = float(x @ y) / spread
    rest = y - y.mean() - rate * x
    return rate, STUDENT * float(np.sqrt(rest @ rest / (BLOCKS - 2) / spread)), int((np.diff(y) > 0).sum())


def said(what: str, jobs: Sequence[int], values: Sequence[float]) -> str:
    """Return in words whether this grows with the jobs: the slope is surely above 0, and most blocks have more.

    One step, as when a pool starts one more thread, has a slope too. Of twelve things that do not grow, one seems to
    in 16 runs at most.
    """
    try:
        rate, bound, higher = slope(jobs, values)
    except ValueError as error:
        return f"{what}: nothing can be said, {error}"
    verdict, unit = "grows" if rate > bound and higher > BLOCKS // 2 else "does not grow", UNITS[what.split()[0]]
    numbers = f"{rate:.3g} {unit} a job".replace("  ", " ")
    return f"{what}: {verdict}: {numbers}, at 99% from {rate - bound:.3g} to {rate + bound:.3g}"


def processor(nodes: Nodes) -> float:
    """Return the seconds of a processor that both nodes and this process have taken."""
    processes = [psutil.Process()] + [psutil.Process(node.process.pid) for node in (nodes.a, nodes.b) if node.process]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def pause(taken: Callable[[], float], share: float, start: float, ends: float) -> None:
    """Wait until the seconds of a processor that were taken are this share of those since the start, or it ends."""
    while taken() > share * (lasted := time.monotonic() - start) and lasted < ends:
        time.sleep(0.5)


def soak(
    nodes: Nodes, cases: Mapping[str, Case], ends: float, most: int, every: float = 5.0, share: float = 1e9
) -> Soak:
    """Run jobs between two started nodes until so many seconds have gone by, or so many jobs are done.

    After each there is a pause, until all have taken no more than this share of a core since the beginning.
    """
    found, start, before = Soak(len(cases)), time.monotonic(), processor(nodes)

    def sample(jobs: int, idle: bool) -> None:
        found.take(nodes, time.monotonic() - start, jobs, idle)

    for number, (name, case) in enumerate(_rounds(cases)):
        if number == most or time.monotonic() - start > ends:
            return found
        sides = [nodes.a, nodes.b] if number % 2 == 0 else [nodes.b, nodes.a]
        try:
            identifier = sides[0].client.submit(_fields(case) | dict(case.typed[number % 2])).id
        except InputError as error:
            found.ended["not proposed"] += 1
            found.why[name] = str(error)
            continue
        next_sample = time.monotonic() + every
        while not all((view := _view(side, identifier)) is not None and view.state in ENDED for side in sides):
            view = _view(sides[1], identifier)
            if view is not None and view.state == "waiting":
                with suppress(InputError):  # a rule has permitted it meanwhile
                    sides[1].client.approve(identifier, dict(case.typed[1 - number % 2]) or None)
            if time.monotonic() > next_sample:
                sample(number, False)
                next_sample += every
            time.sleep(0.1)
        ended = sides[0].client.job(identifier)
        found.ended[ended.state] += 1
        if ended.state != "done":
            found.why[name] = str(ended.why)
        sample(number + 1, True)
        pause(lambda: processor(nodes) - before, share, start, ends)
    raise AssertionError("there are always more jobs")


def _rounds(cases: Mapping[str, Case]) -> Iterator[tuple[str, Case]]:
    """Yield all cases again and again, each time in another order."""
    order = random.Random(1)
    while True:
        yield from order.sample(sorted(cases.items(), key=lambda item: item[0]), len(cases))


def _fields(case: Case) -> dict[str, Any]:
    return dict(case.fields) | ({"table": "rows"} if "table" in case.fields else {})


def _view(node: NodeProcess, identifier: str) -> JobView | None:
    """Return the job at a node, if it has heard of it."""
    with suppress(InputError):
        return node.client.job(identifier)
    return None


def started(directory: Path) -> Nodes:
    """Start two nodes that permit everything."""
    nodes = Nodes(directory)
    more = MORE.format(analyst=fingerprint(x509.load_pem_x509_certificate(office().encode())))
    SCHEMA.save(directory / "schema.toml")
    nodes.furnish(ROWS, (directory / "schema.toml").read_text(), (more, more))
    for node in (nodes.a, nodes.b):
        (node.directory / "adder.txt").write_text(ADDER)
        node.program = f"from tests.support import inside; inside.begin(); {node.program}"
    try:
        nodes.start()
    except BaseException:
        nodes.close()
        raise
    return nodes


def draw(document: Mapping[str, Any]) -> str:
    """Draw what both nodes held against the jobs done, as SVG, a panel each."""
    from matplotlib.figure import Figure

    samples = document["samples"]
    with pictures.style({"font.size": 8}):
        figure = Figure(figsize=(9, 6.5), layout="constrained")
        for place, what in enumerate(HELD):
            axes = figure.add_subplot(3, 2, place + 1)
            for colour, name in zip((pictures.PALETTE[6], pictures.PALETTE[1]), "ab", strict=True):
                axes.plot(samples["jobs"], samples[f"{what} {name}"], color=colour, lw=1, label=f"node {name}")
            axes.axvline(document["round"], color=pictures.RULE, lw=0.8, ls="--")
            axes.set(ylim=(0, None), xlabel="jobs done", title=f"{what}, {UNITS[what]}".rstrip(", "))
            if not place:
                axes.legend(loc="lower right", frameon=False)
        return pictures.svg(figure, Title="What two nodes hold against jobs of all kinds that they have done")


def main() -> int:
    """Soak, keep what was found, say what grows; 1 if descriptors or threads do, or a job could not be run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="[5]")
    parser.add_argument("--share", type=float, default=1e9, help="of a core that it may take, with pauses  [all]")
    parser.add_argument("--out", type=Path, required=True, help="the samples and what is said of them, as JSON")
    parser.add_argument("--picture", type=Path, required=True, help="the same as SVG")
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        nodes = started(Path(place))
        try:
            together = {name: case for name, case in CASES.items() if type(case) is Case}  # no matched tables
            found = soak(nodes, together, 60 * options.minutes, most=10**9, share=options.share)
        finally:
            nodes.close()
    document = found.document()
    files.write_text(options.out, json_rows(document) + "\n")
    files.write_text(options.picture, draw(document))
    print(f"{document['jobs']} jobs in {document['minutes']} minutes: {document['ended']}")
    print("\n".join([*(f"{name}: {why}" for name, why in found.why.items()), *document["said"]]))
    leaks = any(": grows" in line and line.startswith(("descriptors", "threads")) for line in document["said"])
    return 1 if leaks or found.ended.keys() & {"failed", "not proposed"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
