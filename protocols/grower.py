"""Trees that grow together, level by level: their open nodes, the nodes' parents, and the trees to resume from.

The open nodes of all trees are at one depth. They are numbered tree by tree and left to right; every count, circuit and
message of a level lists them in this order. The caller decides each level by its own rule:

    grower = Grower(domains, runs, start)
    for level in grower.levels(progress):
        ...                                  # counts in the open nodes of `level.trees`, in the order of `grower.nodes`
        for node in grower.nodes:
            node.label = ...                 # a leaf; or else
            node.attribute = ...             # a split

All of it is public and local: this module sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from protocols.counts import Indices
from protocols.edges import Runs, remaining
from protocols.tree import Forest, Leaf, Open, Split, Tree, open_depth

OPEN = Open()


@dataclass(frozen=True)
class Level:
    """Step of a run: the open nodes of `trees` at `depth`, which are decided next; `nodes` is their number."""

    depth: int
    nodes: int
    trees: Forest

    @property
    def tree(self) -> Tree:
        """The tree, if there is exactly one."""
        (tree,) = self.trees
        return tree


OnLevel = Callable[[Level], None]
# Returns the attributes that a node may choose from, given a tree, a depth, the node's position among the tree's open
# nodes, and its remaining attributes.
Draw = Callable[[int, int, int, tuple[int, ...]], tuple[int, ...]]


@dataclass(slots=True)
class Node:
    """Node while its tree grows.

    Attributes:
        attributes: Remaining attributes.
        tree: Index of its tree.
        candidates: Attributes to choose from: all remaining ones, unless the grower draws.
        label: Class, once the node is decided to be a leaf.
        attribute: Attribute that splits the node, once it is decided to be split.
        children: Nodes below a split, one for each value or answer.
        decided: The tree below, once it has no open node; cached for the next levels.
    """

    attributes: tuple[int, ...]
    tree: int = 0
    candidates: tuple[int, ...] = ()
    label: int | None = None
    attribute: int | None = None
    children: list[Node] = field(default_factory=list)
    decided: Tree | None = None

    def frozen(self) -> Tree:
        """Return the branch below and including this node as an immutable tree; undecided nodes are open."""
        if self.decided is not None:
            return self.decided
        if self.label is not None:
            self.decided = Leaf(self.label)
            return self.decided
        if self.attribute is None:
            return OPEN
        split = Split(self.attribute, tuple([child.decided or child.frozen() for child in self.children]))
        if self.children and all(child.decided for child in self.children):
            self.decided = split
        return split


class Grower:
    """Growing trees: `nodes` are the open nodes, at `depth`; `parents` int64[nodes] is the index of each node's parent.

    The index counts the splits of the level above, in their order; each root is its own parent. Raises ValueError if
    the open nodes of the trees to start from are at different depths.
    """

    def __init__(self, domains: Sequence[int], runs: Runs, start: Forest, draw: Draw | None = None) -> None:
        self._domains = domains
        self._runs = runs
        self._draw = draw
        depths = {depth for tree in start if (depth := open_depth(tree)) is not None}
        if len(depths) > 1:
            raise ValueError(f"all open nodes of the trees must have one depth, not {sorted(depths)}")
        self.depth = depths.pop() if depths else 0
        self.nodes: list[Node] = []
        parents: list[int] = []

        def thaw(tree: Tree, attributes: tuple[int, ...], number: int) -> Node:
            node = Node(attributes, number)
            if isinstance(tree, Open):
                self.nodes.append(node)
                if not self.depth:
                    parents.append(len(parents))
            elif isinstance(tree, Leaf):
                node.label = tree.label
            else:
                node.attribute = tree.attribute
                node.children = [
                    thaw(child, remaining(runs, attributes, tree.attribute, answer), number)
                    for answer, child in enumerate(tree.children)
                ]
                if isinstance(tree.children[0], Open):  # siblings are always all open or all decided
                    parents.extend([parents[-1] + 1 if parents else 0] * len(tree.children))
            return node

        self._roots = [thaw(tree, tuple(range(len(domains))), number) for number, tree in enumerate(start)]
        self.parents: Indices = np.array(parents, dtype=np.int64)

    @property
    def trees(self) -> Forest:
        """Trees so far, with their open nodes."""
        return tuple(root.frozen() for root in self._roots)

    def levels(self, progress: OnLevel | None = None) -> Iterator[Level]:
        """Yield every level to decide while nodes are open. Before each level, call `progress` with it, if given."""
        while self.nodes:
            self._offer()
            level = Level(self.depth, len(self.nodes), self.trees)
            if progress is not None:
                progress(level)
            yield level
            self._descend()

    def _offer(self) -> None:
        """Set the attributes that each node chooses from."""
        tree = place = -1
        for node in self.nodes:
            tree, place = node.tree, place + 1 if node.tree == tree else 0
            draw = self._draw
            node.candidates = node.attributes if draw is None else draw(tree, self.depth, place, node.attributes)

    def _descend(self) -> None:
        """Make the children of this level's splits the open nodes."""
        splits = [node for node in self.nodes if node.attribute is not None]
        for node in splits:
            assert node.attribute is not None
            node.children = [
                Node(remaining(self._runs, node.attributes, node.attribute, answer), node.tree)
                for answer in range(self._domains[node.attribute])
            ]
        self.nodes = [child for node in splits for child in node.children]
        self.parents = np.repeat(np.arange(len(splits)), [len(node.children) for node in splits])
        self.depth += 1
