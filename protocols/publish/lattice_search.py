"""Lattice of public hierarchies, and the binary search on its heights, whose answers are opened.

A node is a level for every attribute; its height is their sum. If some node of a height suffices
(`protocols.publish.lattice`), so does some node of every greater height. Binary search finds the least such height. The
next height, and the order of its nodes, follow from public facts and the answers so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from protocols.counts import Indices
from protocols.publish.precheck import passed
from smc.errors import InputError, ProtocolError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

Node: TypeAlias = tuple[int, ...]
Groups: TypeAlias = tuple[tuple[int, ...], ...]  # for each level the number of the group of each value

MOST_NODES = 1 << 16  # largest lattice whose nodes are listed
KINDS = ("whether the rows may be published", "whether a height will do", "levels", "whether a class is published")


@dataclass(frozen=True)
class Lattice:
    """All nodes of the generalisation lattice: each node chooses a level of every attribute's public hierarchy.

    The search leaves out nodes with more than `most` possible classes. Raise InputError if a hierarchy is not a tree
    with one top, or if there are too many nodes to list.
    """

    hierarchies: tuple[Groups, ...]
    most: int | None = None

    def __post_init__(self) -> None:
        for levels in self.hierarchies:
            for lower, upper in pairwise(levels):
                if len(set(zip(lower, upper, strict=True))) > len(set(lower)):
                    raise InputError("a hierarchy's group has two parents")
            if not levels or len(set(levels[-1])) != 1:
                raise InputError("a hierarchy needs a top with one group")
        number = prod(len(levels) for levels in self.hierarchies)
        if number > MOST_NODES:
            raise InputError(
                f"the hierarchies have {number:,} combinations of levels, more than {MOST_NODES:,}; give fewer "
                f"levels or fewer columns"
            )

    @cached_property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """Number of groups of each attribute, level by level."""
        return tuple(tuple(1 + max(groups) for groups in levels) for levels in self.hierarchies)

    @cached_property
    def _losses(self) -> tuple[tuple[Fraction, ...], ...]:
        """Loss of each attribute's levels: mean over values of the share of values in the value's group, 0 if alone."""
        losses = []
        for levels in self.hierarchies:
            alike = [np.bincount(groups) for groups in levels]
            number = len(levels[0])
            losses.append(tuple(Fraction(int((n[n > 1] ** 2).sum()), number**2) for n in alike))
        return tuple(losses)

    def possible(self, node: Node) -> int:
        """Return the number of classes (combinations of groups) that a table recoded to a node can have."""
        return prod(sizes[level] for sizes, level in zip(self.sizes, node, strict=True))

    def loss(self, node: Node) -> Fraction:
        """Return the loss of a node: the sum of its levels' losses, computed from the hierarchies without rows."""
        return sum((losses[level] for losses, level in zip(self._losses, node, strict=True)), Fraction(0))

    @cached_property
    def heights(self) -> tuple[tuple[Node, ...], ...]:
        """Nodes of each height in the order of the search: by rising loss, then in lexical order."""
        by_height: list[list[Node]] = [[] for _ in range(sum(len(levels) - 1 for levels in self.hierarchies) + 1)]
        for node in product(*(range(len(levels)) for levels in self.hierarchies)):
            if self.most is None or self.possible(node) <= self.most:
                by_height[sum(node)].append(node)
        return tuple(tuple(sorted(nodes, key=lambda node: (self.loss(node), node))) for nodes in by_height)

    def codes(self, node: Node, values: Indices) -> list[Indices]:
        """Return the group number of each value at the node's levels, int64[lines] for each attribute.

        Args:
            node: Level of each attribute.
            values: Values by attribute, int64[lines, attributes]. Further columns are ignored.
        """
        return [
            np.array(levels[level], dtype=np.int64)[column]
            for levels, level, column in zip(self.hierarchies, node, values.T, strict=False)
        ]


@dataclass(frozen=True)
class Found:
    """State of a search: the answers for the heights so far, the node, and which of its possible classes are published.

    `node` and `published` are None until they are opened. Against the peer `published` stays None.
    """

    answers: tuple[bool, ...] = ()
    node: Node | None = None
    published: tuple[bool, ...] | None = None

    @property
    def steps(self) -> int:
        """Number of decisions that have been opened."""
        return len(self.answers) + (self.node is not None) + (self.published is not None)

    def first(self, steps: int) -> Found:
        """Return the state of the search after its first `steps` decisions."""
        if steps >= self.steps:
            return self
        if steps > len(self.answers):
            return replace(self, published=None)
        return Found(self.answers[:steps])


NOTHING = Found()


def bounds(lattice: Lattice, search: Found) -> tuple[int, int]:
    """Return the lowest and the highest possible value of the least height, by the answers so far; the top suffices.

    Args:
        lattice: The public lattice.
        search: Answers so far.

    Raises:
        ValueError: The search has more answers than questions.
    """
    low = next(height for height, nodes in enumerate(lattice.heights) if nodes)
    high = len(lattice.heights) - 1
    for answer in search.answers:
        if low >= high:
            raise ValueError("more answers than there are questions")
        low, high = (low, (low + high) // 2) if answer else ((low + high) // 2 + 1, high)
    return low, high


def asked(lattice: Lattice, search: Found) -> int | None:
    """Return the height to compare next; None if the least height is known.

    Args:
        lattice: The public lattice.
        search: Answers so far.

    Raises:
        ValueError: The search has more answers than questions.
    """
    low, high = bounds(lattice, search)
    return (low + high) // 2 if low < high else None


def towards(lattice: Lattice, height: int) -> Found:
    """Return the answers of a search whose least height is given.

    Args:
        lattice: The public lattice.
        height: Least height at which some node suffices.
    """
    search = NOTHING
    while (next_height := asked(lattice, search)) is not None:
        search = Found((*search.answers, height <= next_height))
    return search


def read(lattice: Lattice, height: int, place: BitMatrix) -> Node:
    """Return the node of a height at an opened position.

    Args:
        lattice: The public lattice.
        height: Height of the node.
        place: Opened bits of the position, uint8[digits, 1].

    Raises:
        ProtocolError: No node of this height has that position.
    """
    nodes = lattice.heights[height]
    index = int(bitpack.to_integers(place)[0]) if len(place) else 0
    if index >= len(nodes):
        raise ProtocolError(
            "the opened position of a node is beyond the nodes of its height: the peer's messages are wrong"
        )
    return nodes[index]


def digits(lattice: Lattice, height: int) -> int:
    """Return the bits of a position among the nodes of a height.

    Args:
        lattice: The public lattice.
        height: Height of the nodes.
    """
    return (len(lattice.heights[height]) - 1).bit_length()


def answers(lattice: Lattice, columns: int, search: Found) -> Iterator[list[BitMatrix]]:
    """Yield the opened bits of a run that ends with this search, in order.

    Args:
        lattice: The public lattice.
        columns: Number of published columns.
        search: Final state of the run.
    """
    yield passed(columns)
    for answer in search.answers:
        yield [np.array([[answer]], dtype=np.uint8)]
    height, _ = bounds(lattice, search)
    if digits(lattice, height):
        place = 0 if search.node is None else lattice.heights[height].index(search.node)
        yield [bitpack.from_integers([place], digits(lattice, height))]
    if search.published is not None:
        yield [np.array([search.published], dtype=np.uint8)]


def opened(columns: int, search: Found, step: int | None = None) -> dict[str, int]:
    """Return the number of opened values of each kind, for a search or one of its steps.

    Args:
        columns: Number of published columns.
        search: Answers so far.
        step: Number of the step, from 0. Default: all steps.
    """
    numbers = [(1 + columns) * (search.steps > 0), len(search.answers), int(search.node is not None)]
    numbers.append(len(search.published or ()))
    if step is not None:
        begun, rest = step == 0, step - len(search.answers)
        numbers = [numbers[0] * begun, int(rest < 0), int(rest == 0), numbers[3] * (rest == 1)]
    return dict(zip(KINDS, numbers, strict=True))


def encode(search: Found) -> Any:
    """Return the state of a search as a JSON object of its fields; `published` only if it is opened."""
    published = None if search.published is None else [int(bit) for bit in search.published]
    return {"answers": list(search.answers), "node": None if search.node is None else list(search.node)} | (
        {} if published is None else {"published": published}
    )


def decode(value: Any) -> Found:
    """Return the state of a search from a JSON document of `encode`."""
    node, published = value["node"], value.get("published")
    return Found(
        tuple(map(bool, value["answers"])),
        None if node is None else tuple(map(int, node)),
        None if published is None else tuple(map(bool, published)),
    )
