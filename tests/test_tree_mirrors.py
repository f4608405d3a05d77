"""The tests mirror the packages, and share only what stands in tests/support."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

TESTS = ROOT / "tests"
OF_THE_WHOLE = {TESTS, TESTS / "conformance", TESTS / "conformance" / "attacks"}  # about no one package


def unmirrored(tests: Path, root: Path) -> set[Path]:
    """The folders with tests that stand for no folder of the source."""
    folders = {path.parent for path in tests.rglob("test_*.py")}
    return {folder for folder in folders if not any((root / folder.relative_to(tests)).glob("*.py"))}


def borrowed(path: Path) -> Iterator[str]:
    """What a module imports by a relative name, or from a test module or a conftest."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "") + "." + alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            a_test = any(part == "conftest" or part.startswith("test_") for part in parts)
            if not parts[0] or a_test or (parts[0] == "tests" and parts[1:2] != ["support"]):
                yield name


def test_every_folder_with_tests_stands_for_one_of_the_source() -> None:
    assert unmirrored(TESTS, ROOT) - OF_THE_WHOLE == set()


def test_no_module_borrows_from_another_test() -> None:
    files = list(TESTS.rglob("*.py"))
    assert files
    found = {str(path): wrong for path in files if (wrong := list(borrowed(path)))}
    assert not found


def test_a_stray_folder_is_seen(tmp_path: Path) -> None:
    for folder, name in [("tests/a", "test_x.py"), ("a", "x.py"), ("tests/a/gone", "test_y.py"), ("a/gone", "y.txt")]:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).touch()
    assert unmirrored(tmp_path / "tests", tmp_path) == {tmp_path / "tests/a/gone"}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("from .fake import x", True),
        ("from . import fake", True),
        ("from tests.parties.test_cli import python", True),
        ("from tests.parties import conftest", True),
        ("import test_cli", True),
        ("from conftest import play", True),
        ("from tests.support.places import ROOT", False),
        ("from tests.support import imports", False),
        ("from parties import cli", False),
        ("import pytest", False),
    ],
)
def test_a_borrowed_name_is_seen(tmp_path: Path, line: str, wrong: bool) -> None:
    module = tmp_path / "test_x.py"
    module.write_text(f"def test() -> None:\n    {line}\n")
    assert bool(list(borrowed(module))) == wrong
