"""What the README promises in code and options is so."""

from __future__ import annotations

import contextlib
import io
import re

import click
import pytest

from parties.cli import cli
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text()


def test_the_python_example_prints_what_it_says() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (expected,) = re.findall(r"print\(.*\)  # (.*)", code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue().strip() == expected


def examples() -> list[str]:
    return re.findall(r"(?:\$  |^    )smc ((?:.*\\\n)*.*)", README, re.MULTILINE)


@pytest.mark.parametrize("line", examples())
def test_every_command_shown_exists_with_its_options(line: str) -> None:
    words = re.sub(r"\s#.*", "", line.replace("\\\n", " ")).split()
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None, line
        command = found
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_there_are_examples() -> None:
    assert len(examples()) >= 9
