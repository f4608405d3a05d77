"""Hooks for the conftest.py of a folder whose tests are all slow: marked so, and not imported by `make quick`.

A slow file in another folder says `pytestmark = pytest.mark.slow`. A test that takes one of the fixtures that start
programs or a browser is slow wherever it stands.
"""

from __future__ import annotations

from pathlib import Path

import pytest

MARK = "pytestmark = pytest.mark.slow\n"
STARTING = {"processes", "shared_site"}  # programs, a browser


def is_quick(config: pytest.Config) -> bool:
    return config.getoption("markexpr") == "not slow"


def says_slow(path: Path) -> bool:
    """Whether a file of tests has the mark for all of them."""
    return path.suffix == ".py" and f"\n{MARK}" in path.read_text(encoding="utf-8")


def starts(item: pytest.Item) -> bool:
    """Whether a test takes a fixture that starts something."""
    return not STARTING.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return True if is_quick(config) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.slow)
