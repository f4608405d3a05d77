"""`smc node`: a party as a service, until it is told to stop."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parties.base import console
from parties.commands.options import find_party_file, party_config
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.node.events import LogLevel


@click.command("node", epilog="Example:  smc node --config party.toml")
@party_config
@click.option(
    "--log-level",
    type=click.Choice(["info", "warning", "error"]),
    default="info",
    help="The least grave events that the log tells of; on a terminal in words, elsewhere in JSON  [info]",
)
def node(config_file: Path | None, log_level: LogLevel) -> None:
    """Stay up: hold the connection to the peer's node, take proposals, run what rules or operator allow.

    Ctrl-C or SIGTERM stops it in order: running sessions have [node] stop seconds to finish; what is not finished goes
    on after the next start. A second Ctrl-C does not wait.
    """
    from parties.base.bounds import raise_descriptors
    from parties.commands.serving import Page
    from parties.node import settings
    from parties.node.service import Node

    path = find_party_file(config_file)
    if path is None:
        raise InputError("whose node? give --config party.toml: there is none here (smc init writes one)")
    raise_descriptors()
    file = settings.load(path)
    with console.progress("starting"):
        page = Page(file.node, file.notify, file.tables)
        party = Node(file, page, log_level)
        try:
            where = party.start()
        except BaseException:
            party.stop("could not start", seconds=0)
            raise
    try:
        if sys.stderr.isatty():  # elsewhere the log is all there is, and no place for a login link
            way = f"listening on {where['listens']}" if where["listens"] else f"connecting to {where['connects']}"
            try:
                link = page.login_link()
            except InputError:  # this Unix user has no name among those who have
                link = where["web"]
            console.err.print(f"{way}; operator's page: {link}")
        threading.Event().wait()
    except KeyboardInterrupt:  # SIGTERM too
        try:
            party.stop("told to")
        except KeyboardInterrupt:
            party.stop("told to, at once", seconds=0)
