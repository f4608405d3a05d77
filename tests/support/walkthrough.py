"""A page that is followed word for word: its files are written, its commands run in their directories, in its order.

Only the ports are others. A fence says what it is: "csv PATH" or "toml PATH" a file, "console DIRECTORY" commands,
with " &" commands that go on running.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from parties.jobs import kinds
from tests.support.nodes import NodeProcess
from tests.support.places import ENVIRONMENT
from tests.support.ports import free_port
from tests.support.processes import Done, here
from tests.support.waiting import PATIENCE, eventually

FENCE = re.compile(r"^```(\w+)(?: (\S+))?(?: (&))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = [sys.executable, "-m", "parties.cli"]
PORT = re.compile(r"127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    kind: str
    place: str
    stays: bool
    text: str

    @property
    def commands(self) -> list[str]:
        """Those of a console block."""
        lines = self.text.splitlines()
        assert all(line.startswith("$ ") for line in lines), lines
        return [line[2:] for line in lines]


def blocks(text: str) -> list[Block]:
    """All of a page."""
    return [Block(kind, place, bool(stays), inside) for kind, place, stays, inside in FENCE.findall(text)]


def free_ports(*texts: str) -> dict[str, str]:
    """A free address for each of this machine's that the texts name."""
    named = sorted(set(PORT.findall("\n".join(texts))))
    return {f"127.0.0.1:{port}": f"127.0.0.1:{free_port()}" for port in named}


class Walk:
    """Two parties' directories, anna and bert, and what runs there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.printed: list[str] = []
        self.running: list[subprocess.Popen[str]] = []
        self._nodes: dict[str, subprocess.Popen[str]] = {}  # by their places

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()

    def follow(self, block: Block) -> None:
        """Write the file or run the commands."""
        if block.kind == "console":
            for command in block.commands:
                self.run(command, block.place, block.stays)
        else:
            (self.directory / block.place).write_text(block.text)

    def run(self, command: str, place: str, stays: bool = False) -> None:
        """One command, which has to succeed; one that stays only starts."""
        folder = self.directory / place
        words = shlex.split(command)
        program = PROGRAM if words[0] == "smc" else [shutil.which(words[0]) or words[0]]
        if stays:
            with (self.directory / f"{place}.log").open("w") as log:
                self.running.append(
                    subprocess.Popen(
                        [*program, *words[1:]], cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log, text=True
                    )
                )
            if words[1] == "node":
                self._nodes[place] = self.running[-1]
            return
        eventually(lambda: all((self.directory / node / "state" / "api.json").exists() for node in self._nodes))
        if words[0] == "smc" and words[1] not in kinds.names():
            done = here(folder, *words[1:])  # only what computes with the peer is a process of its own
        else:
            ended = subprocess.run(
                [*program, *words[1:]],
                cwd=folder,
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
            )
            done = Done(ended.returncode, ended.stdout, ended.stderr)
        assert done.code == 0, (command, done.out, done.err)
        self.printed.append(done.out)
        if words[:2] == ["smc", "submit"] and "--wait" not in words:  # the reader is slower than the network
            peer = NodeProcess(self.directory / ("anna" if place == "bert" else "bert"))
            eventually(lambda: _states(peer) == _states(NodeProcess(folder)))

    def end(self) -> None:
        """Nodes end in order when they are asked to, other commands when they are done."""
        for process in self.running:
            if process in self._nodes.values():
                process.send_signal(signal.SIGTERM)
        assert [process.wait(PATIENCE) for process in self.running] == [0] * len(self.running)


def _states(node: NodeProcess) -> dict[str, str]:
    """Of all jobs that a node knows."""
    return {view.id: view.state for view in node.client.jobs()}
