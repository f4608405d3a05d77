"""Changes of an audit log past the database's own rules, and edits that keep its hashes or not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from parties.node.records.chain import NOTHING, Row
from parties.node.records.database import TRIGGERS, rows

Connection = sqlite3.Connection
Change = Callable[[Connection], object]


def tamper(path: Path, change: Change) -> None:
    """Make a change without the triggers, and put them back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        change(connection)
        for trigger in TRIGGERS.values():
            connection.execute(trigger)


def entries(connection: Connection) -> list[Row]:
    return list(rows(connection))


def put(connection: Connection, kept: list[Row]) -> None:
    """Replace all entries by these, in this order."""
    connection.execute("DELETE FROM audit")
    connection.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", kept)


def relinked(kept: list[Row]) -> list[Row]:
    """Entries numbered and chained anew: all that can be done without a key."""
    made: list[Row] = []
    for number, row in enumerate(kept, start=1):
        row = row._replace(number=number, previous=made[-1].hash if made else NOTHING)
        made.append(row._replace(hash=row.digest()))
    return made


def edited(connection: Connection, number: int, relink: bool, **changes: Any) -> None:
    kept = entries(connection)
    row = kept[number - 1]._replace(**changes)
    kept[number - 1] = row._replace(hash=row.digest())
    put(connection, relinked(kept) if relink else kept)
