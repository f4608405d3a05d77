"""`smc backup` and `smc restore`: all of a node comes back, or nothing does."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from parties.base import keyfile
from parties.cli import run
from parties.commands.publish_log import log_of
from parties.link.identity import Identity
from parties.node import settings
from parties.node.links import control
from parties.node.log.heads import Shown
from parties.node.records import database, sealed, sidecar_files
from parties.node.starting import backup
from parties.operator.accounts import FILE_NAME as ACCOUNTS
from smc.errors import InputError
from tests.support.ledgers import agreed, paired
from tests.support.sealed_states import WORD, quick_keys


class House:
    """Alice's folder: party.toml, key, certificates, schema, rows and the state of a ledger that is open."""

    def __init__(self, folder: Path, identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.file = folder, capsys, folder / "alice.backup"
        self.home, self.state, self.config = folder / "0", folder / "0" / "state", folder / "0" / "party.toml"
        self.home.mkdir()
        own, peer = identities["alice"], identities["bob"]
        for path in (own.key_path, own.certificate_path, peer.certificate_path):
            shutil.copy(path, self.home / path.name)
        (self.home / "rows.csv").write_text("play\nyes\n")
        (self.home / "schema.toml").write_text('[attributes]\nplay = ["yes", "no"]\n')
        self.config.write_text(
            '[link]\nidentity = "alice.key"\ncertificate = "alice.crt"\npeer = "bob.crt"\nconnect = "127.0.0.1:1"\n'
            '[tables.days]\nsource = "rows.csv"\nschema = "schema.toml"\n'
        )

    close: Callable[[], None]

    def smc(self, *words: object, code: int = 0) -> str:
        assert run([*map(str, words), "--config", str(self.config)]) == code, self.capsys.readouterr()
        shown = self.capsys.readouterr()
        return " ".join((shown.out + shown.err).split())

    def files(self) -> dict[str, bytes]:
        """Everything in the folder that a backup has, with the log in words in place of the database."""
        found = {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in self.home.rglob("*")
            if path.is_file() and path.name not in ("rows.csv", "lock") and "node.sqlite" not in path.name
        }
        with database.reading(self.state / database.FILE_NAME) as connection:
            tables = ("audit", "audit_head", "jobs", "openings", "heads", "seal")
            rows = {table: [*connection.execute(f"SELECT * FROM {table}")] for table in tables}
        return found | {"records": repr(rows).encode()}

    def lose(self) -> None:
        """The disk is gone."""
        for path in self.home.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def house(
    tmp_path: Path, identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    monkeypatch.setattr(control, "DIAL_SECONDS", 0.05)  # no node of bob answers
    with paired(tmp_path / "ledgers", identities) as pair:
        made = House(tmp_path, identities, capsys)
        job = agreed(pair)
        alice = pair.parties[0]
        alice.opens(job)
        pair.session(job)
        pair.deliver()
        alice.connection.close()
        alice.path.parent.rename(made.state)
        alice.path = made.state / database.FILE_NAME
        alice.open()  # the node runs from here on
        made.close = alice.connection.close
        yield made


def test_a_running_node_comes_back_whole(house: House) -> None:
    """Its database is open, and has a write-ahead log. The rows are not in the backup."""
    assert (house.state / "node.sqlite-wal").stat().st_size
    before = house.files()
    assert "not encrypted: whoever reads it has your keys" in house.smc("backup", house.file)
    assert house.file.stat().st_mode & 0o777 == 0o600
    assert "exists already" in house.smc("backup", house.file, code=2)
    names = zipfile.ZipFile(house.file).namelist()
    assert {"named/party.toml", "named/alice.key", "named/schema.toml", "state/node.sqlite"} < set(names)
    assert not [name for name in names if "rows.csv" in name]
    house.lose()
    shown = house.smc("restore", house.file)
    assert "not asked: bob" in shown
    assert house.files() == before
    assert (house.home / "alice.key").stat().st_mode & 0o777 == 0o600
    assert "whole: " in house.smc("audit", "verify")
    assert "move the files of" in house.smc("restore", house.file, code=2)  # nothing is written over
    (house.state / database.FILE_NAME).unlink()
    house.config.write_text(house.config.read_text() + "# later\n")
    assert "kept, and differs from the backup's: " in house.smc("restore", house.file)
    assert house.config.read_text().endswith("# later\n")


def test_a_node_that_writes_meanwhile_is_copied_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of the log says which accounts there are: the copy of the file must fit the copy of the log."""
    (house.home / "word").write_text("a password of hers")
    add = ("operator", "add", "anna", "--role", "see", "--password-file", house.home / "word")
    copied = database.snapshot
    times: list[Path] = []

    def copy_later(path: Path) -> bytes:
        times.append(path)
        if len(times) == 1:
            house.smc(*add)
        return copied(path)

    monkeypatch.setattr(database, "snapshot", copy_later)
    house.smc("backup", house.file)
    assert len(times) == 2
    assert json.loads(zipfile.ZipFile(house.file).read(f"state/{ACCOUNTS}"))["anna"]


def test_records_that_are_not_whole_are_not_backed_up(house: House) -> None:
    path = house.state / "log.json"
    path.write_text(json.dumps({"number": 99, "hash": "ab" * 32}))
    shown = house.smc("backup", house.file, code=2)
    assert "are not whole, so there is no backup: the audit log lacks entry 99" in shown
    assert not house.file.exists()


def test_a_peer_that_has_seen_more_stops_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.smc("backup", house.file)
    with database.reading(house.state / database.FILE_NAME) as connection:
        number = database.last_number(connection)
    with log_of(settings.load(house.config)) as (connection, log), connection:
        log.append("node stopped", None, {"why": ""})
        seen = Shown(own=log.evidence(), held=log.evidence())  # bob's node has met this entry
    house.lose()
    monkeypatch.setattr(control, "shown_by_peer", lambda options: seen)
    shown = house.smc("restore", house.file, code=2)
    assert f"bob has seen entry {number + 1} of this log, and the backup ends at entry {number}: restore a" in shown
    assert [path.name for path in house.home.rglob("*") if path.is_file()] == ["lock"]
    house.smc("restore", house.file, "--older")
    assert "whole: " in house.smc("audit", "verify")
    house.smc("backup", house.folder / "again")
    house.lose()
    monkeypatch.setattr(control, "shown_by_peer", lambda options: seen.model_copy(update={"held": None}))
    assert "not asked" not in house.smc("restore", house.folder / "again")


@pytest.mark.parametrize("damage", ["a byte", "a file", "a name", "no backup"])
def test_a_changed_backup_is_refused(house: House, damage: str) -> None:
    house.smc("backup", house.file)
    with zipfile.ZipFile(house.file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    if damage == "a byte":
        contents["named/party.toml"] += b"#"
    elif damage == "a file":
        del contents["state/node.sqlite"]
    elif damage == "a name":
        manifest = json.loads(contents["manifest.json"])
        manifest["files"]["state/../../x"] = hashlib.sha256(b"x").hexdigest()
        contents |= {"state/../../x": b"x", "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(house.file, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    if damage == "no backup":
        house.file.write_text("PK")
    house.lose()
    assert "take another" in house.smc("restore", house.file, code=2)
    assert not [path for path in house.home.rglob("*") if path.is_file()]


def test_a_made_backup_writes_no_file_outside_the_folder(house: House) -> None:
    """Its party.toml may name such a file if it is our own, or if the backup is encrypted."""
    outside = house.folder / "outside.crt"
    (house.home / "bob.crt").rename(outside)
    own = house.config.read_text().replace('"bob.crt"', '"../outside.crt"')
    house.config.write_text(own)
    (house.home / "word").write_text("only we know it")
    word = ("--passphrase-file", house.folder / "word")
    (house.home / "word").rename(house.folder / "word")
    house.smc("backup", house.file)
    house.smc("backup", house.folder / "sealed", *word)
    content = outside.read_bytes()
    house.lose()
    outside.unlink()
    said = house.smc("restore", house.file, code=2)
    assert "its party.toml names '../outside.crt' outside" in said
    assert not outside.exists()
    assert not [path for path in house.home.rglob("*") if path.is_file()]
    house.smc("restore", house.folder / "sealed", *word)
    assert outside.read_bytes() == content
    house.lose()
    outside.unlink()
    house.config.write_text(own)
    house.smc("restore", house.file)
    assert outside.read_bytes() == content


def test_no_damage_of_a_file_is_more_than_a_line(house: House) -> None:
    """Whatever byte is another one: the content is whole, or one line says that it is not."""
    house.smc("backup", house.file)
    data, dice = house.file.read_bytes(), random.Random(46)
    whole = backup.read(house.file)
    for _ in range(150):
        damaged = bytearray(data)
        damaged[dice.randrange(len(data))] ^= dice.randrange(1, 256)
        house.file.write_bytes(damaged)
        with suppress(InputError):
            assert backup.read(house.file) == whole


def test_encrypted_with_a_passphrase(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyfile, "COST", 1 << 7)
    sidecar_files._key.cache_clear()
    word, before = house.folder / "word", house.files()
    word.write_text("a passphrase of hers\n")
    house.smc("backup", house.file, "--passphrase-file", word)
    assert sidecar_files.is_encrypted(house.file.read_bytes())
    moved = house.file.rename(house.folder / "renamed")  # it may have any name
    house.lose()
    assert "nothing has its passphrase" in house.smc("restore", moved, code=2)
    word.with_name("other").write_text("another passphrase\n")
    assert "does not open it" in house.smc("restore", moved, "--passphrase-file", word.with_name("other"), code=2)
    data = bytearray(moved.read_bytes())
    data[-1] ^= 1
    moved.with_name("changed").write_bytes(data)
    assert "was changed or cut" in house.smc("restore", moved.with_name("changed"), "--passphrase-file", word, code=2)
    house.smc("restore", moved, "--passphrase-file", word)
    assert house.files() == before


@pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="sqlcipher3 is not installed")
def test_a_sealed_state_stays_sealed(house: House) -> None:
    """Its own passphrase is not in the backup."""
    word = house.folder / "word"
    word.write_text(WORD)
    word.chmod(0o600)
    with quick_keys():
        house.close()
        house.smc("audit", "seal", "--passphrase-file", word)
        shutil.copy(word, house.state / "node.passphrase")
        before = house.files()
        house.smc("backup", house.file)
        assert not zipfile.ZipFile(house.file).read("state/node.sqlite").startswith(b"SQLite format")
        house.lose()
        sealed.forget(house.state / database.FILE_NAME)
        assert "nothing has its passphrase" in house.smc("restore", house.file, code=2)
        shutil.copy(word, house.state / "node.passphrase")
        house.smc("restore", house.file)
        assert house.files() == before
