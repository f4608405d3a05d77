"""Imports point one way: parties -> protocols -> smc."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.places import ROOT

ALLOWED = {
    "smc": {"smc"},
    "protocols": {"smc", "protocols"},
    "parties": {"smc", "protocols", "parties"},
}
NOT_FOR_THE_ENGINE = {"grpc", "click", "rich", "pydantic", "matplotlib", "csv", "tomllib"}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        wrong = (imported(path) & set(ALLOWED)) - ALLOWED[package]
        assert not wrong, f"{path} imports {wrong}"


@pytest.mark.parametrize("package", ["smc", "protocols"])
def test_the_engine_knows_nothing_of_the_world(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        wrong = imported(path) & NOT_FOR_THE_ENGINE
        assert not wrong, f"{path} imports {wrong}"


def test_the_walk_sees_a_wrong_import(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("def f():\n    from parties.link.opening import open_link\n    import protocols.id3\n")
    assert imported(file) == {"parties", "protocols"}


def passing_on(source: str) -> list[str]:
    """The cached properties that ask a superclass for the same one: until they end, others would be given its value."""
    return [
        function.name
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        and any("cached_property" in ast.unparse(decorator) for decorator in function.decorator_list)
        and f"super().{function.name}" in ast.unparse(function)
    ]


def test_no_cached_property_passes_a_superclass_value_on() -> None:
    assert passing_on("class A(B):\n    @cached_property\n    def f(self):\n        return 1 + super().f") == ["f"]
    for package in ALLOWED:
        for path in (ROOT / package).rglob("*.py"):
            assert not passing_on(path.read_text()), path
