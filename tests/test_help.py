"""Every command explains itself: what it does, what each option means, and an example that it would take."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
import pytest
from click.testing import CliRunner

from parties.cli import COMMANDS, cli
from parties.jobs import kinds
from parties.link.settings import LinkSettings
from tests.support.command_tree import commands


def command_in(words: Sequence[str]) -> click.Command:
    """The command whose words an example begins with."""
    command: click.Command = cli
    for word in words:
        inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if inner is None:
            break
        command = inner
    return command


ALL = dict(commands())


def test_all_are_listed() -> None:
    typed = [tuple(name.split()) for name in kinds.names()]
    assert set(typed) <= set(ALL)
    names = {*COMMANDS, *(words[0] for words in typed)}
    assert names == {words[0] for words in ALL}
    shown = CliRunner().invoke(cli, ["--help"]).output
    assert all(f"  {name} " in shown for name in names)


@pytest.mark.parametrize("group", sorted({words[:-1] for words in ALL}), ids=" ".join)
def test_no_line_of_a_list_is_cut(group: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*group, "--help"]).output.partition("Options:")[2]
    assert "..." not in shown


@pytest.mark.parametrize("words", [(), *ALL], ids=" ".join)
def test_help_with_an_example(words: tuple[str, ...]) -> None:
    command = ALL[words] if words else cli
    shown = CliRunner().invoke(cli, [*words, "--help"])
    assert shown.exit_code == 0
    assert command.help
    assert "\n   " not in shown.output.partition("Options:")[0]  # no paragraph stands in farther than another
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, f"{parameter.name} is not explained"
    example = re.search(r"Example:\s+smc (.*)", " ".join(shown.output.split()))
    assert example is not None
    assert example.group(1).startswith(" ".join(words))
    if isinstance(command, click.Group):
        command = command_in(example.group(1).split())
    known = {name for parameter in command.params for name in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", example.group(1))) <= known


def test_what_has_to_be_given_is_said() -> None:
    shown = {one.opts[0]: one.help or "" for one in ALL["cluster",].params}
    assert {name for name, help_ in shown.items() if help_.endswith("[required]")} == {"--columns", "--bounds", "--k"}
    assert shown["--epsilon"].endswith("[required, unless --exact]")


@pytest.mark.parametrize("words", [("run",), ("id3",), ("publish", "joint")], ids=" ".join)
def test_what_the_help_calls_the_default_of_the_link_is_it(words: tuple[str, ...]) -> None:
    shown = {option.name: option.help or "" for option in ALL[words].params if isinstance(option, click.Option)}
    for name in ("wait", "timeout", "window"):
        assert shown[name].endswith(f"  [{LinkSettings.model_fields[name].default:g}]")
