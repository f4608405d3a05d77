"""Places of tables' rows (paths and URLs), and whether two tables may read common rows.

Two paths of one file are one place: relative paths, links, a folder or pattern with the file. Two URLs of one database
are one place too. A query has the places of the tables that it reads. docs/tables-rows.md lists the undetected cases:
copies, views of a database, two names of one server.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from parties.base.text import instead, quoted
from parties.sources.settings import FileSettings, PlaceSettings, TableSettings
from smc.errors import InputError

SCHEMES = {"postgres": "postgresql", "mariadb": "mysql"}  # synonyms of schemes
PORTS = {"postgresql": 5432, "mysql": 3306, "spark": 7077}
DEFAULT_SCHEMAS = {"duckdb": "main", "spark": "default"}  # PostgreSQL's depends on the role
DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "spark": "spark"}


class Place(NamedTuple):
    """A file, folder, pattern or database, and a table in it; None stands for any or the only table."""

    location: str
    table: str | None = None

    def __str__(self) -> str:
        return self.location if self.table is None else f"{self.location}, table {quoted(self.table)}"


def same_place(place: PlaceSettings, other: PlaceSettings | FileSettings, whole: bool = False) -> bool:
    """Return True if both places may be one file or database, or the files of one include the other.

    URL options, the case of a table's name and the default schema before it do not distinguish places.

    Args:
        place: Place of rows.
        other: Place of other rows.
        whole: True to compare the tables, too.
    """
    if not place.source or not other.source:
        return False
    left, right = _placed(place), _placed(other)
    return _same_location(left.location, right.location) and (not whole or _same_table(left, right))


def places_of(table: TableSettings) -> list[Place]:
    """Return the places of the rows that a table reads, without the `lookups` of its query.

    Raises:
        InputError: The query does not read one of its `lookups`, or reads nothing else.
    """
    if table.query is None:
        return [_placed(table)] if table.source else []
    read = _read_by(table)
    if read is None:
        places = [_placed(file) for file in table.files.values()] if table.files else [_placed(table)]
        return [Place(place.location) for place in places]
    lookups = {name.lower() for name in table.lookups}
    if unread := [name for name in table.lookups if name.lower() not in map(str.lower, read)]:
        raise InputError(f"lookups: the query reads no {quoted(unread[0])}{instead(unread[0], read)}")
    protected = [name for name in read if name.lower() not in lookups]
    if table.lookups and not protected:
        raise InputError("lookups: the list has every table of the query; name only tables without people's rows")
    files = {name.lower(): file for name, file in table.files.items()}
    if files:
        return [_placed(files[name.lower()]) for name in protected]
    return [_placed(FileSettings.model_construct(source=table.source, table=name)) for name in protected]


def common(ours: Iterable[Place], theirs: Iterable[Place]) -> Place | None:
    """Return the first of our places that may share rows with one of theirs, or None.

    Args:
        ours: Places of tables.
        theirs: Places to compare with.
    """
    for left, right in product(ours, theirs):
        if _same_location(left.location, right.location) and _same_table(left, right):
            return left
    return None


def _read_by(table: TableSettings) -> list[str] | None:
    """Return the tables that a query reads, each once; None if the query cannot be parsed here."""
    from parties.sources.sql import checked_query, tables_read

    scheme = _scheme(table.source)
    named = list(table.files) or None
    with suppress(InputError):  # told when the table is opened
        return tables_read(checked_query(table.query or "", DIALECTS.get(scheme, "duckdb"), "", named))
    return None


def _placed(place: PlaceSettings | FileSettings) -> Place:
    """Return the place in a unique form: resolved path, URL without options, table without default schema."""
    source, table, scheme = place.source, place.table, _scheme(place.source)
    if scheme == "spark" and table is not None and "/" in table:  # a path of Parquet files
        return Place(_location(table.removeprefix("file://") if table.startswith("file:///") else table))
    location = _location(source)
    if table is not None:
        table = table.casefold()
        if scheme == "mysql":
            database, dot, rest = table.partition(".")
            if dot:
                location, table = f"{location.rpartition('/')[0]}/{database}", rest
        elif (default := DEFAULT_SCHEMAS.get(scheme or "duckdb")) is not None:
            table = table.removeprefix(f"{default}.")
    return Place(location, table)


def _scheme(source: str) -> str:
    scheme, mark, _ = source.partition("://")
    return SCHEMES.get(scheme.lower(), scheme.lower()) if mark else ""


def _location(source: str) -> str:
    """Return a resolved path, or a URL's scheme, host, port and database without user and password."""
    if not (scheme := _scheme(source)):
        return str(Path(source).resolve())
    try:
        url = urlsplit(source)
        host, port = url.hostname or "", url.port
        options = {key: values[-1] for key, values in parse_qs(url.query).items()}
    except ValueError:  # told when the table is opened
        return f"{scheme}://"
    host = (options.get("hostaddr") or options.get("host") or host).lower().rstrip(".")
    if host in ("localhost", "::1", "ip6-localhost") or host.startswith(("127.", "/")) or "unix_socket" in options:
        host = ""  # this machine
    port = int(options["port"]) if options.get("port", "").isdigit() else port
    database = options.get("dbname") or unquote(url.path).strip("/")
    return f"{scheme}://{host or 'localhost'}:{port or PORTS.get(scheme, 0)}/{database}"


def _same_location(left: str, right: str) -> bool:
    if left == right:
        return True
    if "://" in left + right:
        return (left.endswith("://") and right.startswith(left)) or (right.endswith("://") and left.startswith(right))
    return _is_among(left, right) or _is_among(right, left) or not _files_at(left).isdisjoint(_files_at(right))


def _is_among(path: str, files: str) -> bool:
    is_parquet = path.endswith(".parquet") or not Path(path).is_file()
    return (is_parquet and Path(files) in Path(path).parents) or _fits(Path(path).parts, Path(files).parts)


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return True if a path's parts match a pattern's, where `**` is any number of parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and _fits(parts, pattern[1:]):
        return True
    rest = pattern if pattern[0] == "**" else pattern[1:]
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], rest)


def _files_at(location: str) -> frozenset[tuple[int, int]]:
    """Return the device and inode numbers of the files at a path, which are equal for hard links."""
    numbers = set()
    with suppress(OSError):
        for path in _paths_at(Path(location)):
            with suppress(OSError):
                about = os.stat(path)
                numbers.add((about.st_dev, about.st_ino))
    return frozenset(numbers)


def _paths_at(path: Path) -> Iterator[str | Path]:
    if path.is_dir():
        return path.rglob("*.parquet")
    if not path.exists() and glob.has_magic(str(path)):
        return glob.iglob(str(path), recursive=True)
    return iter([path])


def _same_table(left: Place, right: Place) -> bool:
    """Return True if two tables of one location may be the same: if their names are equal, or one has no name.

    In PostgreSQL, a name without a schema may be that of a table in any schema.
    """
    if left.table is None or right.table is None or left.table == right.table:
        return True
    is_open = left.location.startswith("postgresql://")
    return is_open and (left.table.endswith(f".{right.table}") or right.table.endswith(f".{left.table}"))
