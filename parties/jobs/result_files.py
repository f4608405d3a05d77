"""Stored result of a job: a JSON object, and the file forms in which it can be downloaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

Document = dict[str, Any]
SVG = "image/svg+xml"


@dataclass(frozen=True)
class File:
    """A file format of the result, which a page offers for download.

    `content` makes the file's text from the result. `option` is the setting for the path where a command writes it.

    `needs` names packages outside the core, as in `parties.base.extras`. A `private` file is for its owner only.
    """

    name: str
    media_type: str
    content: Callable[[Document], str]
    option: str | None = None
    needs: tuple[str, ...] = ()
    private: bool = False


class Drawing(Protocol):
    """Function that draws a result document as an SVG."""

    def __call__(self, document: Document, /) -> str:
        """Return the result as an SVG document."""


def svg_file(name: str, draw: Drawing) -> File:
    """Return the form of a picture that matplotlib draws.

    Args:
        name: Name of the file, without its ending.
        draw: Function that draws the result as an SVG document.
    """
    return File(f"{name}.svg", SVG, draw, "svg", ("matplotlib",))


def picture(files: Iterable[File], document: Document) -> str | None:
    """Return a result as an SVG document, if one of its forms is a picture.

    Args:
        files: The forms of the result, see `Kind.files`.
        document: The result.
    """
    return next((file.content(document) for file in files if file.media_type == SVG), None)


def json_text(document: Document) -> str:
    """Return the JSON object itself, indented for people."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
