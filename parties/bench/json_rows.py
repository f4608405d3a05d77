"""JSON for stored results: one measured row a line, so that a new run shows as changed lines."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 120  # characters of a line with a whole object


def json_rows(document: Any, indent: str = "") -> str:
    """Return a document as JSON: each field of an object on lines of its own, each element of a list on one line.

    Objects and lists of plain values that fit in `WIDTH` characters stay on one line.

    Args:
        document: The document.
        indent: Spaces before each line.
    """
    line = json.dumps(document)
    deeper = indent + " "
    if isinstance(document, dict) and (len(indent) + len(line) > WIDTH or any(map(_nested, document.values()))):
        fields = (f"{deeper}{json.dumps(str(key))}: {json_rows(value, deeper)}" for key, value in document.items())
        return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
    if isinstance(document, list | tuple) and any(map(_nested, document)):
        return "[\n" + ",\n".join(deeper + json.dumps(element) for element in document) + f"\n{indent}]"
    return line


def _nested(value: Any) -> bool:
    return isinstance(value, dict | list | tuple) and bool(value)
