"""This node's own tables for their operator to prepare: the content of their columns, profiled on request.

A database does not report changed rows, so a profile of its table is renewed after some minutes. All content is private
and stays here. Only tables of `party.toml` are profiled, by name: no path comes from a browser.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from parties.alone.preparing.columns import TableProfile
from parties.alone.preparing.profile import profile
from parties.alone.preparing.readings import GUESS, Choices, Question, given
from parties.base import files
from parties.sources.settings import TableSettings
from smc.errors import InputError

AT_ONCE = 20 * 2**20  # bytes of files that are profiled without a request
MOST_KEPT = 16  # profiles
LOOK_SECONDS = 300


@dataclass(frozen=True)
class Quality:
    """The numbers of rows and columns of a table, and its columns with missing values, the most incomplete first."""

    rows: int
    columns: int
    gaps: list[tuple[str, int]]


class UndecidedError(InputError):
    """A table can be read in several ways; the operator must choose."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.text}: choose one")
        self.question = question


class OwnTables:
    """The tables of a node, and their profiles."""

    def __init__(self, tables: Mapping[str, TableSettings] | None = None) -> None:
        self._tables = tables or {}
        self._looks: dict[tuple[object, ...], TableProfile] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def settings(self, name: str) -> TableSettings:
        """Return a table's settings. Raise InputError if there is no table of that name."""
        if name not in self._tables:
            raise InputError("there is no such table in party.toml")
        return self._tables[name]

    def profile(self, name: str, target: str | None = None, readings: Sequence[str] = ()) -> TableProfile:
        """Return the profile of the table's selected rows; unchanged files are read once.

        Args:
            name: Name of the table.
            target: Column to predict, if any.
            readings: Chosen readings, such as `born=day-first`.

        Raises:
            UndecidedError: The table can be read in several ways.
            InputError: The table cannot be read, or a reading does not fit it.
        """
        return self._look(name, target, Choices(given(readings), _ask))

    def _look(self, name: str, target: str | None, choices: Choices) -> TableProfile:
        table = self.settings(name)
        key = (name, target, choices is GUESS or repr(choices.given), _stamp(table))
        with self._lock:
            if key not in self._looks:
                if len(self._looks) >= MOST_KEPT:
                    self._looks.pop(next(iter(self._looks)))
                self._looks[key] = profile(table, target, choices)
            return self._looks[key]

    def quality(self, name: str) -> Quality | None:
        """Return the quality of a table that was profiled or is small; None if it is unknown."""
        try:
            table = self.settings(name)
            paths = _files(table)
            is_small = bool(paths) and sum(path.stat().st_size for path in paths) <= AT_ONCE
            if not is_small and not any(key[:2] == (name, None) and key[3] == _stamp(table) for key in self._looks):
                return None
            look = self._look(name, None, GUESS)  # numbers of rows and gaps are those of every reading
        except (InputError, OSError):
            return None
        gaps = [(column.name, look.rows - column.rows) for column in look.columns if column.rows < look.rows]
        return Quality(look.rows, len(look.columns) + len(look.unfit), sorted(gaps, key=lambda gap: -gap[1]))

    def write(self, name: str, texts: Mapping[str, str], replace: bool) -> list[str]:
        """Write a proposal's files beside the table's schema; return their names.

        Args:
            name: Name of the table.
            texts: Contents by kind: that of `schema` goes to NAME-schema.toml.
            replace: Replace existing files.

        Raises:
            InputError: A file exists and must not be replaced, or is the schema in use.
        """
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        schema_file = self.settings(name).schema_file
        paths = {schema_file.parent / f"{plain}-{what}.toml": text for what, text in texts.items()}
        for path in paths:
            if any(path.resolve() == table.schema_file.resolve() for table in self._tables.values()):
                raise InputError(f"{path.name} is the schema in use: download the proposal, and replace it by hand")
            if not replace and path.exists():
                raise InputError(f"{path.name} exists already: tick Replace to overwrite it; nothing has been written")
        for path, text in paths.items():
            files.write_text(path, text)
        return [path.name for path in paths]


def _ask(question: Question) -> NoReturn:
    raise UndecidedError(question)


def _files(table: TableSettings) -> list[Path]:
    """Return the files that a table is read from; empty for a database, or a pattern of many."""
    sources = [file.source for file in table.files.values()] or [table.source]
    paths = [Path(source) for source in sources if "://" not in source]
    return paths if len(paths) == len(sources) and all(path.is_file() for path in paths) else []


def _stamp(table: TableSettings) -> tuple[object, ...]:
    """Return sizes and times of a table's files; for other tables a coarse time, so that their profiles expire."""
    try:
        states = [path.stat() for path in _files(table)]
    except OSError:
        states = []
    return tuple((state.st_size, state.st_mtime_ns) for state in states) or (int(time.monotonic() // LOOK_SECONDS),)
