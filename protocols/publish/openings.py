"""Openings of a joint Mondrian, defined once for the run, the cost model and the records.

The first opening is whether the rows may be published (`protocols.publish.precheck`). Each level then opens whether
each open box is cut in its widest attribute, and where. For boxes without such a cut it opens whether they are cut in
another attribute, in which one, and where. All of it follows from the cuts: a box is cut in the widest attribute that
allows a cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from protocols.opened import index_below
from protocols.publish.cuts import Box, Cut, Cuts, next_boxes, whole, widest_first
from protocols.publish.precheck import passed
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

KINDS = ("whether the rows may be published", "whether a class is cut", "attribute and value of a cut")


@dataclass(frozen=True)
class Asked:
    """Question about some boxes: in which attribute of `orders`, the preferred one first, and where each is cut."""

    domains: tuple[int, ...]
    boxes: tuple[Box, ...]
    orders: tuple[tuple[int, ...], ...]

    @property
    def widths(self) -> tuple[int, int]:
        """Bits of an attribute's position in the question, and bits of a position among an attribute's edges."""
        return (len(self.domains) - 1).bit_length(), max(0, max(self.domains) - 2).bit_length()

    @property
    def lengths(self) -> np.ndarray:
        """Number of edges inside each box, for each of its attributes: int64[pairs]."""
        pairs = zip(self.boxes, self.orders, strict=True)
        return np.array([box[a][1] - box[a][0] - 1 for box, order in pairs for a in order], dtype=np.int64)

    def bits(self, level: Sequence[Cut | None]) -> BitMatrix:
        """Return the answers as opened bits: cut or not, positions of attribute and edge; 0 for an uncut box."""
        ranks, edges = self.widths
        rank = [0 if cut is None else order.index(cut.attribute) for cut, order in zip(level, self.orders, strict=True)]
        edge = [
            0 if cut is None else cut.value - 1 - box[cut.attribute][0]
            for cut, box in zip(level, self.boxes, strict=True)
        ]
        is_cut = np.array([[cut is not None for cut in level]], dtype=np.uint8)
        return np.vstack([is_cut, bitpack.from_integers(rank, ranks), bitpack.from_integers(edge, edges)])

    def read(self, bits: BitMatrix) -> list[Cut | None]:
        """Return the answers from opened bits, the inverse of `bits`: the cut of each box, None for an uncut box.

        Raises:
            ProtocolError: No honest run opens these bits.
        """
        is_cut, ranks = bits[0] == 1, self.widths[0]
        most = np.where(is_cut, [len(order) for order in self.orders], 1)
        rank = index_below(bits[1 : 1 + ranks], most, "a cut's attribute")
        chosen = [order[place] for order, place in zip(self.orders, rank, strict=True)]
        inside = [box[a][1] - box[a][0] - 1 for box, a in zip(self.boxes, chosen, strict=True)]
        edge = index_below(bits[1 + ranks :], np.where(is_cut, inside, 1), "a cut's value")
        return [
            Cut(a, box[a][0] + 1 + int(place)) if cut else None
            for cut, a, box, place in zip(is_cut, chosen, self.boxes, edge, strict=True)
        ]


def first_question(
    domains: Sequence[int], boxes: Sequence[Box], cuts: Sequence[Cut | None] = ()
) -> tuple[Asked, list[int]]:
    """Return the question about each box's widest attribute, and the indices of its boxes among the open boxes.

    Boxes that cannot be cut at all are left out.

    Args:
        domains: Number of values of each attribute.
        boxes: Open boxes of the level.
        cuts: Not used; it is here to have the arguments of `second_question`.
    """
    del cuts
    orders = [widest_first(domains, box) for box in boxes]
    uncut = [i for i, order in enumerate(orders) if order]
    return _asked(domains, boxes, {i: orders[i][:1] for i in uncut}), uncut


def second_question(
    domains: Sequence[int], boxes: Sequence[Box], cuts: Sequence[Cut | None]
) -> tuple[Asked, list[int]]:
    """Return the question about all other attributes of each box, and the indices of its boxes among the open boxes.

    The question leaves out boxes that are cut already, or have no other attribute to cut.

    Args:
        domains: Number of values of each attribute.
        boxes: Open boxes of the level.
        cuts: Answers to the first question, one for each open box; None for a box that is not cut.
    """
    orders = [widest_first(domains, box)[1:] for box in boxes]
    uncut = [i for i, (order, cut) in enumerate(zip(orders, cuts, strict=True)) if order and cut is None]
    return _asked(domains, boxes, {i: orders[i] for i in uncut}), uncut


def _asked(domains: Sequence[int], boxes: Sequence[Box], orders: dict[int, tuple[int, ...]]) -> Asked:
    return Asked(tuple(domains), tuple(boxes[i] for i in orders), tuple(orders.values()))


def answers(domains: Sequence[int], columns: int, cuts: Cuts) -> Iterator[list[BitMatrix]]:
    """Yield the opened bits of a run that finds these cuts, in order.

    Args:
        domains: Number of values of each attribute.
        columns: Number of published columns.
        cuts: All cuts of the run, level by level.
    """
    yield passed(columns)
    boxes = [whole(domains)]
    for level in cuts:
        widest = [order[:1] for order in (widest_first(domains, box) for box in boxes)]
        first = tuple(
            cut if cut is not None and cut.attribute in order else None
            for cut, order in zip(level, widest, strict=True)
        )
        for (question, places), answer in (
            (first_question(domains, boxes), first),
            (second_question(domains, boxes, first), level),
        ):
            if places:
                yield [question.bits([answer[i] for i in places])]
        boxes = next_boxes(boxes, level)


def opened(columns: int, cuts: Cuts, step: int | None = None) -> dict[str, int]:
    """Return the number of opened values of each kind, for all levels or one of them.

    Args:
        columns: Number of published columns.
        cuts: Cuts so far, level by level.
        step: Number of the level, from 0. Default: all levels.
    """
    chosen = cuts if step is None else cuts[step : step + 1]
    number = sum(cut is not None for level in chosen for cut in level)
    begun = bool(cuts) and step in (None, 0)
    return dict(zip(KINDS, (begun * (1 + columns), sum(map(len, chosen)), number), strict=True))
