"""What is there and no file: told in a line at once, never waited for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from parties.sources.opening import open_rows
from parties.sources.settings import PlaceSettings
from smc.errors import InputError


@pytest.mark.parametrize("name", ["rows.csv", "folder/rows.parquet"])
def test_a_pipe_that_nobody_writes_to(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    source = path.parent if name.startswith("folder") else path
    with pytest.raises(InputError, match=f"cannot read {path}: it is a pipe, not a file"):
        open_rows(PlaceSettings.model_validate({"source": str(source)}))


def test_a_socket_and_a_device(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, what in ((tmp_path / "socket", "socket"), (Path("/dev/zero"), "device")):
            with pytest.raises(InputError, match=f"cannot read {path}: it is a {what}, not a file"):
                open_rows(PlaceSettings.model_validate({"source": str(path)}))
