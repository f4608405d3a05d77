"""A database that is encrypted at rest: nothing of it is readable, and all that reads or writes it still does."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from parties.base import console, files
from parties.base.files import lock
from parties.link.identity import Identity
from parties.node.records import database, sealed
from smc.errors import InputError
from tests.support.ledgers import paired, propose
from tests.support.sealed_states import WORD, Place, quick_keys

pytestmark = pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="sqlcipher3 is not installed")


@pytest.fixture(autouse=True, scope="module")
def few_iterations() -> Iterator[None]:
    with quick_keys():
        yield


@pytest.fixture
def place(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[Place]:
    with paired(tmp_path, identities) as pair:
        propose(pair, purpose="a purpose of ours")
        yield Place(*pair.parties)


def test_nothing_can_be_read_and_everything_goes_on(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Also while it is being written to: the write-ahead log is encrypted as well."""
    assert b"a purpose of ours" in place.bytes()
    with database.reading(place.path) as connection:
        before = [*connection.execute("SELECT * FROM audit")], [*connection.execute("SELECT * FROM jobs")]
        kept = [*connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name")]
        state = database.state_number(connection)
    assert place.seal() == 0
    place.knows()
    with database.reading(place.path) as connection:
        assert database.state_number(connection) == state
    place.party.open()
    place.party.ledger.log.note("node stopped", why="more of ours")
    assert (place.path.stat().st_mode & 0o777, (place.state / "node.sqlite-wal").exists()) == (0o600, True)
    for text in (b"SQLite format", b"a purpose of ours", b"more of ours", b"audit", b"node stopped"):
        assert text not in place.bytes()
    with database.reading(place.path) as connection:
        assert [*connection.execute("SELECT * FROM audit")][: len(before[0])] == before[0]
        assert [*connection.execute("SELECT * FROM jobs")] == before[1]
        assert [*connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name")] == kept
        with pytest.raises(sealed.errors(name="OperationalError"), match="readonly"):
            connection.execute("DELETE FROM jobs")
    with pytest.raises(sealed.errors(), match="only added to"):
        place.party.connection.execute("DELETE FROM audit")
    place.party.connection.rollback()
    capsys.readouterr()
    assert place.smc("node", "--upgrade-check") == 0
    assert "1 jobs, of which 1 go on" in capsys.readouterr().out
    for words in (["verify"], ["archive"]):
        assert place.smc("audit", *words) == 0
    assert "whole: " in capsys.readouterr().out
    backup = place.state / "copy.sqlite"
    backup.write_bytes(place.path.read_bytes())
    (place.state / "copy.passphrase").write_text(WORD)
    (place.state / "copy.passphrase").chmod(0o600)
    with database.reading(backup) as connection:
        assert [*connection.execute("SELECT * FROM jobs")] == before[1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, False),
        (b"", False),
        (b"SQLite format 3\0".ljust(4096), False),
        (bytes(range(256)) * 16, True),
        (bytes(range(256)) * 32, True),
        (bytes(range(256)) * 16 + b"\0", False),
        (bytes(range(255)), False),
        (b"SQLite format 4\0".ljust(4096), True),
    ],
)
def test_whole_pages_that_do_not_begin_as_a_databases_are_sealed(
    tmp_path: Path, content: bytes | None, says: bool
) -> None:
    """Also if another file was there before: it is looked at anew."""
    path = tmp_path / "node.sqlite"
    path.write_bytes(bytes(range(200)) * 4096)
    assert sealed.is_sealed(path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert sealed.is_sealed(path) == says


@pytest.mark.parametrize("error", [sqlite3.OperationalError("locked"), sqlite3.DatabaseError("file is not a database")])
def test_what_cannot_be_opened_is_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """A passphrase that does not open it is forgotten, one that was not tried is kept."""
    done: list[str] = []

    def execute(text: str) -> None:
        if "sqlite_master" in text:
            raise error

    connection = SimpleNamespace(execute=execute, close=lambda: done.append("closed"))
    module = SimpleNamespace(
        connect=lambda *_, **__: connection,
        OperationalError=sqlite3.OperationalError,
        DatabaseError=sqlite3.DatabaseError,
    )
    monkeypatch.setattr(sealed, "_sqlcipher", lambda _: module)
    monkeypatch.setattr(sealed.keyfile, "sought", lambda _: (WORD, "at hand"))
    monkeypatch.setattr(sealed, "_words", {})
    path, is_locked = tmp_path / "node.sqlite", isinstance(error, sqlite3.OperationalError)
    with pytest.raises(sqlite3.OperationalError if is_locked else InputError, match=r"locked|at hand does not open it"):
        sealed.connect(path, path.as_uri())
    assert done == ["closed"]
    assert (path in sealed._words) == is_locked


def test_a_copy_of_a_sealed_one_is_no_plain_one(place: Place) -> None:
    """What is copied to memory for a look at it: SQLCipher copies to what is encrypted as well, and so it stays."""
    assert place.seal() == 0
    place.knows()
    with database.reading(place.path) as connection, closing(sealed.in_memory(connection)) as copy:
        connection.backup(copy)
        assert not isinstance(copy, sqlite3.Connection)
        assert copy.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
    with closing(sqlite3.connect(":memory:")) as plain, closing(sealed.in_memory(plain)) as copy:
        assert isinstance(copy, sqlite3.Connection)


def test_another_passphrase_and_none(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.seal() == 0
    assert place.smc("audit", "verify") == 2
    said = capsys.readouterr().err
    assert "node.sqlite is encrypted, and nothing has its passphrase: there is no systemd credential node.pass" in said
    place.knows("another")
    assert place.smc("audit", "verify") == 2
    assert place.smc("node") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert said.count("does not open it, or it is damaged") == 2
    place.knows()
    first = place.path.read_bytes()
    (place.state.parent / "word").write_text("the next word of ours")
    assert "is the old one" not in capsys.readouterr().err
    assert place.seal() == 0
    assert f"the passphrase in {place.state / 'node.passphrase'} is the old one" in capsys.readouterr().err
    assert place.smc("audit", "verify") == 2
    place.knows("the next word of ours")
    (place.state / "node.passphrase").chmod(0o644)
    assert place.smc("audit", "verify") == 2
    said = capsys.readouterr().err
    assert "chmod 600" in said
    assert "put a backup" not in said
    place.knows("the next word of ours")
    assert place.smc("audit", "verify") == 0
    assert first[:16] != place.path.read_bytes()[:16]
    assert place.seal("--remove") == 0
    (place.state / "node.passphrase").unlink()
    assert place.smc("audit", "verify") == 0
    with closing(sqlite3.connect(place.path)) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
    assert not list(place.state.glob(".smc-*"))


def test_a_passphrase_is_asked_for_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.seal() == 0
    asked: list[str] = []
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr(console, "typed_secret", lambda question: asked.append(question) or WORD)
    for _ in range(2):
        with database.reading(place.path):
            pass
    assert asked == [f"Passphrase of {place.path}"]


# Locks are those of processes, and the two libraries do not know of each other's in one.
READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN")
connection.execute("SELECT * FROM jobs").fetchall()
print("reads", flush=True)
sys.stdin.read()
"""


def test_who_uses_it_keeps_it_from_being_sealed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = place.path.read_bytes()
    with closing(lock(place.state / "lock")):
        assert place.seal() == 2
    assert "is in use by another node" in capsys.readouterr().err
    command = [sys.executable, "-c", READER, str(place.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reads\n"
        assert place.seal() == 2
        assert "cannot be used: database is locked" in capsys.readouterr().err
        reader.communicate("")
    assert place.path.read_bytes()[:16] == before[:16]
    assert not list(place.state.glob(".smc-*"))
    for text, problem in (
        ("\n", "a passphrase must have from 12 to 1,024 characters"),
        ("a\0b of our words\n", "the passphrase has a NUL byte"),
    ):
        (place.state.parent / "word").write_text(text)
        assert place.seal() == 2
        assert problem in capsys.readouterr().err


def test_a_state_that_is_sealed_from_its_first_day(place: Place) -> None:
    place.config.write_text(place.config.read_text().replace(place.state.name, "new"))
    assert place.smc("audit", "seal", "--passphrase-file", place.state.parent / "word") == 0
    new = place.config.parent / "new" / database.FILE_NAME
    assert sealed.is_sealed(new)
    assert new.stat().st_mode & 0o777 == 0o600


def test_nothing_is_unsealed_where_nothing_is(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.smc("audit", "seal", "--remove", "--passphrase-file", place.state.parent / "word") == 2
    assert "--remove removes it" in capsys.readouterr().err
    place.config.write_text(place.config.read_text().replace(place.state.name, "new"))
    assert place.smc("audit", "seal", "--remove") == 2
    new = place.config.parent / "new"
    assert capsys.readouterr().err == f"smc: --remove: there is no database {new / database.FILE_NAME}\n"
    assert not new.exists()
    (place.state.parent / "word").write_text("elf letters")
    assert place.smc("audit", "seal", "--passphrase-file", place.state.parent / "word") == 2
    assert not new.exists()


def test_a_changed_page_is_one_line(place: Place) -> None:
    """Each page has a code of its own: who changes one without the passphrase makes it unreadable."""
    assert place.seal() == 0
    place.knows()
    data = bytearray(place.path.read_bytes())
    data[-2000] ^= 1
    place.path.write_bytes(data)
    wrong = pytest.raises(InputError, match=r"node\.sqlite (is damaged|cannot be used)")
    with wrong, database.reading(place.path) as connection:
        connection.executescript("SELECT * FROM audit, jobs; PRAGMA integrity_check")


def test_without_the_extra(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.seal() == 0
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    with pytest.raises(InputError, match=r"its encryption: needs more packages .*smc-two-party\[sealed\]"):
        database.connect(place.path)


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
connection.execute("CREATE TABLE lost (entry)")
"""


def test_nobody_writes_to_what_is_about_to_be_replaced(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands such as `smc publish` write without the node's lock: what they wrote then would be gone."""
    said: list[str] = []

    def replace(temporary: Path, path: Path) -> Path:
        command = [sys.executable, "-c", WRITER, str(path)]
        said.append(subprocess.run(command, capture_output=True, text=True, check=False).stderr)
        os.replace(temporary, path)
        return path

    monkeypatch.setattr(Path, "replace", replace)
    assert place.seal() == 0
    assert "database is locked" in said[0]


def test_its_name_is_on_the_disk(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut would bring the old file back, and what was written to the new one since would be gone."""
    settled: list[tuple[Path, bool]] = []
    monkeypatch.setattr(files, "settle", lambda folder: settled.append((folder, sealed.is_sealed(place.path))))
    assert place.seal() == 0
    assert settled[-1] == (place.state, True)


def test_who_opened_what_was_replaced_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a node that is started in the last moment of a sealing: what it wrote to the nameless file would be gone."""
    place.party.connection.close()
    has_log = database._has_log

    def replaced(connection: sqlite3.Connection) -> bool:
        other = place.path.with_name("other")
        other.write_bytes(place.path.read_bytes())
        other.replace(place.path)
        return has_log(connection)

    monkeypatch.setattr(database, "_has_log", replaced)
    with pytest.raises(InputError, match=r"node\.sqlite has just been replaced, as by smc audit seal; try again"):
        database.connect(place.path)


def test_a_plain_one_in_its_place_is_refused(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or all that comes would be readable, and nobody would notice; nor does a new one begin as if nothing were."""
    place.party.connection.close()
    plain = place.path.read_bytes()
    credentials = place.state.parent / "credentials"
    credentials.mkdir()
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    (credentials / "node.passphrase").write_text(WORD)
    assert place.seal() == 0
    encrypted = place.path.read_bytes()
    for content in (plain, b"", None):
        place.path.unlink()
        if content is not None:
            place.path.touch(0o600)
            place.path.write_bytes(content)
            assert place.smc("audit", "verify") == 2
            assert "is not encrypted, but its passphrase is there, in systemd's credential" in capsys.readouterr().err
        assert place.smc("node") == 2
        assert "is not encrypted, but its passphrase is there, in systemd's credential" in capsys.readouterr().err
        assert (content is None) is not place.path.exists()
        place.path.touch(0o600)
        place.path.write_bytes(encrypted)
    assert place.smc("audit", "verify") == 0
    assert place.seal("--remove") == 0
    assert place.smc("audit", "verify") == 2
    assert place.seal() == 0
    assert place.smc("audit", "verify") == 0


def test_to_look_drops_no_lock(place: Place) -> None:
    """Locks end when any file of the process is closed: then the next command that ends takes the log's end with it."""
    assert (place.state / "node.sqlite-wal").exists()
    for _ in range(2):
        with database.reading(place.path):
            pass
        command = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM audit').connection.close()"
        subprocess.run([sys.executable, "-c", command, str(place.path)], check=True)
        place.party.ledger.log.note("node stopped", why="kept")
    command = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT fields FROM audit'))"
    seen = subprocess.run([sys.executable, "-c", command, str(place.path)], check=True, capture_output=True, text=True)
    assert seen.stdout.count("kept") == 2
