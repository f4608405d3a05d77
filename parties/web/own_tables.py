"""This node's own tables as their operator prepares them: what their columns hold, looked at when it is asked for.

A database tells nobody that rows have changed, so a look at one is taken again after some minutes.

All of it is private and stays here. Only tables of `party.toml` are looked at, by name: no path comes from a browser.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parties.alone.preparing.profile import TableProfile, profile
from parties.alone.preparing.readings import GUESS
from parties.base import files
from parties.sources.settings import TableSettings
from smc.errors import InputError

AT_ONCE = 20 * 2**20  # bytes of a file that is looked at without being asked to
MOST_KEPT = 16  # looks
LOOK_SECONDS = 300


@dataclass(frozen=True)
class Quality:
    """Rows of a table, and columns with rows that have no value there, the most first."""

    rows: int
    columns: int
    gaps: list[tuple[str, int]]


class OwnTables:
    """The tables of a node, and what was seen in them."""

    def __init__(self, tables: Mapping[str, TableSettings] | None = None) -> None:
        self._tables = tables or {}
        self._looks: dict[tuple[object, ...], TableProfile] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def settings(self, name: str) -> TableSettings:
        """Return a table's settings. `InputError` if there is none of that name."""
        if name not in self._tables:
            raise InputError("there is no such table in party.toml")
        return self._tables[name]

    def profile(self, name: str, target: str | None = None) -> TableProfile:
        """Return what the columns of the table's rows hold, as it chooses them; files that have not changed are read
        once. `InputError` if they cannot be."""
        table = self.settings(name)
        key = (name, target, _stamp(table))
        with self._lock:
            if key not in self._looks:
                if len(self._looks) >= MOST_KEPT:
                    self._looks.pop(next(iter(self._looks)))
                self._looks[key] = profile(table, target, GUESS)  # remarks name the readings that fit, too
            return self._looks[key]

    def quality(self, name: str) -> Quality | None:
        """Return the quality of a table that was looked at, or is small; None if nothing is known of it."""
        try:
            table = self.settings(name)
            places = _files(table)
            is_small = bool(places) and sum(path.stat().st_size for path in places) <= AT_ONCE
            if not is_small and (name, None, _stamp(table)) not in self._looks:
                return None
            look = self.profile(name)
        except (InputError, OSError):
            return None
        gaps = [(column.name, look.rows - column.rows) for column in look.columns if column.rows < look.rows]
        return Quality(look.rows, len(look.columns) + len(look.unfit), sorted(gaps, key=lambda gap: -gap[1]))

    def write(self, name: str, texts: Mapping[str, str], replace: bool) -> list[str]:
        """Write a proposal's files beside the table's schema; return their names. `InputError` if one is there and may
        not be replaced, or is the schema in use."""
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        schema_file = self.settings(name).schema_file
        paths = {schema_file.parent / f"{plain}-{what}.toml": text for what, text in texts.items()}
        for path in paths:
            if any(path.resolve() == table.schema_file.resolve() for table in self._tables.values()):
                raise InputError(f"{path.name} is the schema in use: download the proposal, and put it there by hand")
            if not replace and path.exists():
                raise InputError(f"{path.name} exists already: tick Replace to write it anew; nothing has been written")
        for path, text in paths.items():
            files.write_text(path, text)
        return [path.name for path in paths]


def _files(table: TableSettings) -> list[Path]:
    """Return the files that a table is read from; none of a database, or of a pattern of many."""
    places = [file.source for file in table.files.values()] or [table.source]
    paths = [Path(place) for place in places if "://" not in place]
    return paths if len(paths) == len(places) and all(path.is_file() for path in paths) else []


def _stamp(table: TableSettings) -> tuple[object, ...]:
    """Return sizes and times of a table's files; of another the time, coarsely: it is looked at again after that."""
    try:
        states = [path.stat() for path in _files(table)]
    except OSError:
        states = []
    return tuple((state.st_size, state.st_mtime_ns) for state in states) or (int(time.monotonic() // LOOK_SECONDS),)
