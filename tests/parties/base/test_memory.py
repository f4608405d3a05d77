"""What is free of a machine's memory, by what Linux says of it."""

from __future__ import annotations

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
