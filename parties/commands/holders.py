"""Options of commands on rows for further holders, at the two parties that compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from parties.base.text import parts_of
from parties.commands.brief_help import Advanced
from parties.commands.options import Command
from parties.link.settings import LinkSettings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.holders import Givers

_COMPUTE_ONLY = click.option(
    "--compute-only", cls=Advanced, is_flag=True, help="The two computing parties have no rows; only the holders do."
)
COUNTED: tuple[Callable[[Command], Command], ...] = (  # for an estimate
    click.option("--holders", cls=Advanced, type=int, metavar="N", help="Count N further holders of rows."),
    _COMPUTE_ONLY,
)
NAMES = ("holders", "holders_at", "compute_only")
_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option(
        "--holders",
        cls=Advanced,
        metavar="LIST",
        help="Certificates of holders: further parties that give rows and compute nothing.",
    ),
    click.option(
        "--holders-at", cls=Advanced, metavar="HOST:PORT", help="Listen for them here  [required with --holders]"
    ),
    _COMPUTE_ONLY,
)


def holder_options(command: Command, options: Sequence[Callable[[Command], Command]] = _OPTIONS) -> Command:
    """Add the options --holders, --holders-at and --compute-only, or those of an estimate.

    Args:
        command: The command.
        options: `COUNTED` for an estimate.
    """
    for option in reversed(options):
        command = option(command)
    return command


def number_of_givers(holders: int | None, compute_only: bool) -> int | None:
    """Return the number of parties that may have rows; None without holders.

    Args:
        holders: Number of further holders; None for a job of two parties.
        compute_only: True if neither node has rows.

    Raises:
        InputError: The numbers describe no job.
    """
    if holders is None:
        if compute_only:
            raise InputError("--compute-only: goes with --holders; add --holders 3")
        return None
    if holders < 1 + compute_only:
        raise InputError(f"--holders: must be {1 + compute_only} or more{' with --compute-only' * compute_only}")
    from parties.jobs.holders import MOST_HOLDERS

    if holders > MOST_HOLDERS:
        raise InputError(f"--holders: {holders} are too many; count {MOST_HOLDERS} at most")
    return holders + 2 * (not compute_only)


def givers_of(flags: Mapping[str, Any], link: LinkSettings, rows: int) -> Givers | None:
    """Return the holders that the flags name; None without any.

    Args:
        flags: Values of the options about holders, by name; `holder_options` lists them.
        link: Settings of the link to the peer.
        rows: Upper bound on the rows of each holder; public.

    Raises:
        InputError: A flag is missing, a file is not a certificate, or a holder is listed twice or computes.
    """
    if flags["holders"] is None:
        for name in NAMES[1:]:
            if flags[name]:
                raise InputError(f"--{name.replace('_', '-')}: goes with --holders; add --holders anna.crt,bert.crt")
        return None
    if flags["holders_at"] is None:
        raise InputError("--holders-at is missing: give HOST:PORT, where the holders reach you")
    from parties.jobs.holders import givers_in

    return givers_in(parts_of(flags["holders"]), flags["holders_at"], rows, flags["compute_only"], link)


def part_of_holder(asked: Sequence[int]) -> str:
    """Return what each holder sends in a run, as a phrase; `asked` is that of `Counted`."""
    from protocols.shares import sent

    seeds, numbers = sent(asked)
    questions = "1 question" if len(asked) == 1 else f"{len(asked):,} questions"
    answers = f"{seeds:,} bytes to party 0 and {numbers:,} bytes to party 1"
    return f"each holder answers {questions} in that run: it sends {answers}"
