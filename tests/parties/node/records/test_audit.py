"""The audit log: what goes in, what comes out, what is refused."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from parties.link.identity import Identity, create, fingerprint
from parties.node.records import AuditLog, Head, connect, database, failure, reading
from parties.node.records.audit import state, verify
from parties.node.records.chain import NOTHING, Row
from parties.node.records.kinds import MAX_TEXT
from smc.errors import InputError, JobMismatchError, LinkError, ProtocolError

STOPPED: tuple[Any, None, dict[str, Any]] = ("node stopped", None, {"why": "told to"})


@pytest.fixture
def connection(tmp_path: Path) -> Any:
    with closing(connect(tmp_path / "state" / "node.sqlite")) as connection:
        yield connection


@pytest.fixture
def log(connection: sqlite3.Connection, identities: dict[str, Identity]) -> AuditLog:
    return AuditLog(connection, identities["alice"])


def test_entries_are_numbered_chained_and_come_back(connection: sqlite3.Connection, log: AuditLog) -> None:
    with connection:
        written = [log.append("opened", "ab" * 16, {"depth": depth, "opened": {"leaf": 2}}) for depth in range(5)]
    assert [entry.number for entry in written] == [1, 2, 3, 4, 5]
    assert list(log) == written
    assert log.entries() == written[::-1]
    assert log.entries(2) == written[:2:-1]
    assert log.entries(2, before=4) == [written[2], written[1]]
    assert log.entries(5, before=1) == []
    assert len({entry.hash for entry in written}) == 5
    assert written[0].at.endswith("+00:00")
    assert written[0].job == "ab" * 16
    assert written[0].fields == {"depth": 0, "opened": {"leaf": 2}}
    assert log.head() == Head(number=5, hash=written[-1].hash)
    assert state(log.checked()).model_dump() == {"entries": 5, "ok": True, "problems": []}


def test_a_log_without_an_entry_is_not_whole(log: AuditLog) -> None:
    assert log.head() == Head(number=0, hash=NOTHING)
    assert log.entries() == []
    assert state(log.checked()).problems == ["there is no entry"]
    with pytest.raises(InputError, match="the audit log has no entry yet"):
        log.evidence()


def test_what_is_added_is_counted(connection: sqlite3.Connection, log: AuditLog) -> None:
    for why in ("told to", "x" * 500):
        before = log.bytes
        with connection:
            log.append("node stopped", None, {"why": why})
        assert len(why) < log.bytes - before < len(why) + 1000


def test_a_command_that_writes_meanwhile_is_waited_for(
    connection: sqlite3.Connection, log: AuditLog, identities: dict[str, Identity], tmp_path: Path
) -> None:
    """What comes after it goes on from its entry, not from the one before."""
    with connection:
        log.append(*STOPPED)
    with closing(connect(tmp_path / "state" / "node.sqlite")) as command:
        with command:
            AuditLog(command, identities["alice"]).append(*STOPPED)

            def go_on() -> None:
                with connection:
                    log.append(*STOPPED)

            thread = threading.Thread(target=go_on)
            thread.start()
            thread.join(0.3)
            assert thread.is_alive()
        thread.join()
    assert [entry.number for entry in log] == [1, 2, 3]
    assert state(log.checked()).ok


def test_an_entry_is_written_with_the_callers_transaction_or_not_at_all(
    connection: sqlite3.Connection, log: AuditLog
) -> None:
    with connection:
        log.append(*STOPPED)

    def break_off() -> None:
        with connection:
            log.append(*STOPPED)
            log.append(*STOPPED)
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        break_off()
    assert log.head().number == 1
    with connection:
        assert log.append(*STOPPED).number == 2
    assert state(log.checked()).ok


def test_the_log_goes_on_when_it_is_opened_again(
    connection: sqlite3.Connection, log: AuditLog, tmp_path: Path, identities: dict[str, Identity]
) -> None:
    with connection:
        log.append(*STOPPED)
    connection.close()
    with closing(connect(tmp_path / "state" / "node.sqlite")) as again, again:
        log = AuditLog(again, identities["alice"])
        assert log.append(*STOPPED).number == 2
        assert state(log.checked()).ok


def test_several_threads_one_at_a_time(connection: sqlite3.Connection, log: AuditLog) -> None:
    lock = threading.Lock()

    def write() -> None:
        for _ in range(10):
            with lock, connection:
                log.append(*STOPPED)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.head().number == 40
    assert state(log.checked()).ok


def test_commits_are_durable_and_files_private(connection: sqlite3.Connection, log: AuditLog, tmp_path: Path) -> None:
    with connection:
        log.append(*STOPPED)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "state").iterdir()} == {0o600}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET kind = 'decided' WHERE number = 1",
        "DELETE FROM audit WHERE number = 2",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit VALUES (1, '', 'decided', NULL, '{}', '', '')",
        "REPLACE INTO audit SELECT * FROM audit WHERE number = 2",
        "INSERT INTO audit VALUES (4, '', 'decided', NULL, '{}', '', '')",
        "INSERT INTO audit VALUES (0, '', 'decided', NULL, '{}', '', '')",
        "INSERT INTO audit SELECT NULL, at, kind, job, fields, previous, hash FROM audit WHERE number = 1",
    ],
)
def test_the_database_itself_refuses_to_change_entries(
    connection: sqlite3.Connection, log: AuditLog, statement: str
) -> None:
    with connection:
        log.append(*STOPPED)
        log.append(*STOPPED)
    with pytest.raises(sqlite3.DatabaseError), connection:
        connection.execute(statement)
    assert state(log.checked()).model_dump() == {"entries": 2, "ok": True, "problems": []}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("opened", {"opened": {"leaf": 2}, "rows": 17}),  # a field that is not known
        ("opened", {"opened": {"leaf": [3, 1, 4]}}),  # values, not how many
        ("opened", {"opened": {"leaf": -1}}),
        ("opened", {"opened": {"leaf": 2.5}}),
        ("finished", {"outcome": "tree", "opened": {}, "bytes_sent": 0, "bytes_received": 0, "rounds": 0}),
        ("finished", {"outcome": "7e" * 32, "opened": {}, "bytes_sent": 0, "bytes_received": 0}),
        ("decided", {"party": "us", "verdict": "perhaps", "by": "operator"}),
        ("signed", {"ours": {}, "theirs": {}}),
    ],
)
def test_other_fields_than_those_of_its_kind_are_refused(log: AuditLog, kind: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        log.append(kind, None, fields)
    assert log.head().number == 0


def test_a_long_text_is_cut(connection: sqlite3.Connection, log: AuditLog) -> None:
    with connection:
        entry = log.append("node stopped", None, {"why": "x" * (MAX_TEXT + 1)})
    assert entry.fields == {"why": "x" * (MAX_TEXT - 1) + "…"}


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (InputError("17 rows are more than the agreed maximum of 10"), {"error": "InputError", "why": ""}),
        (ValueError("'hiv' is not in the schema"), {"error": "ValueError", "why": ""}),
        (ProtocolError("no fresh nonce"), {"error": "ProtocolError", "why": "no fresh nonce"}),
        (LinkError("silent for 120 s"), {"error": "LinkError", "why": "silent for 120 s"}),
        (JobMismatchError("tolerance: ours 1"), {"error": "JobMismatchError", "why": "tolerance: ours 1"}),
    ],
)
def test_a_failure_is_recorded_without_what_may_quote_private_data(
    connection: sqlite3.Connection, log: AuditLog, error: Exception, fields: dict[str, str]
) -> None:
    assert failure(error) == fields
    with connection:
        assert log.append("failed", "ab" * 16, failure(error)).fields == fields | {"bytes_sent": 0, "bytes_received": 0}


def test_the_log_can_be_read_while_it_is_written(
    connection: sqlite3.Connection, log: AuditLog, tmp_path: Path, identities: dict[str, Identity]
) -> None:
    with connection:
        log.append(*STOPPED)
    with reading(tmp_path / "state" / "node.sqlite") as reader:
        assert verify(reader, identities["alice"].certificate).entries == 1
        with connection:
            log.append(*STOPPED)
        found = verify(reader, identities["alice"].certificate)  # still what it was when reading began
        assert (found.entries, found.problems) == (1, [])
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM audit_head")
        reader.rollback()
    with reading(tmp_path / "state" / "node.sqlite") as reader:
        assert verify(reader, identities["alice"].certificate).entries == 2


def test_a_new_certificate_takes_over(
    connection: sqlite3.Connection, log: AuditLog, tmp_path: Path, identities: dict[str, Identity]
) -> None:
    old, new = identities["alice"], create("alice", [], tmp_path)
    with connection:
        log.append(*STOPPED)
    renewed = AuditLog(connection, new)
    with pytest.raises(InputError, match=r"not signed with this certificate's key.*smc audit renew"):
        renewed.append(*STOPPED)
    with pytest.raises(InputError, match="not whole: the head after entry 1 names the certificate"), connection:
        renewed.renew(identities["bob"].certificate)
    with connection:
        entry = renewed.renew(old.certificate)
        renewed.append(*STOPPED)
    assert entry.kind == "renewed"
    assert entry.fields == {
        "former_fingerprint": fingerprint(old.certificate),
        "fingerprint": fingerprint(new.certificate),
    }
    assert state(renewed.checked()).model_dump() == {"entries": 3, "ok": True, "problems": []}
    assert "names the certificate" in state(log.checked()).problems[0]
    with pytest.raises(InputError, match="not signed with this certificate"):
        log.append(*STOPPED)


def test_files_that_are_no_database_are_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    with pytest.raises(InputError, match=r"there are no records: .*node\.sqlite does not exist"), reading(path):
        pass
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    path.chmod(0o600)
    with pytest.raises(InputError, match=r"node\.sqlite is damaged: file is not a database"):
        connect(path)
    with pytest.raises(InputError, match=r"node\.sqlite is damaged: file is not a database"), reading(path):
        pass
    path.chmod(0o644)
    with pytest.raises(InputError, match=r"can be read by other users; run: chmod 600"):
        connect(path)
    path.unlink()
    sqlite3.connect(path).close()
    with pytest.raises(InputError, match="holds no audit log"), reading(path):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot open .*/file/node\.sqlite: "):
        connect(tmp_path / "file" / "node.sqlite")


def test_a_directory_name_that_a_uri_could_misread(tmp_path: Path, identities: dict[str, Identity]) -> None:
    path = tmp_path / "a?b #c%20ü" / "node.sqlite"
    with closing(connect(path)) as connection, connection:
        AuditLog(connection, identities["alice"]).append(*STOPPED)
    assert path.is_file()
    with reading(path) as connection:
        assert verify(connection, identities["alice"].certificate).problems == []


def test_what_was_found_whole_is_not_read_again(
    connection: sqlite3.Connection, log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4,235 entries took a second a visit of the page; now new ones are read, or all if others have written."""
    read: list[int] = []
    rows = database.rows

    def counted(connection: sqlite3.Connection, after: int | None = None) -> Iterator[Row]:
        for row in rows(connection, after):
            read.append(row.number)
            yield row

    monkeypatch.setattr(database, "rows", counted)

    def visit() -> list[int]:
        read.clear()
        assert state(log.checked()).model_dump() == {"entries": log.head().number, "ok": True, "problems": []}
        return read

    with connection:
        for _ in range(5):
            log.append(*STOPPED)
    assert visit() == [1, 2, 3, 4, 5]
    assert visit() == []
    with connection:
        log.append(*STOPPED)
    assert visit() == [6]
    place = connection.execute("PRAGMA database_list").fetchone()[2]
    with closing(sqlite3.connect(place)) as other, other:
        other.execute("CREATE TABLE elsewhere (one INTEGER)")
    assert visit() == [1, 2, 3, 4, 5, 6]
    with closing(sqlite3.connect(place)) as other, other:
        other.execute("DROP TRIGGER audit_no_update")
        other.execute("UPDATE audit SET at = 'then' WHERE number = 2")
    assert any("entry 2 was changed" in problem for problem in state(log.checked()).problems)
    assert not state(log.checked()).ok


def test_a_check_in_a_transaction_that_comes_to_nothing_leaves_no_trace(
    connection: sqlite3.Connection, log: AuditLog
) -> None:
    with connection:
        log.append(*STOPPED)

    def break_off() -> None:
        with connection:
            log.append(*STOPPED)
            assert state(log.checked()).ok
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        break_off()
    assert state(log.checked()).ok
    with connection:
        log.append("node stopped", None, {"why": "else"})
    assert state(log.checked()).model_dump() == {"entries": 2, "ok": True, "problems": []}
