"""What a finished job has brought, for the page: the result as its kind shows it, files, cost, what was opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from parties.jobs import kinds
from parties.jobs.kind import File, Kind
from parties.operator.interface import JobResult
from parties.web import figures, tree_view
from parties.web.words import lines

PHASE_LEVELS = 2  # of the cost table
VIEWERS = {"tree": "result_tree.html", "plain": "result_plain.html"}  # by `Kind.page`
WHOLE = "result.json"  # the file that has all of a result


@dataclass(frozen=True)
class Brought:
    """A result in the pieces that the page shows; `shown` belongs to the template, `text` and `picture` to any."""

    id: str
    template: str
    shown: Any
    text: list[str]
    picture: bool
    files: list[str]
    afterwards: str
    profile: str
    phases: list[tuple[int, str, Mapping[str, float]]]  # level, name, cost
    total: Mapping[str, float]
    opened: dict[str, int]
    summary: str
    our_signature: str
    their_signature: str


def brought(result: JobResult) -> Brought:
    """Everything the job's page shows of a result. `InputError` if it cannot be read."""
    kind = kinds.find(result.protocol)
    viewer = kind.page if kind.page in VIEWERS else "plain"
    phases = [(path.count("/"), path.rsplit("/", 1)[-1], cost) for path, cost in result.cost["phases"].items()]
    plain = viewer == "plain"
    return Brought(
        id=result.id,
        template=VIEWERS[viewer],
        shown=None if plain else tree_view.view(result.document),
        text=lines(kind.text(result.document, 0)) if plain else [],
        picture=plain and kind.picture(result.document) is not None,
        files=[*(file.name for file in kind.files()), WHOLE],
        afterwards=kind.afterwards,
        profile=str(result.cost.get("profile", "")),
        phases=[phase for phase in phases if phase[0] < PHASE_LEVELS],
        total=result.cost["total"],
        opened=result.opened,
        summary=json.dumps(result.summary, ensure_ascii=False, indent=2),
        our_signature=result.our_signature,
        their_signature=result.their_signature,
    )


def figure(result: JobResult, name: str) -> Response:
    """A picture of the result, or a chart's data as JSON; others are not found."""
    if name in ("bytes", "seconds"):
        return JSONResponse(figures.costs(result.cost, name))
    kind = kinds.find(result.protocol)
    if name == "tree" and kind.page == "tree" and (found := tree_view.figure(result.document)) is not None:
        return JSONResponse(found)
    if name == "picture" and (svg := _picture(kind, result)) is not None:
        return Response(svg, media_type="image/svg+xml")
    raise HTTPException(404, "There is no such picture.")


def download(result: JobResult, name: str) -> Response:
    """A result as a file to keep; names that its kind does not have are not found."""
    found = {file.name: file for file in kinds.find(result.protocol).files()}
    whole = File(WHOLE, "application/json", lambda _: json.dumps(result.fields(), ensure_ascii=False, indent=2) + "\n")
    file = {**found, WHOLE: whole}.get(name)
    if file is None:
        raise HTTPException(404, "There is no such file.")
    stem, ending = name.rsplit(".", 1)
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{result.id[:8]}.{ending}"'}
    with figures.drawing:
        content = file.content(result.document)
    return Response(content, headers=headers, media_type=file.media_type)


def _picture(kind: type[Kind], result: JobResult) -> str | None:
    with figures.drawing:
        return kind.picture(result.document)
