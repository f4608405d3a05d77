"""The wheel, in an empty environment beside proto-plus, whose package is called proto."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.wheel import build
from tests.support.core_steps import learn_a_tree
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

MOST_DISTRIBUTIONS = 21  # with the project's own, without pip and setuptools of the environment
MOST_MEGABYTES = 200


def run(*command: object, seconds: float, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(folder)}
    whole = list(map(str, command))
    done = subprocess.run(
        whole, capture_output=True, text=True, timeout=seconds, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_the_core_of_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    """Needs the package index. The wheel is that of the last commit."""
    python = tmp_path / "empty" / "bin" / "python"
    run(sys.executable, "-m", "venv", python.parent.parent, seconds=120, folder=tmp_path)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    commit = run("git", "-C", ROOT, "log", "-1", "--format=%H %ct", seconds=60, folder=tmp_path).split()
    name, data = build(*commit)
    (tmp_path / name).write_bytes(data)
    run(*pip, "install", tmp_path / name, seconds=400, folder=tmp_path)
    size = sum(file.lstat().st_size for file in python.parent.parent.rglob("*") if file.is_file())
    assert size < MOST_MEGABYTES * 10**6
    installed = run(python, "-m", "pip", "list", "--format=freeze", seconds=60, folder=tmp_path).splitlines()
    assert len({line.partition("==")[0] for line in installed} - {"pip", "setuptools"}) <= MOST_DISTRIBUTIONS
    run(*pip, "install", "proto-plus", seconds=200, folder=tmp_path)
    both = "import proto, parties.link.exchange_pb2; print(proto.Message.__name__)"
    assert run(python, "-c", both, seconds=60, folder=tmp_path) == "Message\n"
    said = run(python.parent / "smc", "demo", seconds=200, folder=tmp_path)
    assert "├── outlook = sunny" in said
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(tmp_path)}
    first, second = learn_a_tree([python.parent / "smc"], tmp_path / "parties", environment)
    assert [line for line in first.splitlines() if line[:1] in "├└"] == [
        line for line in second.splitlines() if line[:1] in "├└"
    ]
