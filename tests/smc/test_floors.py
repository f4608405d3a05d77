"""The folders of smc stand on floors: each imports from lower ones only, as docs/architecture-rooms.md lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.imports import circles, floors, grouped, imports
from tests.support.places import ROOT


def stated(text: str) -> dict[str, int]:
    """The lines "floor N  name, name" of the document."""
    lines = re.findall(r"^ +floor (\d) +(.+)$", text, re.MULTILINE)
    return {name: int(number) for number, names in lines for name in names.split(", ")}


def folder(module: str) -> str:
    """The folder or module of smc that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def test_every_folder_stands_on_its_floor() -> None:
    graph = grouped(imports(ROOT / "smc"), folder)
    del graph["smc"]
    text = (ROOT / "docs" / "architecture-rooms.md").read_text()
    assert floors(graph) == stated(text.partition("\n## smc\n")[2].partition("\n## ")[0])


def test_no_modules_import_each_other() -> None:
    assert not circles(imports(ROOT / "smc", ROOT / "protocols"))


def test_circles_and_floors_are_seen(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "a": "from p import b\nimport json",
        "b": "from p.c import name",
        "c": "def f():\n    import p.d",
        "d": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import name",
    }.items():
        (package / f"{name}.py").write_text(text)
    graph = imports(package)
    assert graph == {"p": set(), "p.a": {"p.b"}, "p.b": {"p.c"}, "p.c": {"p.d"}, "p.d": {"p.b"}}
    assert circles(graph) == [["p.b", "p.c", "p.d"]]
    with pytest.raises(AssertionError, match="import each other"):
        floors(graph)
    graph["p.d"] = set()
    assert floors(graph) == {"p": 0, "p.d": 0, "p.c": 1, "p.b": 2, "p.a": 3}
