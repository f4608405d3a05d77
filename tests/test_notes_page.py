"""docs/notes.md: every lesson names a command and a test that there are."""

from __future__ import annotations

import re

import pytest

from tests.support.command_lines import spans, unknown
from tests.support.names_of_tests import TESTS
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "notes.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("## Privacy by design")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| lesson")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1][:40])
def test_every_lesson_has_a_command_a_number_and_a_test(row: list[str]) -> None:
    lesson, taught, command, number, confirmed = row
    assert lesson
    assert taught
    assert number
    assert spans(command)
    assert not any(map(unknown, spans(command)))
    names = re.findall(r"`(test_\w+)`", confirmed)
    assert names
    assert set(names) <= TESTS


def test_the_page_covers_the_lessons_and_the_seven_principles() -> None:
    assert len(ROWS) >= 30
    assert sum(row[0] == "9" for row in ROWS) >= 25
    assert {"3", "4", "5", "6", "7", "8", "9"} <= {row[0] for row in ROWS}
    principles = PAGE.partition("## Privacy by design")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\| (?!principle|---)", principles, re.MULTILINE)) == 7
