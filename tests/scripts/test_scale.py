"""The page on large trees says what is counted."""

from __future__ import annotations

import pytest

from scripts.scale import BEGIN, END, PAGE, section

pytestmark = pytest.mark.campaign


def test_the_page_has_the_costs_that_are_counted() -> None:
    assert f"{BEGIN}\n{section()}{END}" in PAGE.read_text()
