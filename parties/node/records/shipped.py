"""Progress of each shipping target: number and hash of the last entry that it has, in the log's own database."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

TABLE = """
CREATE TABLE IF NOT EXISTS shipped (
    target TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    hash   TEXT NOT NULL,
    at     TEXT NOT NULL,
    why    TEXT NOT NULL
) STRICT
"""


class Shipped(NamedTuple):
    """The last entry that a target has; 0 and empty texts if none has arrived.

    Attributes:
        number: Number of the entry.
        hash: Hash of the entry.
        at: Time of its arrival.
        why: Reason if shipping fails now, else empty.
    """

    number: int = 0
    hash: str = ""
    at: str = ""
    why: str = ""


def of(connection: sqlite3.Connection, target: str) -> Shipped:
    """Return the progress of a target: number 0 and empty texts if nothing has been shipped there.

    Args:
        connection: The database.
        target: Name of the target.
    """
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'shipped'").fetchone() is None:
        return Shipped()
    row = connection.execute("SELECT number, hash, at, why FROM shipped WHERE target = ?", (target,)).fetchone()
    return Shipped() if row is None else Shipped(*row)


def put(connection: sqlite3.Connection, target: str, shipped: Shipped) -> None:
    """Record the progress of a target, in the caller's transaction.

    Args:
        connection: The database.
        target: Name of the target.
        shipped: The last entry that it has.
    """
    connection.execute("INSERT OR REPLACE INTO shipped VALUES (?, ?, ?, ?, ?)", (target, *shipped))
