"""The seal of the tables beside the log, such as jobs and heads: a change of a row past the node breaks it.

Each row has a digest of 1024 numbers modulo 2^16, by SHAKE-256. The sum over a table's rows is updated as rows are
added and removed, and signed with the party's key together with the log's last entry. Forging rows with an equal sum is
a hard lattice problem (Bellare and Micciancio 1997, doi 10.1007/3-540-69053-0_13; with these parameters it is LtHash16
of Lewi et al., IACR ePrint 2019/227). A change costs two digests and a signature, for any number of rows.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography import x509
from numpy.typing import NDArray

from parties.link.identity import Identity, fingerprint
from parties.node.records.signature import check_signature, sign
from parties.node.records.statements import Head

TABLES = ("heads", "heard", "jobs", "openings", "shipped")
TABLE = """
CREATE TABLE IF NOT EXISTS seal (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    sums        BLOB NOT NULL,
    number      INTEGER NOT NULL,
    hash        TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    signature   BLOB NOT NULL
) STRICT
"""
NEEDS_SEAL = 5  # number of the state from which on a started node has a seal
_WORDS = 1024
_BYTES = 2 * _WORDS

Sum = NDArray[np.uint16]
Sums = dict[str, Sum]


@dataclass(frozen=True)
class _Signed:
    """The seal as stored: the sums of all tables, and the log's last entry at that time."""

    sums: bytes
    number: int
    hash: str
    fingerprint: str
    signature: bytes = b""

    def document(self) -> dict[str, Any]:
        digest = hashlib.sha256(self.sums).hexdigest()
        return {"sums": digest, "number": self.number, "hash": self.hash, "fingerprint": self.fingerprint}


class Seal:
    """The seal of an open database, updated as this connection writes; the caller holds the node's lock.

    The tables that it covers must exist before it is made.
    """

    def __init__(self, connection: sqlite3.Connection, identity: Identity) -> None:
        self._connection, self._identity = connection, identity
        with connection:
            connection.execute(TABLE)
        connection.execute("PRAGMA recursive_triggers = ON")  # otherwise a replaced row causes no trigger
        connection.create_function("smc_seal", -1, self._note)
        for table in TABLES:
            for event, rows in (("INSERT", "NEW"), ("DELETE", "OLD"), ("UPDATE", "OLD NEW")):
                calls = "; ".join(
                    f"SELECT smc_seal({1 if row == 'NEW' else -1}, '{table}', {_columns(connection, table, row)})"
                    for row in rows.split()
                )
                connection.execute(
                    f"CREATE TEMP TRIGGER IF NOT EXISTS seal_{table}_{event} AFTER {event} ON main.{table} "
                    f"BEGIN {calls}; END"
                )
        self.go_back()

    def go_back(self) -> None:
        """Reset the tables' digests to those of the stored seal, or recompute them if there is none.

        Called after a failed transaction.
        """
        kept = _kept(self._connection)
        self._sums = _summed(self._connection) if kept is None else _read(kept.sums)
        self._is_changed = kept is None

    @property
    def is_behind(self) -> bool:
        """True if the tables have changed since the seal was written, or it never was."""
        return self._is_changed

    def write(self, head: Head) -> None:
        """Sign the present tables, in the caller's transaction, with the log's head."""
        sums = b"".join(self._sums[table].astype("<u2").tobytes() for table in TABLES)
        signer = fingerprint(self._identity.certificate)
        _put(self._connection, self._identity, _Signed(sums, head.number, head.hash, signer))
        self._is_changed = False

    def _note(self, sign: int, table: str, *values: bytes | None) -> None:
        """Add or remove a row; the triggers call it."""
        change = _digest(table, values)
        self._sums[table] += change if sign > 0 else -change
        self._is_changed = True


def renew(connection: sqlite3.Connection, identity: Identity, former: x509.Certificate) -> None:
    """Sign a former certificate's seal with this identity, in the caller's transaction; a broken seal stays broken.

    Args:
        connection: The database.
        identity: The new identity.
        former: The former certificate.
    """
    kept = _kept(connection)
    if kept is not None and check_signature(former, kept.document(), kept.signature, "seal"):
        signer = fingerprint(identity.certificate)
        _put(connection, identity, _Signed(kept.sums, kept.number, kept.hash, signer))


def problems(
    connection: sqlite3.Connection, owner: x509.Certificate, hashes: Mapping[int, str], last_of_jobs: int, needed: bool
) -> Iterator[str]:
    """Yield the differences between the tables and their seal.

    Args:
        connection: The database.
        owner: Certificate of the log's owner.
        hashes: Hashes of the log's entries, by number.
        last_of_jobs: Number of the last entry that came with a change of a job.
        needed: Whether a missing seal is a difference: a node that keeps a seal has started.
    """
    kept = _kept(connection)
    if kept is None:
        if needed:
            yield "the seal of jobs, openings, heads and tallies is missing: it was taken away"
        return
    if kept.fingerprint != fingerprint(owner) or not check_signature(owner, kept.document(), kept.signature, "seal"):
        yield "the seal of jobs, openings, heads and tallies was changed: the signature is not its owner's"
        return
    if kept.number and hashes.get(kept.number) != kept.hash:
        yield f"the seal was made after an entry {kept.number} that the audit log does not have"
    elif kept.number < last_of_jobs:
        yield f"the seal is older than entry {last_of_jobs} of the audit log: an earlier one was put in its place"
    sealed_sums, actual = _read(kept.sums), _summed(connection)
    for table in TABLES:
        if not np.array_equal(sealed_sums[table], actual[table]):
            yield f"the table {table} is not what its seal says: a row was changed, removed or put back"


def _kept(connection: sqlite3.Connection) -> _Signed | None:
    if connection.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'seal'").fetchone() is None:
        return None
    row = connection.execute("SELECT sums, number, hash, fingerprint, signature FROM seal").fetchone()
    return None if row is None else _Signed(*row)


def _put(connection: sqlite3.Connection, identity: Identity, unsigned: _Signed) -> None:
    signature = sign(identity, unsigned.document(), "seal")
    values = (unsigned.sums, unsigned.number, unsigned.hash, unsigned.fingerprint, signature)
    connection.execute("INSERT OR REPLACE INTO seal VALUES (1, ?, ?, ?, ?, ?)", values)


def _read(sums: bytes) -> Sums:
    words = np.frombuffer(sums.ljust(len(TABLES) * _BYTES, b"\0")[: len(TABLES) * _BYTES], dtype="<u2")
    return {table: words[i * _WORDS : (i + 1) * _WORDS].astype(np.uint16) for i, table in enumerate(TABLES)}


def _summed(connection: sqlite3.Connection) -> Sums:
    sums = {table: np.zeros(_WORDS, dtype=np.uint16) for table in TABLES}
    for table in TABLES:
        if columns := _columns(connection, table, table):
            for values in connection.execute(f"SELECT {columns} FROM main.{table}"):
                sums[table] += _digest(table, values)
    return sums


def _columns(connection: sqlite3.Connection, table: str, row: str) -> str:
    """Return a table's columns as bytes, in SQL: invalid text must not stop a check."""
    names = [name for _, name, *_ in connection.execute(f"PRAGMA main.table_info({table})")]
    return ", ".join(f'CAST({row}."{name}" AS BLOB)' for name in names)


def _digest(table: str, values: tuple[bytes | None, ...]) -> Sum:
    state = hashlib.shake_256(f"smc.records.seal.v1\n{table}\n".encode())
    for value in values:
        state.update((-1 if value is None else len(value)).to_bytes(8, signed=True))
        state.update(value or b"")
    return np.frombuffer(state.digest(_BYTES), dtype="<u2").astype(np.uint16)
