"""Settings of a kind of job: each is defined once, with its title, help, bounds, default and role.

Flags, tables of party.toml, job files, the page's form and labels, the policy's bounds and a notebook's parameters are
all derived from these fields, through `parameters`. `public`, `private`, `own_file` and `output` make a field.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import AfterValidator, Field, model_validator
from pydantic.fields import FieldInfo

from parties.base.settings import LocalPath, Settings
from parties.base.text import instead, listed, quoted
from parties.tables.split import MOST, is_share
from smc.errors import InputError
from smc.recipes import BOOLEAN_ENGINES, ENGINES, RECIPES, Form, Garbling, Gates, OTKind

Role: TypeAlias = Literal["public", "hand", "private", "file", "output"]
if TYPE_CHECKING:
    AnyEngine: TypeAlias = str
    BooleanEngine: TypeAlias = str
else:  # names of the recipes
    AnyEngine = Literal[("auto", *ENGINES)]
    BooleanEngine = Literal[("auto", *BOOLEAN_ENGINES)]

MAX_ROWS = 65535  # default bound on each party's rows
AnyField: TypeAlias = Any  # right-hand side of a field's definition


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
    """Return the field of a setting whose value both parties must share.

    Args:
        default: Default value.
        title: Label on the page.
        help_: Help line.
        none: Meaning of None in a job; "no limit" stands for an infinite number.
        left_out: Effect of omission, if a value is chosen then. Without `none` or `left_out`, None as default means
            that the value is required.
        node: Whether only a node's jobs have it.
        joined: Separator between the texts of a flag that may be repeated.
        column: Whether it names a column, or several if it is a list.
        unless: Setting that makes this one unnecessary.
        advanced: Whether only --help-all shows it.
        options: Further arguments of pydantic's `Field`.
    """
    about = {"none": none, "left_out": left_out, "node": node, "joined": joined, "column": column, "unless": unless}
    return _field("public", default, title, help_, {**about, "advanced": advanced}, options)


def private(title: str, help_: str, *, metavar: str = "VALUE", unless: str = "", **options: Any) -> AnyField:
    """Return the field of a private input, which a party's operator types; it is never sent or stored.

    Args:
        title: Label on the page.
        help_: Help line.
        metavar: Placeholder of the value in the help.
        unless: Setting that makes this input unnecessary, or table.
        options: Further arguments of pydantic's `Field`.
    """
    return _field("private", None, title, help_, {"metavar": metavar, "unless": unless}, options)


def own_file(title: str, help_: str, *, argument: bool = False, data: bool = False, **options: Any) -> AnyField:
    """Return the field of a setting that names a file on this machine.

    Args:
        title: Label on the page.
        help_: Help line.
        argument: Whether the command line names it by position instead of a flag.
        data: Whether it holds private rows.
        options: Further arguments of pydantic's `Field`.
    """
    return _field("file", None, title, help_, {"argument": argument, "data": data}, options)


def listener_columns(advanced: bool = True) -> AnyField:
    """Return the field `listener_columns`: the columns of one party, if both have different columns of one person.

    Commands have it; a node derives its value. Only --help-all shows it if it is `advanced`.
    """
    help_text = "The tables have the same people. Columns that the party that listens has; the other party has the rest"
    about = {"column": True, "advanced": advanced}
    return _field("hand", None, "Columns of the listening party", help_text, about, {})


def hidden_rows() -> AnyField:
    """Return the field `hidden_rows`: the party of the bins, if a hidden alignment has matched the rows."""
    help_text = "If the rows are matched by smc align hidden: the party whose rows are in its bins"
    return _field("hand", None, "Hidden rows", help_text, {"advanced": True}, {})


def alignment() -> AnyField:
    """Return the field `alignment`: the earlier job of two nodes that has matched the rows."""
    return public(
        None,
        "Alignment",
        "The tables have the same people and different columns. Job that matched them: its identifier, or latest",
        none="the tables have different people and the same columns",
        node=True,
    )


def aligned_rows() -> AnyField:
    """Return the field `aligned`: the file with the order of rows that both parties share."""
    help_text = "File written by smc align hidden, or with --listener-columns that of smc align exact."
    return _field("file", None, "Aligned rows", help_text, {"advanced": True}, {})


def predictors() -> AnyField:
    """Return the field `columns`: the columns that a model predicts from."""
    return public(None, "Columns", "Columns to predict from, comma-separated", none="all of the schema", column=True)


def numbers(none: str) -> AnyField:
    """Return the field `numeric`: which of the columns are numbers; `none` says what holds if it is left out."""
    help_text = "Those of the columns that are numbers. Their least and greatest values in the schema are public bounds"
    return public(None, "Columns of numbers", help_text, none=none, column=True)


def of_people(node: bool = False) -> AnyField:
    """Return the field `at_most`: maximum rows of a person. With `node` only the jobs of nodes have it."""
    help_text = (
        "Maximum rows of a person that are used. Noise then hides the person. Both tables must have this maximum"
    )
    none = "no limit (noise hides one row as adjacency says)"
    return public(None, "Rows of a person", help_text, none=none, node=node, advanced=True)


def output(help_: str, advanced: bool = False) -> AnyField:
    """Return the field of a setting that names a file to write.

    Args:
        help_: Help text.
        advanced: Whether only --help-all shows the option.
    """
    return _field("output", None, "", help_, {"advanced": advanced}, {})


def engine_field(default: str = "auto") -> AnyField:
    """Return the field `engine`: the way to compute on secrets."""
    return public(
        default,
        "Engine",
        "Cryptographic engine; auto = the cheapest. Only yao protects against a peer that "
        "cheats, and only the party that listens",
        advanced=True,
    )


ENGINE = ("engine", "ot", "garbling", "form", "gates")  # fields of a specification that make up the profile
CHOSEN = {*ENGINE[1:]}  # fields that the engine auto chooses


class KindSettings(Settings):
    """Settings that every kind of job has: the engine, its building blocks and outputs. `auto` chooses all blocks.

    `usual` is the engine if other fields are set but no engine is named, and if a job is too large to be counted.
    """

    usual: ClassVar[str] = "mixed"
    engine: AnyEngine = engine_field()
    ot: OTKind = public(
        "extension",
        "Oblivious transfer",
        "Oblivious transfer, a building block of the engine; extension = softspoken4. ferret "
        "sends few bytes for many gates",
        advanced=True,
    )
    garbling: Garbling = public(
        "half",
        "Garbling",
        "How AND gates are garbled: half = 32 bytes a gate; three-halves = 25 bytes, and more work",
        advanced=True,
    )
    form: Form | None = public(
        None,
        "Circuits",
        "Form of the circuits. size: few AND gates, so few bytes. depth: few levels of AND "
        "gates, so few rounds with gmw",
        none="chosen by the engine",
        advanced=True,
    )
    gates: Gates | None = public(
        None,
        "AND gates",
        "How gmw and lean compute AND gates: from random triples made before, or by oblivious "
        "transfer of a four-row table",
        none="chosen by the engine",
        advanced=True,
    )

    out: LocalPath | None = output("Write the result as JSON.")
    report: LocalPath | None = output("Write the cost report as JSON.", advanced=True)

    @model_validator(mode="before")
    @classmethod
    def _said_in_part(cls, fields: Any) -> Any:
        without_engine = (
            isinstance(fields, Mapping) and "engine" not in fields and any(name in fields for name in CHOSEN)
        )
        engine = cls.usual if not isinstance(fields, Mapping) or fields.get("gates") is None else "gmw"
        return {**fields, "engine": engine} if without_engine else fields

    @model_validator(mode="after")
    def _auto_chooses(self) -> KindSettings:
        chosen = self.model_fields_set & CHOSEN
        if self.engine == "auto" and chosen:
            raise ValueError(f"engine auto chooses {' and '.join(sorted(chosen))}; remove it, or name an engine")
        circuits = None if self.engine == "auto" else RECIPES[self.engine].circuits  # type: ignore[index]
        if self.gates is not None and circuits not in (None, "XOR shares"):
            raise ValueError(f"gates are for XOR shares, and engine {self.engine} garbles; remove it, or name gmw")
        if self.garbling != "half" and circuits == "XOR shares":
            raise ValueError(f"garbling is for engines that garble, and {self.engine} has none; remove it, or name yao")
        return self


class BooleanSettings(KindSettings):
    """Settings of a kind that computes only with circuits, on any engine."""

    usual: ClassVar[str] = "yao"
    engine: BooleanEngine = engine_field()


class ManyGatesSettings(BooleanSettings):
    """Settings of a kind with many gates in few levels, whose cost is mostly traffic."""

    usual: ClassVar[str] = "gmw"
    ot: OTKind = public(
        "ferret",
        "Oblivious transfer",
        "Oblivious transfer, a building block of the engine. ferret sends the fewest bytes for many gates",
        advanced=True,
    )


@dataclass(frozen=True)
class Parameter:
    """One field of a kind's settings, as the derived interfaces see it.

    `key` is its name in files, and with `-` for `_` its flag; `field` is its name in the class, usually equal. `type`
    is the type its text is parsed as; `choices` are its allowed texts, empty if there is no list of them. The other
    fields are the arguments of `public`, `private` and `own_file`.
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
        """Return the value of this parameter in the settings."""
        return getattr(settings, self.field)

    @property
    def flag(self) -> str:
        """Command-line flag of the key."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """Name of the command's argument; never a keyword of Python."""
        return f"own_{self.key}"

    @property
    def is_number(self) -> bool:
        """Whether the parameter is a number, so that a policy may bound it."""
        return self.type in (int, float)

    def is_missing(self, settings: Mapping[str, Any]) -> bool:
        """Return whether a job with these settings lacks this required parameter, and the one that replaces it."""
        return self.is_needed and settings.get(self.key) is None and not settings.get(self.unless)

    @property
    def is_engine(self) -> bool:
        """Whether the parameter selects the way of computation, not the question."""
        return self.key in ENGINE

    @property
    def is_needed(self) -> bool:
        """Whether the parameter is public and has neither a default nor a meaning if omitted."""
        return self.role == "public" and self.default is None and not (self.none or self.left_out)

    def shown_default(self) -> str:
        """Return the default as text."""
        return in_words(self.default, self.left_out or self.none)


def in_words(value: object, none: str = "") -> str:
    """Return a value of a setting as text; truth values become yes or no.

    Args:
        value: The value.
        none: Text for None.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return none if value is None else str(value)


def worded(settings: type[Settings], values: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters of a job as texts by name, without those that have no text or that the engine chooses.

    Args:
        settings: Settings of the kind of job.
        values: The parameters by name.
    """
    known = {parameter.key: parameter for parameter in public_parameters(settings)}
    words = {}
    for name, value in values.items():
        parameter = known.get(name)
        left_to_engine = parameter is not None and parameter.is_engine and value is None
        if text := "" if left_to_engine else in_words(value, "" if parameter is None else parameter.none):
            words[name] = text
    return words


@cache
def parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return the fields that have a role: the kind's own first, then the engine's, then outputs."""
    fields = [_parameter(name, info) for name, info in settings.model_fields.items() if _about(info)]
    last = {"public": 1, "output": 2}
    return tuple(sorted(fields, key=lambda field: last[field.role] if field.is_engine or field.role == "output" else 0))


def public_parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return the parameters whose values both parties must share."""
    return tuple(field for field in parameters(settings) if field.role == "public")


def shared_parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return the parameters of a specification: the public ones, and those that commands have by hand."""
    return tuple(field for field in parameters(settings) if field.role in ("public", "hand"))


def private_parameters(settings: type[Settings]) -> tuple[Parameter, ...]:
    """Return the parameters that an operator types."""
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


Name = Annotated[str, Field(min_length=1, max_length=200)]
Columns = Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
PartyColumns = Annotated[tuple[Name, ...], Field(max_length=64)]  # of hidden rows a job may read those of one party
MOST_ROWS = 2**31  # largest bound on a party's rows
RowBound = Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)]


def row_bound() -> AnyField:
    """Return the field `max_rows`: public upper bound on the rows of each party."""
    return public(
        MAX_ROWS,
        "Row bound",
        "Public upper bound on the rows of each party. Raise it for a larger table; some costs grow with it. If you "
        "leave it out, max_rows of your table in party.toml counts",
        advanced=True,
    )


def _in_twentieths(share: float) -> float:
    """Return the share. Raise ValueError unless models of two shares differ by a twentieth of all rows at least."""
    if not is_share(share):
        raise ValueError("must be a multiple of 0.05, so that models of two shares differ by many rows")
    return share


HeldOut = Annotated[float, Field(strict=True, ge=0.05, le=MOST), AfterValidator(_in_twentieths)]


def held_out() -> AnyField:
    """Return the field `held_out`: share of the rows that a model is not trained on."""
    return public(
        None,
        "Held out",
        "Share of rows (or people) not trained on, from 0.05 to 0.5 in steps of 0.05. smc evaluate judges on them",
        none="none",
        advanced=True,
    )


Fold = Annotated[int, Field(strict=True, ge=1, le=20)]


def fold() -> AnyField:
    """Return the field `fold`: which of the equal shares of rows is held out."""
    return public(None, "Fold", "Which share is held out: 1, 2, ... up to 1 / held_out", none="1", advanced=True)


def check_names(key: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise InputError if setting `key` names a column twice or one that the schema lacks.

    Args:
        key: Name of the setting, for the message.
        names: Columns in the setting.
        known: Columns of the schema.
    """
    for name in names:
        if name not in known:
            raise InputError(f"{key}: {quoted(name)} is not an attribute of the schema{instead(name, known)}")
    if len(set(names)) < len(names):
        raise InputError(f"{key}: name each column once, not {listed(names)}")


K = Annotated[int, Field(strict=True, ge=1, le=2**32)]
L = Annotated[float, Field(strict=True, ge=1, le=2**32, allow_inf_nan=False)]
T = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Diversity: TypeAlias = Literal["distinct", "entropy"]
Distance: TypeAlias = Literal["variational", "ordered"]
Against: TypeAlias = Literal["peer", "public"]


def fewest_rows(default: int | None, promise: str, left_out: str = "") -> AnyField:
    """Return the field `k`: k-anonymity, the fewest rows of a leaf or class.

    Args:
        default: Default value; None if there is none.
        promise: Meaning of k, for the help.
        left_out: Effect of omitting k, if a value is chosen then.
    """
    return public(default, "k-anonymity", f"k-anonymity: {promise}", left_out=left_out)


def diverse(promise: str) -> AnyField:
    """Return the field `l`: l-diversity. Its help text is `promise`."""
    return public(1.0, "l-diversity", f"l-diversity: {promise}", advanced=True)


def diversity(values: str) -> AnyField:
    """Return the field for the diversity measure of l-diversity; `values` names the diverse values in its help."""
    help_text = f"How l counts {values}. distinct: their number. entropy: e^entropy, smaller if some are rare"
    return public("distinct", "Diversity", help_text, advanced=True)


def close(promise: str) -> AnyField:
    """Return the field `t`: t-closeness. Its help text is `promise`."""
    return public(1.0, "t-closeness", f"t-closeness: {promise}", advanced=True)


def distance(values: str) -> AnyField:
    """Return the field for the distance that t-closeness bounds; `values` names the values in its help."""
    help_text = f"Distance that t bounds: variational, or ordered = earth mover's distance, for {values} with an order"
    return public("variational", "Distance", help_text, advanced=True)


def against(each: str, both: str) -> AnyField:
    """Return the field `against`: the reader from whom people are protected.

    Args:
        each: Promise that holds for each party's rows.
        both: Promise that holds only for the rows of both parties together.
    """
    help_text = f"Reader who must not be able to single people out. peer: {each}. public: {both}"
    return public("peer", "Against", help_text, advanced=True)


MostBytes: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**50)]


def most_bytes_field(step: str) -> AnyField:
    """Return the field `most_bytes` of a kind whose run may stop before the named step."""
    return public(
        None,
        "Byte limit",
        f"Maximum bytes of both directions together. Once exceeded, the run stops before {step}",
        none="4 times the forecast, and 100 MB at least",
        advanced=True,
    )
