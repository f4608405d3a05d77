"""The examples' pages, word for word on loopback, in copies of their folders."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.support.places import ROOT
from tests.support.walkthrough import Walk, blocks, free_ports

EXAMPLES = ROOT / "examples"


def shown(text: str) -> str:
    """The tree that a page shows, without its indentation."""
    found = re.search(r"^    ├──.*\n(?:    [├│└ ].*\n)*", text, re.MULTILINE)
    assert found is not None
    return "".join(line[4:] + "\n" for line in found.group().splitlines())


def followed(name: str, directory: Path) -> tuple[Walk, str]:
    """An example that was followed to the end in a copy with free ports, and its page."""
    here = directory / name
    shutil.copytree(EXAMPLES / name, here)
    texts = {path: path.read_text() for path in [here / "README.md", *here.glob("*/party.toml")]}
    ports = free_ports(*texts.values())
    for path, text in texts.items():
        for port, other in ports.items():
            text = text.replace(port, other)
        path.write_text(text)
    page = (here / "README.md").read_text()
    with Walk(here) as walk:
        for block in blocks(page):
            walk.follow(block)
        walk.end()
    return walk, page


def test_two_machines(tmp_path: Path) -> None:
    """Both print the page's tree, write it, and classify with it."""
    walk, page = followed("two_machines", tmp_path)
    tree = shown(page)
    assert tree in walk.printed
    assert tree in (walk.directory / "anna.log").read_text()
    for party in ("anna", "bert"):
        assert (walk.directory / party / "tree.json").is_file()
    assert walk.printed[-1] == "no\nyes\nno\nyes\n"


def test_node(tmp_path: Path) -> None:
    """By rule, by hand, refused; what was spent and what happened is on record."""
    walk, _ = followed("node", tmp_path)
    assert shown((EXAMPLES / "two_machines" / "README.md").read_text()) in walk.printed
    assert any(re.search(r"party1", text) for text in walk.printed)
    assert any("refused" in text and "advertising" in text for text in walk.printed), walk.printed
    assert any(re.search(r"0\.5\b.*\b1\.5\b", text) for text in walk.printed), walk.printed


def test_consortium(tmp_path: Path) -> None:
    """Three clinics and two universities: one clinic gets the number, each pays once, all logs are whole."""
    walk, _ = followed("consortium", tmp_path)
    numbers = [text for text in walk.printed if "release count" in text or "count" in text.lower()]
    assert numbers, walk.printed
    assert sum("declared" in text for text in walk.printed) == 1
    assert any("whole" in text for text in walk.printed)


def test_insurer(tmp_path: Path) -> None:
    """Two tables with different columns: 600 matched people, a tree of both, a comparison, a table, a budget.

    The noise of the tree changes its first two splits in less than one of 10,000 runs.
    """
    walk, _ = followed("insurer", tmp_path)
    tree = next(text for text in walk.printed if "chronic" in text and "age" in text)
    assert "75+" in tree
    assert any("matched" in text and "600" in text for text in walk.printed), walk.printed
    assert any("common odds ratio" in text for text in walk.printed), walk.printed
    assert any(re.search(r"spent +epsilon 2 ", text) for text in walk.printed), walk.printed
    assert any("whole" in text for text in walk.printed)
