"""`party.toml` as a whole, and the files that it names.

    [link]
    identity = "keys/a.key"          # relative to this file
    certificate = "keys/a.crt"
    peer = "keys/b.crt"
    listen = "0.0.0.0:7001"          # or connect

    [tables.patients]                # own rows, for the node and for commands that name no other rows
    source = "mine.csv"
    schema = "schema.toml"

    [id3]
    max_depth = 3

Any other table is named after a kind of job. Its keys are the flags of the kind's command, with `_` for `-`. A flag on
the command line takes precedence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from parties.base import files
from parties.base.settings import LocalPath, explained
from parties.base.text import quoted
from parties.jobs import kinds
from parties.jobs.settings import KindSettings, parameters
from parties.link.settings import ContributeSettings, LinkSettings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.settings import TableSettings

    Tables: TypeAlias = dict[str, TableSettings]
else:  # replaced if a file has tables, see `_with_its_tables`
    Tables = dict[str, Any]


class CommandTables(BaseModel):
    """The tables of `party.toml` for commands: link, holder, circuits, own rows, and kinds of jobs (`of_kind`)."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    link: LinkSettings = Field(default_factory=LinkSettings.model_construct)
    contribute: ContributeSettings = Field(default_factory=ContributeSettings.model_construct)
    circuits: dict[str, LocalPath] = Field(default_factory=dict)
    tables: Tables = Field(default_factory=dict)

    def of_kind(self, name: str) -> KindSettings:
        """Return the settings of a kind of job; its defaults if the file does not have them."""
        settings: KindSettings = getattr(self, name, None) or kinds.find(name).Settings.model_construct()
        return settings


class PartyFile(CommandTables):
    """All of `party.toml` for a command: it does not check the node's tables (see `parties.node.settings`)."""

    node: Any = None
    controller: Any = None
    peer: Any = None
    notify: Any = None
    records: Any = None
    decision: Any = None
    peers: Any = None
    policy: Any = None
    template: Any = None
    permits: Any = None


STATE = "state"  # default of node.state: a directory beside party.toml
AnyTables = TypeVar("AnyTables", bound=CommandTables)


def load(path: Path | None) -> PartyFile:
    """Read `party.toml`; None stands for an empty file. Raise InputError with the file and the key at fault.

    Relative paths become relative to the directory of the file.
    """
    if path is None:
        return PartyFile.model_construct()
    return read(PartyFile, path)


def read(model: type[AnyTables], path: Path) -> AnyTables:
    """Read `party.toml` as a model.

    Args:
        model: Model of the tables that the caller needs.
        path: The file.

    Raises:
        InputError: A key is wrong; the message names the file and the key.
    """
    content = _by_kind(files.read_toml(path))
    others = frozenset(content).difference(model.model_fields)  # only these: searching packages for kinds is slow
    own = frozenset(name for name in content if name == "tables" or (name in others and kinds.is_known(name)))
    whole = _with_its_tables(model, own)
    try:
        file = cast("AnyTables", whole.model_validate(content, context={"directory": path.parent}))
        for table in file.tables.values():
            table.owned_by(file.link.identity)
        return file
    except ValidationError as error:
        known = _with_its_tables(model, own.union(kinds.BUILT_IN))  # for a suggestion of a similar name
        key, colon, problem = explained(error, known, content).partition(":")
        raise InputError(f"{path}: {_as_written(key)}{colon}{problem}") from None


def _by_kind(content: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of a file by name; a kind's table in a group, [release.sum], gets the name "release sum"."""
    grouped = {name: content[name] for name in kinds.GROUPS if isinstance(content.get(name), dict)}
    inner = {f"{group} {kind}": table for group, tables in grouped.items() for kind, table in tables.items()}
    return {name: table for name, table in content.items() if name not in grouped} | inner


def _as_written(key: str) -> str:
    group, blank, rest = key.partition(" ")
    return f"{group}.{rest}" if blank and group in kinds.GROUPS else key


@cache
def _with_its_tables(model: type[BaseModel], tables: frozenset[str]) -> type[BaseModel]:
    named = sorted(tables.difference(model.model_fields))
    fields = {name: kinds.find(name).Settings for name in named}
    definitions: dict[str, tuple[Any, Any]] = {
        name: (fields[name], Field(default_factory=fields[name].model_construct)) for name in fields
    }
    if "tables" in tables:
        from parties.sources import settings

        definitions["tables"] = (settings.Tables, Field(default_factory=dict))
    return create_model(model.__name__, __base__=model, **definitions)  # type: ignore[call-overload]


def state_directory(path: Path) -> Path:
    """Return the state directory in a `party.toml`. Raise InputError with the file if the setting is wrong."""
    node = files.read_toml(path).get("node", {})
    state = node.get("state", STATE) if isinstance(node, dict) else None
    if not isinstance(state, str) or not state:
        raise InputError(f"{path}: node.state: must be a path in quotes")
    try:
        return path.parent / Path(state).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: node.state: there is no home directory for {quoted(state)}") from None


def peer_files(path: Path | None) -> list[Path]:
    """Return the files of the peers' certificates in a `party.toml`; none for None. Raise InputError as `load`."""
    if path is None:
        return []
    peer = load(path).link.peer
    entries = files.read_toml(path).get("peers", [])
    named = [peer.get("certificate") for peer in entries if isinstance(peer, dict)] if isinstance(entries, list) else []
    several = [path.parent / Path(name).expanduser() for name in named if isinstance(name, str) and name]
    return [*([] if peer is None else [peer]), *several]


def files_of(path: Path) -> list[Path]:
    """Return the files that no output may overwrite: this `party.toml`, files that it names, and the node's state."""
    return [*named_files(path), *state_directory(path).glob("*")]


def named_files(path: Path, skipped: Collection[str] = ()) -> list[Path]:
    """Return a `party.toml` and the path of each text in it that may be a file name, except outputs of jobs.

    Args:
        path: The `party.toml`.
        skipped: Keys whose values are left out.
    """

    def named(value: object) -> Iterator[Path]:
        if isinstance(value, dict | list):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                # the name of a peer or a target
                if key not in skipped and (key != "name" or not isinstance(inner, str)):
                    yield from named(inner)
        elif isinstance(value, str) and value and "://" not in value and "\0" not in value:
            with suppress(RuntimeError):  # no home directory
                yield path.parent / Path(value).expanduser()

    content = _by_kind(files.read_toml(path))
    for name in set(kinds.names()).intersection(content):
        if isinstance(content[name], dict):
            results = [option.key for option in parameters(kinds.find(name).Settings) if option.role == "output"]
            content[name] = {key: value for key, value in content[name].items() if key not in results}
    return [path, *named(content)]
