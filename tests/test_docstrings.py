"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.support.places import ROOT

EXAMPLES_AT_LEAST = 20


def with_examples() -> list[str]:
    """Return the modules of the libraries that have examples in their docstrings."""
    files = [path for package in ("smc", "protocols") for path in sorted((ROOT / package).rglob("*.py"))]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files if ">>> " in path.read_text()]


@pytest.mark.parametrize("name", with_examples())
def test_an_example_runs(name: str) -> None:
    """And gives what it says that it gives."""
    module = importlib.import_module(name)
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed


def test_there_are_examples() -> None:
    """Of the functions that users call."""
    modules = [importlib.import_module(name) for name in with_examples()]
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(test.examples) for module in modules for test in finder.find(module)) >= EXAMPLES_AT_LEAST
