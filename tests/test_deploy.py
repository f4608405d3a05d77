"""What stands in deploy/ names commands and files that there are, and keeps the service in its bounds."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from parties.cli import COMMANDS, run
from parties.link.identity import create, load_identity
from parties.node import settings
from parties.node.service import STREAMS
from tests.support.places import ROOT
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "smc-node.service"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (DEPLOY / "README.md").read_text()
SERVICES = {  # by the block of steps in README.md
    0: ("anna", "bert"),
    2: ("anna", "bert", "cleo", "north", "south"),
    3: ("hospital", "insurer"),
}


def instructions(name: str) -> list[list[str]]:
    """The lines of a Dockerfile, each as its instruction and the rest."""
    lines = (DEPLOY / name).read_text().splitlines()
    return [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]


def test_the_image_copies_what_is_installed_and_starts_a_command_that_there_is() -> None:
    found = instructions("Dockerfile")
    copied = [rest.split()[:-1] for name, rest in found if name == "COPY" and "--from" not in rest]
    sources = {source for line in copied for source in line}
    assert all((ROOT / source).exists() for source in sources), sources
    packages = {pattern.rstrip("*") for pattern in PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert sources == packages | {"pyproject.toml", PYPROJECT["project"]["readme"], "requirements/node.txt"}
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in sent  # neither rows nor keys, wherever they lie
    assert {line.removeprefix("!") for line in sent if line.startswith("!")} == sources
    (install,) = (rest for name, rest in found if name == "RUN" and "pip install" in rest)
    assert "--require-hashes --requirement requirements/node.txt" in install
    assert ["ENTRYPOINT", '["smc"]'] in found
    command = json.loads(next(rest for name, rest in found if name == "CMD"))
    assert command[0] in COMMANDS
    user = next(rest for name, rest in found if name == "USER")
    assert user != "root"
    assert any(name == "RUN" and rest.startswith("useradd ") and rest.endswith(user) for name, rest in found)


def steps(number: int) -> list[list[str]]:
    """The commands of a block of deploy/README.md as words, without remarks."""
    text = README.split("```sh\n")[number + 1].split("```")[0].replace("\\\n", " ")
    return [words for line in text.splitlines() if (words := shlex.split(line, comments=True))]


def test_the_two_nodes_are_built_alike_and_locked_up() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    assert (DEPLOY / re.search(r"context: (\S+)", text)[1] / re.search(r"dockerfile: (\S+)", text)[1]).exists()  # type: ignore[index]
    for service in (*SERVICES[2], *SERVICES[3]):
        folders = rf'\["./{service}:/party:ro", "./{service}/state:/party/state"\]'
        name = "insurer" if service in SERVICES[3] else "consortium"
        profile = "" if service in SERVICES[0] else rf"    profiles: \[{name}\]\n"
        assert re.search(rf"^  {service}:\n    <<: \*node\n{profile}    volumes: {folders}$", text, re.MULTILINE)
    for bound in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "mem_limit: ", "pids_limit: "):
        assert bound in text


@pytest.mark.parametrize("block", SERVICES)
def test_the_steps_make_the_folders_that_the_nodes_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """The steps of deploy/README.md but those that need Docker; `smc` runs here instead of in the image."""
    compose = (DEPLOY / "compose.yaml").read_text()
    for example in ("node", "consortium", "insurer"):
        shutil.copytree(ROOT / "examples" / example, tmp_path / "examples" / example)
    (tmp_path / "deploy").mkdir()
    monkeypatch.chdir(tmp_path / "deploy")
    for words in steps(block):
        if words[0] in ("cp", "mkdir", "python3"):
            subprocess.run(words, check=True, timeout=PATIENCE)
        elif words[0] == "smc":
            assert run(words[1:]) == 0
    for service in SERVICES[block]:
        for folder in re.findall(rf'"\./({service}[^:]*):', compose):
            assert Path(folder).is_dir()
        file = settings.load(Path(service, "party.toml"))
        assert file.node.state == Path(service, "state")  # beside party.toml: what the compose file lets a node write
        assert load_identity(file.link.identity, file.link.certificate).name == service  # type: ignore[arg-type]
        peers = [peer.certificate for peer in file.peers] or [file.link.peer]
        assert all(peer is not None and peer.exists() for peer in peers)
    (variable,) = re.findall(r"user: \$\{(\w+):", compose)
    assert any(words[0] == "echo" and words[1].startswith(f"{variable}=") for words in steps(block))
    inside = [words[3:] for words in steps(block) if words[:3] == ["docker", "compose", "exec"]]
    assert inside
    for service, program, command, *files in inside:
        assert service in SERVICES[block]
        assert program == "smc"
        assert command in COMMANDS
        assert all(Path(service, name).exists() for name in files if name.endswith(".toml"))


def test_the_steps_write_what_the_unit_expects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (words,) = (words for words in steps(1) if words[1:2] == ["init"])
    assert words[0] == shlex.split(unit()["ExecStart"])[0]
    place = words.index("--out") + 1
    assert unit()["ExecStart"].endswith(f" {words[place]}/party.toml")
    assert run([*words[1:place], str(tmp_path / "party"), *words[place + 1 :]]) == 0
    assert str(settings.load(tmp_path / "party" / "party.toml").node.state) == unit()["WorkingDirectory"]
    assert ["chown", "-R", f"{unit()['User']}:", words[place]] in steps(1)


def manifests() -> dict[str, Any]:
    """The objects of kubernetes.yaml by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def test_the_pod_is_the_image_s_node_in_its_bounds() -> None:
    service, workload = manifests()["Service"], manifests()["StatefulSet"]
    pod = workload["spec"]["template"]["spec"]
    (node,), (copying,) = pod["containers"], pod["initContainers"]
    found = dict(instructions("Dockerfile"))
    assert node["args"] == json.loads(found["CMD"])
    (port,) = {port["port"] for port in service["spec"]["ports"]} | {one["containerPort"] for one in node["ports"]}
    assert port == int(found["EXPOSE"])
    user = next(rest for name, rest in instructions("Dockerfile") if rest.startswith("useradd"))
    assert f"--uid {pod['securityContext']['runAsUser']} " in user
    assert workload["spec"]["replicas"] == 1  # the log has one writer
    assert not pod["automountServiceAccountToken"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"  # the records stay their owner's
    for container in (node, copying):
        bounds = container["securityContext"]
        assert bounds["readOnlyRootFilesystem"]
        assert (bounds["allowPrivilegeEscalation"], bounds["capabilities"]) == (False, {"drop": ["ALL"]})
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == workload["spec"]["selector"]["matchLabels"] == labels
    volumes = {one["name"] for one in pod["volumes"]}
    volumes |= {one["metadata"]["name"] for one in workload["spec"]["volumeClaimTemplates"]}
    mounts = [mount for container in (node, copying) for mount in container["volumeMounts"]]
    assert {mount["name"] for mount in mounts} == volumes
    assert [m["mountPath"] for m in node["volumeMounts"] if not m.get("readOnly")] == ["/party/state", "/tmp"]
    assert settings.METRICS in node["readinessProbe"]["exec"]["command"][-1]


def test_the_pod_s_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """The copying step, in folders of this test: a key that a group may read becomes one that the node accepts."""
    create("anna", [], tmp_path / "secret")
    (tmp_path / "secret" / "anna.key").chmod(0o440)
    (tmp_path / "party").mkdir()
    (copying,) = manifests()["StatefulSet"]["spec"]["template"]["spec"]["initContainers"]
    *shell, script = copying["command"]
    for folder in ("secret", "party", "data"):
        script = script.replace(f"/{folder}/", f"{tmp_path}/{folder}/")
    subprocess.run([*shell, script], check=True, timeout=PATIENCE)
    load_identity(tmp_path / "party" / "anna.key", tmp_path / "party" / "anna.crt")
    assert (tmp_path / "data" / "state").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_compose_reads_its_file() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker has no compose")
    command = ["docker", "compose", "--file", DEPLOY / "compose.yaml", "config", "--quiet"]
    environment = {**os.environ, "PARTY_USER": "1000:1000"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)
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
    assert re.fullmatch(r"[1-9]\d?%", unit()["MemoryMax"])
    assert int(unit()["TasksMax"]) > 2 * STREAMS


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_unit_and_finds_it_little_exposed(tmp_path: Path) -> None:
    present = tmp_path / "smc"
    present.write_text("#!/bin/sh\n")
    present.chmod(0o755)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/smc/bin/smc node", f"{present} node"))
    for command in (["verify"], ["security", "--offline=true", "--threshold=20", "--no-pager"]):
        arguments = ["systemd-analyze", *command, str(copy)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert copy.name not in done.stderr  # where what it does not know would be said
