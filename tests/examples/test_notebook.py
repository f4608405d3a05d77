"""The notebook runs, shows what it prints, and is a notebook of format 4.5."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.notebooks import executed, outputs
from tests.support.places import ROOT
from tests.support.walkthrough import free_ports

NOTEBOOK = ROOT / "examples" / "notebook" / "joint_tree.ipynb"
LESSON = NOTEBOOK.with_name("lesson9.ipynb")


def shown(notebook: dict[str, Any]) -> list[Any]:
    return [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_it_shows_what_it_prints() -> None:
    ports = free_ports(NOTEBOOK.read_text())
    assert len(ports) == 1
    assert shown(executed(NOTEBOOK, ports)) == shown(json.loads(NOTEBOOK.read_text()))


def test_the_lesson_shows_what_it_prints() -> None:
    assert shown(executed(LESSON)) == shown(json.loads(LESSON.read_text()))


def test_the_picture_shows_what_each_party_sees() -> None:
    notebook = json.loads(LESSON.read_text())
    (output,) = next(cell["outputs"] for cell in notebook["cells"] if cell["id"] == "who")
    discs = re.findall(r'cx="(\d+)" cy="(\d+)" r="7" fill="(#\w+)"', "".join(output["data"]["image/svg+xml"]))
    values = ("a", "a1", "a2", "b", "b1", "b2", "c1", "c2", "c")
    seen = [{values[(int(y) - 43) // 24] for x, y, _ in discs if int(x) == 110 + 90 * party} for party in (0, 1)]
    assert seen == [{"a", "a1", "a2", "b1", "c1", "c2", "c"}, {"b", "b1", "b2", "a2", "c1", "c2", "c"}]


@pytest.mark.parametrize(("file", "most"), [(NOTEBOOK, 10_000), (LESSON, 30_000)])
def test_its_format(file: Path, most: int) -> None:
    text = file.read_text()
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    identifiers = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    assert all(re.fullmatch(r"[\w-]{1,64}", identifier) for identifier in identifiers)
    assert len(text) < most
    assert "/tmp" not in text
    assert "/home" not in text


def test_a_cell_shows_its_prints_and_its_last_value() -> None:
    names: dict[str, Any] = {}
    assert outputs("x = 2", names, 1) == []
    printed, value = outputs("print('a')\nprint('b')\nx + 1", names, 2)
    assert printed["text"] == ["a\n", "b\n"]
    assert value["data"] == {"text/plain": ["3"]}
    assert outputs("None", names, 3) == []
    picture = "class Picture:\n    def _repr_svg_(self):\n        return '<svg/>'\nPicture()"
    assert outputs(picture, names, 4)[0]["data"]["image/svg+xml"] == ["<svg/>"]
