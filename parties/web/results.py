"""What a finished job has brought, for the page: the result as its kind shows it, files, cost, what was opened."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from parties.base.console import cost_lines
from parties.jobs import kinds
from parties.jobs.kind import File
from parties.operator.interface import JobResult
from parties.web import figures, tree_view
from parties.web.words import lines

VIEWERS = {"tree": "result_tree.html", "plain": "result_plain.html"}  # by `Description.page`
WHOLE = "result.json"  # the file that has all of a result
_drawing = threading.Lock()  # matplotlib is for one thread at a time


@dataclass(frozen=True)
class Brought:
    """A result in the pieces that the page shows; `shown` belongs to the template, `text` and `picture` to any."""

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


def brought(result: JobResult) -> Brought:
    """Return everything the job's page shows of a result. `InputError` if it cannot be read."""
    kind = kinds.find(result.protocol)
    viewer = kind.about.page if kind.about.page in VIEWERS else "plain"
    plain = viewer == "plain"
    return Brought(
        id=result.id,
        template=VIEWERS[viewer],
        shown=None if plain else tree_view.view(result.document),
        text=lines(kind.text(result.document, 0)) if plain else [],
        picture=plain and kind.picture(result.document) is not None,
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
    """Draw the result as an SVG; not found if its kind draws none."""
    with _drawing:
        svg = kinds.find(result.protocol).picture(result.document)
    if svg is None:
        raise HTTPException(404, "There is no such picture.")
    return Response(svg, media_type="image/svg+xml")


def download(result: JobResult, name: str) -> Response:
    """Send a result as a file to keep; names that its kind does not have are not found."""
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
