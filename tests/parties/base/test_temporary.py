"""What a killed process leaves in the directory for temporary files is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from parties.base import files, temporary
from parties.base.temporary import HeldDirectory, sweep
from smc.errors import InputError

ROOT = next(parent for parent in Path(__file__).resolve().parents if (parent / "pyproject.toml").is_file())
LONG_AGO = time.time() - 10 * temporary.YOUNGEST
HOLDING = """if True:
    import time
    from pathlib import Path
    from parties.base.temporary import HeldDirectory
    held = HeldDirectory("spill")
    Path(held.name, "rows").write_text("secret")
    print(held.name, flush=True)
    time.sleep(60)
    """


@pytest.fixture(autouse=True)
def again() -> Iterator[None]:
    """Each test is a process that has not looked yet."""
    sweep.cache_clear()
    yield
    sweep.cache_clear()


@contextmanager
def holding(directory: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    command = [sys.executable, "-c", HOLDING]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(directory)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_what_a_killed_process_held_is_removed_and_what_a_living_one_holds_is_not(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with holding(tmp_path) as (killed, left), holding(tmp_path) as (_, held):
        killed.kill()
        killed.wait()
        assert left.is_dir()
        for path in (left, held):
            os.utime(path, (LONG_AGO, LONG_AGO))
        with HeldDirectory("demo") as own:
            assert sorted(tmp_path.iterdir()) == sorted([held, Path(own)])
        assert (held / "rows").read_text() == "secret"


def test_what_is_young_or_has_another_name_mode_or_kind_stays(tmp_path: Path) -> None:
    away = tmp_path / "away"
    for path in [
        away,
        tmp_path / "smc-spill-abcdefg",
        tmp_path / "other-spill-abcdefgh",
        tmp_path / "smc-spill-00000000",
    ]:
        path.mkdir(mode=0o700)
        (path / "file").touch()
    (tmp_path / "smc-spill-1111111x").symlink_to(away)
    (tmp_path / "smc-spill-2222222x").touch(mode=0o700)
    (tmp_path / "smc-spill-3333333x").mkdir(mode=0o755)
    young = tmp_path / "smc-spill-4444444x"
    young.mkdir(mode=0o700)
    for path in tmp_path.iterdir():
        if path != young:
            os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    left = tmp_path / "smc-spill-00000000"
    before = set(tmp_path.rglob("*"))
    sweep(str(tmp_path))
    assert before - set(tmp_path.rglob("*")) == {left, left / "file"}
    sweep(str(tmp_path / "nowhere"))


def descriptors_in(folder: Path) -> int:
    """How many files or folders there this process has open; others come and go with its other threads."""
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # one that was closed meanwhile
            found += os.readlink(descriptor).startswith(str(folder))
    return found


def test_it_is_for_its_owner_only_and_goes_with_its_use(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = HeldDirectory("bench")
    assert stat.S_IMODE(Path(held.name).stat().st_mode) == 0o700
    assert descriptors_in(tmp_path) == 1
    held.cleanup()
    held.cleanup()
    assert not list(tmp_path.iterdir())
    assert descriptors_in(tmp_path) == 0


def test_the_file_that_a_node_holds_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch(mode=0o644)
    with files.lock(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(InputError, match="in use by another node"):
            files.lock(path)
    path.unlink()
    with files.lock(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_the_systems_folder_one_of_this_user_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(file / "no")])
    monkeypatch.setenv("TMPDIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with pytest.raises(InputError, match="no folder for temporary files is writable"):
        temporary.ensure()
    state = tmp_path / "state" / "tmp"
    assert temporary.ensure(state) == str(state) == tempfile.gettempdir() == os.environ["TMPDIR"]
    assert state.stat().st_mode & 0o777 == 0o700
    assert not list(state.iterdir())
