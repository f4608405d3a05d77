"""The words of a command line, one command after another, as `smc` takes them."""

from __future__ import annotations

import click

from parties.cli import cli
from parties.commands.estimate import group as estimates
from parties.commands.proposed import OF_A_FILE, Proposed
from parties.jobs import kinds
from scripts.pages import parser


def next_name(command: click.Group, words: list[str]) -> str:
    """Take the name of the next command from the words: a kind's may be two, and a file stands for none."""
    if len(words) > 1 and isinstance(command, (Proposed, type(estimates))) and kinds.is_known(" ".join(words[:2])):
        return f"{words.pop(0)} {words.pop(0)}"
    if isinstance(command, Proposed) and not kinds.is_known(words[0]):
        return OF_A_FILE
    return words.pop(0)


def spans(text: str) -> list[str]:
    """The commands in a page's running text and tables."""
    inline = (child for token in parser().parse(text) for child in token.children or [])
    return [child.content[4:] for child in inline if child.type == "code_inline" and child.content.startswith("smc ")]


def unknown(line: str) -> set[str]:
    """The command or the options of a line that do not exist; what is written large stands for any command."""
    words = line.split()
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = next_name(command, words)
        if name.isupper():
            return set()
        found = command.get_command(click.Context(command), name)
        if found is None:
            return {name}
        command = found
    params = command.get_params(click.Context(command))
    options = {name for parameter in params for name in parameter.opts} | {"--help", "--version"}
    return {word.partition("=")[0] for word in words if word.startswith("--")} - options
