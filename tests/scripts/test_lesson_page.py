"""docs/lesson.md: each step that the page shows is a step of the program, and each command exists."""

from __future__ import annotations

import re

import pytest

from parties.commands.lesson import TOPICS
from scripts.lesson_page import HEAD, PAGE, TEXTS, views
from tests.support.command_lines import spans, unknown

TEXT = PAGE.read_text()


@pytest.mark.parametrize("topic", TOPICS)
def test_the_page_has_the_steps_of_the_program(topic: str) -> None:
    section = TEXT.partition(f"## {TOPICS[topic].title}\n")[2].partition("\n## ")[0]
    shown = re.findall(r"^\d+\. (.*)$", section, re.MULTILINE)
    assert shown == [step["text"] for view in views(topic) for step in view]
    assert TEXTS[topic] in section


def test_the_head_is_the_scripts_and_its_commands_exist() -> None:
    assert TEXT.startswith(HEAD)
    commands = set(spans(TEXT))
    assert len(commands) >= 8
    assert not [command for command in commands if unknown(command)]
