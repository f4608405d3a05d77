"""What stands in deploy/ names commands and files that there are, and keeps the service in its bounds."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from parties.cli import COMMANDS
from tests.support.places import ROOT

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "smc-node.service"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def instructions(name: str) -> list[list[str]]:
    """The lines of a Dockerfile, each as its instruction and the rest."""
    lines = (DEPLOY / name).read_text().splitlines()
    return [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]


def test_the_image_copies_what_there_is_and_starts_a_command_that_there_is() -> None:
    found = instructions("Dockerfile")
    for _, rest in (line for line in found if line[0] == "COPY" and "--from" not in line[1]):
        assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest
    (install,) = (rest for name, rest in found if name == "RUN" and "pip install" in rest)
    assert set(re.findall(r"\.\[(\w+)\]", install)) <= EXTRAS.keys()
    assert ["ENTRYPOINT", '["smc"]'] in found
    command = json.loads(next(rest for name, rest in found if name == "CMD"))
    assert command[0] in COMMANDS
    user = next(rest for name, rest in found if name == "USER")
    assert user != "root"
    assert any(name == "RUN" and "useradd --system" in rest and rest.endswith(user) for name, rest in found)


def test_the_two_nodes_are_built_alike_and_locked_up() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    assert (DEPLOY / re.search(r"context: (\S+)", text)[1] / re.search(r"dockerfile: (\S+)", text)[1]).exists()  # type: ignore[index]
    for service in ("anna", "bert"):
        assert re.search(
            rf"^  {service}:\n    <<: \*node\n    volumes: .*:/party:ro.*:/var/lib/smc", text, re.MULTILINE
        )
    for bound in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"):
        assert bound in text


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_compose_reads_its_file() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker has no compose")
    command = ["docker", "compose", "--file", DEPLOY / "compose.yaml", "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def unit() -> dict[str, str]:
    """The service's settings, the last of each name."""
    return dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if re.match(r"[A-Z]\w+=", line))


def test_the_unit_starts_a_command_that_there_is_and_may_write_its_state_only() -> None:
    program, command, *_ = shlex.split(unit()["ExecStart"])
    assert program.endswith("/bin/smc")
    assert command in COMMANDS
    assert unit()["WorkingDirectory"] == f"/var/lib/{unit()['StateDirectory']}"
    assert unit()["User"] == "smc"
    assert unit()["ProtectSystem"] == "strict"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_unit_and_finds_it_little_exposed(tmp_path: Path) -> None:
    present = tmp_path / "smc"
    present.write_text("#!/bin/sh\n")
    present.chmod(0o755)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/smc/bin/smc node", f"{present} node"))
    for command in (["verify"], ["security", "--offline=true", "--threshold=20", "--no-pager"]):
        arguments = ["systemd-analyze", *command, str(copy)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert copy.name not in done.stderr  # where what it does not know would be said
