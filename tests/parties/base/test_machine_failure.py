"""What of an error is this machine's own trouble, and in which words."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import duckdb
import pytest

from parties.base.machine_failure import REASONS, REMEDY, advice, causes, own_trouble
from smc.errors import InputError, LinkError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/secret"), "the disk is full"),
        (OSError(errno.EROFS, "Read-only file system"), "the file system is read-only"),
        (OSError(errno.EMFILE, "Too many open files"), "too many files are open"),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full"),
        (sqlite3.OperationalError("database is locked"), "another program holds the database"),
        (sqlite3.OperationalError("attempt to write a readonly database"), "the database may only be read"),
        (sqlite3.OperationalError("disk I/O error"), "the disk fails"),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), ""),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), ""),
        (FileNotFoundError(errno.ENOENT, "no such file"), ""),
        (MemoryError(), ""),  # rows may be why
        (InputError("the disk is full"), ""),
        (ValueError("no space left on device"), ""),
        (LinkError("gone"), ""),
        (None, ""),
    ],
    ids=str,
)
def test_reasons(error: BaseException | None, reason: str) -> None:
    assert own_trouble(error) == reason


@pytest.mark.parametrize("is_suppressed", [False, True])
def test_what_is_behind_an_error_counts_unless_it_was_suppressed(is_suppressed: bool) -> None:
    def copy() -> None:
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            cause = None if is_suppressed else error
            raise InputError("cannot copy the table") from cause

    with pytest.raises(InputError) as caught:
        copy()
    assert own_trouble(caught.value) == ("" if is_suppressed else "the disk is full")
    assert len([*causes(caught.value, suppressed=True)]) == 2


def test_the_reason_of_duckdb_is_its_type_as_its_text_may_quote_a_cell(tmp_path: Path) -> None:
    with duckdb.connect() as engine:
        for cell in ("the box is locked", "disk is full", "No space left on device", "unable to open", "readonly"):
            with pytest.raises(duckdb.ConversionException, match=cell) as caught:
                engine.execute("SELECT cast(? AS int)", [cell])
            assert own_trouble(caught.value) == ""
        with pytest.raises(duckdb.IOException) as failed:
            engine.execute(f"ATTACH '{tmp_path / 'missing' / 'x'}'")
    assert own_trouble(failed.value) == "a file of the database cannot be used"


def test_a_database_that_is_really_locked(tmp_path: Path) -> None:
    first, second = (sqlite3.connect(tmp_path / "x", timeout=0) for _ in range(2))
    first.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError) as caught:
        second.execute("BEGIN IMMEDIATE")
    assert own_trouble(caught.value) == "another program holds the database"
    first.close(), second.close()


def test_a_disk_that_is_really_full() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError) as caught, Path("/dev/full").open("wb", buffering=0) as file:  # noqa: PT011
        file.write(b"x")
    assert own_trouble(caught.value) == "the disk is full"


def test_each_reason_has_a_remedy() -> None:
    assert set(REASONS.values()) <= set(REMEDY)
    assert advice("the disk is full") == "the disk is full; make room, then see smc check"
    assert advice("the token is away") == "the token is away"


def test_errors_that_cause_each_other_are_each_looked_at_once() -> None:
    one, other = ValueError("one"), OSError(errno.ENOSPC, "other")
    one.__cause__, other.__context__ = other, one
    assert [*causes(one)] == [one, other]
