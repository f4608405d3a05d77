"""Many boxes of cells as arrays, which Mondrian cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parties.alone.publish.hierarchy import ValueCodes
from protocols.arrays import Counts


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes as arrays of pieces; a piece is all or some rows of one cell. Box b begins with piece `starts[b]`.

    Attributes:
        members: cell of each piece
        counts: rows of each piece
        starts: first piece of each box
        numbers: `Dimension` numbers of the cells, int[dimensions, pieces], cached for boxes that are used often
    """

    members: ValueCodes
    counts: Counts
    starts: Counts
    numbers: ValueCodes | None = None

    @property
    def sizes(self) -> Counts:
        """Number of pieces of each box, int64[boxes]."""
        return np.diff(self.starts, append=len(self.members))

    def of(self, those: Counts) -> Boxes:
        """Return the selected boxes, in this order."""
        sizes = self.sizes[those]
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(self.starts[those] - starts, sizes) + np.arange(int(sizes.sum()))
        return self.at(places, starts)

    def at(self, places: Counts, starts: Counts, counts: Counts | None = None) -> Boxes:
        """Return new boxes, made of selected pieces of these boxes.

        Args:
            places: indices of the selected pieces, box after box
            starts: position in `places` at which each new box begins
            counts: rows of each selected piece; None: unchanged
        """
        numbers = None if self.numbers is None else self.numbers[:, places]
        return Boxes(self.members[places], self.counts[places] if counts is None else counts, starts, numbers)

    def batches(self, most: int, pieces: int) -> Iterator[Boxes]:
        """Yield the boxes in batches, with limits on the boxes and pieces of a batch; a batch has at least one box.

        Args:
            most: most boxes of a batch
            pieces: most pieces of a batch of several boxes
        """
        first, ends = 0, self.starts + self.sizes
        while first < len(self.starts):
            past = int(np.searchsorted(ends, self.starts[first] + pieces, side="right"))
            past = min(max(past, first + 1), first + most)
            yield self.of(np.arange(first, past))
            first = past


def joined(boxes: Sequence[Boxes]) -> Boxes:
    """Return one set of boxes that holds all given ones in order."""
    before = np.cumsum([0, *(len(part.members) for part in boxes)])
    return Boxes(
        np.concatenate([part.members for part in boxes]),
        np.concatenate([part.counts for part in boxes]),
        np.concatenate([part.starts + start for part, start in zip(boxes, before, strict=False)]),
        None
        if any(part.numbers is None for part in boxes)
        else np.concatenate([part.numbers for part in boxes], axis=1),
    )
