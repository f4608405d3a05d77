"""Files are written whole or not at all, outputs are checked beforehand, and bad text names its line."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parties.base import files
from parties.jobs.kinds.circuit import Circuit, CircuitSettings
from parties.sources import PlaceSettings, open_rows
from parties.sources.cells import cells
from smc.errors import InputError
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE


def test_what_is_written_is_read_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    for text in ("first", "", "zweite ü\n"):
        files.write_text(path, text)
        assert files.read_text(path) == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.json"
    files.write_text(path, "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*out\.json: No space left on device"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    contents = [b"a" * 300_000, b"b" * 200_000]
    files.write_bytes(path, contents[0])
    seen: list[bytes] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(30):
        files.write_bytes(path, contents[i % 2])
    done.set()
    reader.join()
    assert seen
    assert set(seen) <= set(contents)


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    files.write_text(real, "old")
    assert stat.S_IMODE(real.stat().st_mode) & 0o600 == 0o600
    real.chmod(0o640)
    link.symlink_to(real)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("new", 0o640)


def test_pipes_are_written_to_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    files.ensure_writable(pipe)
    files.write_text(pipe, "through")
    reader.join()
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("write", [files.ensure_writable, lambda path: files.write_text(path, "x")])
def test_unwritable_places_are_told_in_one_line(tmp_path: Path, write: object) -> None:
    assert callable(write)
    (tmp_path / "file").write_text("x")
    for path, reason in [
        (tmp_path, "it is a directory"),
        (tmp_path / "no" / "out", f"there is no directory {tmp_path / 'no'}"),
        (tmp_path / "file" / "out", "Not a directory"),
        (tmp_path / ("n" * 300), "File name too long"),
        (tmp_path / "a\0b", "embedded null byte"),
    ]:
        with pytest.raises(InputError) as caught:
            write(path)
        assert str(caught.value) == f"cannot write {path}: {reason}"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_writable_place_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out"
    files.ensure_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    files.ensure_writable(path)
    assert path.read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is write-protected for root")
def test_write_protection_is_respected(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o400)
    for write in (files.ensure_writable, lambda p: files.write_text(p, "new")):
        with pytest.raises(InputError, match="permission denied"):
            write(path)


def test_write_protection_seen_by_any_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="permission denied"):
        files.ensure_writable(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\xffc", ", line 2: not UTF-8 (byte 0xff at offset 3); save the file as UTF-8"),
        ("é".encode("latin-1"), ", line 1: not UTF-8 (byte 0xe9 at offset 0); save the file as UTF-8"),
        (b"\xef\xbb\xbfa\n\nb\xc3", ", line 3: not UTF-8 (byte 0xc3 at offset 7); save the file as UTF-8"),
        (b"a\nb\0", ", line 2: a NUL byte; this is not a text file"),
    ],
)
def test_bad_text_names_its_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        files.decode(Path("x.csv"), data)
    assert str(caught.value) == "x.csv" + message


def test_a_byte_order_mark_is_no_text() -> None:
    assert files.decode(Path("x"), b"\xef\xbb\xbf\xc3\xa9") == "é"


def test_no_temporary_file_is_left_when_permissions_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def refuse(handle: int, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    with pytest.raises(InputError, match=r"cannot write .*out: permission denied"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
@pytest.mark.parametrize(
    ("read", "why"),
    [
        (files.read_bytes, "; give a file"),
        (lambda path: open_rows(PlaceSettings(source=str(path))), "; tables are read more than once"),
        (lambda path: Circuit.planned(CircuitSettings(file=path)), "; give a file"),
    ],
)
def test_a_device_without_an_end_is_not_read(read: Callable[[Path], Any], why: str) -> None:
    with pytest.raises(InputError, match=rf"^cannot read /dev/zero: it is a device, not a file{why}$"):
        read(Path("/dev/zero"))


@pytest.mark.parametrize("read", [cells, lambda path: open_rows(PlaceSettings(source=str(path)))])
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: it is a pipe, not a file; tables are read more than once$"):
        read(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_that_is_full_is_told() -> None:
    with pytest.raises(InputError, match=r"^cannot write /dev/full: No space left on device$"):
        files.write_text(Path("/dev/full"), "x")


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    loop, dangling = tmp_path / "loop", tmp_path / "dangling"
    loop.symlink_to(loop)
    dangling.symlink_to(tmp_path / "new")
    with pytest.raises(InputError, match="Too many levels of symbolic links"):
        files.write_text(loop, "x")
    files.write_text(dangling, "x")
    assert (tmp_path / "new").read_text() == "x"


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_numbers_too_long_to_show_are_refused(tmp_path: Path, number: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"a = [{number}]")
    with pytest.raises(InputError) as caught:
        files.read_toml(path)
    assert str(caught.value) == f"{path}: not valid TOML: a number is too long"


def test_standard_output_is_written_to_not_replaced(tmp_path: Path) -> None:
    """With `>> log` the name /dev/stdout leads to a regular file, which others are writing to as well."""
    log = tmp_path / "log"
    log.write_text("before\n")
    script = "from parties.base.files import *\nwrite_text(Path('/dev/stdout'), 'tree\\n')\nprint('after')"
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", script], stdout=stream, check=True, env=ENVIRONMENT)
    assert log.read_text() == "before\ntree\nafter\n"
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_outputs_are_checked_against_inputs_and_each_other(tmp_path: Path) -> None:
    data, other = tmp_path / "data.csv", tmp_path / "other"
    data.write_text("x")
    other.symlink_to(data)
    with pytest.raises(InputError, match=r"--out: .*other is an input"):
        files.check_outputs({"--out": other}, [data, None])
    with pytest.raises(InputError, match=r"--b: .* is --a too"):
        files.check_outputs({"--a": tmp_path / "t", "--b": tmp_path / "t", "--c": None}, [data])
    files.check_outputs({"--a": Path("/dev/stdout"), "--b": Path("/dev/stdout")}, [data])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"a": }', ", line 2: the file is not valid JSON: Expecting value"),
        ("", ", line 1: the file is not valid JSON: Expecting value"),
        ("[" + "9" * 5000 + "]", ": not valid JSON: a number is too long"),
        ("[1e999]", ": not valid JSON: the number 1e999 is too large"),
        ("[NaN]", ": not valid JSON: NaN is no number there"),
        ("[" * 100_000, ": nested too deeply; use fewer levels"),
    ],
)
def test_json_that_is_none_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        files.read_json(path)
    assert str(caught.value) == f"{path}{message}"


def test_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, -2.5e3, null], "b": 123456789012345678901234567890}')
    assert files.read_json(path) == {"a": [1, -2500.0, None], "b": 123456789012345678901234567890}


def test_a_key_names_the_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"there is no directory {tmp_path}/none"):
        files.create_private(tmp_path / "none" / "a.key", b"")


def test_a_new_private_file_has_its_name_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a crash may leave a file that was written, under no name."""
    synced, sync = list[str](), os.fsync

    def noted(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        assert (synced[-1] == str(tmp_path)) == (tmp_path / "a.key").exists()
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    files.create_private(tmp_path / "a.key", b"x")
    assert (len(synced), synced[-1]) == (2, str(tmp_path))


@pytest.mark.parametrize("what", [files.ensure_writable, lambda path: files.write_text(path, "x")])
def test_a_signal_just_when_the_file_is_there_leaves_none(
    what: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> int:
        os.close(real(*arguments))
        raise KeyboardInterrupt

    real = os.open
    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        what(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_held_by_one_and_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user who may read it can hold it as long as they like."""
    with files.held(tmp_path):
        monkeypatch.setattr(files, "HELD_SECONDS", 0.05)
        with pytest.raises(InputError, match=r"another process has locked .* for 0\.05 s"), files.held(tmp_path):
            pass
        monkeypatch.setattr(files, "HELD_SECONDS", PATIENCE)
        begun, waits = threading.Event(), threading.Thread(target=lambda: _hold(tmp_path, begun))
        waits.start()
        assert not begun.is_set()
    waits.join(PATIENCE)
    assert begun.is_set()


def _hold(folder: Path, begun: threading.Event) -> None:
    with files.held(folder):
        begun.set()
