"""The options that say which node a command is for, and the node that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parties.commands.options import FILE, FOLDER, Command, find_party_file
from parties.operator.client import NodeClient
from smc.errors import InputError

NODE_CONFIG: Any = click.option("--config", "config_file", type=FILE, help="party.toml of your node  [./party.toml]")
STATE: Any = click.option("--state", type=FOLDER, help="State directory of your node, instead of --config.")


def node_options(command: Command) -> Command:
    """Add --config and --state, which say where the node is."""
    decorated: Command = NODE_CONFIG(STATE(command))
    return decorated


def node_of(config_file: Path | None = NODE_CONFIG, state: Path | None = STATE) -> NodeClient:
    """Return the node that the options name."""
    if state is not None:
        return NodeClient(state)
    file = find_party_file(config_file)
    if file is None:
        raise InputError("--config: there is no party.toml here; give --config party.toml or --state DIRECTORY")
    return NodeClient.from_config(file)
