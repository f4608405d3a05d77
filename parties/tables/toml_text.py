"""Tables as TOML text with one key a line, short enough to read and edit by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any


def toml_key(name: str) -> str:
    """Return a key as TOML, with quotes if necessary."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a value on one line. Texts must not have control characters."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case date():
            return value.isoformat()
        case Mapping():
            return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case _:
            return repr(value)


def toml_lines(fields: Mapping[str, Any]) -> str:
    """Return keys and values, one line each."""
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in fields.items())
