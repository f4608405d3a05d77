"""docs/tutorial.md, word for word."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from parties.operator.client import NodeClient
from tests.support.chromium import chromium
from tests.support.nodes import NodeProcess
from tests.support.places import ROOT
from tests.support.walkthrough import Walk, blocks, free_ports

PICTURES = "SMC_PICTURES"  # a directory: where to the tutorial's pictures are to be taken anew (make pictures)
TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_the_tutorial_runs_word_for_word(tmp_path: Path) -> None:
    text = TUTORIAL.read_text()
    for port, other in free_ports(text).items():
        text = text.replace(port, other)
    commands = 0
    album, shots = os.environ.get(PICTURES), dict(SHOTS)
    with Walk(tmp_path) as walk:
        for block in blocks(text):
            if block.kind != "console":
                walk.follow(block)
                continue
            for command in block.commands:
                commands += 1
                walk.run(command, block.place, block.stays)
                if album and command in shots:
                    shots.pop(command)(NodeProcess(tmp_path / block.place).client, Path(album))
        walk.end()
    printed = walk.printed
    assert commands > 20
    tree = re.search(r"^    ├── outlook = sunny\n(    .*\n)+", text, re.MULTILINE)
    assert tree is not None
    assert "".join(line[4:] + "\n" for line in tree.group().splitlines()) in printed
    assert any("refused" in text and "advertising" in text for text in printed)
    assert printed.count("yes\n") == 1
    answer = re.search(r"^    (party0: .*\n)", text, re.MULTILINE)
    assert answer is not None
    assert printed.count(answer.group(1)) == 2  # by a job file, and by one command
    assert (tmp_path / "anna" / "tree.svg").exists()
    assert (tmp_path / "anna" / "audit.csv").read_text().count("\n") > 10


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
    "smc show latest": _waiting,
    "smc show latest --watch": lambda client, album: _picture_of(client, "job", album / "result.png", 900),
    "smc audit verify --config party.toml": lambda client, album: _picture_of(
        client, "audit", album / "audit.png", 760
    ),
}


def test_its_pictures_are_there() -> None:
    for name in re.findall(r"!\[.*?\]\((.*?)\)", TUTORIAL.read_text()):
        assert (TUTORIAL.parent / name).stat().st_size > 10_000
