"""The file beside the database that names the last entry: a log that lacks it is not the one that was there."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from parties.link.identity import Identity
from parties.node.records import AuditLog, Head, connect
from parties.node.records.marker import check, remember
from smc.errors import InputError


@pytest.fixture
def log(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[AuditLog]:
    with closing(connect(tmp_path / "state" / "node.sqlite")) as connection:
        log = AuditLog(connection, identities["alice"])
        yield log


def add(log: AuditLog) -> Head:
    with log._connection:
        log.append("node stopped", None, {"why": "told to"})
    return log.head()


def test_a_log_that_went_on_has_what_was_remembered(log: AuditLog, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    check(path, partial(log.entries, 1))
    remember(path, log)
    check(path, partial(log.entries, 1))
    for _ in range(3):
        add(log)
        check(path, partial(log.entries, 1))
    remember(path, log)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    check(path, partial(log.entries, 1))
    add(log)
    check(path, partial(log.entries, 1))


def test_a_log_without_it_or_with_another_one_is_not_the_same(log: AuditLog, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    head = [add(log) for _ in range(2)][-1]
    for other in (head.model_copy(update={"number": 3}), head.model_copy(update={"number": 1})):
        path.write_text(other.model_dump_json())
        with pytest.raises(InputError, match=rf"the audit log lacks entry {other.number}, which .*log\.json names"):
            check(path, partial(log.entries, 1))


def test_a_file_that_is_damaged_is_one_line(log: AuditLog, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"log\.json is damaged"):
        check(path, partial(log.entries, 1))
