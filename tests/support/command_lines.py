"""The words of a command line, one command after another, as `smc` takes them."""

from __future__ import annotations

import click

from parties.commands.estimate import group as estimates
from parties.commands.proposed import OF_A_FILE, Proposed
from parties.jobs import kinds


def next_name(command: click.Group, words: list[str]) -> str:
    """Take the name of the next command from the words: a kind's may be two, and a file stands for none."""
    if len(words) > 1 and isinstance(command, (Proposed, type(estimates))) and kinds.is_known(" ".join(words[:2])):
        return f"{words.pop(0)} {words.pop(0)}"
    if isinstance(command, Proposed) and not kinds.is_known(words[0]):
        return OF_A_FILE
    return words.pop(0)
