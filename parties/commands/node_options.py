"""Options that select a node, and the node that they select."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parties.commands.options import FILE, FOLDER, Command, required_party_file
from parties.operator.client import NodeClient

NODE_CONFIG: Any = click.option("--config", "config_file", type=FILE, help="party.toml of your node  [./party.toml]")
STATE: Any = click.option("--state", type=FOLDER, help="State directory of your node, instead of --config.")


def node_options(command: Command) -> Command:
    """Add --config and --state, which select the node."""
    decorated: Command = NODE_CONFIG(STATE(command))
    return decorated


def node_of(config_file: Path | None = NODE_CONFIG, state: Path | None = STATE) -> NodeClient:
    """Return the node that the options select."""
    if state is not None:
        return NodeClient(state)
    return NodeClient.from_config(required_party_file(config_file, " or --state DIRECTORY"))
