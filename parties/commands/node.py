"""`smc node`: a party as a service that runs until it is stopped."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parties.base import console
from parties.commands.options import json_option, party_config, required_party_file
from parties.commands.signature import command, option
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.node.events import LogLevel
    from parties.node.settings import NodeFile


@command("node", "smc node --config party.toml; before an upgrade also: smc node --upgrade-check")
def node(
    config_file: Path | None = party_config,
    log_level: LogLevel = option(
        "Lowest level of logged events; text on a terminal, else JSON  [info]",
        click.Choice(["info", "warning", "error"]),
        default="info",
    ),
    upgrade_check: bool = option("Check whether this release can read the existing state. Nothing is started."),
    as_json: bool = json_option,
) -> None:
    """Run a node: keep the link to the peer's node, take proposals, run the jobs that rules or operators allow.

    Ctrl-C or SIGTERM stops the node in order. Running sessions may finish within the seconds of `stop` under [node].
    Unfinished jobs continue after the next start. A second Ctrl-C stops the node at once.
    """
    from parties.base.bounds import raise_descriptors
    from parties.commands.serving import Page
    from parties.node import settings
    from parties.node.service import Node
    from parties.node.starting.beginning import passing_troubles

    path = required_party_file(config_file, ", or write one with smc init")
    file = settings.load(path)
    if upgrade_check:
        _print_upgrade(file, as_json)
        return
    if as_json:
        raise InputError("--json: goes with --upgrade-check; remove it, as the log is JSON unless on a terminal")
    raise_descriptors()
    with console.progress("starting"), passing_troubles():
        page = Page(file.node, file.notify, file.tables)
        party = Node(file, page, log_level)
        try:
            where = party.start()
        except BaseException:
            party.stop("could not start", seconds=0)
            raise
    try:
        if sys.stderr.isatty():  # without a terminal the output is the log, where a login link must not appear
            way = f"listening on {where['listens']}" if where["listens"] else f"connecting to {where['connects']}"
            try:
                link = page.login_link()
            except InputError:  # this Unix user is not one of the named operators
                link = where["web"]
            console.err.print(f"{way}; operator's page: {link}")
        threading.Event().wait()
    except KeyboardInterrupt:  # SIGTERM too
        try:
            party.stop("told to")
        except KeyboardInterrupt:
            party.stop("told to, at once", seconds=0)


def _print_upgrade(file: NodeFile, as_json: bool) -> None:
    """Print whether this release can read the state; raise InputError with the reason if it cannot."""
    from parties.node.starting import upgrade

    with console.progress("reading the state"):
        found_state = upgrade.check(file)
    if as_json:
        console.print_json(found_state._asdict())
    else:
        for line in upgrade.lines(found_state):
            console.out.print(line)
    if found_state.problems:
        raise InputError("--upgrade-check: this release cannot start on this state: " + "; ".join(found_state.problems))
