"""Options of commands on rows for further holders, at the two parties that compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base.address import parse_address
from parties.base.text import parts_of
from parties.commands.brief_help import Advanced
from parties.commands.options import Command
from parties.jobs.kind import Kind
from parties.link.settings import LinkSettings, require_link
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.holders import Givers
    from parties.jobs.tabular import TabularSettings

NAMES = ("holders", "holders_at", "compute_only")
_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option(
        "--holders",
        cls=Advanced,
        metavar="LIST",
        help="Certificates of holders: further parties that give rows and compute nothing.",
    ),
    click.option("--holders-at", cls=Advanced, metavar="HOST:PORT", help="Listen here for the holders."),
    click.option(
        "--compute-only",
        cls=Advanced,
        is_flag=True,
        help="The two computing parties have no rows; only the holders do.",
    ),
)


def holder_options(command: Command) -> Command:
    """Add the options --holders, --holders-at and --compute-only to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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
    from parties.jobs.holders import Givers, check_holders
    from parties.link.identity import load_certificate

    files = parts_of(flags["holders"])
    if not files:
        raise InputError("--holders: names no certificate; give at least one, as anna.crt,bert.crt")
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise InputError(f"--holders: {twice} is listed twice; list each holder once")
    if _same_door(flags["holders_at"], link.listen):
        raise InputError("--holders-at: is the address of --listen; give another port, the holders need their own")
    certificates = {file: load_certificate(Path(file)) for file in files}
    way = require_link(link)
    own, peer = load_certificate(way.certificate), load_certificate(way.peer)
    check_holders(certificates, own, peer, flags["compute_only"])
    return Givers(tuple(certificates.values()), flags["holders_at"], rows, not flags["compute_only"])


def _same_door(one: str, other: str | None) -> bool:
    """Return whether two listening addresses have one port, and hosts that overlap."""
    if other is None:
        return False
    ours, theirs = (parse_address(text, lowest_port=0) for text in (one, other))
    return ours.port == theirs.port != 0 and (
        ours.host == theirs.host or {"0.0.0.0", "::"} & {ours.host, theirs.host} != set()
    )


def with_holders(settings: TabularSettings, givers: Givers) -> TabularSettings:
    """Return settings whose bound on rows is half of the rows of all holders and parties, for each computing party.

    Args:
        settings: Settings with the bound on the rows of each holder.
        givers: The holders.

    Raises:
        InputError: The bound of all rows is too large.
    """
    from parties.jobs.holders import half_of_all
    from parties.jobs.settings import MOST_ROWS

    rows, parties = givers.rows, givers.number
    whole = half_of_all(parties, rows)
    if whole > MOST_ROWS:
        raise InputError(
            f"--max-rows: {parties} parties with {rows:,} rows each exceed {2 * MOST_ROWS:,} rows in all; lower it"
        )
    return settings.model_copy(update={"max_rows": whole, "own_max_rows": rows})


def check_kind(task: Kind) -> None:
    """Raise InputError if further holders cannot give rows for this task."""
    if why := task.without_holders:
        raise InputError(f"--holders: {why}")
