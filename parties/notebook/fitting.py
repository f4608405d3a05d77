"""The three ways in which a notebook comes to a tree: alone, with the peer over a link, by one's own node."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np

from parties.base import console
from parties.jobs.inputs import Inputs
from parties.jobs.kind import State
from parties.jobs.running import Connection, Report
from parties.jobs.tree.joint import JointTree
from parties.link.settings import LinkSettings
from parties.operator.interface import ENDED, JobResult, JobView, Operator
from parties.tables.categories import Column
from protocols.counts import RowCounts, Rows
from smc.errors import InputError, LinkError

log = logging.getLogger("smc")
NEVER = 30 * 24 * 3600.0  # seconds of silence, where both parties are threads of this process
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two looks at a job


class Log(console.StatusLine):
    """A console that tells the log instead of the terminal."""

    def __init__(self) -> None:
        super().__init__(None)

    def doing(self, what: str) -> None:
        """Tell it to whoever debugs."""
        log.debug(what)

    def say(self, what: str) -> None:
        """Tell it."""
        log.info(what)

    def share(self, what: str, done: int, total: int) -> None:
        """Tell once that it takes long."""
        if not done:
            log.warning(what)  # it takes long: whoever has set up no log sees it as well


def counted(task: JointTree, columns: Sequence[Column], classes: Column) -> RowCounts:
    """Count rows in memory. `InputError` for a cell outside the schema, or for more rows than agreed."""
    count, bound, schema = len(classes.cells), task.settings.max_rows, task.schema
    if count > bound:
        raise InputError(f"{count} rows are more than the agreed bound of {bound} (max_rows)")
    rows = np.empty((count, len(columns)), dtype=np.int32, order="F")
    for position, column in enumerate(columns):
        rows[:, position] = column.schema_codes(schema.attributes[column.name])
    return RowCounts(task.domains, task.classes, rows, classes.schema_codes(schema.attributes[classes.name]))


def with_peer(link: LinkSettings, task: JointTree, rows: Rows) -> tuple[State, Report]:
    """Learn the tree of both parties' rows; return it and its cost. The peer runs `smc id3`, or this.

    `InputError` if the link is incomplete; `LinkError`, `JobMismatchError`.
    """
    return Connection(link).run_task(task, task.own_rows(rows, Inputs().secret), Log())


def at_node(node: Operator, job: JobView, deadline: float | None) -> tuple[JobView, JobResult]:
    """Wait for the end of a job, at most `deadline` seconds (None: as long as it takes), and fetch what it brought.

    `LinkError` if it ends without a tree, or has not ended by then; it goes on at the node.
    """
    end = None if deadline is None else time.monotonic() + deadline
    pause, state = FIRST_PAUSE, ""
    while job.state not in ENDED:
        if job.state != state:
            log.info("job %s: %s", job.id, job.state)
        state = job.state
        left = LONGEST_PAUSE if end is None else end - time.monotonic()
        if left <= 0:
            raise LinkError(
                f"job {job.id} is {job.state} after {deadline:g} s; it goes on at the node: fit(job={job.id[:8]!r}) "
                "waits for it again"
            )
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)
        job = node.job(job.id)
    if job.state != "done":
        end_of_it = "failed" if job.state == "failed" else f"was {job.state}"
        raise LinkError(f"job {job.id} {end_of_it}{': ' if job.why else ''}{job.why}")
    return job, node.result(job.id)
