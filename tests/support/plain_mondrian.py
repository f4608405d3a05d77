"""Mondrian as its authors wrote it down: one part after the other, each cut where it is widest, as long as both fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parties.alone.publish.cells import Cells
from parties.alone.publish.models.model import PrivacyModel, fitting
from parties.alone.publish.recoding.space import Part, Space, halves


def plain_mondrian(cells: Cells, models: Sequence[PrivacyModel], numeric: Sequence[bool], relaxed: bool) -> list[Part]:
    """The parts: cells by number, those of the public table after the others, and how many rows of each."""
    space = Space(cells, models, numeric)
    open_, closed = [space.whole], []
    while open_:
        part = open_.pop()
        for parts in _cuts(space, part, relaxed):
            if fitting(space.of_parts(parts), models).all():
                open_ += parts
                break
        else:
            closed.append(part)
    return closed


def _widths(space: Space, part: Part) -> list[float]:
    found = []
    for hierarchy, codes, values, width in zip(
        space.cells.hierarchies, space.cells.quasi, space.numbers, space.widths, strict=True
    ):
        own = codes[part[0]]
        if values is None or width is None:
            level, group = hierarchy.common(own)
            found.append(float(hierarchy.penalties[level][group]))
        else:
            found.append(float(np.ptp(values[own])) / width)
    return found


def _cuts(space: Space, part: Part, relaxed: bool) -> Iterator[list[Part]]:
    widths = _widths(space, part)
    for dimension in sorted(range(len(widths)), key=lambda i: (-widths[i], i)):
        if widths[dimension] == 0:
            return
        values = space.numbers[dimension]
        codes = space.cells.quasi[dimension][part[0]]
        if values is None:
            hierarchy = space.cells.hierarchies[dimension]
            groups = hierarchy.groups[hierarchy.common(codes)[0] - 1][codes]
            yield [(part[0][groups == group], part[1][groups == group]) for group in np.unique(groups)]
        elif relaxed:
            yield halves(part, np.argsort(values[codes], kind="stable"), (int(part[1].sum()) + 1) // 2)
        else:
            yield from _medians(part, values[codes])


def _medians(part: Part, x: np.ndarray) -> Iterator[list[Part]]:
    values, places = np.unique(x, return_inverse=True)
    before = np.cumsum(np.bincount(places, weights=part[1]))
    median = int(np.searchsorted(before, before[-1] / 2))
    for last in (median, median - 1):
        if 0 <= last < len(values) - 1:
            left = places <= last
            yield [(part[0][left], part[1][left]), (part[0][~left], part[1][~left])]
