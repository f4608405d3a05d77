"""Run many quick jobs at two nodes, and measure what a job costs as the number of jobs grows.

    python -m tests.support.many_jobs --jobs 10000 --block 250 --out benchmarks/results/many_jobs.json
    python -m tests.support.many_jobs --write     # the table of docs/scale.md, from benchmarks/results/many_jobs.json

The nodes are processes on this machine, joined by the real link over TLS. Each block of jobs gives a line: the
processor time a job of each node, the time a job, and the memory and the database of each node at the block's end.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from parties.base import files
from parties.bench.json_rows import json_rows
from parties.operator.interface import ENDED
from tests.support.blame_cases import ROWS
from tests.support.nodes import NodeProcess, Nodes
from tests.support.specified import SCHEMA

JOB = {"protocol": "millionaires", "table": "rows", "of": "rows"}  # whose table is longer
RULE = '[[policy]]\nname = "all"\neffect = "permit"\n'
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "many_jobs.json"
BEGIN, END = "<!-- made by tests/support/many_jobs.py -->\n", "<!-- until here -->\n"
ROWS_SHOWN = 10
AT_ONCE = 8  # jobs that wait or run


@dataclass(frozen=True)
class Block:
    """What one block of jobs cost."""

    jobs: int  # done by its end
    done: int  # of this block's, with a result
    ms: float  # wall time a job
    cpu_a: float  # ms of a processor a job, at the node that listens
    cpu_b: float
    mb_a: float  # memory at its end
    mb_b: float
    kb_a: float  # database and journal at its end
    kb_b: float


def taken(node: NodeProcess) -> tuple[float, float, float]:
    """Return a node's processor seconds, MB of memory and kB of database."""
    assert node.process is not None
    process = psutil.Process(node.process.pid)
    size = sum(path.stat().st_size for path in (node.directory / "state").glob("node.sqlite*"))
    return sum(process.cpu_times()[:2]), process.memory_info().rss / 1e6, size / 1e3


def blocks(nodes: Nodes, jobs: int, block: int) -> Iterator[Block]:
    """Run the jobs, `AT_ONCE` at a time, and yield what each block cost."""
    for last in range(block, jobs + 1, block):
        start, (cpu_a, *_), (cpu_b, *_) = time.monotonic(), taken(nodes.a), taken(nodes.b)
        waiting, states = [], []
        for number in range(block + AT_ONCE):
            if number < block:
                waiting.append(nodes.b.client.submit(JOB).id)
            if (number >= AT_ONCE or number >= block) and waiting:
                states.append(ended(nodes.b, waiting.pop(0)))
        while waiting:
            states.append(ended(nodes.b, waiting.pop(0)))
        a, b = taken(nodes.a), taken(nodes.b)
        each = 1000 / block
        times = (time.monotonic() - start) * each, (a[0] - cpu_a) * each, (b[0] - cpu_b) * each
        yield Block(last, states.count("done"), *(round(number, 1) for number in (*times, a[1], b[1], a[2], b[2])))


def ended(node: NodeProcess, identifier: str) -> str:
    """Return the state of a job once it has ended."""
    while (view := node.client.job(identifier, 1.0)).state not in ENDED:
        pass
    return view.state


def table(all_blocks: Sequence[dict[str, Any]]) -> str:
    """Return the Markdown table of what a job cost in some blocks."""
    lines = [
        "| jobs done | processor time a job, node a | node b | time a job "
        "| memory, node a | node b | database, node a |",
        "|" + "---:|" * 7,
    ]
    lines += [
        f"| {block['jobs']:,} | {block['cpu_a']:.0f} ms | {block['cpu_b']:.0f} ms | {block['ms']:.0f} ms "
        f"| {block['mb_a']:.0f} MB | {block['mb_b']:.0f} MB | {block['kb_a'] / 1e3:.1f} MB |"
        for block in all_blocks[:: -max(1, len(all_blocks) // ROWS_SHOWN)][::-1]
    ]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Put the table into its page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END, 1)[1]
    files.write_text(PAGE, before + BEGIN + table(json.loads(RESULTS.read_text())["blocks"]) + END + after)


def main() -> int:
    """Run and print; 1 if a job was not done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000, help="[2000]")
    parser.add_argument("--block", type=int, default=100, help="jobs a line  [100]")
    parser.add_argument("--out", type=Path, help="the blocks, as JSON")
    parser.add_argument("--write", action="store_true", help="run nothing; write the page's table")
    options = parser.parse_args()
    if options.write:
        write()
        return 0
    found: list[Block] = []
    with TemporaryDirectory() as place:
        nodes = Nodes(Path(place))
        SCHEMA.save(Path(place) / "schema.toml")
        nodes.furnish(ROWS, (Path(place) / "schema.toml").read_text(), (RULE, RULE))
        try:
            nodes.start()
            for block in blocks(nodes, options.jobs, options.block):
                found.append(block)
                if options.out is not None:
                    files.write_text(options.out, json_rows({"blocks": [asdict(block) for block in found]}) + "\n")
                print(block, flush=True)
        finally:
            nodes.close()
    return 1 if any(block.done < options.block for block in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
