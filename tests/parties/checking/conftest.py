"""All tests of this folder are slow; sessions have their base OTs in a group that costs nothing."""

from __future__ import annotations

from tests.support.slow import pytest_ignore_collect, pytest_itemcollected
from tests.support.toy_curve import toy_curve

__all__ = ["pytest_ignore_collect", "pytest_itemcollected", "toy_curve"]
