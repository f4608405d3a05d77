"""What is written now and is on the disk a moment later; and who has to wait for that.

A commit of the node's database is on the disk when it returns, for which somebody waits some milliseconds. Nobody has
to where a power cut would lose nothing that anybody was told: such a commit is with the system when it returns, so that
a process that is killed loses nothing, and is put on the disk beside what goes on. `settle` waits until it is there.
Any other commit takes it along, and what is there after a power cut is all that was written up to some moment.

Of a job each party waits for what it says and hears, for its share before that is announced, for the word that the
share leaves (with the charge), and for its result before that is signed for the peer. Nobody waits where a session
begins: that is there before the first share is announced, which is written after it.
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
_sync = getattr(os, "fdatasync", os.fsync)  # what SQLite calls, too


class Later:
    """The commits of one connection that nobody waits for. Others than `commit` may be called from any thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (*_, path), *_ = connection.execute("PRAGMA database_list")
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        self._path = f"{path}-wal" if path and mode == "wal" else ""  # else each commit is waited for
        self._lock = threading.Lock()
        self._waiting = self._failed = False

    @contextmanager
    def commit(self, later: bool) -> Iterator[None]:
        """Commit what is written inside, if `later` without a wait; `sqlite3.OperationalError` if one was lost."""
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
        """Return when all is on the disk that was committed. `sqlite3.OperationalError` if it cannot be."""
        with self._lock:
            if self._waiting and not self._failed:
                self._waiting = False  # what is committed from here on sets it anew
                try:
                    log = os.open(self._path, os.O_RDONLY)  # SQLite has no lock on it that to close it would drop
                    try:
                        _sync(log)
                    finally:
                        os.close(log)
                except OSError:  # asked again, it may say that all is well
                    self._failed = True
            if self._failed:
                raise sqlite3.OperationalError(FAILED)


@cache
def _beside() -> SimpleQueue[Later]:
    """Return where to put what is to be put on the disk by a thread of its own."""
    due = SimpleQueue[Later]()

    def settle() -> None:
        while True:
            with suppress(sqlite3.OperationalError):  # the next commit says so
                due.get().settle()

    threading.Thread(target=settle, name="smc-disk", daemon=True).start()
    return due
