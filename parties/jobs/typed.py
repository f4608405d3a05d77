"""What an operator typed, read as the field of a kind's settings wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from parties.jobs.settings import private_parameters
from parties.settings import required
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.kind import Kind


def typed_value(kind: type[Kind], typed: Mapping[str, Any], key: str) -> Any:
    """What was typed under this name, as its field wants it. `InputError` says how to give it; it never quotes it."""
    value = required(typed.get(key), f"{kind.name}.{key}")
    try:
        kind.Settings.model_validate({key: value})
    except ValidationError:
        one = next(one for one in private_parameters(kind.Settings) if one.key == key)
        wanted = "a whole number from 0 up" if one.type is int else "text"
        raise InputError(f"{one.flag}: must be {wanted}") from None
    return value
