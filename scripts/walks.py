"""Write the section "Five walks" of docs/architecture-rooms.md from traced runs.

python -m scripts.walks            # write it
python -m scripts.walks --check    # exit code 1 if the section differs
"""

from __future__ import annotations

import argparse
import itertools
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import numpy as np

from parties.commands import estimate as estimates
from parties.commands.kinds import command_of
from parties.commands.serving import Page
from parties.link.identity import create
from parties.node import settings
from parties.node.service import Node
from parties.operator.client import NodeClient
from protocols.millionaires import strict
from scripts.tracer import ROOT, Hop, Point, Walk, section, trace
from smc.engines import Profile, engine_of
from smc.local import run_local

PAGE = ROOT / "docs" / "architecture-rooms.md"
BEGIN, END = "<!-- walks: begin (python -m scripts.walks) -->\n", "<!-- walks: end -->\n"
PATIENCE = 60.0  # seconds
SCHEMA = 'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nplay = ["no", "yes"]\n'
ROWS = "wind,play\nweak,yes\nstrong,no\nweak,yes\n"
PARTY = """
[link]
identity = "{name}.key"
certificate = "{name}.crt"
peer = "{peer}.crt"
{way} = "127.0.0.1:{port}"
[node]
state = "state"
web = "127.0.0.1:0"
metrics = "127.0.0.1:0"
health = "127.0.0.1:0"
[tables.rows]
source = "rows.csv"
schema = "schema.toml"
"""


def furnish(directory: Path) -> list[Path]:
    """Write keys, rows and party.toml of two parties, a (which listens) and b; return both party.toml."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for name in "ab":
        (directory / name).mkdir()
        create(name, ["127.0.0.1"], directory / name)
    for name, peer, way in (("a", "b", "listen"), ("b", "a", "connect")):
        home = directory / name
        (home / f"{peer}.crt").write_bytes((directory / peer / f"{peer}.crt").read_bytes())
        (home / "rows.csv").write_text(ROWS)
        (home / "schema.toml").write_text(SCHEMA)
        (home / "party.toml").write_text(PARTY.format(name=name, peer=peer, way=way, port=port))
    return [directory / name / "party.toml" for name in "ab"]


def command(kind: str, *flags: str) -> Callable[[Path], None]:
    """Return a function that runs a kind's command: party 1 in this process, to be followed, party 0 in another."""

    def run(directory: Path) -> None:
        args = [
            [f"--{name}={file.parent / path}" for name, path in (("data", "rows.csv"), ("schema", "schema.toml"))]
            + ["--config", str(file), *flags]
            for file in furnish(directory)
        ]
        listening = [sys.executable, "-m", "parties.cli", *kind.split(), *args[0]]
        with subprocess.Popen(listening, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as peer:
            try:
                # A prediction would build the run's circuits before the run.
                with patch("parties.node.prediction.predicted", return_value=None):
                    command_of(kind).main(args[1], standalone_mode=False)
            finally:
                peer.kill()

    return run


def garbled(_: Path) -> None:
    """Compare two numbers by garbled circuits, both parties in this process."""
    run_local(lambda session: strict(engine_of(session, Profile("yao")), np.array([session.party]), 8))


def counted(directory: Path) -> None:
    """Count the cost of a tree."""
    schema = furnish(directory)[0].parent / "schema.toml"
    args = ["id3", "--schema", str(schema), "--max-rows", "100", "--plain"]
    estimates.group.main(args, standalone_mode=False)


def proposed(directory: Path) -> None:
    """Propose a job at node a and consent to it at node b, both in this process; wait until both have signed."""
    nodes, clients = [], []
    try:
        for path in furnish(directory):
            file = settings.load(path)
            nodes.append(Node(file, Page(file.node), "error"))
            nodes[-1].start()
            clients.append(NodeClient.from_config(path))
        a, b = clients
        until(lambda: a.node().connected and b.node().connected)
        job = a.submit({"table": "rows", "plain": True, "engine": "yao"}).id
        until(lambda: any(view.id == job for view in b.jobs()))
        b.approve(job)
        until(lambda: a.job(job).state == b.job(job).state == "done")
    finally:
        for node in nodes:
            node.stop(seconds=0)


def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true. Raise TimeoutError after a minute."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def calls(name: str) -> Callable[[FrameType], bool]:
    """Return a function that tells whether a client's request is for this method of the interface."""
    return lambda frame: frame.f_locals["of"].__name__ == name


def sends(step: str) -> Callable[[FrameType], bool]:
    """Return a function that tells whether a call of `Session.send` sends a message whose label ends with `step`."""
    return lambda frame: frame.f_locals["step"].endswith(step)


def decides(frame: FrameType) -> bool:
    """Return whether the call records a decision of the operator, not a statement of the peer meanwhile."""
    return frame.f_back is not None and frame.f_back.f_code.co_name == "decide"


def is_heard(frame: FrameType) -> bool:
    """Return whether the call records signatures because the peer's has arrived.

    The other party records both signatures when it signs.
    """
    return frame.f_back is not None and frame.f_back.f_code.co_name == "_heard"


WALKS = (
    Walk(
        "A row",
        "the flags of `smc id3`; the message of oblivious transfer",
        26,
        (Hop("parties/commands/kinds.py", "command_of.run"),),
        (
            Point("parties/sources/delimited.py", "small_columns", "text"),
            Point("parties/sources/in_memory.py", "InMemory.check", "category numbers"),
            Point("protocols/counts.py", "RowCounts.__init__", "rows of a source of counts"),
            Point("protocols/counts.py", "RowCounts.level", "counts"),
            Point("smc/ot/columns.py", "ColumnReceiver._extend", "choices"),
            Point("smc/session.py", "Session.send", "bytes of a message", sends(".matrix")),
        ),
        command("id3", "--plain", "--engine", "yao", "--ot", "softspoken4"),
    ),
    Walk(
        "Epsilon",
        "the flag of `smc release count`; the sample",
        23,
        (Hop("parties/commands/kinds.py", "command_of.run"),),
        (
            Point(
                "parties/base/settings.py",
                "merge",
                "a setting, checked",
                lambda frame: "epsilon" in frame.f_locals["flags"],
            ),
            Point("protocols/release/geometric.py", "DigitLaw.__post_init__", "the scale of a distribution"),
            Point("protocols/release/laplace.py", "DiscreteLaplace.draw", "the circuit of a sample"),
        ),
        command("release count", "--epsilon", "1", "--engine", "yao"),
    ),
    Walk(
        "A proposal",
        "`NodeClient.submit`; both signatures are in both logs",
        43,
        (Hop("parties/operator/client.py", "_call.request"), Hop("parties/node/links/control.py", "Control._converse")),
        (
            Point("parties/operator/client.py", "_call.request", "a job file", calls("submit")),
            Point("parties/operator/client.py", "NodeClient._ask", "a request"),
            Point("parties/web/api.py", "_endpoint.handle", "handed to a thread"),
            Point("parties/node/proposal.py", "propose", "a job in public terms"),
            Point("parties/node/log/jobs.py", "Jobs.apply", "in our log"),
            Point("parties/node/links/control.py", "Control.say", "handed to the thread that speaks to the peer"),
            Point("parties/node/acts/hearing.py", "Hearing.statement", "a statement"),
            Point("smc/session.py", "Session.send", "sent", sends("statement")),
            Point("parties/node/log/jobs.py", "Jobs.apply", "in the peer's log"),
            Point("parties/operator/client.py", "_call.request", "the peer's operator consents", calls("approve")),
            Point("parties/node/log/jobs.py", "Jobs.apply", "consent, in the peer's log", decides),
            Point("parties/node/acts/runs.py", "Runs.begin", "a session"),
            Point("parties/node/links/executor.py", "Worker.__init__", "an order to a worker"),
            Point("parties/node/links/executor.py", "run", "run by a worker"),
            Point("parties/node/log/node_log.py", "NodeLog.sign", "a result that is signed"),
            Point("parties/node/links/control.py", "Control.say", "handed to the thread that speaks to the peer"),
            Point("parties/node/log/job_events.py", "both_signed", "both signatures, in a log", is_heard),
        ),
        proposed,
    ),
    Walk(
        "An AND gate",
        "`Engine.run`; the message of garbled tables",
        8,
        (Hop("smc/engines/interface.py", "Engine.run"),),
        (
            Point("smc/engines/interface.py", "Engine.run", "a circuit, and labels"),
            Point("smc/yao/schemes.py", "HalfGates.garble", "rows of a table"),
            Point("smc/session.py", "Session.send", "bytes of a message", sends("yao.tables")),
        ),
        garbled,
    ),
    Walk(
        "A count",
        "`smc estimate id3`; the message of garbled tables is counted",
        14,
        (Hop("parties/commands/estimate.py", "_estimate_of.estimate"),),
        (Point("smc/counting/session.py", "CountingSession.send", "bytes of a message", sends("yao.tables")),),
        counted,
    ),
)


def difference(page: str, text: str) -> str | None:
    """Return the first difference between the page's section and the traced text; None if they are equal."""
    written = page.partition(BEGIN)[2].partition(END)[0].splitlines()
    pairs = itertools.zip_longest(written, text.splitlines(), fillvalue="(nothing)")
    return next((f"{line.strip()!r} should be {traced.strip()!r}" for line, traced in pairs if line != traced), None)


def main() -> int:
    """Write the section; with --check, compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the section differs")
    check = parser.parse_args().check
    traces = []
    for walk in WALKS:
        with tempfile.TemporaryDirectory() as directory:
            traces.append(trace(walk, Path(directory)))
    page, text = PAGE.read_text(), section(WALKS, traces)
    if check:
        if wrong := difference(page, text):
            print(
                f"docs/architecture-rooms.md: {wrong}; python -m scripts.walks writes the section anew", file=sys.stderr
            )
        return int(wrong is not None)
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}{text}{END}{rest.partition(END)[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
