"""The files beside an encrypted database are encrypted as well: what is done to them is told, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.base import console
from parties.commands import decisions
from parties.commands.log_writing import accounts_of
from parties.commands.serving import Page
from parties.link.identity import Identity
from parties.node.records import database, sealed, sidecar_files
from parties.node.records.sidecar_files import ACCOUNTS, ARCHIVES, MARKER, SidecarFiles
from parties.node.service import Node
from parties.node.settings import NodeSettings, load
from parties.operator.accounts import unix_user
from parties.operator.interface import JobView
from smc.errors import InputError
from tests.support.ledgers import agreed, paired
from tests.support.people import quick
from tests.support.sealed_states import WORD, Place, quick_keys

NEXT = "the next word of ours"
PURPOSE = "a purpose that leaves"
pytestmark = pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="sqlcipher3 is not installed")


@pytest.fixture(autouse=True, scope="module")
def few_iterations() -> Iterator[None]:
    with quick_keys():
        yield


@pytest.fixture
def place(tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Alice's state with two archives of a job each, an account and a marker; nothing is encrypted yet."""
    quick(monkeypatch)
    monkeypatch.setattr(Node, "start", lambda _: pytest.fail("the node is not refused"))
    with paired(tmp_path, identities) as pair:
        for _ in range(2):
            pair.session(agreed(pair, purpose=PURPOSE))
            pair.meet()
            pair.meet()
            archived = pair.parties[0].ledger.retention.archive(lambda _: 0, tmp_path / "0" / ARCHIVES)
            assert archived is not None
        made = Place(*pair.parties)
        (made.state.parent / "anna").write_text("a password of Anna's")
        made.party.ledger.log.remember(made.state / MARKER)
        assert made.smc("operator", "add", "anna", "--role", "approve", "--password-file", tmp_path / "anna") == 0
        yield made


def others(place: Place) -> dict[Path, bytes]:
    """The files beside the database, as they are."""
    archives = sorted((place.state / ARCHIVES).iterdir())
    return {path: path.read_bytes() for path in (place.state / ACCOUNTS, place.state / MARKER, *archives)}


def contents(place: Place) -> dict[str, Any]:
    """What is kept, as the program reads it."""
    known = SidecarFiles(place.path)
    paths = sorted((place.state / ARCHIVES).iterdir())
    with database.reading(place.path) as connection:
        rows = [[*connection.execute(f"SELECT * FROM {table}")] for table in ("audit", "jobs")]
    archives = {path.name: sidecar_files.read_archive(path, place.path) for path in paths}
    return {"rows": rows, **archives, **{name: known.read(place.state / name) for name in (ACCOUNTS, MARKER)}}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """What was complained of: one line."""
    text = capsys.readouterr().err
    assert text.startswith("smc: "), text
    assert text.count("\n") == 1
    return text


def test_all_that_is_kept_is_encrypted_and_goes_on(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before, kept = others(place), contents(place)
    archives = sorted((place.state / ARCHIVES).iterdir())
    assert place.seal() == 0
    assert "set sealed = true" in capsys.readouterr().err
    place.knows()
    for word in (PURPOSE, "anna", "SQLite format", "archived", "hash"):
        assert word.encode() not in place.bytes()
    assert contents(place) == kept
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in others(place))
    flags = [word for path in archives for word in ("--archive", path)]
    for words in (["audit", "verify", *flags], ["operator", "list"], ["node", "--upgrade-check"], ["audit", "archive"]):
        assert place.smc(*words) == 0
    plain = place.state.parent / "plain.jsonl"
    assert place.smc("audit", "export", "--archive", archives[0], "--out", plain) == 0
    assert plain.read_bytes() == before[archives[0]]
    assert place.smc("operator", "password", "anna", "--password-file", place.state.parent / "anna") == 0
    place.party.open()
    place.party.ledger.jobs.check(place.state / MARKER)
    place.party.ledger.log.remember(place.state / MARKER)
    assert all(map(sidecar_files.is_encrypted, others(place).values()))
    kept = contents(place)
    assert place.seal("--remove") == 0
    (place.state / "node.passphrase").unlink()
    assert contents(place) == kept
    assert not any(map(sidecar_files.is_encrypted, others(place).values()))


def test_what_is_written_twice_is_encrypted_otherwise(place: Place) -> None:
    assert place.seal() == 0
    place.knows()
    path, data = place.state / MARKER, bytes(16)
    written = set()
    for _ in range(3):
        SidecarFiles(place.path).write(path, data)
        written.add(path.read_bytes()[-32:])
        assert SidecarFiles(place.path).read(path) == data
    assert len(written) == 3


def test_what_is_too_large_is_one_line_and_nothing_is_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.seal() == 0
    place.knows()
    before, path = others(place), place.state / MARKER

    class Small:
        def encrypt(self, *_: object) -> bytes:
            raise OverflowError("Data or associated data too long. Max 2**31 - 1 bytes")

    monkeypatch.setattr(sidecar_files, "_key", lambda word, salt: sidecar_files._Key(salt, bytes(8), Small()))  # type: ignore[arg-type]
    large = f"^{path} is too large to be encrypted: at most 2 GB fit; "
    with pytest.raises(InputError, match=f"{large}move it to another folder$"):
        SidecarFiles(place.path).write(path, b"{}")
    with pytest.raises(InputError, match=f"{large}archive fewer jobs at once, with more --days or retention_days$"):
        SidecarFiles(place.path).write_archive(path, b"{}")
    assert others(place) == before


def test_a_passphrase_that_was_mistyped_is_asked_for_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.seal() == 0
    typed = ["another one", WORD]
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr(console, "typed_secret", lambda question: typed.pop(0))
    with pytest.raises(InputError, match="the passphrase that was typed does not open it"):
        SidecarFiles(place.path).read(place.state / ACCOUNTS)
    assert b"anna" in SidecarFiles(place.path).read(place.state / ACCOUNTS)


def test_what_killed_runs_have_left_is_removed_and_told(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["audit", "archive"], ["audit", "seal", "--passphrase-file", place.state.parent / "word"]):
        left = [
            place.state / ".smc-0a.tmp",
            place.state / ".smc-0a.tmp-journal",
            place.state / ARCHIVES / ".smc-1b.tmp",
        ]
        for path in left:
            path.write_text("a purpose")
        place.party.connection.close()
        capsys.readouterr()
        assert place.smc(*words) == 0
        told = capsys.readouterr().err
        for path in left:
            assert f"removed: {path}, left by a killed run" in told
            assert not path.exists()


def test_a_node_that_starts_does_so_too(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    class Frontend:
        def start(self, *_: object) -> dict[str, str]:
            return {}

        def stop(self) -> None:
            pass

    place.party.connection.close()
    left = place.state / ".smc-0a.tmp"
    left.touch()
    capsys.readouterr()
    Node(load(place.config), Frontend()).stop()
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["event"], line["file"]) == ("temporary file removed", str(left))
    assert not left.exists()


def test_without_the_passphrase_nothing_is_to_be_had(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.seal() == 0
    for words in (["operator", "list"], ["audit", "verify"], ["node"]):
        capsys.readouterr()
        assert place.smc(*words) == 2
        assert "is encrypted, and nothing has its passphrase" in said(capsys)
        place.knows("another")
        assert place.smc(*words) == 2
        assert f"the passphrase in {place.state / 'node.passphrase'} does not open it, or it is damaged" in said(capsys)
        (place.state / "node.passphrase").unlink()


def test_an_archive_that_moved_has_the_passphrase_of_its_day(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever became of the database since."""
    assert place.seal() == 0
    place.knows()
    (archive, _) = sorted((place.state / ARCHIVES).iterdir())
    moved, log = place.state.parent / archive.name, place.state.parent / "log.jsonl"
    archive.rename(moved)
    (place.state.parent / "word").write_text(NEXT)
    assert place.seal() == 0
    place.knows(NEXT)
    assert place.smc("audit", "export", "--out", log) == 0
    capsys.readouterr()
    assert place.smc("audit", "verify", "--archive", moved) == 2
    assert f"{moved} is encrypted, and nothing has its passphrase" in said(capsys)
    word = moved.with_suffix(".passphrase")
    word.write_text(WORD)
    word.chmod(0o600)
    assert place.smc("audit", "verify", "--archive", moved) == 0
    assert place.smc("audit", "verify", "--export", log, "--archive", moved) == 0


def test_what_stands_in_anothers_place_is_told(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    accounts, log = place.state / ACCOUNTS, place.state / MARKER
    plain = others(place)
    assert place.seal() == 0
    place.knows()
    first, second = sorted((place.state / ARCHIVES).iterdir())
    kept = others(place)
    for path, other in ((first, second), (second, first), (accounts, log), (log, accounts), (accounts, first)):
        path.write_bytes(kept[other])
        with pytest.raises(InputError, match="is another file under this name"):
            contents(place)
        path.write_bytes(kept[path])
    created = place.state.parent / ACCOUNTS
    SidecarFiles(place.path).write_archive(created, b"{}")  # as by smc audit archive --out: for something else
    accounts.write_bytes(created.read_bytes())
    capsys.readouterr()
    assert place.smc("operator", "list") == 2
    assert "is another file under this name" in said(capsys)
    for path in (accounts, log):
        path.write_bytes(plain[path])
        with pytest.raises(InputError, match=r"is not encrypted, and node\.sqlite is: it was put there"):
            contents(place)
        path.write_bytes(kept[path])
    contents(place)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_changed_byte_or_a_cut_is_one_line(place: Place, data: st.DataObject) -> None:
    if not sealed.is_sealed(place.path):
        assert place.seal() == 0
        place.knows()
    kept = others(place)
    path = data.draw(st.sampled_from([path for path in kept if path.parent == place.state]))
    whole = kept[path]
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(data.draw(st.sampled_from([bytes(changed), whole[:at], whole + b"\0"])))
    with pytest.raises(InputError) as found:
        SidecarFiles(place.path).read(path)
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value)
    path.write_bytes(whole)


def test_a_plain_database_is_refused_without_its_passphrase(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """As if somebody had put an older or a new one there, and taken the passphrase away."""
    place.party.connection.close()
    plain = place.path.read_bytes()
    assert place.seal() == 0
    kept = others(place)
    for content in (plain, None):
        for left, gone in ((MARKER, ACCOUNTS), (ACCOUNTS, MARKER)):
            (place.state / gone).unlink()
            place.path.unlink()
            if content is not None:
                place.path.touch(0o600)
                place.path.write_bytes(content)
            for words in (["node"], ["audit", "verify"]) if content is not None else (["node"],):
                capsys.readouterr()
                assert place.smc(*words) == 2
                assert f"is not encrypted, but {left} beside it is: another one may stand in its place" in said(capsys)
            assert (content is None) is not place.path.exists()
            (place.state / gone).write_bytes(kept[place.state / gone])
            place.path.touch(0o600)
    for name in (MARKER, ACCOUNTS):
        (place.state / name).unlink()
    place.path.write_bytes(plain)
    capsys.readouterr()
    assert place.smc("audit", "verify") == 2  # the log knows that people have names; else party.toml alone tells
    assert f"{ACCOUNTS} is not what entry" in said(capsys)
    place.config.write_text(place.config.read_text().replace("[node]\n", "[node]\nsealed = true\n"))
    for words in (
        ["node"],
        ["node", "--upgrade-check"],
        ["audit", "archive"],
        ["audit", "accept-rollback"],
        ["audit", "renew", "--former", place.party.who.identity.certificate_path],
        ["rights", "done", "erasure", "--table", "days", "--case", "1"],
    ):
        capsys.readouterr()
        assert place.smc(*words) == 2, words
        assert "node.sealed: " in said(capsys)
    assert place.smc("audit", "seal", "--remove") == 2
    assert "remove that line first" in said(capsys)


def test_a_state_that_no_start_opens_is_told_before(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """By `smc check` as by `smc node --upgrade-check`, which changes nothing and counts nothing."""

    def checked() -> tuple[bool, str]:
        capsys.readouterr()
        place.smc("check", "--json", "--wait", "0.1")
        (found,) = [line for line in json.loads(capsys.readouterr().out) if line["check"] == "state"]
        return found["ok"], found["text"]

    assert place.seal() == 0
    place.knows()
    before = {path: path.read_bytes() for path in place.state.rglob("*") if path.is_file()}
    assert checked() == (True, f"{place.state} can be opened; its format has number {database.STATE}")
    assert {path: path.read_bytes() for path in place.state.rglob("*") if path.is_file()} == before
    for word, says in ((NEXT, "does not open it"), (None, "nothing has its passphrase")):
        sealed.forget(place.path)
        (place.state / "node.passphrase").unlink() if word is None else place.knows(word)
        ok, text = checked()
        assert (ok, says in text) == (False, True)
        assert place.smc("node", "--upgrade-check") == 2
        out, err = capsys.readouterr()
        assert (out, says in err, err.count("\n")) == ("", True, 1)
        assert place.smc("node", "--upgrade-check", "--json") == 2
        assert json.loads(capsys.readouterr().out)["jobs"] is None
    place.knows()
    place.config.write_text(place.config.read_text().replace("[node]\n", "[node]\nsealed = true\n"))
    assert checked()[0]
    assert place.seal("--remove") == 2
    place.path.unlink()
    ok, text = checked()
    assert (ok, text.startswith("node.sealed: ")) == (False, True)


def test_who_may_approve_is_read_with_the_passphrase_that_is_asked_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody can be asked for it, the node says who may."""
    assert place.smc("operator", "add", "anna", "--unix", unix_user()) == 0
    assert place.seal() == 0
    job = JobView.model_construct(approvals=1)
    node: Any = SimpleNamespace(state=place.state)
    assert decisions._may_approve(node, job)
    typed = iter(["another word", WORD])
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr(console, "typed_secret", lambda _: next(typed))
    monkeypatch.setattr(JobView, "stands", lambda *_: "anna stands there already")
    with pytest.raises(InputError, match="passphrase that was typed"):
        decisions._may_approve(node, job)
    assert not decisions._may_approve(node, job)


def test_an_old_copy_of_the_accounts_is_told(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """With a password that was changed since; encrypted it fits, but the log knows better."""
    assert place.seal() == 0
    place.knows()
    path = place.state / ACCOUNTS
    old = path.read_bytes()
    change = ("operator", "password", "anna", "--password-file", place.state.parent / "anna")
    assert place.smc(*change) == 0
    path.write_bytes(old)
    capsys.readouterr()
    assert place.smc("rights", "done", "erasure", "--table", "days", "--case", "1") == 2
    assert "is not what entry" in said(capsys)
    assert place.smc(*change) == 0  # who may change it mends it, and reads why
    assert "an older copy, or changed by hand" in capsys.readouterr().err
    assert place.smc("operator", "list") == 0
    assert "entry" not in capsys.readouterr().err


def test_a_start_refuses_plain_accounts_and_its_advice_mends_them(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the node would be there, and let nobody in."""
    path, word = place.state / ACCOUNTS, place.state.parent / "anna"
    old = path.read_bytes()
    assert place.seal() == 0
    place.knows()
    assert place.smc("operator", "password", "anna", "--password-file", word) == 0
    kept = path.read_bytes()
    assert place.smc("operator", "password", "anna", "--password-file", word) == 0
    page = Page(NodeSettings(state=place.state, web="127.0.0.1:0", metrics="127.0.0.1:0"))
    advice = "put the encrypted one back, or take it away and write it anew by smc operator add"
    for data, why in ((kept, "an older copy"), (old, f"is not encrypted, and node.sqlite is: .*; {advice}$")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=why):
            page.start(None, None, None)  # type: ignore[arg-type]
    path.unlink()
    assert place.smc("operator", "add", "anna", "--role", "approve", "--password-file", word) == 0
    assert [*accounts_of(place.state).all()] == ["anna"]
    assert sidecar_files.is_encrypted(path.read_bytes())


def test_what_an_earlier_release_left_plain_is_encrypted_with_its_number(place: Place) -> None:
    plain, kept = others(place), contents(place)
    assert place.seal() == 0
    place.knows()
    for path, data in plain.items():
        path.write_bytes(data)
    with closing(sealed.connect(place.path, place.path.as_uri())) as connection:
        connection.execute(f"PRAGMA user_version = {database._ALL_ENCRYPTED - 1}")
    database.connect(place.path).close()
    assert all(map(sidecar_files.is_encrypted, others(place).values()))
    assert contents(place) == kept


def test_a_file_that_does_not_open_keeps_everything_as_it_was(place: Place) -> None:
    """What fails before the first file is replaced changes nothing."""
    place.party.connection.close()
    before = others(place)
    (place.state / ARCHIVES / "damaged.jsonl").write_bytes(sidecar_files._START + bytes(60))
    with pytest.raises(InputError, match=r"damaged\.jsonl"):
        sidecar_files.seal(place.path, WORD)
    (place.state / ARCHIVES / "damaged.jsonl").unlink()
    assert others(place) == before
    assert not sealed.is_sealed(place.path)
    assert not sidecar_files.sweep(place.path, sqlite3.connect(place.path))


def test_the_same_command_ends_a_change_that_was_cut_off(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The database has the new passphrase, and the one at hand is still that of before."""
    assert place.seal() == 0
    place.knows()
    sidecar_files.seal(place.path, NEXT)
    for word, code in ((NEXT, 0), ("a word of others", 2)):
        (place.state.parent / "word").write_text(word)
        capsys.readouterr()
        assert place.seal() == code
        assert f"the passphrase in {place.state / 'node.passphrase'}" in capsys.readouterr().err
    place.knows(NEXT)
    contents(place)


def killed(run: Callable[[], object], calls: Collection[str], number: int) -> bool:
    """Run a function in a process that is killed before so many of its calls; return whether it had not ended yet."""
    child = os.fork()
    if child == 0:
        left = number

        def counted(call: Callable[..., Any]) -> Callable[..., Any]:
            def called(*args: Any, **kwargs: Any) -> Any:
                nonlocal left
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                return call(*args, **kwargs)

            return called

        try:
            for name in calls:
                setattr(os, name, counted(getattr(os, name)))
            run()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


ALL_CALLS = ["replace", "link", "unlink", "fsync"]  # that change what is on the disk


@pytest.mark.parametrize("calls", [["replace"], pytest.param(ALL_CALLS, marks=pytest.mark.campaign)], ids=["", "all"])
@pytest.mark.parametrize("words", [("", WORD), (WORD, NEXT), (WORD, "")], ids=["sealed", "changed", "removed"])
def test_whenever_it_is_killed_nothing_is_lost_nor_left_readable(
    place: Place, words: tuple[str, str], calls: list[str]
) -> None:
    """Who runs the same command again ends what was begun."""
    before, after = words
    place.party.connection.close()
    if before:
        sidecar_files.seal(place.path, before)
        place.knows(before)
    kept, start = contents(place), place.state.with_name("start")
    shutil.copytree(place.state, start)
    number = 0
    while killed(lambda: sidecar_files.seal(place.path, after), calls, number):
        number += 1
        sealed.forget(place.path)
        try:
            connection = database.connect(place.path, plain=True)
        except InputError:  # the new passphrase is the one already
            place.knows(after)
            connection = database.connect(place.path, plain=True)
        with closing(connection):
            sidecar_files.sweep(place.path, connection)
        assert not list(place.state.rglob(".smc-*"))
        if sealed.is_sealed(place.path):  # or what is not encrypted would be taken for somebody else's
            assert all(map(sidecar_files.is_encrypted, others(place).values()))
        sidecar_files.seal(place.path, after)
        (place.state / "node.passphrase").unlink(missing_ok=True)
        if after:
            place.knows(after)
        assert contents(place) == kept
        sealed.forget(place.path)
        shutil.rmtree(place.state)
        shutil.copytree(start, place.state)
    assert number >= len(others(place)) + 1
