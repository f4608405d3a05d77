"""Deferred flushing of commits to disk, and `settle`, which waits for it.

An ordinary commit of the node's database is on the disk when it returns, which takes some milliseconds. A commit may be
deferred if a power cut would lose nothing that was sent outside. It is with the operating system when it returns, so
that a killed process loses nothing, and a separate thread flushes it. `settle` waits for that. Any other commit flushes
it, too. After a power cut the disk has everything written up to some moment.
docs/architecture.md lists what waits for it. The start of a session does not: a share is written after it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from queue import SimpleQueue

FAILED = "the disk has not taken what was written: start the node again"
_sync = getattr(os, "fdatasync", os.fsync)  # the function that SQLite calls, too


class DeferredSync:
    """The commits of one database connection that are not flushed to disk yet.

    `commit` is called from the connection's thread, the other methods from any thread.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (*_, path), *_ = connection.execute("PRAGMA database_list")
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        self._path = f"{path}-wal" if path and mode == "wal" else ""  # otherwise each commit is waited for
        self._lock = threading.Lock()
        self._waiting = self._failed = False

    @contextmanager
    def commit(self, later: bool) -> Iterator[None]:
        """Commit the block, without waiting if `later`. Raise sqlite3.OperationalError if a commit was lost."""
        if self._failed:
            raise sqlite3.OperationalError(FAILED)
        if not (later and self._path) or self._connection.in_transaction:
            with self._connection:
                yield
            return
        self._connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with self._connection:
                yield
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")
        self._waiting = True
        _beside().put(self)

    def settle(self) -> None:
        """Return once every commit is on the disk. Raise sqlite3.OperationalError if that fails."""
        with self._lock:
            if self._waiting and not self._failed:
                self._waiting = False  # a later commit sets it again
                try:
                    log = os.open(self._path, os.O_RDONLY)  # SQLite has no lock on this file that closing it would drop
                    try:
                        _sync(log)
                    finally:
                        os.close(log)
                except OSError:  # a second call could report success
                    self._failed = True
            if self._failed:
                raise sqlite3.OperationalError(FAILED)


@cache
def _beside() -> SimpleQueue[DeferredSync]:
    """Return the queue of commits that a separate thread flushes."""
    due = SimpleQueue[DeferredSync]()

    def settle() -> None:
        while True:
            with suppress(sqlite3.OperationalError):  # the next commit reports it
                due.get().settle()

    threading.Thread(target=settle, name="smc-disk", daemon=True).start()
    return due
