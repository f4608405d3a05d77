"""docs/tutorial.md, word for word: its files are written, its commands run in their directories, in its order.

Only the ports are others. A fence says what it is: "csv PATH" or "toml PATH" a file, "console DIRECTORY" commands,
with " &" commands that go on running.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from parties.operator.client import NodeClient
from tests.support.chromium import chromium
from tests.support.nodes import DEADLINE, NodeProcess
from tests.support.places import ENVIRONMENT, ROOT
from tests.support.waiting import eventually

PICTURES = "SMC_PICTURES"  # a directory: where to the tutorial's pictures are to be taken anew (make pictures)
TUTORIAL = ROOT / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?(?: (&))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = re.compile(r"127\.0\.0\.1:(\d+)")


@dataclass
class Block:
    """A fenced block."""

    kind: str
    place: str
    stays: bool
    text: str


def blocks() -> list[Block]:
    """All of them, with free ports in place of the tutorial's."""
    text = TUTORIAL.read_text()
    for port in sorted(set(PORT.findall(text))):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free.getsockname()[1]}")
    return [Block(kind, place, bool(stays), inside) for kind, place, stays, inside in FENCE.findall(text)]


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_tutorial_runs_word_for_word(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    printed: list[str] = []
    commands = 0
    album, shots = os.environ.get(PICTURES), dict(SHOTS)
    for block in blocks():
        if block.kind in ("csv", "toml"):
            (tmp_path / block.place).write_text(block.text)
            continue
        for line in block.text.splitlines():
            assert line.startswith("$ "), line
            commands += 1
            words = shlex.split(line[2:])
            if words[0] == "smc":
                words = [sys.executable, "-m", "parties.cli", *words[1:]]
            if block.stays:
                log = (tmp_path / f"{block.place}.log").open("w")
                started.append(
                    subprocess.Popen(
                        words, cwd=tmp_path / block.place, env=ENVIRONMENT, stdout=log, stderr=log, text=True
                    )
                )
                continue
            if words[0] != sys.executable:
                words = [shutil.which(words[0]) or words[0], *words[1:]]
            eventually(
                lambda: all((tmp_path / f"{p}/state/api.json").exists() for p in ("anna", "bert")[: len(started)])
            )
            done = subprocess.run(
                words,
                cwd=tmp_path / block.place,
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                check=False,
                timeout=DEADLINE,
            )
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            printed.append(done.stdout)
            if album and line in shots:
                shots.pop(line)(NodeProcess(tmp_path / block.place).client, Path(album))
            if "submit" in words and "--wait" not in words:  # the reader is slower than the network
                peer = NodeProcess(tmp_path / ("anna" if block.place == "bert" else "bert"))
                known = len(NodeProcess(tmp_path / block.place).client.jobs())
                eventually(lambda peer=peer, known=known: len(peer.client.jobs()) == known)
    assert commands > 20
    tree = re.search(r"^    ├── outlook = sunny\n(    .*\n)+", TUTORIAL.read_text(), re.MULTILINE)
    assert tree is not None
    assert "".join(line[4:] + "\n" for line in tree.group().splitlines()) in printed
    assert any("refused" in text and "advertising" in text for text in printed)
    assert printed.count("yes\n") == 1
    answer = re.search(r"^    (party0: .*\n)", TUTORIAL.read_text(), re.MULTILINE)
    assert answer is not None
    assert printed.count(answer.group(1)) == 1
    assert (tmp_path / "anna" / "tree.svg").exists()
    assert (tmp_path / "anna" / "audit.csv").read_text().count("\n") > 10
    for process in started:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(DEADLINE) for process in started] == [0, 0]


def _picture_of(client: NodeClient, path: str, file: Path, height: int) -> None:
    """A page of the node, as the operator sees it."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": height})
        page.goto(client.login())
        if path == "job":
            page.goto(f"{page.url}jobs/{client.job('latest').id}")
        elif path:
            page.goto(f"{page.url}{path}")
        page.wait_for_timeout(1500)  # charts draw themselves
        page.screenshot(path=file)


def _waiting(client: NodeClient, album: Path) -> None:
    _picture_of(client, "", album / "overview.png", 760)
    _picture_of(client, "job", album / "proposal.png", 900)


SHOTS: dict[str, Callable[[NodeClient, Path], None]] = {
    "$ smc show latest": _waiting,
    "$ smc show latest --watch": lambda client, album: _picture_of(client, "job", album / "result.png", 900),
    "$ smc audit verify --config party.toml": lambda client, album: _picture_of(
        client, "audit", album / "audit.png", 760
    ),
}


def test_its_pictures_are_there() -> None:
    for name in re.findall(r"!\[.*?\]\((.*?)\)", TUTORIAL.read_text()):
        assert (TUTORIAL.parent / name).stat().st_size > 10_000
