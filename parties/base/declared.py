"""Classes whose fields are settings of a file; each field declares its bounds and its meaning in one place.

    @dataclass(frozen=True)
    class KAnonymity(Declared):
        k: Annotated[int, Field(strict=True, ge=1, description="rows of a class, at least")]

A field with an alias has the alias as its key in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, ClassVar, Self, get_type_hints

from pydantic import Field, ValidationError, create_model

from parties.base.settings import Settings, at_key, explained
from smc.errors import InputError


class Declared:
    """Base of frozen dataclasses. Creating an object whose fields are out of bounds always fails."""

    name: ClassVar[str]  # name in files

    def __post_init__(self) -> None:
        try:
            self.table().model_validate(self.settings())
        except ValidationError as error:
            raise InputError(self._explained(error)) from None
        with at_key(self.name):
            self.check()

    def check(self) -> None:
        """Raise InputError if the fields, each within its bounds, do not fit together."""

    def settings(self) -> dict[str, Any]:
        """Return the value of each field by its key in the file."""
        return {key: getattr(self, name) for key, name in self.named().items()}

    @classmethod
    def table(cls) -> type[Settings]:
        """Return a class of settings, one table of a TOML file, with the fields that the class declares."""
        kind: Any = cls  # mypy takes no class for hashable
        return _settings(kind)

    @classmethod
    def named(cls) -> dict[str, str]:
        """Return the name of each field by its key in the file."""
        return {field.alias or name: name for name, field in cls.table().model_fields.items()}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Return the object that a table of a file describes; raise InputError with the faulty key."""
        table = cls.table()
        keys = cls.named()
        if surplus := [key for key in content if key not in keys]:
            raise InputError(f"{cls.name} has no {surplus[0]}; it has {', '.join(keys)}")
        needed = {key: table.model_fields[name] for key, name in keys.items()}
        needed = {key: field for key, field in needed.items() if field.is_required()}
        if missing := [key for key in needed if content.get(key) is None]:
            words = ", ".join(f"{key} ({field.description})" for key, field in needed.items())
            raise InputError(f"{missing[0]} is missing: {cls.name} needs {words}")
        try:
            return cls(**dict(table.model_validate(content)))
        except ValidationError as error:
            raise InputError(cls._explained(error)) from None

    @classmethod
    def _explained(cls, error: ValidationError) -> str:
        return f"{cls.name}: {explained(error, cls.table()).replace(': ', ' ', 1)}"


@cache
def _settings(kind: type[Any]) -> type[Settings]:
    types = get_type_hints(kind, include_extras=True)
    declared: dict[str, Any] = {}
    for field in fields(kind):
        declared[field.name] = (types[field.name], Field() if field.default is MISSING else field.default)
    return create_model(kind.__name__, __base__=Settings, **declared)
