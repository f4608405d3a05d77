"""The marker: a file outside the database with the last entry of the audit log, which reveals a missing log.

The hash chain reveals a log that was changed or cut, not one that was removed as a whole or replaced by an older copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from parties.node.records.audit import AuditLog
from parties.node.records.chain import Row
from parties.node.records.database import FILE_NAME as DATABASE
from parties.node.records.sidecar_files import MARKER as FILE_NAME
from parties.node.records.sidecar_files import SidecarFiles
from parties.node.records.statements import Head
from parties.operator.interface import AuditEntry
from smc.errors import InputError

__all__ = ["FILE_NAME", "check", "remember"]


def remember(path: Path, log: AuditLog) -> None:
    """Write the last entry of a log to the marker. Raise InputError if that fails.

    Args:
        path: The marker.
        log: The log.
    """
    SidecarFiles(path.with_name(DATABASE)).write(path, log.head().model_dump_json().encode())


def check(path: Path, last: Callable[[int], Sequence[Row | AuditEntry]]) -> None:
    """Check the log against the marker.

    Args:
        path: The marker.
        last: Function that returns the last entry before a number.

    Raises:
        InputError: The marked entry is missing or differs.
    """
    if not path.exists():
        return
    try:
        marked = Head.model_validate_json(SidecarFiles(path.with_name(DATABASE)).read(path))
    except ValidationError:
        raise InputError(f"{path} is damaged; if the audit log is whole (smc audit verify), remove it") from None
    entries = last(marked.number + 1)
    if marked.number and [(entry.number, entry.hash) for entry in entries] != [(marked.number, marked.hash)]:
        raise InputError(
            f"the audit log lacks entry {marked.number}, which {path} names: the log was removed or replaced by an "
            f"older one; put the newest log back, or, if you replaced it on purpose, remove {path}"
        )
