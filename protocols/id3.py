"""Two-party ID3-delta over horizontally partitioned rows, level by level.

Ideal functionality. Inputs: each party's own rows (category indices), public `Problem`. Output to both: the decision
tree of the union of the rows. At every inner node stands an attribute whose conditional entropy H(class | attribute)
is within delta of the least; ties and near-ties go to some such attribute. A node is a leaf when all its rows have
one class, when it has at most `min_rows` rows, at `max_depth`, or with no attribute left; its class is the
majority's (the first class among equals), or the majority class of its parent when it has no row at all. A run can
also start from a tree that is decided down to some depth, which a run that was cut short has left: it ends with the
tree that the whole run would have found, and opens nothing of the levels above.

Leakage: the tree, and nothing else. What a level opens (`protocols.openings`) is that level of the tree itself. Why a
node is a leaf stays hidden, as do all counts. Number and shape of messages follow from the problem and the tree.

Paper: Lindell, Pinkas, "Privacy Preserving Data Mining" (CRYPTO 2000; J. Cryptology 15, 2002). Theirs asks "one class
left?" by comparing class symbols; here one circuit on the class counts answers that, the minimum-rows rule, the
emptiness and the majority together. All nodes of a level are one batch: rounds grow with depth, not with nodes.

Cost of a level with n nodes, s of them split, by one of a attributes left, c classes: n leaf circuits, of about 4 c N
ANDs for counts of N bits, and n (1 + ceil(log2 c)) bits opened; if a > 1, s (c + 1) times the sum of the numbers of
values of the a attributes x ln x, s argmin circuits of about 2 (a - 1) ANDs a bit of a score, and s ceil(log2 a) bits
opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np

from protocols.counts import Counts, Indices, LevelCounts
from protocols.inputs import both_inputs
from protocols.logarithm import x_log_x
from protocols.majority import count_inputs, greatest_sum
from protocols.openings import Decisions, index_width, read_choices
from protocols.precision import Precision, count_width, derive
from protocols.tree import Leaf, Open, Split, Tree, open_depth
from smc.circuit import Builder, Form, Integer, Netlist, Wire, any_of, argmin, maximum, select, total
from smc.engines import Bits, Engine, Word
from smc.errors import InputError
from smc.recipes import GARBLED, Prices

__all__ = ["Leaf", "Level", "Open", "Problem", "Split", "Tree", "id3"]

# x ln x evaluated at once (and one candidate's more): bounds the memory of a level with very many nodes.
BATCH = 1 << 14


@dataclass(frozen=True)
class Problem:
    """What both parties know and must agree on."""

    domains: tuple[int, ...]  # number of values of each attribute, in the public order
    classes: int
    max_rows: int  # no party has more rows than this
    delta: float = 0.001
    min_rows: int = 0
    max_depth: int | None = None

    def __post_init__(self) -> None:
        if self.classes < 1 or min(self.domains, default=1) < 1 or self.max_rows < 1:
            raise InputError("ID3 needs at least one class, one value per attribute and room for one row")
        if self.min_rows < 0 or (self.max_depth is not None and self.max_depth < 0):
            raise InputError("the minimum of rows and the maximum depth cannot be negative")

    def precision(self, prices: Prices = GARBLED) -> Precision:
        """Parameters of the logarithm for counts up to the greatest size of the union, cheapest at those prices."""
        return derive(self.delta, 2 * self.max_rows, prices=prices)

    @property
    def count_width(self) -> int:
        """Bits of a count of the union."""
        return count_width(2 * self.max_rows)


@dataclass(frozen=True)
class Level:
    """Where a run is: about to decide the open nodes of `tree`, which lie at `depth`."""

    depth: int
    nodes: int
    tree: Tree


OnLevel = Callable[[Level], None]


@dataclass
class _Node:
    """A node while the tree grows; `attribute` or `label` is set once it is decided."""

    attributes: tuple[int, ...]
    label: int | None = None
    attribute: int | None = None
    children: list[_Node] = field(default_factory=list)

    def frozen(self) -> Tree:
        """The tree below, as it stands."""
        if self.label is not None:
            return Leaf(self.label)
        if self.attribute is not None:
            return Split(self.attribute, tuple(child.frozen() for child in self.children))
        return Open()


def id3(
    engine: Engine,
    problem: Problem,
    counts: Counts,
    progress: OnLevel | None = None,
    start: Tree = Open(),  # noqa: B008 (immutable)
) -> Tree:
    """The joint tree. Each party passes its own source of counts; both pass the same `start`.

    `progress` is told of every level before it begins. `InputError` if this party has more rows than agreed.
    """
    root, level, parents = _thawed(problem, start)
    if problem.classes == 1:
        return Leaf(0)
    depth = open_depth(start) or 0
    majorities: Bits | None = None  # of the parents of the level's nodes
    while level:
        if progress is not None:
            progress(Level(depth, len(level), root.frozen()))
        last = depth == problem.max_depth or not level[0].attributes
        own = counts.level(root.frozen(), attributes=not last and len(level[0].attributes) > 1)
        _check(problem, own, len(level))
        with engine.session.phase(f"level {depth}"):
            if majorities is None:
                majorities = _parents_majorities(engine, problem, own, parents)
            open_nodes, majorities = _leaves(engine, problem, level, own, majorities.take(parents), last)
            if len(open_nodes):
                _splits(engine, problem, level, open_nodes, own)
        level, parents = _children(problem, level)
        depth += 1
    return root.frozen()


def _thawed(problem: Problem, start: Tree) -> tuple[_Node, list[_Node], Indices]:
    """The root of a tree to grow, its open nodes, and the number of each one's parent among the last splits."""
    open_depth(start)  # refuses a tree whose open nodes are not one level
    level: list[_Node] = []
    parents: list[int] = []

    def thaw(tree: Tree, attributes: tuple[int, ...]) -> _Node:
        node = _Node(attributes)
        if isinstance(tree, Open):
            level.append(node)
        elif isinstance(tree, Leaf):
            node.label = tree.label
        else:
            left = tuple(a for a in attributes if a != tree.attribute)
            node.attribute = tree.attribute
            node.children = [thaw(child, left) for child in tree.children]
            if isinstance(tree.children[0], Open):  # then all are
                parents.extend([parents[-1] + 1 if parents else 0] * len(tree.children))
        return node

    root = thaw(start, tuple(range(len(problem.domains))))
    return root, level, np.array(parents or [0], dtype=np.int64)


def _check(problem: Problem, own: LevelCounts, nodes: int) -> None:
    rows = int(own.classes.sum())
    if rows > problem.max_rows:
        raise InputError(f"{rows} rows are more than the agreed maximum of {problem.max_rows}")
    if own.classes.shape != (nodes, problem.classes):
        raise InputError(f"counts have shape {own.classes.shape}, expected ({nodes}, {problem.classes})")


# Leaves: one class, few rows, none, or no question left.


@lru_cache(maxsize=32)
def leaf_netlist(classes: int, width: int, min_rows: int, form: Form = "size") -> Netlist:
    """Inputs: class counts of party 0, of party 1, parent's majority. Outputs: majority; leaf or not, class if leaf.

    All counts of both parties add up to less than 2^width.
    """
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    inherited = builder.input(index_width(classes))
    winner, leaf, empty = (_small_leaf if form == "size" else _shallow_leaf)(left, right, min_rows)
    label = select(empty, inherited, winner)
    builder.output(winner)
    builder.output([leaf, *(wire & leaf for wire in label)])
    return builder.build()


def _small_leaf(left: list[Integer], right: list[Integer], min_rows: int) -> tuple[Integer, Wire, Wire]:
    """Majority, leaf or not, empty or not, with few gates: one class if the greatest count is all there is."""
    counts = [a + b for a, b in zip(left, right, strict=True)]
    rows = total(counts, len(counts[0]))
    most, winner = maximum(counts)
    return winner, (most == rows) | (rows <= min_rows), rows == 0


def _shallow_leaf(left: list[Integer], right: list[Integer], min_rows: int) -> tuple[Integer, Wire, Wire]:
    """The same in few levels: no sum is carried out before it is compared; one class if no two have a row."""
    limit = Integer.constant(left[0].graph, min_rows + 1)
    few = total([*left, *right], len(left[0]) + 1, minus=[limit])[-1]
    present = [any_of([*a, *b]) for a, b in zip(left, right, strict=True)]
    mixed = any_of([a & b for a, b in combinations(present, 2)])
    return greatest_sum(left, right), ~mixed | few, ~any_of(present)


def _leaves(
    engine: Engine,
    problem: Problem,
    level: list[_Node],
    own: LevelCounts,
    inherited: Bits,
    last: bool,
) -> tuple[Indices, Bits]:
    """Decide which nodes are leaves; return the positions of the others and every split's (secret) majority."""
    width = problem.count_width
    # At the last level every node is a leaf: the same circuit with a limit that no node exceeds.
    min_rows = (1 << width) - 1 if last else min(problem.min_rows, (1 << width) - 1)
    netlist = leaf_netlist(problem.classes, width, min_rows, engine.form)
    with engine.session.phase("leaves"):
        winner, decided = engine.run(netlist, *count_inputs(engine, own.classes.T, width), inherited)
        (opened,) = engine.reveal(decided)
    decisions = Decisions.read(opened, problem.classes, last)
    for node, leaf, label in zip(level, decisions.leaves, decisions.labels, strict=True):
        if leaf:
            node.label = int(label)
    open_nodes = np.flatnonzero(~decisions.leaves)
    return open_nodes, winner.take(open_nodes)


def _parents_majorities(engine: Engine, problem: Problem, own: LevelCounts, parents: Indices) -> Bits:
    """The (secret) majority class of each parent of the first level's nodes, from the sums over its children.

    The root has none above it: if nobody has a row, the tree is the first class. An only child needs none.
    """
    width = index_width(problem.classes)
    first = engine.constant(np.zeros((width, int(parents[-1]) + 1), dtype=np.uint8))
    if len(parents) == 1:
        return first
    above = np.zeros((first.batch, problem.classes), dtype=np.int64)
    np.add.at(above, parents, own.classes)
    netlist = leaf_netlist(problem.classes, problem.count_width, 0, engine.form)
    with engine.session.phase("majorities"):
        winner, _ = engine.run(netlist, *count_inputs(engine, above.T, problem.count_width), first)
    return winner


# Splits: the attribute of least conditional entropy.


@lru_cache(maxsize=32)
def argmin_netlist(candidates: int, width: int, form: Form = "size") -> Netlist:
    """The index of the least of some signed integers, the first among equals."""
    builder = Builder(form)
    values: list[Integer] = [builder.input(width, signed=True) for _ in range(candidates)]
    builder.output(argmin(values))
    return builder.build()


def _splits(engine: Engine, problem: Problem, level: list[_Node], open_nodes: Indices, own: LevelCounts) -> None:
    """Choose the attribute of every open node."""
    candidates = np.array([level[i].attributes for i in open_nodes])  # [nodes, attributes left]
    if candidates.shape[1] == 1:
        chosen = np.zeros(len(open_nodes), dtype=np.int64)  # nothing to compare
    else:
        with engine.session.phase("entropy"):
            scores = _entropies(engine, problem, candidates, [table[open_nodes] for table in own.values])
        with engine.session.phase("argmin"):
            bits = engine.words.bits(scores)
            count, left = candidates.shape
            inputs = [bits.take(slice(j, count * left, left)) for j in range(left)]
            netlist = argmin_netlist(left, scores.width, engine.form)
            (index,) = engine.reveal(*engine.run(netlist, *inputs))
        chosen = read_choices(index, candidates.shape[1])
    for i, node in enumerate(open_nodes):
        level[node].attribute = int(candidates[i, chosen[i]])


def _entropies(engine: Engine, problem: Problem, candidates: Indices, tables: Sequence[Indices]) -> Word:
    """|T| H(class | attribute) of each candidate, secret, in the order node by node, attribute by attribute.

    = sum_v n(v) ln n(v) - sum_v sum_c n(v, c) ln n(v, c), from this party's n(v, c), int64[nodes, values, classes] for
    each attribute.
    """
    own = [  # for each attribute, by node: n(v), then n(v, c)
        np.concatenate([table.sum(axis=2), table.reshape(len(table), -1)], axis=1) for table in tables
    ]
    counts = [own[attribute][node] for node, line in enumerate(candidates) for attribute in line]
    sizes = np.array(problem.domains)[candidates.reshape(-1)]
    ends = np.cumsum([len(part) for part in counts])
    cuts = np.flatnonzero(np.diff((ends - 1) // BATCH)) + 1
    scores = [
        _scores(engine, problem, counts[part[0] : part[-1] + 1], sizes[part])
        for part in np.split(np.arange(len(counts)), cuts)
    ]
    return engine.words.join(scores)


def _scores(engine: Engine, problem: Problem, counts: list[Indices], sizes: Indices) -> Word:
    """The entropies of some candidates, from this party's counts and the number of values of each."""
    words = engine.words
    precision = problem.precision(words.prices)
    own = np.concatenate(counts).astype(np.uint64)
    logs = x_log_x(engine, precision, *both_inputs(engine, own, precision.count_width))
    lengths = np.array([len(part) for part in counts])
    starts = np.cumsum(lengths) - lengths
    plus = words.total(logs, _groups(starts, sizes), precision.sum_width)
    minus = words.total(logs, _groups(starts + sizes, sizes * problem.classes), precision.sum_width)
    return words.subtract(plus, minus, precision.sum_width)


def _groups(starts: Indices, lengths: Indices) -> Indices:
    """Rows start, start + 1, ... of the given lengths, filled up with -1."""
    offsets = np.arange(lengths.max())
    return np.where(offsets < lengths[:, None], starts[:, None] + offsets, -1)


# The next level.


def _children(problem: Problem, level: list[_Node]) -> tuple[list[_Node], Indices]:
    """The children of this level's splits, and the number of each one's parent among them."""
    splits = [node for node in level if node.attribute is not None]
    for node in splits:
        assert node.attribute is not None
        left = tuple(a for a in node.attributes if a != node.attribute)
        node.children = [_Node(left) for _ in range(problem.domains[node.attribute])]
    widths = [len(node.children) for node in splits]
    return [child for node in splits for child in node.children], np.repeat(np.arange(len(splits)), widths)
