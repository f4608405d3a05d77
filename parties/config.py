"""Settings: what may stand in `party.toml`, what the flags may say, and every default.

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

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from parties import files
from parties.address import parse_address
from smc.errors import InputError
from smc.link_shape import LinkShape

WAIT_SECONDS = 60.0  # for the peer to come
TIMEOUT_SECONDS = 120.0  # of silence in a session


def _anchor(value: object, info: ValidationInfo) -> object:
    """A path as the file means it: from the home directory, or relative to the file's own directory."""
    if value == "":
        raise ValueError("must not be empty")
    if info.context is None or not isinstance(value, str):
        return value
    try:
        return Path(info.context["directory"]) / Path(value).expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home directory for {files.quoted(value)}") from None


def _address(lowest_port: int) -> AfterValidator:
    """A check that a string is HOST:PORT."""

    def check(value: str) -> str:
        try:
            return str(parse_address(value, lowest_port))
        except InputError as error:
            raise ValueError(str(error)) from None

    return AfterValidator(check)


LocalPath: TypeAlias = Annotated[Path, BeforeValidator(_anchor)]
Here: TypeAlias = Annotated[str, _address(lowest_port=0)]  # port 0: any free one
There: TypeAlias = Annotated[str, _address(lowest_port=1)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
BooleanEngine: TypeAlias = Literal["auto", "yao", "gmw"]
AnyEngine: TypeAlias = Literal["auto", "yao", "gmw", "mixed", "lean"]
Ot: TypeAlias = Literal["extension", "trapdoor", "iknp", "softspoken2", "softspoken4", "softspoken8", "ferret"]
Garbling: TypeAlias = Literal["half", "three-halves"]
Form: TypeAlias = Literal["size", "depth"]


def link_shape(value: str) -> str:
    """A check that a string is a link's shape."""
    try:
        return str(LinkShape.parse(value))
    except InputError as error:
        raise ValueError(str(error)) from None


class Settings(BaseModel):
    """One table of the file, and the flags of one command. What has no default is None until given."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most runs need two of the tables
    exclusive: ClassVar[tuple[str, ...]] = ()  # at most one of these may be given


class LinkSettings(Settings):
    """How to reach and recognise the peer. `wait` and `timeout` are in seconds."""

    identity: LocalPath | None = None
    certificate: LocalPath | None = None
    peer: LocalPath | None = None
    listen: Here | None = None
    connect: There | None = None
    wait: Seconds = WAIT_SECONDS
    timeout: Seconds = TIMEOUT_SECONDS
    emulate: Annotated[str, AfterValidator(link_shape)] | None = None
    exclusive = ("listen", "connect")

    @model_validator(mode="after")
    def _one_side(self) -> LinkSettings:
        if self.listen is not None and self.connect is not None:
            raise ValueError("listen and connect exclude each other: one party listens, the other connects")
        return self


class EngineSettings(Settings):
    """How circuits and integers are computed; `auto` measures the link and chooses all of it."""

    engine: AnyEngine
    ot: Ot = "extension"
    garbling: Garbling = "half"
    form: Form | None = None

    @model_validator(mode="after")
    def _auto_chooses(self) -> EngineSettings:
        given = self.model_fields_set & {"ot", "garbling", "form"}
        if self.engine == "auto" and given:
            raise ValueError(f"engine auto chooses {' and '.join(sorted(given))} by itself: leave it out")
        return self


class Id3Settings(EngineSettings):
    """`smc id3`. `max_rows` is public: no party has more rows than that."""

    data: LocalPath | None = None
    schema_file: LocalPath | None = Field(default=None, alias="schema")  # a model's `schema` is pydantic's
    target: str | None = None
    delta: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.001
    min_rows: Count = 0
    max_depth: Count | None = None
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = 65535
    engine: AnyEngine = "mixed"
    out: LocalPath | None = None
    report: LocalPath | None = None
    dot: LocalPath | None = None
    svg: LocalPath | None = None


class MillionairesSettings(EngineSettings):
    """`smc millionaires`: a private number of at most `bits` bits."""

    value: Count | None = None
    bits: Annotated[int, Field(strict=True, ge=1, le=64)] = 32
    engine: BooleanEngine = "yao"


class CircuitSettings(EngineSettings):
    """`smc circuit`: a circuit file in Bristol format and this party's input to it."""

    file: LocalPath | None = None
    input: str | None = None
    engine: BooleanEngine = "yao"


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
AnyModel = TypeVar("AnyModel", bound=BaseModel)
AnySettings = TypeVar("AnySettings", bound=Settings)
Given = TypeVar("Given")


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


def merge(settings: AnySettings, flags: Mapping[str, object]) -> AnySettings:
    """The settings with all flags that are not None put over them. `InputError` names a bad flag.

    A flag also displaces what excludes it: `--connect` wins over `listen` in the file.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    kept = settings.model_dump(exclude_unset=True, by_alias=True)
    if any(name in given for name in settings.exclusive):
        kept = {name: value for name, value in kept.items() if name not in settings.exclusive}
    try:
        return type(settings).model_validate(kept | given)
    except ValidationError as error:
        key, problem = _explain(error, type(settings))
        raise InputError(f"{_flag(key)}: {problem}" if key else problem) from None


def validated(model: type[AnyModel], fields: Mapping[str, Any]) -> AnyModel:
    """Fields as this model. `InputError` names the key that is wrong."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise InputError(explained(error, model)) from None


def required(value: Given | None, key: str) -> Given:
    """The value, or an `InputError` that says how to give it; `key` is `table.key`, e.g. `id3.data`."""
    if value is None:
        table, name = key.split(".")
        raise InputError(f"{_flag(name)} is missing: give the flag, or set {name} under [{table}] in --config")
    return value


def state_directory(path: Path) -> Path:
    """The state directory that a `party.toml` names. `InputError` names the file."""
    node = files.read_toml(path).get("node", {})
    state = node.get("state", STATE) if isinstance(node, dict) else None
    if not isinstance(state, str) or not state:
        raise InputError(f"{path}: node.state: must be a path in quotes")
    try:
        return path.parent / Path(state).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: node.state: there is no home directory for {files.quoted(state)}") from None


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


@dataclass(frozen=True)
class Link:
    """A complete way to the peer: exactly one of `listen` and `connect` is set. Times in seconds."""

    identity: Path
    certificate: Path
    peer: Path
    listen: str | None
    connect: str | None
    wait: float
    timeout: float
    emulate: LinkShape | None


def require_link(settings: LinkSettings) -> Link:
    """The link if the settings are complete, otherwise an `InputError` that names what is missing."""
    if settings.listen is None and settings.connect is None:
        raise InputError(
            "no way to the peer: one party gives --listen HOST:PORT, the other --connect HOST:PORT "
            "(or listen, connect under [link] in --config)"
        )
    return Link(
        identity=required(settings.identity, "link.identity"),
        certificate=required(settings.certificate, "link.certificate"),
        peer=required(settings.peer, "link.peer"),
        listen=settings.listen,
        connect=settings.connect,
        wait=settings.wait,
        timeout=settings.timeout,
        emulate=None if settings.emulate is None else LinkShape.parse(settings.emulate),
    )


def _flag(name: str) -> str:
    """The flag of a key."""
    return "--" + name.replace("_", "-")


def explained(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem of a failed validation in one line: the dotted key, and what is wrong with it."""
    return ": ".join(filter(None, _explain(error, model)))


def _explain(error: ValidationError, model: type[BaseModel]) -> tuple[str, str]:
    """The first problem of a failed validation: the dotted key, and what is wrong with it in a few words."""
    first = error.errors()[0]
    kind, place, context, value = first["type"], first["loc"], first.get("ctx", {}), first["input"]
    key = files.printable(".".join(str(part) for part in place))
    got = files.quoted(value) if isinstance(value, str) else str(value)[:60]
    if kind == "extra_forbidden":
        known = _keys(model, [str(part) for part in place[:-1]])
        return key, f"unknown key{files.did_you_mean(str(place[-1]), known)}"
    if kind == "value_error":
        return key, str(context["error"])
    if kind == "missing":
        return key, "is missing"
    if kind == "literal_error":
        hint = files.did_you_mean(str(value), re.findall(r"'(\w+)'", context["expected"]))
        return key, f"must be {context['expected']}, not {got}{hint}"
    if kind in _SIGNS:
        sign, bound = _SIGNS[kind]
        return key, f"must be {sign} {context[bound]:.10g}, not {got}"
    return key, f"must be {_KINDS[kind]}, not {got}" if kind in _KINDS else first["msg"]


_SIGNS = {
    "greater_than": (">", "gt"),
    "greater_than_equal": (">=", "ge"),
    "less_than": ("<", "lt"),
    "less_than_equal": ("<=", "le"),
}
_KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text in quotes",
    "path_type": "a path in quotes",
    "model_type": "a table",
    "dict_type": "a table",
    "tuple_type": "a list, in brackets (of tables: [[name]])",
}


def _keys(model: type[BaseModel], place: list[str]) -> list[str]:
    """The keys that may stand at a place of the file."""
    found: Any = model
    for part in place:
        if isinstance(found, type) and issubclass(found, BaseModel):
            found = found.model_fields[part].annotation
        else:  # a table of tables, or an array of them
            found = next((kind for kind in get_args(found) if kind not in (str, Ellipsis)), None)
    known = isinstance(found, type) and issubclass(found, BaseModel)
    return [field.alias or name for name, field in found.model_fields.items()] if known else []
