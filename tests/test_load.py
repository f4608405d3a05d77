"""What fails on a busy machine only, or in one run of many, is no failure."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.examples import EXPLORING

pytestmark = pytest.mark.slow


@settings(max_examples=2)
@given(st.integers())
def test_slow_examples_pass(number: int) -> None:
    time.sleep(0.25)  # more than the 0.2 s that Hypothesis allows by itself


def drawn() -> list[int]:
    """The examples of a test."""
    found: list[int] = []

    @settings(max_examples=300)
    @given(st.integers())
    def collect(number: int) -> None:
        found.append(number)

    collect()
    return found


@pytest.mark.skipif(EXPLORING, reason="a campaign draws new examples")
def test_examples_are_the_same_whatever_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    module = ModuleType("many_constants")
    module.__file__ = str(tmp_path / "many_constants.py")
    Path(module.__file__).write_text("".join(f"X{i} = {10**6 + 7 * i}\n" for i in range(1000)))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert drawn() == before
    assert len(set(before)) > 100


def test_nothing_else_depends_on_the_machine() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
    assert (settings.default.derandomize, settings.default.database is None) == (not EXPLORING, not EXPLORING)
