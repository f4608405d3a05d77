"""The result of a job as it is kept: a JSON object, and the forms in which it can be had as a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class File:
    """A form of the result: a file to download and, with `option`, the setting that says where a command writes it.

    `needs` names packages that the core does not bring, by `parties.base.extras`.
    """

    name: str
    media_type: str
    content: Callable[[Document], str]
    option: str | None = None
    needs: tuple[str, ...] = ()


def json_text(document: Document) -> str:
    """Return the JSON object itself, for people."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
