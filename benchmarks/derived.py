"""Time of values derived from settings, and of requests by an open page: both should be computed once, not each time.

    python -m benchmarks.derived [--numbers N] [--jobs N] [--out FILE.json]            (or: make bench-derived)

The first part measures a noisy sum and mean of a column that lists --numbers numbers. It gives the seconds from the
settings to both parties' results, in two threads of one process joined in memory with warm kernels, and the seconds of
the first view of such a job. The second part measures a page. It gives the number of job views that are made, and the
seconds: for the check whether anything has changed, and for a list of 200 jobs, first, with no change, and after a
change of one job.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from parties.base import files
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs import kinds
from parties.link import identity
from parties.node import records
from parties.node.acts.gate import Gate
from parties.node.acts.ledger import Ledger
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.desk import views
from parties.node.desk.operator_service import OperatorService
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity, Peers
from parties.node.settings import NodeFile
from parties.operator.interface import OPEN
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

ROWS, SHOWN = 1000, 200
Row = dict[str, Any]


def schema_of(numbers: int) -> Schema:
    """Return a schema with one column of `numbers` multiples of a quarter."""
    return Schema({"x": tuple(str(n / 4) for n in range(numbers))})


def released(name: str, numbers: int) -> float:
    """Return the seconds of a question's run by both parties, from settings to result."""
    kind, schema = kinds.find(name), schema_of(numbers)

    def party(session: Session) -> None:
        settings = kind.Settings.model_validate({"column": "x", "epsilon": 1.0, "max_rows": ROWS})
        task: Any = kind.agreed(kind(settings, schema).specification())  # type: ignore[call-arg]
        values = np.random.default_rng(session.party).integers(0, numbers, ROWS)
        own = task.own_numbers(RowCounts([], numbers, np.zeros((ROWS, 0), dtype=np.int64), values))
        task.document(task.run(engine_of(session, Profile("yao")), own, None, lambda _: None))

    start = time.perf_counter()
    run_local(party)
    return time.perf_counter() - start


class Node:
    """A node's records and its operator's view of them, without a peer."""

    def __init__(self, directory: Path, numbers: int) -> None:
        own, peer = (identity.create(f"party{i}", ["127.0.0.1"], directory) for i in (0, 1))
        who = PeerIdentity(own, peer.certificate, 0)
        table = TableSettings.model_validate({"source": "rows.csv", "schema": "schema.toml", "max_rows": ROWS})
        offers = Offers({"rows": Offer(table, schema_of(numbers))}, {})
        ways = Peers([who]), Gate(NodeFile(), offers), offers, TypedInputs()
        self._ledger = Ledger(records.connect(directory / "node.sqlite"), *ways, {}, lambda _: None)
        self.operator = OperatorService(own, self._ledger, {}, {}, lambda: "", "lan")

    def propose(self, jobs: int) -> None:
        """Propose `jobs` questions about the column."""
        for _ in range(jobs):
            self._ledger.decisions.propose({"protocol": "release mean", "table": "rows", "column": "x", "epsilon": 1.0})

    def measured(self, what: str, call: Callable[[], object]) -> Row:
        """Return the number of views that a call makes, and its seconds."""
        made, job_view = [], views.job_view
        views.job_view = lambda *given: (made.append(0), job_view(*given))[1]
        start = time.perf_counter()
        try:
            call()
        finally:
            views.job_view = job_view
        return {"what": what, "views": len(made), "seconds": round(time.perf_counter() - start, 5)}


def page(jobs: int) -> list[Row]:
    """Return the costs of a page with `jobs` open jobs."""
    with tempfile.TemporaryDirectory(prefix="smc-bench-") as name:
        node = Node(Path(name), 100)
        node.propose(jobs)
        operator = node.operator
        rows = [node.measured("first list of jobs", lambda: operator.jobs(SHOWN, None, OPEN))]
        rows += [node.measured("look", operator.changes)]
        rows += [node.measured("list of jobs, none changed", lambda: operator.jobs(SHOWN, None, OPEN))]
        operator.cancel("latest")
        rows += [node.measured("list of jobs, one changed", lambda: operator.jobs(SHOWN, None, OPEN))]
    return rows


def view(numbers: int) -> float:
    """Return the seconds of the first view of a mean of `numbers` listed numbers."""
    with tempfile.TemporaryDirectory(prefix="smc-bench-") as name:
        node = Node(Path(name), numbers)
        node.propose(1)
        return float(node.measured("view", lambda: node.operator.job("latest"))["seconds"])


@click.command(help=__doc__)
@click.option("--numbers", type=click.IntRange(2), default=10_000, show_default=True, help="That the column lists.")
@click.option("--jobs", type=click.IntRange(1), default=300, show_default=True, help="That have not ended.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the figures there, as JSON.")
def main(numbers: int, jobs: int, out: Path | None) -> None:
    released("release mean", 10)  # compiles and loads everything once
    seconds = {name: round(released(name, numbers), 3) for name in ("release sum", "release mean")}
    seconds["view of release mean"] = round(view(numbers), 3)
    rows = page(jobs)
    for name, value in seconds.items():
        click.echo(f"{name:30}{numbers:9,} numbers{value:12.3f} s")
    for row in rows:
        click.echo(f"{row['what']:30}{row['views']:9,} views  {1000 * row['seconds']:11.3f} ms")
    if out is not None:
        document = {
            "machine": machine.facts(), "numbers": numbers, "seconds": seconds, "jobs": jobs, "page": rows,
        }  # fmt: skip
        files.write_text(out, json_rows(document) + "\n")


if __name__ == "__main__":
    main()
