"""Jobs on disk: one SQLite database for jobs and audit log, so that a change and its record are written together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from parties.node.statement import Statement

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL
) STRICT
"""


class Record(BaseModel):
    """All that a node keeps of a job.

    `tree` is the checkpoint, the tree of indices so far (`parties.node.checkpoint`); never a share or a key.
    `fingerprint` is a keyed digest of the own counts at the root: it tells whether the rows have changed since.
    `note` is for this party's operator only; the statements are what the peer has been told and has said.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proposed_by: Literal["us", "peer"]
    ours: Statement
    theirs: Statement | None = None
    reason: str = ""  # of our verdict, in full
    note: str = ""
    tree: Any = None
    fingerprint: str = ""
    sessions: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    spent: dict[str, int] = {}  # by the sessions before the present or last one, and by that one
    current: dict[str, int] = {}
    cost: dict[str, Any] | None = None  # the report of the last session

    @property
    def id(self) -> str:
        """The job's identifier."""
        return self.ours.proposal.id


class Store:
    """The table of jobs. The caller holds the node's lock, and a transaction around what belongs together."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        with connection:
            connection.execute(_TABLE)

    def put(self, record: Record) -> None:
        """Insert or replace a job."""
        self._connection.execute(
            "INSERT INTO jobs (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record",
            (record.id, record.model_dump_json()),
        )

    def get(self, identifier: str) -> Record | None:
        """A job by its full identifier."""
        row = self._connection.execute("SELECT record FROM jobs WHERE id = ?", (identifier,)).fetchone()
        return None if row is None else Record.model_validate_json(row[0])

    def named(self, beginning: str) -> list[str]:
        """The identifiers that begin so."""
        found = self._connection.execute("SELECT id FROM jobs WHERE substr(id, 1, ?) = ?", (len(beginning), beginning))
        return [row[0] for row in found]

    def newest_first(self) -> Iterator[Record]:
        """All jobs."""
        for (record,) in self._connection.execute("SELECT record FROM jobs ORDER BY number DESC").fetchall():
            yield Record.model_validate_json(record)
