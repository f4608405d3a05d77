"""All tests of this folder are slow."""

from __future__ import annotations

from tests.support.slow import pytest_ignore_collect, pytest_itemcollected

__all__ = ["pytest_ignore_collect", "pytest_itemcollected"]
