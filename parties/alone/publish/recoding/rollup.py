"""Classes of a lattice's nodes, each counted from the classes of a node below it, without the rows."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np

from parties.alone.publish.cells import Cells, grouped
from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.models.classes import MOST_COUNTS, Classes, Layout, counted, layout_of
from parties.alone.publish.recoding.lattice import Lattice, Node
from protocols.arrays import Counts
from smc.errors import InputError

KEPT_BYTES = 1 << 28


class Rollup:
    """Cache of the classes of nodes; each node is counted from the cached one below it with the fewest classes."""

    def __init__(self, cells: Cells, layout: Layout | None = None) -> None:
        self.lattice = Lattice(tuple(h.height for h in cells.hierarchies))
        self.layout = layout or layout_of(cells)
        self.steps = 0  # nodes that were counted
        self._hierarchies = cells.hierarchies
        self._bottom = self._of_cells(cells)
        self._kept: OrderedDict[Node, tuple[ValueCodes, Counts]] = OrderedDict()
        self._bytes = 0

    def classes(self, node: Node) -> Classes:
        """Return the classes at a node, in the lexical order of their groups."""
        return Classes(self._at(node)[1], self.layout)

    def groups(self, node: Node) -> ValueCodes:
        """Return the values of a node's classes, as codes at the node's levels: int32[quasi-identifiers, classes]."""
        return self._at(node)[0]

    def _of_cells(self, cells: Cells) -> tuple[ValueCodes, Counts]:
        quasi, counts = cells.quasi, cells.counts
        if cells.public is not None:
            quasi = np.concatenate([quasi, cells.public[0]], axis=1)
        sizes = [len(h.values) for h in cells.hierarchies]
        order, starts = grouped(quasi, sizes)
        groups = np.zeros(quasi.shape[1], dtype=np.int64)
        groups[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        if len(starts) * self.layout.width > MOST_COUNTS:
            raise InputError(f"{len(starts)} distinct rows with {self.layout.width} counts each are too many to keep")
        classes = counted(cells, self.layout, groups[: len(counts)], len(starts)).counts
        if cells.public is not None:
            np.add.at(classes[:, -1], groups[len(counts) :], cells.public[1])
        return quasi[:, order[starts]], classes

    def _at(self, node: Node) -> tuple[ValueCodes, Counts]:
        if node in self._kept:
            self._kept.move_to_end(node)
            return self._kept[node]
        start, (codes, counts) = self._start(node)
        if start == node:
            return codes, counts
        self.steps += 1
        codes = np.stack(
            [
                column if low == high else hierarchy.parents(low, high)[column]
                for column, hierarchy, low, high in zip(codes, self._hierarchies, start, node, strict=True)
            ]
        )
        sizes = [len(h.labels[level]) for h, level in zip(self._hierarchies, node, strict=True)]
        if math.prod(sizes) <= len(counts):  # sums by position are several times faster than sorting
            places = np.ravel_multi_index(tuple(codes), tuple(sizes))
            table = np.stack([np.bincount(places, column, math.prod(sizes)).astype(np.int64) for column in counts.T], 1)
            present = np.flatnonzero(np.bincount(places, minlength=len(table)))
            merged = np.stack(np.unravel_index(present, tuple(sizes))).astype(codes.dtype), table[present]
        else:
            order, starts = grouped(codes, sizes)
            merged = codes[:, order[starts]], np.add.reduceat(counts[order], starts, axis=0)
        self._keep(node, merged)
        return merged

    def _start(self, node: Node) -> tuple[Node, tuple[ValueCodes, Counts]]:
        """Return the cached node with the fewest classes among those below `node` and itself, and its classes."""
        best, fewest = tuple(0 for _ in node), self._bottom
        for other, classes in self._kept.items():
            if len(classes[1]) < len(fewest[1]) and all(a <= b for a, b in zip(other, node, strict=True)):
                best, fewest = other, classes
        return best, fewest

    def _keep(self, node: Node, classes: tuple[ValueCodes, Counts]) -> None:
        self._kept[node] = classes
        self._bytes += sum(part.nbytes for part in classes)
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            _, (codes, counts) = self._kept.popitem(last=False)
            self._bytes -= codes.nbytes + counts.nbytes
