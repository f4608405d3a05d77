"""A party's disk that holds nothing it was not made to wait for, and the power cut that shows it."""

from __future__ import annotations

import shutil
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from parties.node.records import deferred_sync
from tests.support.ledgers import Party


class Power:
    """What of a party's write-ahead log is on the disk. Nothing gets there by itself: that is the worst that may be."""

    def __init__(self, party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
        self._party, self._cuts = party, 0
        self.waits = 0  # how often somebody waited for the disk
        sync = deferred_sync._sync

        def synced(log: int) -> None:
            sync(log)
            if Path(f"/proc/self/fd/{log}").resolve() == self._log.resolve():
                self._waited()

        monkeypatch.setattr(deferred_sync, "_sync", synced)
        monkeypatch.setattr(deferred_sync, "_beside", SimpleQueue[Any])
        self._watch()

    @property
    def _log(self) -> Path:
        return self._party.path.with_name(f"{self._party.path.name}-wal")

    def _watch(self) -> None:
        self._size, self._full, self._committed = self._log.stat().st_size, True, False
        self._party.connection.set_trace_callback(self._sees)

    def _waited(self) -> None:
        self._size, self.waits = self._log.stat().st_size, self.waits + 1

    def _sees(self, statement: str) -> None:
        self._look()
        if statement.startswith("PRAGMA synchronous"):
            self._full = statement.endswith("FULL")
        self._committed = statement == "COMMIT" and self._full

    def _look(self) -> None:
        """Note a commit that was waited for, if it has written anything."""
        if self._committed and self._log.stat().st_size > self._size:
            self._waited()
        self._committed = False

    def cut(self) -> None:
        """Open the party's ledger as it is after a power cut; what it said and nobody heard is lost."""
        self._look()
        self._cuts += 1
        place = self._party.path.parent / f"after-{self._cuts}" / "node.sqlite"
        place.parent.mkdir(mode=0o700)
        shutil.copy(self._party.path, place)
        place.with_name("node.sqlite-wal").write_bytes(self._log.read_bytes()[: self._size])
        before, self._party.path = self._party.connection, place
        self._party.said.clear()
        self._party.open()
        before.close()
        self._watch()


def cut_off(parties: tuple[Party, Party], monkeypatch: pytest.MonkeyPatch) -> tuple[Power, Power]:
    """Return both parties' power."""
    left, right = (Power(party, monkeypatch) for party in parties)
    return left, right
