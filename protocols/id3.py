"""Two-party ID3-delta over horizontally partitioned rows, level by level.

Ideal functionality. Inputs: each party's own rows (category indices), public `Problem`. Output to both: the decision
tree of the union of the rows. At every inner node stands an attribute whose conditional entropy H(class | attribute)
is within delta of the least; ties and near-ties go to some such attribute. A node is a leaf when all its rows have
one class, when it has at most `min_rows` rows, at `max_depth`, or with no attribute left; its class is the
majority's (the first class among equals), or the majority class of its parent when it has no row at all.

Leakage: the tree, and nothing else. What each step opens - leaf or not, the class of a leaf, the attribute of an inner
node - is the tree itself. Why a node is a leaf stays hidden, as do all counts. Number and shape of messages follow
from the problem and the tree.

Paper: Lindell, Pinkas, "Privacy Preserving Data Mining" (CRYPTO 2000; J. Cryptology 15, 2002). Theirs asks "one class
left?" by comparing class symbols; here one circuit on the class counts answers that, the minimum-rows rule, the
emptiness and the majority together. All nodes of a level are one batch: rounds grow with depth, not with nodes.

Cost of a level with n nodes, s of them split, by one of a attributes left, c classes: n leaf circuits, of about 4 c N
ANDs for counts of N bits, and n (1 + ceil(log2 c)) bits opened; if a > 1, s (c + 1) times the sum of the numbers of
values of the a attributes x ln x, s argmin circuits of about 2 (a - 1) ANDs a bit of a score, and s ceil(log2 a) bits
opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs
from protocols.logarithm import x_log_x
from protocols.majority import count_inputs, greatest_sum
from protocols.precision import Precision, count_width, derive
from smc.circuit import Builder, Form, Integer, Netlist, Wire, any_of, argmin, maximum, select, total
from smc.engines import GARBLED, Bits, Engine, Prices, Word
from smc.errors import InputError
from smc.primitives import bits as bitpack

Indices = NDArray[np.int64]

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
class Leaf:
    """A leaf: the index of its class."""

    label: int


@dataclass(frozen=True)
class Split:
    """An inner node: the index of its attribute and one child per value."""

    attribute: int
    children: tuple[Tree, ...]


Tree = Leaf | Split
Progress = Callable[[int, int], None]  # depth, number of nodes at that depth


@dataclass
class _Node:
    """A node while the tree grows; `attribute` or `label` is set once it is decided."""

    attributes: tuple[int, ...]
    label: int | None = None
    attribute: int | None = None
    children: list[_Node] = field(default_factory=list)


def id3(
    engine: Engine,
    problem: Problem,
    rows: NDArray[np.integer],
    classes: NDArray[np.integer],
    progress: Progress | None = None,
) -> Tree:
    """The joint tree. Each party passes its own rows, int[rows, attributes], and their classes, int[rows]."""
    _check(problem, rows, classes)
    rows, classes = rows.astype(np.int64), classes.astype(np.int64)
    root = _Node(tuple(range(len(problem.domains))))
    if problem.classes == 1:
        return Leaf(0)
    level = [root]
    node_of_row: Indices = np.zeros(len(rows), dtype=np.int64)  # -1: the row has reached a leaf
    majorities = engine.constant(np.zeros((index_width(problem.classes), 1), dtype=np.uint8))
    depth = 0
    while level:
        if progress is not None:
            progress(depth, len(level))
        with engine.session.phase(f"level {depth}"):
            last = depth == problem.max_depth or not level[0].attributes
            open_nodes, majorities = _leaves(engine, problem, level, node_of_row, classes, majorities, last)
            if len(open_nodes):
                _splits(engine, problem, level, open_nodes, node_of_row, rows, classes)
        level, parents, node_of_row = _children(problem, level, node_of_row, rows)
        majorities = majorities.take(parents)
        depth += 1
    return _frozen(root)


def _check(problem: Problem, rows: NDArray[np.integer], classes: NDArray[np.integer]) -> None:
    if rows.shape != (len(classes), len(problem.domains)):
        raise InputError(f"rows have shape {rows.shape}, expected ({len(classes)}, {len(problem.domains)})")
    if len(rows) > problem.max_rows:
        raise InputError(f"{len(rows)} rows are more than the agreed maximum of {problem.max_rows}")
    for column, size in zip([*rows.T, classes], [*problem.domains, problem.classes], strict=True):
        if len(column) and not (column.min() >= 0 and column.max() < size):
            raise InputError(f"a category index is outside 0..{size - 1}")


def index_width(count: int) -> int:
    """Bits of an index below `count`."""
    return (count - 1).bit_length()


def _counts(nodes: Indices, count: int, *columns: tuple[NDArray[np.integer], int]) -> Indices:
    """Own counts int64[count, size of column 1, ...] of the rows of each node; rows with node -1 are left out."""
    inside = nodes >= 0
    shape = (count, *(size for _, size in columns))
    cell = nodes[inside]
    for values, size in columns:
        cell = cell * size + values[inside]
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


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
    node_of_row: Indices,
    classes: NDArray[np.integer],
    inherited: Bits,
    last: bool,
) -> tuple[Indices, Bits]:
    """Decide which nodes are leaves; return the positions of the others and every node's (secret) majority."""
    own = _counts(node_of_row, len(level), (classes, problem.classes)).T
    width = problem.count_width
    # At the last level every node is a leaf: the same circuit with a limit that no node exceeds.
    min_rows = (1 << width) - 1 if last else min(problem.min_rows, (1 << width) - 1)
    netlist = leaf_netlist(problem.classes, width, min_rows, engine.form)
    with engine.session.phase("leaves"):
        winner, decided = engine.run(netlist, *count_inputs(engine, own, width), inherited)
        (opened,) = engine.reveal(decided)
    labels = bitpack.to_words(opened[1:])
    for node, leaf, label in zip(level, opened[0], labels, strict=True):
        if leaf:
            node.label = int(label)
    return np.flatnonzero(opened[0] == 0), winner


# Splits: the attribute of least conditional entropy.


@lru_cache(maxsize=32)
def argmin_netlist(candidates: int, width: int, form: Form = "size") -> Netlist:
    """The index of the least of some signed integers, the first among equals."""
    builder = Builder(form)
    values: list[Integer] = [builder.input(width, signed=True) for _ in range(candidates)]
    builder.output(argmin(values))
    return builder.build()


def _splits(
    engine: Engine,
    problem: Problem,
    level: list[_Node],
    open_nodes: Indices,
    node_of_row: Indices,
    rows: NDArray[np.integer],
    classes: NDArray[np.integer],
) -> None:
    """Choose the attribute of every open node."""
    candidates = np.array([level[i].attributes for i in open_nodes])  # [nodes, attributes left]
    if candidates.shape[1] == 1:
        chosen = np.zeros(len(open_nodes), dtype=np.int64)  # nothing to compare
    else:
        position = np.full(len(level), -1, dtype=np.int64)
        position[open_nodes] = np.arange(len(open_nodes))
        nodes = np.where(node_of_row >= 0, position[node_of_row], -1)
        with engine.session.phase("entropy"):
            scores = _entropies(engine, problem, candidates, nodes, rows, classes)
        with engine.session.phase("argmin"):
            bits = engine.words.bits(scores)
            count, left = candidates.shape
            inputs = [bits.take(slice(j, count * left, left)) for j in range(left)]
            netlist = argmin_netlist(left, scores.width, engine.form)
            (index,) = engine.reveal(*engine.run(netlist, *inputs))
        chosen = bitpack.to_words(index).astype(np.int64)
    for i, node in enumerate(open_nodes):
        level[node].attribute = int(candidates[i, chosen[i]])


def _entropies(
    engine: Engine,
    problem: Problem,
    candidates: Indices,
    nodes: Indices,
    rows: NDArray[np.integer],
    classes: NDArray[np.integer],
) -> Word:
    """|T| H(class | attribute) of each candidate, secret, in the order node by node, attribute by attribute.

    = sum_v n(v) ln n(v) - sum_v sum_c n(v, c) ln n(v, c)
    """
    own: list[Indices] = []  # for each attribute, by node: n(v), then n(v, c)
    for attribute, size in enumerate(problem.domains):
        table = _counts(nodes, len(candidates), (rows[:, attribute], size), (classes, problem.classes))
        own.append(np.concatenate([table.sum(axis=2), table.reshape(len(candidates), -1)], axis=1))
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


def _children(
    problem: Problem, level: list[_Node], node_of_row: Indices, rows: NDArray[np.integer]
) -> tuple[list[_Node], Indices, Indices]:
    """The children of this level's splits, the position of each one's parent, and where each own row goes."""
    children: list[_Node] = []
    parents: list[int] = []
    first_child = np.full(len(level) + 1, -1, dtype=np.int64)  # one more: rows at -1 stay there
    attribute = np.zeros(len(level) + 1, dtype=np.int64)
    for i, node in enumerate(level):
        if node.attribute is None:
            continue
        first_child[i] = len(children)
        attribute[i] = node.attribute
        left = tuple(a for a in node.attributes if a != node.attribute)
        node.children = [_Node(left) for _ in range(problem.domains[node.attribute])]
        children += node.children
        parents += [i] * len(node.children)
    moved = first_child[node_of_row]
    value = np.take_along_axis(rows, attribute[node_of_row][:, None], axis=1)[:, 0] if rows.size else 0
    node_of_row = np.where(moved >= 0, moved + value, -1)
    return children, np.array(parents, dtype=np.int64), node_of_row


def _frozen(node: _Node) -> Tree:
    if node.attribute is None:
        assert node.label is not None
        return Leaf(node.label)
    return Split(node.attribute, tuple(_frozen(child) for child in node.children))
