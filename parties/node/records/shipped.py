"""How far each target is that entries are shipped to: the last one's number and hash, in the log's own database."""

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
    """The last entry that a target has, and when it got it; `why` nothing gets there now, if so."""

    number: int = 0
    hash: str = ""
    at: str = ""
    why: str = ""


def of(connection: sqlite3.Connection, target: str) -> Shipped:
    """Return how far a target is; the beginning if nothing has been shipped there."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'shipped'").fetchone() is None:
        return Shipped()
    row = connection.execute("SELECT number, hash, at, why FROM shipped WHERE target = ?", (target,)).fetchone()
    return Shipped() if row is None else Shipped(*row)


def put(connection: sqlite3.Connection, target: str, shipped: Shipped) -> None:
    """Write down how far a target is, in the caller's transaction."""
    connection.execute("INSERT OR REPLACE INTO shipped VALUES (?, ?, ?, ?, ?)", (target, *shipped))
