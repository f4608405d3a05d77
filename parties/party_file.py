"""`party.toml` as a whole, and the files that it names.

    [link]
    identity = "keys/a.key"          # relative to this file
    certificate = "keys/a.crt"
    peer = "keys/b.crt"
    listen = "0.0.0.0:7001"          # or connect

    [id3]
    data = "mine.csv"
    schema = "schema.toml"

A table is a command, a key is its flag with `-` written as `_`; a flag on the command line wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
)

from parties import files
from parties.jobs.settings import CircuitSettings, Id3Settings, MillionairesSettings
from parties.link.settings import LinkSettings
from parties.settings import explained
from parties.text import quoted
from smc.errors import InputError


class CommandTables(BaseModel):
    """The tables of `party.toml` that single commands read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    link: LinkSettings = Field(default_factory=LinkSettings.model_construct)
    id3: Id3Settings = Field(default_factory=Id3Settings.model_construct)
    millionaires: MillionairesSettings = Field(default_factory=MillionairesSettings.model_construct)
    circuit: CircuitSettings = Field(default_factory=CircuitSettings.model_construct)


class PartyFile(CommandTables):
    """All of `party.toml`, as a command sees it: what is for the node is left to `parties.node.settings`."""

    node: Any = None
    peer: Any = None
    tables: Any = None
    policy: Any = None


STATE = "state"  # the node's directory, beside party.toml, if that names none
AnyTables = TypeVar("AnyTables", bound=CommandTables)


def load(path: Path | None) -> PartyFile:
    """Read `party.toml`; None stands for an empty one. `InputError` names the file and the key.

    Relative paths become relative to the directory of the file.
    """
    return PartyFile.model_construct() if path is None else read(PartyFile, path)


def read(model: type[AnyTables], path: Path) -> AnyTables:
    """Read `party.toml` as this model. `InputError` names the file and the key."""
    try:
        return model.model_validate(files.read_toml(path), context={"directory": path.parent})
    except ValidationError as error:
        raise InputError(f"{path}: {explained(error, model)}") from None


def state_directory(path: Path) -> Path:
    """The state directory that a `party.toml` names. `InputError` names the file."""
    node = files.read_toml(path).get("node", {})
    state = node.get("state", STATE) if isinstance(node, dict) else None
    if not isinstance(state, str) or not state:
        raise InputError(f"{path}: node.state: must be a path in quotes")
    try:
        return path.parent / Path(state).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: node.state: there is no home directory for {quoted(state)}") from None


def files_of(path: Path) -> list[Path]:
    """A `party.toml`, every file that it names, and what is in the node's state: what no output may overwrite."""

    def named(value: object) -> Iterator[Path]:
        if isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                yield from named(inner)
        elif isinstance(value, str) and value and "://" not in value and "\0" not in value:
            with suppress(RuntimeError):  # no home directory
                yield path.parent / Path(value).expanduser()

    return [path, *named(files.read_toml(path)), *state_directory(path).glob("*")]
