"""Files with damage: what each reader must refuse in its own words, or read."""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

NOTHING: tuple[Any, ...] = (None, True, 0, -1, 2, 2**63, 10**20, 10**400, 0.5, 1e308, float("nan"), float("inf"))
WORDS: tuple[Any, ...] = ("", " ", "*", "?", "1e400", "\u202e", "\n", "x" * 3000)
SHAPES: tuple[Any, ...] = ([], {}, [[]], [{}], {"": 0}, ["a", "a"], [1, 2], {"a": {"b": 1}})
PIECES = (b"\n", b"\r\n", b",", b'"', b"\0", b"\xff", b"\xef\xbb\xbf", b";", b"9" * 30, b"1e400", b"-", b"[" * 20_000)

scraps = st.sampled_from([*NOTHING, *WORDS, *SHAPES])


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from _places(part, (*path, key))


@st.composite
def documents(draw: st.DrawFn, whole: Any) -> Any:
    """A document in which one or two places hold something else, or are gone."""
    found = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(found))
        if not places:
            return found
        *above, last = draw(st.sampled_from(places))
        inside = found
        for key in above:
            inside = inside[key]
        if draw(st.integers(0, 4)) == 0:
            del inside[last]
        else:
            inside[last] = copy.deepcopy(draw(scraps))
    return found


@st.composite
def contents(draw: st.DrawFn, whole: bytes) -> bytes:
    """The bytes of a file that was cut, or into which something got."""
    at = draw(st.integers(0, len(whole)))
    piece = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
    return draw(st.sampled_from([whole[:at], whole[:at] + piece + whole[at:], whole[:at] + piece + whole[at + 1 :]]))


@st.composite
def flipped(draw: st.DrawFn, whole: bytes) -> bytes:
    """The bytes of a file in which some are others."""
    found = bytearray(whole)
    for at in draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=20)):
        found[at] ^= draw(st.integers(1, 255))
    return bytes(found)


CELLS = ("NULL", "-1", "9223372036854775807", "'\u00e9'", "x'ff'", "CAST(x'ff' AS TEXT)")


def cells(path: Path) -> list[str]:
    """For each column of a database and each value of another kind, the command that puts it there."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {t: [row[1] for row in connection.execute(f"PRAGMA table_info({t})")] for t in tables}
    return [f"UPDATE {table} SET {name} = {cell}" for table in tables for name in columns[table] for cell in CELLS]


def carelessly(path: Path, command: str) -> None:
    """Run a command on a database from whose tables all that they ask of values is taken first."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        for word in (" STRICT", " NOT NULL"):
            connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, '')", [word])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(command)
