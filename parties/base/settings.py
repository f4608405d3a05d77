"""Tables of settings: read from TOML, merged with flags, and errors explained in one line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from parties.base.files import is_in_token
from parties.base.text import did_you_mean, printable, quoted, visible
from smc.errors import InputError


def _anchor(value: object, info: ValidationInfo) -> object:
    """Return a path from a settings file: `~` is the home directory, a relative path begins at the file's directory."""
    if value == "":
        raise ValueError("must not be empty")
    if info.context is None or not isinstance(value, str | Path) or is_in_token(Path(value)):
        return value
    try:
        return Path(info.context["directory"]) / Path(value).expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home directory for {quoted(str(value))}") from None


LocalPath: TypeAlias = Annotated[Path, BeforeValidator(_anchor)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
Finite: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
MOST_SECONDS = 366 * 24 * 3600.0  # far beyond any real wait; the system cannot wait more than 292 years
MOST_OF_A_PERSON = 1000  # most rows of a person
AtMost: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=MOST_OF_A_PERSON)]  # rows of a person
Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=MOST_SECONDS, allow_inf_nan=False)]


class Settings(BaseModel):
    """One table of the file, and the flags of one command. A setting without a default is None until it is set."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most runs need two of the tables
    exclusive: ClassVar[tuple[str, ...]] = ()  # at most one of these may be set


AnyModel = TypeVar("AnyModel", bound=BaseModel)
AnySettings = TypeVar("AnySettings", bound=Settings)
Given = TypeVar("Given")


def merge(settings: AnySettings, flags: Mapping[str, object]) -> AnySettings:
    """Return the settings with all flags that are not None.

    A flag also replaces settings that exclude it: `--connect` overrides `listen` in the file.

    Args:
        settings: Settings of the file.
        flags: Values by setting; None means that the flag was not used.

    Raises:
        InputError: A flag is wrong; the message names it.
    """
    flags_set = {name: value for name, value in flags.items() if value is not None}
    values = settings.model_dump(exclude_unset=True, by_alias=True)
    if any(name in flags_set for name in settings.exclusive):
        values = {name: value for name, value in values.items() if name not in settings.exclusive}
    try:
        return type(settings).model_validate(values | flags_set)
    except ValidationError as error:
        key, problem = _explain(error.errors()[0], type(settings))
        raise InputError(f"{_flag(key)}: {problem}" if key else problem) from None


def validated(model: type[AnyModel], fields: Mapping[str, Any]) -> AnyModel:
    """Return fields as an object of a pydantic model, after validation.

    Args:
        model: Class of the model.
        fields: Values by key.

    Raises:
        InputError: A value is wrong; the message names its key.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise InputError(explained(error, model)) from None


def required(value: Given | None, key: str) -> Given:
    """Return the value of a required setting, unless it is missing.

    Args:
        value: The value; None if it is missing.
        key: `table.key`, e.g. `id3.data`.

    Raises:
        InputError: The value is missing; the message states how to set it.
    """
    if value is None:
        table, name = key.split(".")
        raise InputError(
            f"{_flag(name)} is missing: give the flag, or set {name} under [{table.replace(' ', '.')}] in --config"
        )
    return value


@contextmanager
def at_key(key: str) -> Iterator[None]:
    """Add this key of the file to an `InputError` of the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _flag(name: str) -> str:
    """Return the command-line flag for a key of the settings: `max_rows` is --max-rows."""
    return "--" + name.replace("_", "-")


def explained(error: ValidationError, model: type[BaseModel], content: object = None) -> str:
    """Return the first problem of a failed validation in one line: the dotted key, and the problem.

    Tables of an array, such as the rules of a policy, are identified by their `name`, if they have one.

    Args:
        error: The failed validation.
        model: Class of the model.
        content: The validated document, for the names of tables.
    """
    errors = error.errors()
    # a misspelt key is also missing: report the misspelling
    first = next(
        (fault for fault in errors if fault["type"] == "extra_forbidden" and errors[0]["type"] == "missing"), errors[0]
    )
    key, problem = _explain(first, model)
    for depth, part in enumerate(place := first["loc"]):
        if isinstance(content, list) and isinstance(part, int) and isinstance(content[part], dict):
            name = content[part].get("name")
            table, inner = (".".join(map(str, some)) for some in (place[:depth], place[depth + 1 :]))
            if isinstance(name, str) and inner != "name":
                return ": ".join(filter(None, (printable(f"{table} {quoted(name)}"), printable(inner), problem)))
        content = _inside(content, part)
    return ": ".join(filter(None, (key, problem)))


def problems(error: ValidationError, model: type[BaseModel]) -> dict[str, str]:
    """Return the problem of each key of a failed validation; a problem of several keys is under the empty key.

    Args:
        error: The failed validation.
        model: Class of the model.
    """
    return dict(_explain(problem, model) for problem in reversed(error.errors()))


def _inside(content: object, part: int | str) -> object:
    if isinstance(content, dict):
        return content.get(part)
    return content[part] if isinstance(content, list) and isinstance(part, int) and part < len(content) else None


def _explain(first: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """Return a problem of a failed validation: the dotted key, and a short description."""
    kind, place, context, value = first["type"], first["loc"], first.get("ctx", {}), first["input"]
    key = visible(".".join(str(part) for part in place if not _UNION.fullmatch(str(part))))
    got = quoted(value) if isinstance(value, str) else str(value)[:60]
    if kind == "extra_forbidden":
        known = _keys(model, [str(part) for part in place[:-1]])
        return key, f"unknown key{did_you_mean(str(place[-1]), known)}"
    if kind == "value_error":
        return key, str(context["error"])
    if kind == "missing":
        return key, "is missing"
    if kind == "literal_error":
        hint = did_you_mean(str(value), re.findall(r"'(\w+)'", context["expected"]))
        return key, f"must be {context['expected']}, not {got}{hint}"
    if kind in _SIGNS:
        sign, bound = _SIGNS[kind]
        return key, f"must be {sign} {_bound(context[bound])}, not {got}"
    if kind in _SIZES:
        return key, "must not be empty" if context.get("min_length") == 1 else _SIZES[kind].format(**context)
    if kind in _KINDS:
        return key, f"must be {_KINDS[kind]}, not {got}{_example(model, [str(part) for part in place])}"
    return key, first["msg"]


def _bound(bound: float) -> str:
    part, power = math.frexp(bound)
    return f"2^{power - 1} (about {bound:.1g})" if part == 0.5 and 0 < bound < 1e-4 else f"{bound:.10g}"


_UNION = re.compile(r"constrained-\w+|function-.*|(tuple|list)\[.*")  # pydantic's names for a union's members


_SIGNS = {
    "greater_than": (">", "gt"),
    "greater_than_equal": (">=", "ge"),
    "less_than": ("<", "lt"),
    "less_than_equal": ("<=", "le"),
}


_SIZES = {
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must name at least {min_length}",
    "too_long": "must name at most {max_length}",
}


_KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "string_type": "text in quotes",
    "string_unicode": "text in UTF-8",
    "path_type": "a path in quotes",
    "model_type": "a table",
    "dict_type": "a table",
    "tuple_type": "a list, in brackets (of tables: [[name]])",
}


def _example(model: type[BaseModel], place: list[str]) -> str:
    """Return an example of a value at the keys `place`, as the end of an error message; "" if its field has none."""
    for part in place:
        field = model.model_fields.get(part)
        if field is None:
            return ""
        if field.examples:
            return f"; for example {json.dumps(field.examples[0], ensure_ascii=False)}"
        if not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return ""
        model = field.annotation
    return ""


def _keys(model: type[BaseModel], place: list[str]) -> list[str]:
    """Return the keys allowed in the table of the settings that the keys and indices `place` lead to."""
    annotation: Any = model
    for part in place:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = annotation.model_fields[part].annotation
        else:  # a table of tables, or an array of them
            annotation = next((kind for kind in get_args(annotation) if kind not in (str, Ellipsis)), None)
    known = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return [field.alias or name for name, field in annotation.model_fields.items()] if known else []
