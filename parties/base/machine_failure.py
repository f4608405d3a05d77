"""Failures of this machine, from errors of the system and of databases: one reason, without a path or a value.

The operator, the page, the figures and the peer get the same reason.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

OURS = "a fault of its own machine"  # text before the reason in the message to the peer
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk fails",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}
_IN_WORDS = (  # texts of SQLite's errors, which quote no cell
    ("disk is full", "the disk is full"),
    ("no space left on device", "the disk is full"),
    ("is locked", "another program holds the database"),
    ("readonly", "the database may only be read"),
    ("disk i/o error", "the disk fails"),
    ("unable to open", "the database cannot be opened"),
    ("the disk has not taken what was written", "the disk fails"),
)
_SQLITE = ("sqlite3", "sqlcipher3.dbapi2")
_DUCKDB_FILES = ("_duckdb.IOException", "duckdb.IOException")  # the text of an error of DuckDB may quote a cell
REMEDY = {  # remedies for the operator
    "the disk is full": "make room",
    "the disk quota is used up": "make room or raise the quota",
    "the file system is read-only": "mount it read-write",
    "the disk fails": "look at the disk, then start the node again",
    "too many files are open": "raise the limit (ulimit -n)",
    "another program holds the database": "end that program",
    "the database may only be read": "give this user permission to write it",
    "the database cannot be opened": "check the permissions of its folder",
    "a file of the database cannot be used": "check its permissions, its disk, and who else has it open",
}


def own_trouble(error: BaseException | None) -> str:
    """Return the reason why this machine failed, from an error or its causes; empty if it did not."""
    return next(filter(None, map(reason_of, causes(error))), "")


def reason_of(cause: BaseException) -> str:
    """Return the reason of one error alone, without its causes."""
    if isinstance(cause, OSError) and cause.errno in REASONS:
        return REASONS[cause.errno]
    kind = type(cause)
    if f"{kind.__module__}.{kind.__qualname__}" in _DUCKDB_FILES:
        return "a file of the database cannot be used"
    is_sqlite = kind.__module__.startswith(_SQLITE)
    return next((reason for part, reason in _IN_WORDS if is_sqlite and part in str(cause).lower()), "")


def causes(error: BaseException | None, suppressed: bool = False) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on; each once, as an error raised again may cause itself.

    Args:
        error: The error.
        suppressed: Also yield causes that were suppressed by `from None`.
    """
    seen: list[BaseException] = []
    while error is not None and not any(error is earlier for earlier in seen):
        yield error
        seen.append(error)
        is_hidden = error.__suppress_context__ and not suppressed
        error = error.__cause__ or (None if is_hidden else error.__context__)


def advice(reason: str) -> str:
    """Return a reason with its remedy, for the operator of this machine."""
    return f"{reason}; {REMEDY[reason]}, then see smc check" if reason in REMEDY else reason
