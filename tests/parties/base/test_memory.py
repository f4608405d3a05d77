"""What is free of a machine's memory, by what Linux says of it; and what a process keeps."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from parties.base import memory


def test_the_least_of_machine_and_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    assert memory.free() is None
    (tmp_path / "meminfo").write_text("MemTotal:  900 kB\nMemFree:  100 kB\nMemAvailable:  300 kB\n")
    assert memory.free() == 307_200
    (tmp_path / "memory.current").write_text("5000\n")
    for bound, expected in (("max\n", 307_200), ("25000\n", 20_000), ("900000\n", 307_200)):
        (tmp_path / "memory.max").write_text(bound)
        assert memory.free() == expected


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc only")
@pytest.mark.parametrize("keep", [False, True])
def test_freed_memory_is_kept(keep: bool) -> None:
    """Three blocks of 20 MB again and again: fresh pages each time, or the same."""
    program = """
        import resource, sys
        from parties.base.memory import keep_freed

        if sys.argv[1] == "True":
            keep_freed()
        for turn in range(4):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            blocks = [b"x" * 20_000_000 for _ in range(3)]
            del blocks
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(keep)]
    faults = int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    pages = 60_000_000 // resource.getpagesize()
    assert faults < pages // 10 if keep else faults > pages // 2
