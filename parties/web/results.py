"""What a finished job has brought, for the page: the tree as picture, outline and files, its cost, what was opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from parties.operator.interface import JobResult
from parties.trees import tree
from parties.trees.drawing import draw_svg
from parties.trees.text import to_dot, to_text
from parties.trees.tree import Leaf, Node, Size, TreeFile, places
from parties.web import figures
from parties.web.words import shown
from smc.errors import InputError

OUTLINED = 3000  # nodes that the page lists; the files have all
PHASE_LEVELS = 2  # of the cost table
COLUMNS = ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "seconds")


@dataclass(frozen=True)
class Line:
    """A node in the outline: the value that leads to it, what it says, and how many lists end after it."""

    value: str | None
    text: str
    leaf: bool
    ends: int


@dataclass(frozen=True)
class Brought:
    """A result in the pieces that the page shows. `outline` is None if the tree is too large to list."""

    id: str
    target: str
    size: Size
    drawable: bool
    legend: list[tuple[str, str, int]]
    outline: list[Line] | None
    profile: str
    phases: list[tuple[int, str, Mapping[str, float]]]  # level, name, cost
    total: Mapping[str, float]
    opened: dict[str, int]
    summary: str
    our_signature: str
    their_signature: str


def brought(result: JobResult) -> Brought:
    """Everything the job's page shows of a result. `InputError` if its tree cannot be read."""
    file = _tree_file(result)
    size = tree.size(file.tree)
    phases = [(path.count("/"), path.rsplit("/", 1)[-1], cost) for path, cost in result.cost["phases"].items()]
    return Brought(
        id=result.id,
        target=file.target,
        size=size,
        drawable=size.nodes <= figures.LARGEST,
        legend=figures.legend(file.tree),
        outline=_outline(file.tree) if size.nodes <= OUTLINED else None,
        profile=str(result.cost.get("profile", "")),
        phases=[phase for phase in phases if phase[0] < PHASE_LEVELS],
        total=result.cost["total"],
        opened=result.opened,
        summary=json.dumps(result.summary, ensure_ascii=False, indent=2),
        our_signature=result.our_signature,
        their_signature=result.their_signature,
    )


def figure(result: JobResult, name: str) -> Response:
    """A chart's data as JSON: `tree`, `bytes` or `seconds`; others are not found."""
    if name == "tree" and tree.size(root := _tree_file(result).tree).nodes <= figures.LARGEST:
        return JSONResponse(figures.tree(root))
    if name in ("bytes", "seconds"):
        return JSONResponse(figures.costs(result.cost, name))
    raise HTTPException(404, "There is no such picture.")


def download(result: JobResult, name: str) -> Response:
    """A result as a file to keep; names that are not in `FILES` are not found."""
    if name not in FILES:
        raise HTTPException(404, "There is no such file.")
    media_type, content = FILES[name]
    stem, ending = name.rsplit(".", 1)
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{result.id[:8]}.{ending}"'}
    return Response(content(result), headers=headers, media_type=media_type)


def _tree_file(result: JobResult) -> TreeFile:
    """The checked tree of a result."""
    try:
        return TreeFile.parse(result.tree)
    except ValueError as error:
        raise InputError(f"the tree of this job cannot be read: {error}") from None


def _outline(tree: Node) -> list[Line]:
    """All nodes in reading order, for nested lists without recursion."""
    found = places(tree)
    lines = []
    for i, place in enumerate(found):
        next_depth = found[i + 1].depth if i + 1 < len(found) else 0
        leaf = isinstance(place.node, Leaf)
        text = place.node.label if isinstance(place.node, Leaf) else place.node.attribute
        lines.append(Line(place.value, text, leaf, max(0, place.depth - next_depth)))
    return lines


def _svg(result: JobResult) -> str:
    file = _tree_file(result)
    with figures.drawing:
        return draw_svg(file.tree, file.target, f"Decision tree for {shown(file.target)}")


def _json(fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False, indent=2) + "\n"


FILES: dict[str, tuple[str, Callable[[JobResult], str]]] = {
    "tree.json": ("application/json", lambda result: _json(result.tree)),
    "tree.txt": ("text/plain", lambda result: to_text(_tree_file(result).tree)),
    "tree.dot": ("text/vnd.graphviz", lambda result: to_dot(_tree_file(result).tree, _tree_file(result).target)),
    "tree.svg": ("image/svg+xml", _svg),
    "result.json": ("application/json", lambda result: _json(dict(result))),
}
