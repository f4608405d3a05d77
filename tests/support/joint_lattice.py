"""Full-domain generalisation of the rows of both parties, by its definition: node by node and row by row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tests.support.joint_mondrian import Model, Row, Rows, any_rows

Node = tuple[int, ...]
Levels = Sequence[Sequence[int]]  # of each value the group, level by level


def recoded(hierarchies: Sequence[Levels], node: Node, row: Row) -> Node:
    """What a row says at a node."""
    return tuple(levels[level][value] for levels, level, value in zip(hierarchies, node, row, strict=False))


def published(
    hierarchies: Sequence[Levels], node: Node, rows: Sequence[Rows], k: int, against: str, model: Model = any_rows
) -> list[list[Row]]:
    """The rows of each party that are not left out at a node."""
    groups = [{} for _ in rows]  # type: list[dict[Node, list[Row]]]
    for found, own in zip(groups, rows, strict=True):
        for row in own:
            found.setdefault(recoded(hierarchies, node, row), []).append(row)
    if against == "public":
        both = {name: sum(len(found.get(name, [])) for found in groups) for found in groups for name in found}
        return [[row for name, own in found.items() for row in own if both[name] >= k] for found in groups]
    return [
        [row for own in found.values() for row in own if len(own) >= k and model(own, whole)]
        for found, whole in zip(groups, rows, strict=True)
    ]


def suppressed(
    hierarchies: Sequence[Levels], node: Node, rows: Sequence[Rows], k: int, against: str, model: Model = any_rows
) -> int:
    """The rows that are left out at a node."""
    return sum(map(len, rows)) - sum(map(len, published(hierarchies, node, rows, k, against, model)))


def lowest(
    hierarchies: Sequence[Levels], rows: Sequence[Rows], k: int, against: str, most: int, model: Model = any_rows
) -> list[Node]:
    """The nodes of the least height that leave out at most so many rows."""
    nodes = list(product(*(range(len(levels)) for levels in hierarchies)))
    good = [node for node in nodes if suppressed(hierarchies, node, rows, k, against, model) <= most]
    return [node for node in good if sum(node) == min(map(sum, good))]
