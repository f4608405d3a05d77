"""Two nodes, of which the one that connects has its key in a token, which is taken out while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parties.operator.interface import NotRecordedError
from tests.support.floods import ROWS, TABLE
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, submit, verified
from tests.support.tokens import soft_hsm
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.campaign  # tests/parties/link/test_token.py and node/records/test_token_signature.py: in short


def smc(node: NodeProcess, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "parties.cli", *map(str, words)]
    return subprocess.run(
        command, cwd=node.directory, env=node.environment, capture_output=True, text=True, timeout=PATIENCE
    )


def test_a_job_goes_on_when_the_token_is_back(nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> None:
    hsm, node = soft_hsm(tmp_path_factory.mktemp("hsm")), nodes.b
    hsm.add("smc")
    node.environment = node.environment | {"SOFTHSM2_CONF": os.environ["SOFTHSM2_CONF"]}
    for ending in ("key", "crt"):
        (node.directory / f"b.{ending}").unlink()
    made = smc(node, "identity", "create", "b", "--token", hsm.uri("b"))
    assert made.returncode == 0, made.stderr
    (nodes.a.directory / "b.crt").write_bytes((node.directory / "b.crt").read_bytes())
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    file = node.directory / "party.toml"
    file.write_text(file.read_text().replace('"b.key"', f'"{hsm.uri("b")}"'))
    nodes.start()
    nodes.finished(submit(nodes.a, purpose="research"))
    with hsm.away():
        with pytest.raises(NotRecordedError, match=r"nothing has been done: pkcs11:token=smc;object=b: "):
            submit(node, purpose="research", max_depth=1)
        job = submit(nodes.a, purpose="research", max_depth=1)
        eventually(lambda: not node.client.node().connected)
    assert [view.state for view in nodes.finished(job)] == ["done", "done"]
    assert verified(node)["ok"]
    assert verified(nodes.a)["ok"]
    node.stop()
    for wrong, problem in (
        ((str(hsm.pin), str(hsm.file("wrong", "9999"))), "b: the token refuses the PIN (pin incorrect)"),
        (("connect =", "listen ="), "b: the key of a listening party must be in a file"),
    ):
        check_refusal(node, file, wrong, problem)


def check_refusal(node: NodeProcess, file: Path, change: tuple[str, str], problem: str) -> None:
    """One line, and exit code 2."""
    text = file.read_text()
    file.write_text(text.replace(*change))
    refused = smc(node, "node", "--config", "party.toml")
    file.write_text(text)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"smc: pkcs11:token=smc;object={problem}")
    assert refused.stderr.count("\n") == 1
