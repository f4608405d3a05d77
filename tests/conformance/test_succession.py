"""A node takes a new certificate while its peer stays up: named beforehand, used from its next start on."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from parties.link.identity import create
from tests.support.floods import ROWS, TABLE
from tests.support.nodes import RESEARCH, Nodes, submit, verified
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.campaign  # tests/parties/node/test_succession.py is the short form


def smc(directory: Path, *words: str) -> None:
    command = [sys.executable, "-m", "parties.cli", *words, "--config", "party.toml"]
    done = subprocess.run(command, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("changing", [0, 1])
def test_the_peer_stays_up(nodes: Nodes, changing: int) -> None:
    """Of the node that listens, and of the one that connects."""
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    own, peer = (nodes.a, nodes.b)[:: 1 if changing == 0 else -1]
    name = "ab"[changing]
    (own.directory / "new").mkdir()
    new = create(name, ["127.0.0.1"], own.directory / "new")
    word = (
        "succeed",
        "new/" + new.certificate_path.name,
        "--until",
        (datetime.now(UTC).date() + timedelta(days=30)).isoformat(),
        "--out",
        str(peer.directory / "next"),
    )
    smc(own.directory, "identity", *word)
    file = peer.directory / "party.toml"
    file.write_text(file.read_text() + '\n[peer]\nsuccessor = "next"\n')
    nodes.start()
    nodes.finished(submit(nodes.a, purpose="research"))
    own.stop()
    file = own.directory / "party.toml"
    text = file.read_text()
    for ending in ("key", "crt"):
        text = text.replace(f'"{name}.{ending}"', f'"new/{name}.{ending}"')
    file.write_text(text)
    smc(own.directory, "audit", "renew", "--former", f"{name}.crt")
    own.start()
    nodes.await_both()
    assert [view.state for view in nodes.finished(submit(nodes.a, purpose="research", max_depth=1))] == ["done", "done"]
    kinds = [entry.kind for entry in peer.client.audit(1000)]
    assert kinds.count("pin replaced") == 1
    peer.stop()
    peer.start()
    eventually(peer.is_up)
    nodes.await_both()
    assert [entry.kind for entry in peer.client.audit(1000)].count("pin replaced") == 1
    assert verified(own)["ok"]
    assert verified(peer)["ok"]
