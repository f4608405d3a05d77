"""Boxes of cells, many side by side, as arrays: what Mondrian cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parties.alone.publish.hierarchy import ValueCodes
from parties.base.arrays import Counts


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of pieces of cells: of cell `members[i]`, `counts[i]` rows. Box b begins with the piece `starts[b]`.

    `numbers` int[dimensions, pieces] are what `Dimension` calls the cells, side by side where all are looked at often.
    """

    members: ValueCodes
    counts: Counts
    starts: Counts
    numbers: ValueCodes | None = None

    @property
    def sizes(self) -> Counts:
        """The pieces of each box, int64[boxes]."""
        return np.diff(self.starts, append=len(self.members))

    def of(self, those: Counts) -> Boxes:
        """Take some of the boxes, in this order."""
        sizes = self.sizes[those]
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(self.starts[those] - starts, sizes) + np.arange(int(sizes.sum()))
        return self.at(places, starts)

    def at(self, places: Counts, starts: Counts, counts: Counts | None = None) -> Boxes:
        """Take pieces from these places, in boxes that start here."""
        numbers = None if self.numbers is None else self.numbers[:, places]
        return Boxes(self.members[places], self.counts[places] if counts is None else counts, starts, numbers)

    def batches(self, most: int, pieces: int) -> Iterator[Boxes]:
        """Yield the boxes in turn, at most so many and with so many pieces at a time, or one."""
        first, ends = 0, self.starts + self.sizes
        while first < len(self.starts):
            past = int(np.searchsorted(ends, self.starts[first] + pieces, side="right"))
            past = min(max(past, first + 1), first + most)
            yield self.of(np.arange(first, past))
            first = past


def joined(boxes: Sequence[Boxes]) -> Boxes:
    """Return the boxes of all, one after the other."""
    before = np.cumsum([0, *(len(part.members) for part in boxes)])
    return Boxes(
        np.concatenate([part.members for part in boxes]),
        np.concatenate([part.counts for part in boxes]),
        np.concatenate([part.starts + start for part, start in zip(boxes, before, strict=False)]),
        None
        if any(part.numbers is None for part in boxes)
        else np.concatenate([part.numbers for part in boxes], axis=1),
    )
