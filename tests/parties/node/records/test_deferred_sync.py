"""Commits that nobody waits for: when they are on the disk, who waits for that, and what a disk that fails becomes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from parties.node.records import deferred_sync
from parties.node.records.deferred_sync import FAILED, DeferredSync
from tests.support.waiting import eventually

NORMAL, FULL = 1, 2  # of PRAGMA synchronous


class Disk:
    """What is put on the disk, by `DeferredSync.settle`; it may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced, self.fails = 0, False
        monkeypatch.setattr(deferred_sync, "_sync", self._sync)
        self.due = SimpleQueue[DeferredSync]()  # that the thread beside would settle
        monkeypatch.setattr(deferred_sync, "_beside", lambda: self.due)

    def _sync(self, handle: int) -> None:
        self.synced += 1
        if self.fails:
            raise OSError(5, "Input/output error")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(opened(tmp_path / "node.sqlite")) as made:
        yield made


def opened(path: Path | str, mode: str = "wal") -> sqlite3.Connection:
    made = sqlite3.connect(path)
    made.execute(f"PRAGMA journal_mode = {mode}")
    made.execute("PRAGMA synchronous = FULL")
    made.execute("CREATE TABLE IF NOT EXISTS rows (value)")
    made.commit()
    return made


def put(commits: DeferredSync, connection: sqlite3.Connection, value: object, later: bool = True) -> int:
    """Write a row; returns how sure SQLite was to be of it."""
    with commits.commit(later):
        connection.execute("INSERT INTO rows VALUES (?)", (value,))
        (sure,) = connection.execute("PRAGMA synchronous").fetchone()
    return int(sure)


def rows(connection: sqlite3.Connection) -> list[Any]:
    return [value for (value,) in connection.execute("SELECT value FROM rows")]


def test_what_nobody_waits_for_is_put_on_the_disk_once(connection: sqlite3.Connection, disk: Disk) -> None:
    commits = DeferredSync(connection)
    commits.settle()
    assert disk.synced == 0
    assert [put(commits, connection, value) for value in (1, 2)] == [NORMAL, NORMAL]
    assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
    assert not connection.in_transaction
    assert (disk.due.qsize(), disk.synced) == (2, 0)
    for _ in range(2):
        commits.settle()
        assert disk.synced == 1
    assert put(commits, connection, 3) == NORMAL
    commits.settle()
    assert disk.synced == 2
    assert rows(connection) == [1, 2, 3]


def test_what_somebody_waits_for_is_there_when_it_returns(connection: sqlite3.Connection, disk: Disk) -> None:
    commits = DeferredSync(connection)
    assert put(commits, connection, 1, later=False) == FULL
    commits.settle()
    assert (disk.synced, disk.due.qsize(), rows(connection)) == (0, 0, [1])


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_without_a_log_each_commit_is_waited_for(mode: str, tmp_path: Path, disk: Disk) -> None:
    """Of a database in memory, and of one that says otherwise."""
    with closing(opened(":memory:" if mode == "wal" else tmp_path / "old.sqlite", mode)) as connection:
        commits = DeferredSync(connection)
        assert put(commits, connection, 1) == FULL
        commits.settle()
        assert (disk.synced, disk.due.qsize(), rows(connection)) == (0, 0, [1])


def test_inside_of_a_transaction_its_own_end_counts(connection: sqlite3.Connection, disk: Disk) -> None:
    """SQLite changes nothing of how sure it is meanwhile."""
    commits = DeferredSync(connection)
    connection.execute("BEGIN IMMEDIATE")
    assert put(commits, connection, 1) == FULL
    assert (disk.due.qsize(), rows(connection)) == (0, [1])


def test_what_was_not_written_is_not_waited_for(connection: sqlite3.Connection, disk: Disk) -> None:
    commits = DeferredSync(connection)
    with suppress(ZeroDivisionError), commits.commit(later=True):
        connection.execute("INSERT INTO rows VALUES (1)")
        raise ZeroDivisionError
    assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
    commits.settle()
    assert (rows(connection), disk.synced, disk.due.qsize()) == ([], 0, 0)


def test_a_disk_that_fails_once_is_not_asked_again(connection: sqlite3.Connection, disk: Disk) -> None:
    """It may say then that all is well (fsync of Linux does): nothing more is said or written before a new start."""
    commits = DeferredSync(connection)
    put(commits, connection, 1)
    disk.fails = True
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match=FAILED):
            commits.settle()
        disk.fails = False
    assert disk.synced == 1
    for is_later in (True, False):
        with pytest.raises(sqlite3.OperationalError, match=FAILED):
            put(commits, connection, 2, is_later)
    assert rows(connection) == [1]


def test_a_log_that_is_gone_is_a_disk_that_fails(connection: sqlite3.Connection, disk: Disk, tmp_path: Path) -> None:
    commits = DeferredSync(connection)
    put(commits, connection, 1)
    (tmp_path / "node.sqlite-wal").rename(tmp_path / "elsewhere")
    with pytest.raises(sqlite3.OperationalError, match=FAILED):
        commits.settle()
    assert disk.synced == 0


def test_a_thread_beside_puts_it_on_the_disk(connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for all connections, which goes on after a disk has failed."""
    synced: list[int] = []

    def sync(handle: int) -> None:
        synced.append(handle)
        if len(synced) == 1:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(deferred_sync, "_sync", sync)
    assert deferred_sync._beside() is deferred_sync._beside()
    for number in (1, 2):
        put(DeferredSync(connection), connection, number)
        eventually(lambda number=number: len(synced) == number)  # type: ignore[misc]
