"""The result of a finished job on the page: as its kind shows it, files, cost, opened values."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from parties.base.console import cost_lines
from parties.jobs import kinds, result_files
from parties.jobs.result_files import SVG, File
from parties.operator.interface import JobResult
from parties.web import figures, tree_view
from parties.web.words import lines

VIEWERS = {"tree": "result_tree.html", "plain": "result_plain.html"}  # by `Description.page`
WHOLE = "result.json"  # the file with all of a result
_drawing = threading.Lock()  # matplotlib is not thread-safe


@dataclass(frozen=True)
class ResultView:
    """A result in the parts that the page shows: of a tree `shown`, of others lines of `text`, maybe a `picture`."""

    id: str
    template: str
    shown: Any
    text: list[str]
    picture: bool
    bars: list[figures.Bar]
    files: list[str]
    afterwards: str
    profile: str
    costs: list[tuple[int, str, Mapping[str, float]]]  # level, name, cost
    total: Mapping[str, float]
    opened: dict[str, int]
    summary: str
    our_signature: str
    their_signature: str


def brought(result: JobResult) -> ResultView:
    """Return the parts of a result for the job's page. Raise InputError if it cannot be read."""
    kind = kinds.find(result.protocol)
    viewer = kind.about.page if kind.about.page in VIEWERS else "plain"
    plain = viewer == "plain"
    return ResultView(
        id=result.id,
        template=VIEWERS[viewer],
        shown=None if plain else tree_view.view(result.document),
        text=lines(kind.text(result.document, 0)) if plain else [],
        picture=plain and any(file.media_type == SVG for file in kind.files()),
        files=list(dict.fromkeys([*(file.name for file in kind.files()), WHOLE])),
        afterwards=kind.about.afterwards,
        profile=str(result.cost.get("profile", "")),
        bars=figures.costs(result.cost),
        costs=cost_lines(result.cost),
        total=result.cost["total"],
        opened=result.opened,
        summary=json.dumps(result.summary, ensure_ascii=False, indent=2),
        our_signature=result.our_signature,
        their_signature=result.their_signature,
    )


def picture(result: JobResult) -> Response:
    """Draw the result as an SVG; not found if its kind has no picture."""
    with _drawing:
        svg = result_files.picture(kinds.find(result.protocol).files(), result.document)
    if svg is None:
        raise HTTPException(404, "There is no such picture.")
    return Response(svg, media_type=SVG)


def download(result: JobResult, name: str) -> Response:
    """Return a response with a file of a result, for the browser to keep; "not found" if the kind has no such file.

    Args:
        result: The result.
        name: Name of the file.
    """
    files = {file.name: file for file in kinds.find(result.protocol).files()}
    whole = File(WHOLE, "application/json", lambda _: json.dumps(result.fields(), ensure_ascii=False, indent=2) + "\n")
    file = {**files, WHOLE: whole}.get(name)
    if file is None:
        raise HTTPException(404, "There is no such file.")
    stem, ending = name.rsplit(".", 1)
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{result.id[:8]}.{ending}"'}
    with _drawing:
        content = file.content(result.document)
    return Response(content, headers=headers, media_type=file.media_type)
