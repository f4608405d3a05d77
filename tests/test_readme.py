"""What the pages promise in commands and options is so, and the README's code prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from scripts.pages import pages, parser
from tests.support.command_lines import spans, unknown
from tests.support.places import ROOT

README = Path("README.md")
HEADS = ("local reports ",)  # how files begin that are no commands


def test_the_python_example_prints_what_it_says() -> None:
    text = (ROOT / README).read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"print\(.*\)  # (.*)", code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue().strip() == expected


def blocks(text: str) -> list[str]:
    """The commands in a page's code blocks, each in one line without its comment."""
    found = []
    for token in parser().parse(text):
        if token.type in ("code_block", "fence"):
            for line in re.findall(r"(?:^|\$ +)smc ((?:.*\\\n)*.*)", token.content, re.MULTILINE):
                found.append(re.sub(r"\s#.*", "", line.replace("\\\n", " ")))
    return found


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_command_shown_exists_with_its_options(page: Path) -> None:
    text = (ROOT / page).read_text()
    wrong = {
        line: missing
        for line in blocks(text) + spans(text)
        if not line.startswith(HEADS) and (missing := unknown(line))
    }
    assert wrong == {}


def test_there_are_examples() -> None:
    assert len(blocks((ROOT / README).read_text())) >= 10
    assert sum(len(blocks((ROOT / page).read_text())) for page in pages()) > 100
    assert sum(len(spans((ROOT / page).read_text())) for page in pages()) > 100


def test_what_does_not_exist_is_found() -> None:
    assert unknown("id3 --data x --frobnicate 3") == {"--frobnicate"}
    assert unknown("release cuont") == {"cuont"}
    assert unknown("estimate KIND --link lan") == set()
    page = "a\n\n    smc id3 --a \\\n        b   # c\n\n```console\n$ smc node\n```\n"
    assert [line.split() for line in blocks(page)] == [["id3", "--a", "b"], ["node"]]


def test_the_changelog_has_one_section_of_a_kind_in_a_version_and_no_line_twice() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    for version in text.split("\n## ")[1:]:
        headings = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert headings == sorted(set(headings)), version.splitlines()[0]
    beginnings = [line[:40] for line in text.splitlines() if line.startswith("- ")]
    assert len(beginnings) == len(set(beginnings))
