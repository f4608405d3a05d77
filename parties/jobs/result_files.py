"""Stored result of a job: a JSON object, and the file forms in which it can be downloaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class File:
    """File form of the result: a download, and, with `option`, the setting for the path where a command writes it.

    `needs` names packages outside the core, as in `parties.base.extras`.
    """

    name: str
    media_type: str
    content: Callable[[Document], str]
    option: str | None = None
    needs: tuple[str, ...] = ()


def json_text(document: Document) -> str:
    """Return the JSON object itself, indented for people."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
