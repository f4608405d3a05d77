"""Two nodes as real processes, each in a directory and with a `party.toml` of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parties.jobs.tree.result import named
from parties.link.identity import create
from parties.models.trees.tree import to_json
from parties.node.exchanges.readiness import ALIVE_SECONDS
from parties.operator.client import NodeClient
from parties.operator.interface import ENDED, JobView
from parties.sources.cells import load
from parties.tables import schema
from protocols.counts import RowCounts
from protocols.edges import Questions
from protocols.id3 import Problem, id3
from smc.engines import make_engine
from smc.errors import LinkError
from smc.local import run_local
from tests.support.cable import Cable
from tests.support.places import ENVIRONMENT
from tests.support.ports import free_port
from tests.support.processes import here
from tests.support.waiting import PATIENCE, eventually

RESEARCH = '[[policy]]\nname = "research"\neffect = "permit"\npurpose = "research"\n'

PARTY = """
[link]
identity = "{name}.key"
certificate = "{name}.crt"
peer = "{peer}.crt"
{way} = "127.0.0.1:{port}"
{link}

[node]
web = "127.0.0.1:0"
metrics = "127.0.0.1:0"
health = "127.0.0.1:0"
stop = 5.0

[tables.rows]
source = "rows.csv"
schema = "schema.toml"
{more}
"""


# The command `smc`, of which no node pauses long before it dials again: a test waits for that each time one was away.
DIALLING_SOON = (
    "from parties import cli; from parties.node.links import control; control.LONGEST_PAUSE = 0.5; cli.main()"
)


class NodeProcess:
    """One party's node: it can be started, killed and started again in the same directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.client = NodeClient(directory / "state")
        self.environment = ENVIRONMENT
        self.program = DIALLING_SOON
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        with (self.directory / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.program, "node", "--config", "party.toml"],
                cwd=self.directory,
                env=self.environment | {"PYTHONFAULTHANDLER": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )

    def is_up(self) -> bool:
        """Whether it answers its operator."""
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        try:
            self.client.node()
        except LinkError:
            return False
        return True

    def kill(self) -> None:
        """As a power cut does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        (self.directory / "state" / "api.json").unlink(missing_ok=True)  # or the next one seems to be up before it is

    def stop(self) -> int:
        """In order."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def log(self) -> str:
        return (self.directory / "log").read_text()


class Nodes:
    """Nodes a (listens) and b (connects), with their rows, under one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.a, self.b = NodeProcess(directory / "a"), NodeProcess(directory / "b")
        for name in ("a", "b"):
            (directory / name).mkdir()
            create(name, ["127.0.0.1"], directory / name)
        for name, peer in (("a", "b"), ("b", "a")):
            certificate = (directory / peer / f"{peer}.crt").read_bytes()
            (directory / name / f"{peer}.crt").write_bytes(certificate)

    def furnish(self, rows: tuple[str, str], schema: str, more: tuple[str, str] = ("", ""), link: str = "") -> None:
        """Give each party its rows (CSV text), the schema, and what else its file holds; lay the cable."""
        port = free_port()
        self.cable = Cable(port)
        for party, (node, own) in enumerate(((self.a, rows[0]), (self.b, rows[1]))):
            name, peer = "ab"[party], "ab"[1 - party]
            way, port = ("listen", port) if party == 0 else ("connect", self.cable.port)
            (node.directory / "rows.csv").write_text(own)
            (node.directory / "schema.toml").write_text(schema)
            text = PARTY.format(name=name, peer=peer, way=way, port=port, link=link, more=more[party])
            (node.directory / "party.toml").write_text(text)

    def start(self) -> None:
        """Start both and wait until they have found each other."""
        for node in (self.a, self.b):
            node.start()
        self.await_both()

    def await_both(self) -> None:
        """Until both answer and are connected."""
        eventually(lambda: self.a.is_up() and self.b.is_up())
        eventually(lambda: self.a.client.node().connected and self.b.client.node().connected)

    def finished(self, identifier: str) -> tuple[JobView, JobView]:
        """The job at both, once it has ended at both."""
        both = [self.a, self.b]
        eventually(lambda: all(job(node, identifier).state in ENDED for node in both))
        left, right = (job(node, identifier) for node in both)
        return left, right

    def close(self) -> None:
        self.cable.close()
        for node in (self.a, self.b):
            if node.process is not None and node.process.poll() is None:
                node.process.kill()
                node.process.wait()


def job(node: NodeProcess, identifier: str) -> JobView:
    """The job at a node, which has heard of it or will soon."""
    found: list[JobView] = []

    def there() -> bool:
        found[:] = [view for view in node.client.jobs() if view.id == identifier]
        return bool(found)

    eventually(there)
    return found[0]


def cost_as_predicted(node: NodeProcess, view: JobView) -> None:
    """A job that is done took the bytes that were predicted.

    And a byte each way for every sign of life, where the machine is so busy that a table takes long to open.
    """
    assert view.cost is not None
    total = node.client.result(view.id).cost["total"]
    lasted = datetime.now(UTC) - datetime.fromisoformat(view.proposed_at)
    alive = total["bytes_sent"] + total["bytes_received"] - view.cost.bytes
    assert 0 <= alive <= 2 * (lasted.total_seconds() // ALIVE_SECONDS)


def submit(node: NodeProcess, **fields: Any) -> str:
    """Propose a job of the table `rows`, a plain tree unless said otherwise; its identifier."""
    plain = {} if fields.keys() & {"protocol", "epsilon"} else {"plain": True}
    return node.client.submit({"table": "rows", **plain, **fields}).id


def verified(node: NodeProcess) -> dict[str, Any]:
    """The audit log as the command says, with the kinds of jobs that the node has.

    In this process where the node has the same surroundings: quicker by the start of a program.
    """
    words = ["audit", "verify", "--config", "party.toml", "--json"]
    if node.environment is ENVIRONMENT:
        done = here(node.directory, *words)
        assert done.code == 0, done.out + done.err
        return json.loads(done.out)
    process = subprocess.run(
        [sys.executable, "-m", "parties", *words],
        cwd=node.directory,
        env=node.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return json.loads(process.stdout)


def clear_tree(nodes: Nodes, **parameters: Any) -> Any:
    """The tree of both parties' rows that the clear engine finds, as tree.json has it."""
    agreed = schema.load(nodes.a.directory / "schema.toml")
    target = agreed.choose_target()
    halves = [load(node.directory / "rows.csv", agreed, target, 10**6) for node in (nodes.a, nodes.b)]
    domains = tuple(len(agreed.attributes[name]) for name in agreed.features(target))
    problem = Problem(domains, len(agreed.attributes[target]), 65535, **parameters)

    def program(session: Any) -> Any:
        own = halves[session.party]
        counts = RowCounts(problem.domains, problem.classes, own.rows, own.classes)
        return id3(make_engine(session, "clear"), problem, counts)

    questions = Questions(domains, (False,) * len(domains))
    return to_json(named(run_local(program)[0], agreed, target, questions))
