"""The database of the records and of the node's jobs: opening and schema.

Commits are on the disk when they return, except deferred ones (`later`). Triggers refuse to change, remove or replace
an entry; the hash chain reveals a change of the file past them.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from parties.base import temporary
from parties.node.records import sealed, sidecar_files
from parties.node.records.chain import EMPTY, Row, SignedHead
from parties.node.records.sealed import errors
from parties.node.records.statements import Head
from smc.errors import InputError

FILE_NAME = "node.sqlite"

# The stored state has a number, since one release cannot read a later one's state. A change of tables, or of the JSON
# in them, raises the number and adds a step, which is empty if older state can be read as it is
# (tests/parties/node/starting/test_upgrade.py detects a change, and reads the state of each number).
STEPS: tuple[str, ...] = ("",) * 9  # from one number to the next, as SQL; 0: before there were numbers
STATE = len(STEPS)
_ALL_ENCRYPTED = 4  # number from which on the files beside an encrypted database are encrypted, too

_COLUMNS = ", ".join(Row._fields)
_TABLES = """
CREATE TABLE IF NOT EXISTS audit (
    number   INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    kind     TEXT NOT NULL,
    job      TEXT,
    fields   TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash     TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS audit_head (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    number      INTEGER NOT NULL,
    hash        TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    signature   BLOB NOT NULL
) STRICT;
"""
TRIGGERS = {  # without the trigger on DELETE, INSERT OR REPLACE would remove an entry
    "audit_only_next": """
        CREATE TRIGGER audit_only_next BEFORE INSERT ON audit
        WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM audit)
        BEGIN SELECT raise(ABORT, 'the audit log is only added to'); END""",
    "audit_no_update": """
        CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
        BEGIN SELECT raise(ABORT, 'the audit log is only added to'); END""",
    "audit_no_delete": """
        CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
        BEGIN SELECT raise(ABORT, 'the audit log is only added to'); END""",
}


def make_place(path: Path) -> None:
    """Make the directory of a database, for its owner only. Raise InputError if that fails."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"cannot open {path}: a file stands where its directory should be; move it") from None
    except OSError as error:
        raise InputError(f"cannot open {path}: {error.strerror or 'the system refused'}") from error


def connect(path: Path, plain: bool = False) -> sqlite3.Connection:
    """Open the database for writing; make it if it does not exist, with its directory, for the owner only.

    Several threads may use it, one at a time. `with connection:` is a transaction.

    Args:
        path: The database.
        plain: Skip the check of `sidecar_files.refuse_plain`.

    Raises:
        InputError: The database cannot be opened, is damaged, may be read by others, or fails that check.
    """
    if not plain:
        sidecar_files.refuse_plain(path)
    make_place(path)
    try:
        with suppress(FileExistsError):  # an existing file is not opened: to close it would drop SQLite's locks on it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        status = path.stat()
    except OSError as error:
        raise InputError(f"cannot open {path}: {error.strerror or 'the system refused'}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(f"{path} can be read by other users; run: chmod 600 {path}")
    with usable(path):
        connection = _open(path, "rw")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            # Triggers that somebody has removed must stay away, so that `missing_triggers` reports them.
            is_new = not _has_log(connection)
            if not is_new:
                if state(connection) < _ALL_ENCRYPTED and sealed.is_sealed(path):
                    connection.execute("BEGIN IMMEDIATE")
                    sidecar_files.bring_forward(path)
                migrate(connection)
            script = _TABLES + ";".join(TRIGGERS.values()) + f"; PRAGMA user_version = {STATE}" if is_new else _TABLES
            connection.executescript(f"BEGIN IMMEDIATE; {script}; COMMIT")
            if not os.path.samestat(status, path.stat()):  # from here on the file is locked against replacement
                raise InputError(f"{path} has just been replaced, as by smc audit seal; try again")
        except BaseException:
            connection.close()
            raise
    return connection


def state_number(connection: sqlite3.Connection) -> int:
    """Return the number of the stored state, whichever release wrote it."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def state(connection: sqlite3.Connection) -> int:
    """Return the number of the stored state. Raise InputError if a later release wrote it."""
    if (number := state_number(connection)) > STATE:
        raise InputError(
            f"the node's state is of a later release: it has number {number}, this release reads up to {STATE}; "
            "install that release again, or put the copy from before the upgrade in its place"
        )
    return number


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate an earlier release's state, in one transaction. Raise InputError if a later release wrote it."""
    number = state(connection)
    if number < STATE:
        steps = ";".join(STEPS[number:])
        connection.executescript(f"BEGIN IMMEDIATE; {steps}; PRAGMA user_version = {STATE}; COMMIT")


def copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a copy in memory, which can be changed without harm."""
    copy = sealed.in_memory(connection, isolation_level="IMMEDIATE")
    copy.text_factory = connection.text_factory
    connection.backup(copy)
    return copy


def snapshot(path: Path) -> bytes:
    """Return the database as of one moment, encrypted if it is; a node may be writing to it.

    Raise InputError as `reading`.
    """
    with reading(path):  # there is a log
        pass
    with usable(path), temporary.HeldDirectory("snapshot") as folder, closing(_open(path, "ro")) as connection:
        connection.execute("VACUUM INTO ?", (copy := f"{folder}/{FILE_NAME}",))
        return Path(copy).read_bytes()


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a snapshot of the database, to read only; a node may be writing to it.

    Raise InputError if it does not exist, is damaged, or has no audit log, and for database errors inside the block.
    """
    if not path.is_file():
        raise InputError(f"there are no records: {path} does not exist; start the node once, or name its state")
    sidecar_files.refuse_plain(path)
    with usable(path), closing(_open(path, "ro")) as connection:
        connection.execute("BEGIN")
        if not _has_log(connection):
            raise InputError(f"{path} holds no audit log; name the state of a node")
        yield connection


def writable(path: Path) -> sqlite3.Connection:
    """Open an existing database, to see whether it can be written; SQLite's errors are raised unchanged."""
    return _open(path, "rw")


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into InputError with the name of the file."""
    try:
        yield
    except errors(name="OperationalError") as error:
        raise InputError(f"{path} cannot be used: {error}") from error
    except errors(name="DatabaseError") as error:
        raise InputError(f"{path} is damaged: {error}; put a backup in its place, and compare with the peer") from error


def rows(connection: sqlite3.Connection, after: int | None = None) -> Iterator[Row]:
    """Return all entries as stored.

    Args:
        connection: The database.
        after: Only entries after this number.
    """
    where, values = ("", []) if after is None else ("WHERE number > ?", [after])
    return map(Row._make, connection.execute(f"SELECT {_COLUMNS} FROM audit {where} ORDER BY number", values))


def rows_of(connection: sqlite3.Connection, *kinds: str, after: int = 0) -> Iterator[Row]:
    """Return all entries of some kinds as stored.

    Args:
        connection: The database.
        kinds: The kinds.
        after: Only entries after this number.
    """
    marks = ", ".join("?" for _ in kinds)
    query = f"SELECT {_COLUMNS} FROM audit WHERE number > ? AND kind IN ({marks}) ORDER BY number"
    return map(Row._make, connection.execute(query, (after, *kinds)))


def last_number(connection: sqlite3.Connection) -> int:
    """Return the number of the last entry; 0 if there is none."""
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM audit").fetchone()[0])


def rows_of_job(connection: sqlite3.Connection, job: str) -> list[Row]:
    """Return all entries of a job as stored.

    Args:
        connection: The database.
        job: Identifier of the job.
    """
    query = f"SELECT {_COLUMNS} FROM audit WHERE job = ? ORDER BY number"
    return [Row._make(values) for values in connection.execute(query, (job,))]


def empty(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Remove the content of entries, in the caller's transaction. Raise InputError if a trigger is missing already.

    Args:
        connection: The database.
        numbers: Numbers of the entries.
    """
    if missing_triggers(connection):
        raise InputError("the audit log has lost a trigger that keeps entries from being changed; run smc audit verify")
    connection.execute("DROP TRIGGER audit_no_update")
    marked = [(EMPTY, number) for number in numbers]
    connection.executemany("UPDATE audit SET fields = ? WHERE number = ?", marked)
    connection.execute(TRIGGERS["audit_no_update"])


def version(connection: sqlite3.Connection) -> int:
    """Return a number that changes when another connection has written."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def last_rows(connection: sqlite3.Connection, last: int, before: int | None = None) -> list[Row]:
    """Return the last entries as stored, newest first.

    Args:
        connection: The database.
        last: Largest number of entries.
        before: Only entries before this number.
    """
    where, values = ("", [last]) if before is None else ("WHERE number < ?", [before, last])
    query = f"SELECT {_COLUMNS} FROM audit {where} ORDER BY number DESC LIMIT ?"
    return [Row._make(values) for values in connection.execute(query, values)]


def latest(connection: sqlite3.Connection, after: int = 0) -> str | None:
    """Return the latest time of an entry: all have one format, so they can be compared as text.

    Args:
        connection: The database.
        after: Only entries after this number.
    """
    moment: str | None = connection.execute("SELECT max(at) FROM audit WHERE number > ?", (after,)).fetchone()[0]
    return moment


def add(connection: sqlite3.Connection, row: Row, signed: SignedHead) -> None:
    """Add the next entry, and put the head after it.

    Args:
        connection: The database.
        row: The entry.
        signed: The head after it.
    """
    connection.execute(f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    put_head(connection, signed)


def put_head(connection: sqlite3.Connection, signed: SignedHead) -> None:
    """Replace the stored head of the log.

    Args:
        connection: Connection to the database.
        signed: The new head with its signature.
    """
    connection.execute(
        "INSERT INTO audit_head VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET "
        "number = excluded.number, hash = excluded.hash, fingerprint = excluded.fingerprint, "
        "signature = excluded.signature",
        (signed.head.number, signed.head.hash, signed.fingerprint, signed.signature),
    )


def signed_head(connection: sqlite3.Connection) -> SignedHead | None:
    """Return the log's signed head, without a check of the signature; None if it is missing or malformed."""
    match connection.execute("SELECT number, hash, fingerprint, signature FROM audit_head").fetchall():
        case [(number, digest, str(fingerprint), bytes(signature))]:
            with suppress(ValueError):
                return SignedHead(Head(number=number, hash=digest), fingerprint, signature)
    return None


def missing_triggers(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the triggers that are missing or changed."""
    present = dict(
        connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'")
    )
    return [name for name, sql in TRIGGERS.items() if str(present.get(name)).split() != sql.split()]


def _has_log(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit'").fetchone() is not None


def _open(path: Path, mode: str) -> sqlite3.Connection:
    uri, options = f"{path.absolute().as_uri()}?mode={mode}", {"check_same_thread": False}
    if sealed.is_sealed(path):
        connection = sealed.connect(path, uri, isolation_level="IMMEDIATE", **options)
    else:
        connection = sqlite3.connect(uri, uri=True, isolation_level="IMMEDIATE", **options)
    # bytes that are no UTF-8 stay visible, too
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    return connection
