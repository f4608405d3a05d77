"""A node as a process: somebody on its machine opens many connections to it, or its disk is full."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest

from parties.base.address import parse_address
from parties.link.identity import create, load_identity
from parties.node.peers import PeerIdentity
from parties.node.records import audit, export, gaps, reading
from parties.operator.client import NodeClient
from parties.operator.interface import NotRecordedError
from parties.tables import example
from tests.support.ledgers import Party
from tests.support.ports import dial
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
Start: TypeAlias = Callable[[], "subprocess.Popen[str]"]
SOFT, HARD = 96, 192
LIMITED = f"""if True:
    import os, resource, sys
    resource.setrlimit(resource.RLIMIT_NOFILE, ({SOFT}, {HARD}))
    os.execv(sys.executable, [sys.executable, "-m", "parties.cli", "node", "--config", "clinic/party.toml"])
    """
PARTY = """
[link]
identity = "a.key"
certificate = "a.crt"
peer = "b.crt"
listen = "127.0.0.1:0"

[node]
web = "127.0.0.1:0"
metrics = "127.0.0.1:0"
health = "127.0.0.1:0"

[tables.rows]
source = "rows.csv"
schema = "schema.toml"
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A party's directory, which is not the one in which its node is started."""
    directory = tmp_path / "clinic"
    directory.mkdir()
    for name in ("a", "b"):
        create(name, ["127.0.0.1"], directory)
    (directory / "party.toml").write_text(PARTY)
    shutil.copy(example.demo().clinic_a, directory / "rows.csv")
    shutil.copy(example.demo().schema, directory / "schema.toml")
    return directory


@pytest.fixture
def node_of(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with ExitStack() as stack:

        def start() -> subprocess.Popen[str]:
            command = [sys.executable, "-c", LIMITED]
            process = subprocess.Popen(command, cwd=clinic.parent, stderr=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def node(node_of: Start) -> subprocess.Popen[str]:
    return node_of()


def ready(node: subprocess.Popen[str]) -> dict[str, str]:
    """Where everything is, as the node logs it once it works."""
    assert node.stderr is not None
    line: dict[str, str] = {}
    while line.get("event") != "ready":
        line = json.loads(node.stderr.readline())
    return line


def test_half_requests_on_all_ports_leave_the_node_to_its_operator(node, clinic: Path) -> None:
    where = ready(node)
    limits = Path(f"/proc/{node.pid}/limits").read_text()
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")] == [[str(HARD)] * 2]
    urls = [httpx.URL(where[name]) for name in ("web", "metrics")]
    addresses = [(url.host, url.port or 0) for url in urls] + [parse_address(where[n]) for n in ("listens", "health")]
    with ExitStack() as stack:
        for address in addresses:
            for _ in range(HARD):
                stranger = stack.enter_context(dial(address))
                stranger.setblocking(False)
                with suppress(OSError):  # it may have been turned away already
                    stranger.send(b"GET / HTTP/1.1\r\nHo")
        assert NodeClient(clinic / "state").node().name == "a"
        metrics = httpx.get(urls[1]).text
        assert "smc_connected 0.0" in metrics
        for name in (
            'certificate_days{peer=""}',
            'oldest_job_seconds{state="waiting"} 0.0',
            "failed_log_ins_total 0.0",
        ):
            assert f"\nsmc_{name}" in metrics
        free = next(line for line in metrics.splitlines() if line.startswith("smc_free_disk_bytes{"))
        assert float(free.split()[1]) > 0
        assert len(list(Path(f"/proc/{node.pid}/fd").iterdir())) < HARD - 16
    node.terminate()
    assert node.wait(PATIENCE) == 0
    assert node.stderr is not None
    assert {json.loads(line)["event"] for line in node.stderr} <= {"node stopping", "node stopped"}


def test_a_full_disk_is_told_in_one_line_and_no_reason_to_end(node, clinic: Path) -> None:
    where = ready(node)
    client = NodeClient(clinic / "state")
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))  # bytes of a file
    with pytest.raises(NotRecordedError, match=r"^this node cannot write its records, so nothing has been done: .+$"):
        client.submit({"table": "rows"})
    key = json.loads((clinic / "state" / "api.json").read_text())["key"]
    answer = httpx.post(f"{where['web']}/api/jobs", json={"table": "rows"}, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 503
    before = len(client.jobs())
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert client.submit({"table": "rows"}).state == "waiting"
    assert len(client.jobs()) == before + 1
    node.terminate()
    assert node.wait(PATIENCE) == 0


def test_old_jobs_leave_and_all_entries_are_shipped(clinic: Path, node_of: Start) -> None:
    """A job that ended 40 days ago is gone soon after the start, and each entry is in the file when it has stopped."""
    own, peer = (load_identity(clinic / f"{name}.key", clinic / f"{name}.crt") for name in ("a", "b"))
    before = Party(clinic / "state" / "node.sqlite", PeerIdentity(own, peer.certificate, 0))
    job = before.ledger.decisions.propose({"table": "days", "splits": "multiway"})
    ended = before.ledger.decisions.cancel(job.id).model_copy(
        update={"ended_at": str(datetime.now(UTC) - timedelta(days=40))}
    )
    with before.ledger.log.writing():
        before.ledger.jobs.store.put(ended)
    before.connection.close()
    with (clinic / "party.toml").open("a") as file:
        file.write('[[records.ship]]\nfile = "shipped.jsonl"\n')
    text = (clinic / "party.toml").read_text()
    (clinic / "party.toml").write_text(text.replace("[node]", "[node]\nretention_days = 1"))
    node = node_of()
    assert node.stderr is not None
    archived = next(line for line in map(json.loads, node.stderr) if line["event"] == "archived")
    (left,) = (clinic / "state" / "archive").iterdir()
    assert archived["what"] == f"1 job in {left.relative_to(clinic.parent)}"
    node.send_signal(signal.SIGTERM)
    assert node.wait(PATIENCE) == 0
    received = gaps.read([clinic / "shipped.jsonl"])
    with reading(clinic / "state" / "node.sqlite") as connection:
        checked = audit.verify(connection, own.certificate, archive=export.read_archives([left]))
    assert (checked.problems, received.problems) == ([], [])
    assert list(received.rows) == list(checked.hashes)
    assert {"archived", "node stopped"} < {row.kind for row in received.rows.values()}
