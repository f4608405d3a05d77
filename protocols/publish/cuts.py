"""Boxes of a table's public values and their cuts: the openings of joint Mondrian, level by level.

A box is a range of values of every attribute, in the public order. A level lists, for every open box in order, the cut
that divides it into two, or None if the box stays whole. The two parts of each cut box are the open boxes of the next
level.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

Box: TypeAlias = tuple[tuple[int, int], ...]  # for every attribute: the first value, and the value after the last


class Cut(NamedTuple):
    """Cut of a box into two: rows whose value of an attribute is `value` or later belong to the second box."""

    attribute: int
    value: int


Level: TypeAlias = tuple[Cut | None, ...]
Cuts: TypeAlias = tuple[Level, ...]


def halves(box: Box, cut: Cut) -> tuple[Box, Box]:
    """Return the two parts of a cut box, the lower first.

    Args:
        box: The box.
        cut: The cut; its value is the first of the second part.

    Raises:
        ValueError: One part would be empty.
    """
    low, high = box[cut.attribute]
    if not low < cut.value < high:
        raise ValueError(f"a cut at {cut.value} is not inside {low}..{high - 1}")
    before, after = box[: cut.attribute], box[cut.attribute + 1 :]
    return (*before, (low, cut.value), *after), (*before, (cut.value, high), *after)


def next_boxes(boxes: Sequence[Box], level: Level) -> list[Box]:
    """Return the open boxes after a level.

    Args:
        boxes: Open boxes before the level.
        level: Cut of each of these boxes; None for a box that stays whole, and is not open any more.

    Raises:
        ValueError: The level has another number of boxes, or a cut is not inside its box.
    """
    if len(boxes) != len(level):
        raise ValueError(f"{len(level)} decisions for {len(boxes)} boxes")
    return [part for box, cut in zip(boxes, level, strict=True) if cut is not None for part in halves(box, cut)]


def whole(domains: Sequence[int]) -> Box:
    """Return the box that holds all value combinations."""
    return tuple((0, size) for size in domains)


def open_boxes(domains: Sequence[int], cuts: Cuts) -> list[Box]:
    """Return the boxes that the next level decides; without cuts, the box of all value combinations.

    Args:
        domains: Number of values of each attribute.
        cuts: Cuts so far, level by level.

    Raises:
        ValueError: The cuts do not fit the boxes.
    """
    boxes = [whole(domains)]
    for level in cuts:
        boxes = next_boxes(boxes, level)
    return boxes


def final_boxes(domains: Sequence[int], cuts: Cuts) -> list[Box]:
    """Return the boxes that no cut divides, level by level. They share no value combination.

    A box is a set of value combinations: a range of values of each attribute. Once the last level cuts nothing, the
    final boxes hold all combinations together.

    Args:
        domains: Number of values of each attribute.
        cuts: All cuts, level by level.

    Raises:
        ValueError: The cuts do not fit the boxes.
    """
    boxes, final = [whole(domains)], []
    for level in cuts:
        final += [box for box, cut in zip(boxes, level, strict=True) if cut is None]
        boxes = next_boxes(boxes, level)
    return final


def widest_first(domains: Sequence[int], box: Box) -> tuple[int, ...]:
    """Return the attributes by which a box can be cut, sorted by the share of their values in the box, largest first.

    n neighbouring values of m are a share of (n - 1) / (m - 1). Among equal shares the first attribute comes first.

    Args:
        domains: Number of values of each attribute.
        box: The box.
    """
    shares = {
        attribute: Fraction(high - low - 1, size - 1)
        for attribute, (size, (low, high)) in enumerate(zip(domains, box, strict=True))
        if high - low > 1
    }
    return tuple(sorted(shares, key=lambda attribute: (-shares[attribute], attribute)))


def encode(cuts: Cuts) -> Any:
    """Return the cuts as JSON: null for a box that stays whole, [attribute, value] for a cut."""
    return [[None if cut is None else list(cut) for cut in level] for level in cuts]


def decode(value: Any) -> Cuts:
    """Return the cuts in a parsed JSON document of `encode`; their values are not checked."""
    return tuple(tuple(None if cut is None else Cut(*cut) for cut in level) for level in value)
