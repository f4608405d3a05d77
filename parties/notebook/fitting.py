"""Rows in memory that take part in a job, the wait for a job of your own node, and the console log."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
from typing_extensions import override

from parties.base import console
from parties.base.text import quoted
from parties.jobs.tabular import BySchema
from parties.jobs.tree.joint import JointTree
from parties.operator.interface import ENDED, JobResult, JobView, Operator
from parties.tables.categories import Column, spell
from protocols.counts import RowCounts
from smc.errors import InputError, LinkError

log = logging.getLogger("smc")
TOO_MANY = "{} rows are more than the agreed bound of {} (max_rows): give fewer, or agree on a larger bound"
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two looks at a job


class Log(console.StatusLine):
    """Status line that writes to the Python logger "smc" instead of the terminal."""

    def __init__(self) -> None:
        super().__init__(None)

    def doing(self, what: str) -> None:
        """Log the name of a step at the level DEBUG."""
        log.debug(what)

    def say(self, what: str) -> None:
        """Log a message at the level INFO."""
        log.info(what)

    @override
    def share(self, what: str, done: int, total: int) -> None:
        """Log a warning once, when a long step begins."""
        if not done:
            log.warning(what)  # a warning is shown even if no log is set up


def counted(task: JointTree, columns: Sequence[Column], classes: Column) -> RowCounts:
    """Return rows in memory as a source of counts for a tree.

    Args:
        task: The task, with its schema and settings.
        columns: Columns of the attributes, in the schema's order.
        classes: Column of the target.

    Raises:
        InputError: A cell is outside the schema, or there are more rows than agreed.
    """
    *columns, classes = taking_part(task, [*columns, classes])
    count, bound, schema = len(classes.cells), task.own_bound, task.schema
    if count > bound:
        raise InputError(TOO_MANY.format(count, bound))
    rows = np.empty((count, len(columns)), dtype=np.int32, order="F")
    for position, column in enumerate(columns):
        rows[:, position] = column.schema_codes(schema.attributes[column.name])
    return RowCounts(task.domains, task.classes, rows, classes.schema_codes(schema.attributes[classes.name]))


def taking_part(task: BySchema, columns: Sequence[Column]) -> list[Column]:
    """Return the columns that the task reads, with the rows that take part.

    A task that trains a model may leave out held-out rows, and a task that judges a model may take these alone.

    Args:
        task: The task.
        columns: The task's columns, and others that identify rows.

    Raises:
        InputError: Rows were held out by person, which a frame does not have, or a column that identifies rows is
            missing.
    """
    kept = [column for column in columns if column.name in task.schema.attributes]
    if task.rows_taken is None:
        return kept
    names = task.rows_taken.split.columns
    if not names:
        raise InputError("X: the model was trained without some people, whom a frame does not name; ask your node")
    if absent := [name for name in names if name not in {column.name for column in columns}]:
        raise InputError(f"X: the column {quoted(absent[0])} is missing, by which rows were held out of training")
    cells = {column.name: column.cells for column in columns}
    taken = task.rows_taken.has([[spell(cell) for cell in cells[name]] for name in names])
    return [replace(column, cells=[*compress(column.cells, taken)]) for column in kept]


def at_node(node: Operator, job: JobView, deadline: float | None) -> tuple[JobView, JobResult]:
    """Wait for the end of a job at your node, and return it with its result.

    Args:
        node: Your node.
        job: The job.
        deadline: Seconds to wait; None to wait for the end. A job that takes longer goes on at the node.

    Raises:
        LinkError: The job ended without a result, or did not end in time.
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
