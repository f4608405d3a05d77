"""Private keys that are encrypted at rest: what opens them, from where, and one clear line where nothing does."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from parties.base import console, keyfile
from parties.commands.identity import group
from parties.link.identity import create, load_identity, load_key
from parties.sources import people
from parties.sources.settings import TableSettings
from smc.errors import InputError
from tests.support.waiting import PATIENCE

WORD = "päss word of ours"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyfile, "_opened", {})
    monkeypatch.delenv(keyfile.CREDENTIALS, raising=False)


@pytest.fixture
def plain(tmp_path: Path) -> bytes:
    """The key of a party in PEM; the file is encrypted."""
    key = create("a", [], tmp_path).key_path
    pem = key.read_bytes()
    (tmp_path / "word").write_text(f"{WORD}\n")
    done = CliRunner().invoke(group, ["passphrase", str(key), "--passphrase-file", str(tmp_path / "word")])
    assert done.exit_code == 0
    assert key.stat().st_mode & 0o777 == 0o600
    assert b"BEGIN ENCRYPTED" in key.read_bytes()
    return pem


def test_other_programs_read_it(plain: bytes, tmp_path: Path) -> None:
    encrypted = (tmp_path / "a.key").read_bytes()
    assert load_pem_private_key(encrypted, WORD.encode()) is not None
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl here")
    words = [openssl, "pkey", "-in", str(tmp_path / "a.key"), "-passin", f"file:{tmp_path / 'word'}"]
    assert subprocess.run(words, capture_output=True, check=True, timeout=PATIENCE).stdout == plain


def test_a_credential_then_a_file_then_the_terminal(
    plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, asked = tmp_path / "a.key", list[str]()

    def typed(question: str) -> str:
        asked.append(question)
        return WORD

    monkeypatch.setattr(console, "typed_secret", typed)
    with pytest.raises(InputError, match=r"nothing has its passphrase: there is no systemd credential a\.passphrase"):
        load_key(key)
    monkeypatch.setattr(console, "is_asked", lambda: True)
    for _ in range(2):  # asked once a process
        assert load_identity(key, tmp_path / "a.crt").key_pem == plain
    assert asked == [f"Passphrase of {key}"]
    beside = tmp_path / "a.passphrase"
    beside.write_text("wrong\n")
    beside.chmod(0o644)
    keyfile._opened.clear()
    with pytest.raises(InputError, match="can be read by other users"):
        load_key(key)
    beside.chmod(0o600)
    with pytest.raises(InputError, match=rf"a\.key: the passphrase in {beside} does not open it"):
        load_key(key)
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "a.passphrase").write_text(WORD)
    monkeypatch.setenv(keyfile.CREDENTIALS, str(folder))
    assert load_identity(key, tmp_path / "a.crt").key_pem == plain
    assert len(asked) == 1


def test_what_follows_from_the_key_stays_when_it_is_encrypted(plain: bytes, tmp_path: Path) -> None:
    """Commitments and the choice of rows are made from the key as it is opened."""
    (tmp_path / "a.passphrase").write_text(WORD)
    (tmp_path / "a.passphrase").chmod(0o600)
    table = TableSettings.model_validate({"source": "a.csv", "schema": "s.toml"})
    table.owned_by(tmp_path / "a.key")
    encrypted = people._key(table)
    (tmp_path / "a.key").write_bytes(plain)
    assert people._key(table) == encrypted


def test_a_key_of_another_format_is_another_choice_of_rows_and_that_is_said(plain: bytes, tmp_path: Path) -> None:
    """SEC1, as `openssl ecparam -genkey` writes it: what follows from a plain file follows from its bytes."""
    key, word, sec1 = tmp_path / "a.key", tmp_path / "word", PrivateFormat.TraditionalOpenSSL
    (tmp_path / "a.passphrase").write_text(WORD)
    (tmp_path / "a.passphrase").chmod(0o600)
    said = list[bool]()
    for pem in (plain, load_pem_private_key(plain, None).private_bytes(Encoding.PEM, sec1, NoEncryption())):
        key.write_bytes(pem)
        done = CliRunner().invoke(group, ["passphrase", str(key), "--passphrase-file", str(word)])
        assert (done.exit_code, load_identity(key, tmp_path / "a.crt").key_pem) == (0, plain)
        said.append("different rows per person are chosen" in done.output)
        assert said[-1] == (pem != plain)
    assert said == [False, True]


def test_another_passphrase_and_no_file_half_written(plain: bytes, tmp_path: Path) -> None:
    key, word, other = (tmp_path / name for name in ("a.key", "word", "other"))
    (tmp_path / "a.passphrase").write_text(WORD)
    (tmp_path / "a.passphrase").chmod(0o600)
    before = key.read_bytes()
    for short in ("\n", "elf letters\n"):
        word.write_text(short)
        done = CliRunner().invoke(group, ["passphrase", str(key), "--passphrase-file", str(word)])
        assert str(done.exception) == "a passphrase must have from 12 to 1,024 characters"
        assert key.read_bytes() == before
    other.write_text("another word")
    assert CliRunner().invoke(group, ["passphrase", str(key), "--passphrase-file", str(other)]).exit_code == 0
    with pytest.raises(InputError, match="does not open it"):
        load_key(key)
    word.write_text("no PEM")
    word.chmod(0o600)
    with pytest.raises(InputError, match="holds no readable private key"):
        load_key(word)


def test_a_new_key_and_one_by_openssl(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("elf letters")
    words = ["create", "b", "--out", str(tmp_path), "--passphrase-file", str(tmp_path / "word")]
    assert "from 12 to" in str(CliRunner().invoke(group, words).exception)
    assert not (tmp_path / "b.key").exists()
    (tmp_path / "word").write_text(WORD)
    assert CliRunner().invoke(group, words).exit_code == 0
    again = CliRunner().invoke(group, [*words[:-1], str(tmp_path / "none")])
    assert "b.key exists already" in str(again.exception), "before a passphrase is asked for"
    (tmp_path / "b.passphrase").write_text(WORD)
    (tmp_path / "b.passphrase").chmod(0o600)
    identity = load_identity(tmp_path / "b.key", tmp_path / "b.crt")
    theirs = load_pem_private_key(identity.key_pem, None)
    (tmp_path / "b.key").write_bytes(
        theirs.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(WORD.encode()))
    )
    assert load_identity(tmp_path / "b.key", tmp_path / "b.crt").key_pem == identity.key_pem


def test_the_standard_library_opens_it(plain: bytes, tmp_path: Path) -> None:
    """As `smc check` and syslog with a certificate of ours do."""
    (tmp_path / "a.passphrase").write_text(WORD)
    (tmp_path / "a.passphrase").chmod(0o600)
    context = ssl.create_default_context()
    context.load_cert_chain(tmp_path / "a.crt", tmp_path / "a.key", keyfile.passphrase(tmp_path / "a.key"))
    (tmp_path / "a.key").write_bytes(plain)
    assert keyfile.passphrase(tmp_path / "a.key") == ""
