"""Records of `smc publish` in the party's audit log, if the command has the party's file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.commands.options import known_table
from parties.commands.signature import option
from smc.errors import InputError

if TYPE_CHECKING:
    import sqlite3

    from parties.node.records import AuditLog
    from parties.node.settings import NodeFile
    from parties.sources import PlaceSettings


class PublicationLog:
    """Writer of a command's log entry; without party.toml it writes nothing."""

    def __init__(self, append: Callable[[dict[str, Any]], None], name: Callable[[PlaceSettings], str]) -> None:
        self._append = append
        self._name = name

    def published(
        self,
        where: PlaceSettings | str,
        columns: Iterable[str] = (),
        protection: Iterable[str] = (),
        out: Path | str | None = None,
    ) -> None:
        """Record that columns of a table were published.

        Args:
            where: Place of the table, or its name.
            columns: Published columns.
            protection: Protections of the publication, such as k-anonymity.
            out: The written file, whose digest is recorded, or the name of a table in the same database.
        """
        entry: dict[str, Any] = {"table": where if isinstance(where, str) else self._name(where)}
        entry |= {"columns": list(columns), "protection": list(protection)}
        if isinstance(out, str):
            entry["into"] = out
        elif out is not None:
            with out.open("rb") as stream:
                entry["digest"] = hashlib.file_digest(stream, "sha256").hexdigest()
        self._append(entry)


@dataclass(frozen=True)
class Record:
    """Options for the log entry of a publication: party.toml and the purpose."""

    config_file: Path | None = option("party.toml: record this command in the audit log of its node.")
    purpose: str | None = option("Purpose for the record; optional, only with --config.")

    @contextmanager
    def of(self, what: str, table: str = "") -> Iterator[PublicationLog]:
        """Yield the writer of a publication's log entry; the log is checked before the block begins.

        Args:
            what: Name of the command.
            table: Name of the table; empty if the command has none.

        Raises:
            InputError: party.toml or its log cannot be used, or the table does not exist.
        """
        if self.config_file is None:
            if self.purpose is not None:
                raise InputError("--purpose: goes with --config, which has the record; add --config party.toml")
            yield PublicationLog(lambda _: None, lambda _: "")
            return
        from parties.node.settings import load

        file = load(self.config_file)
        if table:
            known_table(table, file.tables)
        with log_of(file) as (connection, log):

            def append(fields: dict[str, Any]) -> None:
                with connection:
                    log.append("published", None, {"what": what, "purpose": self.purpose or "", **fields})

            yield PublicationLog(append, lambda where: _name(file, where))


@contextmanager
def log_of(file: NodeFile, check_end: bool = True) -> Iterator[tuple[sqlite3.Connection, AuditLog]]:
    """Yield a node's audit log for writing. The node may be running.

    Args:
        file: Settings of the node.
        check_end: Whether the end of the log is checked first.

    Raises:
        InputError: The log cannot be used.
    """
    from parties.base.settings import required
    from parties.link.identity import load_identity
    from parties.node.records import AuditLog, database, sidecar_files

    link = file.link
    identity = load_identity(required(link.identity, "link.identity"), required(link.certificate, "link.certificate"))
    place = file.node.state / database.FILE_NAME
    sidecar_files.require_sealed(place, file.node.sealed)
    with database.usable(place), closing(database.connect(place)) as connection:
        log = AuditLog(connection, identity)
        if check_end:
            log.head()
        yield connection, log


def _name(file: NodeFile, where: PlaceSettings) -> str:
    """Return the name of a table in party.toml; its location if party.toml does not have it."""
    for name, table in file.tables.items():
        if (_place(table.source), table.table) == (_place(where.source), where.table):
            return name
    return where.label


def _place(source: str) -> str:
    return source if "://" in source else str(Path(source).resolve())
