"""The wheel, in an empty environment beside proto-plus, whose package is called proto."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.slow

MOST_DISTRIBUTIONS = 30
MOST_MEGABYTES = 420


def run(*command: object, seconds: float, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(folder)}
    whole = list(map(str, command))
    done = subprocess.run(
        whole, capture_output=True, text=True, timeout=seconds, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_the_wheel_runs_a_demo_from_an_empty_environment(tmp_path: Path) -> None:
    """Needs the package index."""
    python = tmp_path / "empty" / "bin" / "python"
    run(sys.executable, "-m", "venv", python.parent.parent, seconds=120, folder=tmp_path)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT, seconds=200, folder=tmp_path)
    (wheel,) = tmp_path.glob("smc_two_party-*.whl")
    run(*pip, "install", wheel, seconds=400, folder=tmp_path)
    size = sum(file.lstat().st_size for file in python.parent.parent.rglob("*") if file.is_file())
    assert size < MOST_MEGABYTES * 10**6
    installed = run(python, "-m", "pip", "list", "--format=freeze", seconds=60, folder=tmp_path).splitlines()
    assert len(installed) <= MOST_DISTRIBUTIONS
    run(*pip, "install", "proto-plus", seconds=200, folder=tmp_path)
    both = "import proto, parties.link.exchange_pb2; print(proto.Message.__name__)"
    assert run(python, "-c", both, seconds=60, folder=tmp_path) == "Message\n"
    said = run(python.parent / "smc", "demo", seconds=200, folder=tmp_path)
    assert "├── outlook = sunny" in said
