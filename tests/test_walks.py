"""The walks in docs/architecture.md name files and functions that are there."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.slow

SECTION = (ROOT / "docs" / "architecture.md").read_text().partition("\n## Five walks\n")[2].partition("\n## ")[0]
STEPS = re.findall(r"^    (\S+\.py) +(.+)$", SECTION, re.MULTILINE)


def names(text: str) -> list[str]:
    """Those that can be nothing but code: with a dot, or an underscore."""
    return [word for word in re.findall(r"[\w.]+\w", text) if re.search(r"[._]", word)]


def defined(name: str, text: str) -> bool:
    """Whether a file's text defines it: a function, or a method of a class or a function within a function."""
    return all(re.search(rf"^ *(?:def|class) {part}\b", text, re.MULTILINE) for part in name.split("."))


def test_there_are_five() -> None:
    assert len(re.findall(r"^\*\*A", SECTION, re.MULTILINE)) == 5
    assert len(STEPS) > 40


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_what_a_step_names_is_there(step: tuple[str, str]) -> None:
    path, text = step
    assert (ROOT / path).is_file()
    files = [*ROOT.glob("smc/**/*.py"), *ROOT.glob("protocols/*.py"), *ROOT.glob("parties/**/*.py")]
    for name in names(text):
        assert any(defined(name, file.read_text()) for file in files), name


def test_a_step_whose_function_has_gone_is_seen() -> None:
    assert names("Id3.run, _leaves: what runs") == ["Id3.run", "_leaves"]
    assert defined("Id3.run", "class Id3:\n    def run(self):\n")
    assert not defined("Id3.run", "class Id3:\n    def runs(self):\n")
