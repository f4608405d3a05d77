"""A tree as arrays, so that many rows are led through it at once: a step a level, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.base.text import did_you_mean, listed, quoted
from parties.models.trees.tree import Leaf, NoBranchError, Node, Split, places
from parties.tables.categories import Column, spell

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A tree's nodes in reading order.

    `attribute` is the number of a node's attribute in `domains`, -1 in a leaf; `children[first + i]` is the node for
    the attribute's value i; `label` is the number of a leaf's class in `labels`.
    """

    domains: dict[str, tuple[str, ...]]  # of the attributes that the tree asks for
    labels: tuple[str, ...]  # of the leaves
    attribute: Indices
    first: Indices
    children: Indices
    label: Indices

    def predict(self, columns: Mapping[str, Column], rows: int) -> Indices:
        """Return the class of every row, as its number in `labels`, int64[rows]; `columns` holds the attributes asked
        for.

        Only values on a row's path are looked at. `InputError` names the first row without a branch for its value.
        """
        codes = np.empty((len(self.domains), rows), dtype=np.int32)
        for line, (name, values) in zip(codes, self.domains.items(), strict=True):
            line[:] = columns[name].codes(values)
        place = np.zeros(rows, dtype=np.int64)
        moving = np.arange(rows) if self.attribute[0] >= 0 else np.arange(0)
        lost: list[tuple[int, str]] = []
        while moving.size:
            at = place[moving]
            attributes = self.attribute[at]
            code = codes[attributes, moving]
            known = code >= 0
            if not known.all():
                first = int(np.flatnonzero(~known)[0])
                lost.append((int(moving[first]), list(self.domains)[attributes[first]]))
                moving, at, code = moving[known], at[known], code[known]
            place[moving] = self.children[self.first[at] + code]
            moving = moving[self.attribute[place[moving]] >= 0]
        if lost:
            row, name = min(lost)
            text, known_values = spell(columns[name].cells[row]), self.domains[name]
            problem = f"the tree has no branch for {quoted(text)}{did_you_mean(text, known_values)}"
            raise NoBranchError(f"{columns[name].where(row)}: {problem}; known: {listed(known_values)}")
        return self.label[place]


def compiled(tree: Node) -> Compiled:
    """Return the arrays of a tree."""
    nodes = places(tree)
    domains: dict[str, tuple[str, ...]] = {}
    labels: dict[str, int] = {}
    attribute, label = [], []
    number: dict[str, int] = {}
    below: list[list[int]] = [[] for _ in nodes]
    for i, place in enumerate(nodes):
        if place.parent is not None:
            below[place.parent].append(i)
        if isinstance(place.node, Split):
            domains.setdefault(place.node.attribute, place.node.values)
            attribute.append(number.setdefault(place.node.attribute, len(number)))
        else:
            attribute.append(-1)
        label.append(labels.setdefault(place.node.label, len(labels)) if isinstance(place.node, Leaf) else -1)
    for i, place in enumerate(nodes):
        if isinstance(place.node, Split) and place.node.edge:  # a child for each value here too
            below[i] = [below[i][position in place.node.second] for position in range(len(place.node.order))]
    lengths = np.array([len(line) for line in below])
    return Compiled(
        domains,
        tuple(labels),
        np.array(attribute),
        np.cumsum(lengths) - lengths,
        np.array([child for line in below for child in line], dtype=np.int64),
        np.array(label),
    )
