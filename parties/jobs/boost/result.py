"""Boosted trees as a result: JSON, text, and a picture of the columns in their splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parties.jobs.boost.columns import Features
from parties.jobs.boost.growing import Node
from parties.jobs.kind import adjacency_of
from parties.jobs.release.presenting import shown

Document = Mapping[str, Any]
SHOWN = 60  # bars
DIGITS = 9  # significant digits of a leaf


def fields(features: Features, rounds: Sequence[Sequence[Node]], middle: float, span: float) -> dict[str, Any]:
    """Return the trees in the form of a model file: a row's number or margin is `base` plus the values of its
    leaves.

    Args:
        features: Columns of the trees.
        rounds: Trees of each round.
        middle: Number that the leaf values are added to, stored as `base`.
        span: Factor of the leaf weights.
    """
    columns = {column.name: column.document for column in features.columns}
    trees = [[_tree(node, features, span) for node in trees] for trees in rounds]
    return {"base": middle, "columns": columns, "trees": trees}


def _tree(node: Node, features: Features, span: float) -> dict[str, Any]:
    if node.candidate is None:
        return {"leaf": float(f"{(node.weight or 0.0) * span:.{DIGITS}g}")}
    column_index, cut = features.candidates[node.candidate]
    column = features.columns[column_index]
    asks: dict[str, Any] = {"column": column.name}
    if not column.ordered:
        asks["is"] = column.values[cut]
    else:
        asks["below"] = column.values[cut] if column.edges is None else column.edges[cut - 1]
    then, otherwise = (_tree(child, features, span) for child in node.children)
    return {**asks, "then": then, "otherwise": otherwise}


def text(document: Document) -> str:
    """Return the result as text: the trees of a single round, else the columns in the splits; and the settings."""
    lines = []
    if len(document["trees"]) == 1:
        for number, tree in enumerate(document["trees"][0]):
            if len(document["trees"][0]) > 1:
                lines.append(f"for {shown(document['classes'][number])}:")
            lines += _lines(tree)
    else:
        times = Counter(_asked(document))
        lines += [f"{shown(name)}: {number:,} splits" for name, number in times.most_common()]
    return "\n".join([*lines, *about(document)]) + "\n"


def about(document: Document) -> list[str]:
    """Return the description of a model's training as lines of text."""
    trees = sum(map(len, document["trees"]))
    tree_count = f"{trees} trees" if trees > 1 else "1 tree"
    lines = [f"{tree_count} of depth {document['depth']} at most, {document['objective']}, rate {document['rate']:g}"]
    lines += map(shown, document.get("rounded", ()))
    if document.get("exact"):
        return [*lines, "leaves exact: each party can compute the other's sums in the leaves"]
    sigma = f"{document['law']} noise of sigma {document['sigma']:.4g} on the sums of each leaf"
    privacy = f"epsilon {document['epsilon']:g}, delta {document['delta']:g} ({adjacency_of(document)}), for the leaves"
    return [*lines, sigma, privacy]


def picture(document: Document) -> str:
    """Return the number of splits by column, as bars."""
    from parties.jobs.release.drawing import bars_svg

    times = Counter(_asked(document)).most_common(SHOWN) or [("no column", 0)]
    bars = [{"value": float(number)} for _, number in times]
    title = f"Splits of the trees for {shown(document['target'], 60)}, by column"
    return bars_svg(title, about(document), [shown(name) for name, _ in times], bars)


def _lines(node: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    if "leaf" in node:
        yield f"{indent}{node['leaf']:+.6g}"
        return
    asks = f"= {shown(str(node['is']))}" if "is" in node else f"< {shown(str(node['below']))}"
    yield f"{indent}{shown(node['column'])} {asks}:"
    yield from _lines(node["then"], indent + "  ")
    yield f"{indent}else:"
    yield from _lines(node["otherwise"], indent + "  ")


def _asked(document: Document) -> Iterator[str]:
    nodes = [tree for trees in document["trees"] for tree in trees]
    for node in nodes:  # the list grows during the loop
        if "leaf" not in node:
            yield node["column"]
            nodes += [node["then"], node["otherwise"]]
