"""What `smc check` finds of the machine."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from parties.base import temporary
from parties.commands import doctor
from parties.link.environment import STRATEGY
from parties.node.records.database import FILE_NAME, connect
from smc.kernels import native


def found(state: Path) -> dict[str, doctor.Finding]:
    return {finding.what: finding for finding in doctor.machine(state)}


def test_all_is_well(tmp_path: Path) -> None:
    assert all(finding.ok for finding in found(tmp_path / "not" / "there").values())
    connect(tmp_path / FILE_NAME).close()
    assert all(finding.ok for finding in found(tmp_path).values())


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**9, 10**9 - 5000, 5000))
    assert found(tmp_path)["space"] == (False, "space", f"5.0 KB are free at {tmp_path}: make room")
    assert not found(tmp_path)["temporary files"].ok


def test_a_database_that_is_held(tmp_path: Path) -> None:
    connect(tmp_path / FILE_NAME).close()
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("BEGIN IMMEDIATE")
    ok, _, text = found(tmp_path)["locks"]
    assert not ok
    assert text == "another program holds the database; end that program, then see smc check"
    other.close()
    assert found(tmp_path)["locks"].ok


def test_no_temporary_folder_and_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(file)])
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    monkeypatch.setattr(native, "cache_directories", lambda: iter([file / "a", file / "b"]))
    here = found(tmp_path)
    assert not here["temporary files"].ok
    assert "set TMPDIR" in here["temporary files"].text
    assert here["caches"].text == f"none of {file}/a, {file}/b can be written: set XDG_CACHE_HOME to one that can"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", "")
    assert found(tmp_path)["temporary files"].text.startswith(f"in {tmp_path}/home/smc/tmp, where ")
    with temporary.HeldDirectory("spill") as name:
        assert Path(name).parent == tmp_path / "home" / "smc" / "tmp"


def test_the_environment_and_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STRATEGY, "epollex")
    monkeypatch.setattr("smc.kernels.processor.described", lambda: {"model name": "old", "flags": "fpu sse2"})
    here = found(tmp_path)
    assert not here["gRPC"].ok
    assert not here["processor"].ok
