"""The settings of a kind of job: each is said once, with its title, help, bounds, default and role.

Flags, tables of party.toml, job files, the page's form and labels, the policy's bounds and a notebook's parameters are
all read off these fields, through `parameters`. A field is made by `public`, `private`, `own_file` or `output`.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo

from parties.base.settings import LocalPath, Settings
from smc.recipes import BOOLEAN_ENGINES, ENGINES, Form, Garbling, OTKind

Role: TypeAlias = Literal["public", "private", "file", "output"]
if TYPE_CHECKING:
    AnyEngine: TypeAlias = str
    BooleanEngine: TypeAlias = str
else:  # the names that the recipes have
    AnyEngine = Literal[("auto", *ENGINES)]
    BooleanEngine = Literal[("auto", *BOOLEAN_ENGINES)]

MAX_ROWS = 65535  # no party has more rows than that, unless another bound is agreed on
AnyField: TypeAlias = Any  # what stands to the right of a field's type


def _field(role: Role, default: object, title: str, help_: str, about: dict[str, Any], options: Any) -> AnyField:
    return Field(default=default, title=title, description=help_, json_schema_extra={"role": role, **about}, **options)


def public(
    default: object,
    title: str,
    help_: str,
    *,
    none: str = "",
    left_out: str = "",
    node: bool = False,
    joined: str = "",
    column: bool = False,
    unless: str = "",
    advanced: bool = False,
    **options: Any,
) -> AnyField:
    """Return a parameter that both parties must have the same.

    `none` says what None means in a job, "no limit" stands for an infinite number; `left_out` what leaving it out
    means, if something is chosen then (without either, it must be given);
    `node`: only a node's job has it; `joined`: its flag may be given several times, and this stands between the texts
    then; `column`: it names one, or several if it is a list; `unless`: the setting with which it need not be given;
    `advanced`: a command's --help leaves it out, --help-all has it.
    """
    about = {"none": none, "left_out": left_out, "node": node, "joined": joined, "column": column, "unless": unless}
    return _field("public", default, title, help_, {**about, "advanced": advanced}, options)


def private(title: str, help_: str, *, metavar: str = "VALUE", **options: Any) -> AnyField:
    """Return a party's own input, typed by its operator: never told, never stored."""
    return _field("private", None, title, help_, {"metavar": metavar}, options)


def own_file(title: str, help_: str, *, argument: bool = False, data: bool = False, **options: Any) -> AnyField:
    """Return a file on this machine. `argument`: named by its place on the command line; `data`: it holds private
    rows."""
    return _field("file", None, title, help_, {"argument": argument, "data": data}, options)


def of_people(node: bool = False) -> AnyField:
    """Return the field `at_most`."""
    words = "Rows per person that are used; noise then protects the person. Both tables must agree"
    return public(None, "Rows of a person", words, none="noise protects a row", node=node, advanced=True)


def output(help_: str, advanced: bool = False) -> AnyField:
    """Return a file to write; `advanced` as of `public`."""
    return _field("output", None, "", help_, {"advanced": advanced}, {})


def engine_field(default: str = "auto") -> AnyField:
    """Return the field `engine`."""
    return public(
        default,
        "Engine",
        "auto = cheapest. Only yao protects against a cheating peer: the party that listens",
        advanced=True,
    )


CHOSEN = {"ot", "garbling", "form"}  # by the engine auto


class EngineSettings(Settings):
    """The choice of how circuits and integers are computed; `auto` chooses all of it.

    `usual` is the engine where some of it is said, but no engine; and where a job is too large to be counted ahead.
    """

    usual: ClassVar[str] = "mixed"
    engine: AnyEngine = engine_field()
    ot: OTKind = public(
        "extension", "Oblivious transfer", "Kind of oblivious transfer; extension = softspoken4", advanced=True
    )
    garbling: Garbling = public("half", "Garbling", "Garbling scheme of AND gates", advanced=True)
    form: Form | None = public(
        None, "Circuits", "Circuits with few gates (size) or few levels (depth)", none="the engine's own", advanced=True
    )

    @model_validator(mode="before")
    @classmethod
    def _said_in_part(cls, fields: Any) -> Any:
        in_part = isinstance(fields, Mapping) and "engine" not in fields and any(name in fields for name in CHOSEN)
        return {**fields, "engine": cls.usual} if in_part else fields

    @model_validator(mode="after")
    def _auto_chooses(self) -> EngineSettings:
        chosen = self.model_fields_set & CHOSEN
        if self.engine == "auto" and chosen:
            raise ValueError(f"engine auto chooses {' and '.join(sorted(chosen))} by itself: leave it out")
        return self


ENGINE = tuple(EngineSettings.model_fields)  # what of a specification makes the profile


class KindSettings(EngineSettings):
    """The settings that every kind of job has."""

    out: LocalPath | None = output("Write the result as JSON.")
    report: LocalPath | None = output("Write the cost report as JSON.", advanced=True)


class BooleanSettings(KindSettings):
    """Those of a kind that computes with circuits only, on whatever engine."""

    usual: ClassVar[str] = "yao"
    engine: BooleanEngine = engine_field()


class ManyGatesSettings(BooleanSettings):
    """Those of a kind with many gates in few levels, of which traffic is what counts."""

    usual: ClassVar[str] = "gmw"
    ot: OTKind = public(
        "ferret",
        "Oblivious transfer",
        "Kind of oblivious transfer; ferret sends the fewest bytes for many gates",
        advanced=True,
    )


@dataclass(frozen=True)
class Parameter:
    """One field of a kind's settings, as everything that is derived from it sees it.

    `key` is its name in files, and with `-` for `_` its flag; `field` that in the class, mostly the same; `type` what
    it is read as. The others are those of `public`, `private` and `own_file`.
    """

    key: str
    title: str
    help: str
    role: Role
    type: type
    choices: tuple[str, ...]
    default: object
    field: str
    none: str = ""
    left_out: str = ""
    node: bool = False
    argument: bool = False
    data: bool = False
    metavar: str | None = None
    joined: str = ""
    column: bool = False
    unless: str = ""
    advanced: bool = False

    def of(self, settings: Settings) -> Any:
        """Return its value in some settings."""
        return getattr(settings, self.field)

    @property
    def flag(self) -> str:
        """The flag of the key."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """The name by which a command gets it: never a word of Python's."""
        return f"own_{self.key}"

    @property
    def is_number(self) -> bool:
        """True if it can be bounded."""
        return self.type in (int, float)

    def is_missing(self, settings: Mapping[str, Any]) -> bool:
        """Return whether it would have to stand in a job that has these, and does not."""
        return self.is_needed and settings.get(self.key) is None and not settings.get(self.unless)

    @property
    def is_engine(self) -> bool:
        """True if it says how to compute, not what."""
        return self.key in ENGINE

    @property
    def is_needed(self) -> bool:
        """True if nothing stands for it if it is left out."""
        return self.role == "public" and self.default is None and not (self.none or self.left_out)

    def shown_default(self) -> str:
        """Return the default in words."""
        return in_words(self.default, self.left_out or self.none)


def in_words(value: object, none: str = "") -> str:
    """Return a value for people: `none` for None, yes or no for truth values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return none if value is None else str(value)


@cache
def parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return the fields of the settings that have a role: what a kind adds first, then how it is computed, then
    outputs."""
    fields = [_parameter(name, info) for name, info in settings.model_fields.items() if _about(info)]
    last = {"public": 1, "output": 2}
    return tuple(sorted(fields, key=lambda field: last[field.role] if field.is_engine or field.role == "output" else 0))


def public_parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return those that both parties must have the same."""
    return tuple(field for field in parameters(settings) if field.role == "public")


def private_parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return those that an operator types."""
    return tuple(field for field in parameters(settings) if field.role == "private")


def _about(info: FieldInfo) -> dict[str, Any]:
    extra = info.json_schema_extra
    return extra if isinstance(extra, dict) and "role" in extra else {}


def _parameter(name: str, info: FieldInfo) -> Parameter:
    read, choices = _type(info.annotation)
    return Parameter(
        key=info.alias or name,
        title=info.title or name,
        help=info.description or "",
        type=read,
        choices=choices,
        default=info.default,
        field=name,
        **_about(info),
    )


def _type(annotation: Any) -> tuple[type, tuple[str, ...]]:
    """Return the plain type behind an annotation, and the words to choose from if it is a choice."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _type(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _type(next(part for part in get_args(annotation) if part is not type(None)))
    if origin is Literal:
        return str, get_args(annotation)
    if origin is tuple:
        return tuple, ()
    return (annotation if annotation in (int, float, bool, str, Path) else str), ()
