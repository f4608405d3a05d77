"""Two-party ID3 with differential privacy: every decision of the tree is a noisy choice with secret noise.

Ideal functionality. Inputs: each party's own rows (category indices), public `Problem`. Output to both: a tree, or
several over disjoint parts of the rows, grown level by level. At every open node the functionality chooses by report
noisy max (`protocols.release.choice`) among the attributes left and "stop". "Stop" is the question with one answer; its
score has a bonus of 2 D / eps_level. A node that stops is a leaf, and so is every node at `max_depth` or with no
attribute left. The class of a leaf is another noisy choice, among its counts by class. Without `stop` every other node
is split. Ties are decided at random.

Leakage: the tree, and nothing else. A level opens for each node the index of its choice (unless it has one candidate
only), and for each leaf its class. Number and shape of messages follow from the problem and the tree.

Privacy. The tree is epsilon-differentially private for the rows of either party, against the peer and against all
readers of the tree: the output is a function of noisy choices, and shares and garbled circuits reveal nothing else (to
adversaries of polynomial time). Neighbours differ by one row, added or removed:
  - One row is in one node of a level. The other nodes have equal rows in both tables, so a level costs eps_level for
    any number of nodes (parallel composition). The scores are monotone with sensitivity D
    (`protocols.release.quality`), so the noise is geometric of scale D / eps_level; the bonus is public.
  - Levels compose sequentially: they cost `levels` times eps_level. The row is in one leaf in the end; the classes of
    all leaves together cost leaf_epsilon. A row raises one class count by one: monotone, D = 1.
  - A row is in one tree of a forest, chosen by the row alone (`protocols.release.partition_rows`): each tree has the
    whole epsilon.
A replaced row is one removed and one added; so adjacency "replace" halves all these epsilons. For the m rows of a
person, which may be in several nodes or trees, the noise has m times the scale: a row costs epsilon / m, and m rows
together at most epsilon. Samples are not exactly of their ideal law: all samples of a choice add at most 2^-38 to delta
(`choice_law`).

Papers: Friedman, Schuster, "Data mining with differential privacy" (KDD 2010), for the tree with noisy choices of a
curator; Lindell, Pinkas (J. Cryptology 15, 2002) for the tree of two parties. "Stop" as a candidate replaces the noisy
counts by which a curator would decide to stop.

Cost of a level with n nodes, a candidates, c classes, l leaves, counts of w bits: the scores (`quality`); n a samples
of `choice_law` and additions, n argmax circuits; for the leaves l c samples, additions and l argmax. Classes are chosen
after the attributes, in one more round trip, so only the l leaves pay for them and not all n nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from protocols.counts import ForestCounts, Indices, LevelCounts
from protocols.edges import padded
from protocols.grower import Grower, OnLevel
from protocols.majority import count_inputs
from protocols.opened import index_below
from protocols.pieces import in_shards
from protocols.release.choice import TIE_BITS, noisy_argmax, with_ties
from protocols.release.geometric import OneSidedGeometric
from protocols.release.tree_problem import Problem
from protocols.tree import Forest, Leaf
from smc.circuit import Builder, Form, Integer, Netlist, argmax
from smc.circuit.kept import kept
from smc.engines import Bits, Engine


def private_tree(
    engine: Engine,
    problem: Problem,
    counts: ForestCounts,
    progress: OnLevel | None = None,
    start: Forest | None = None,
) -> Forest:
    """Grow the joint trees, and return them; both parties learn them.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the trees; equal at both parties.
        counts: Source of this party's counts for all trees; private.
        progress: Called before each level with its depth and the trees so far. Default: not called.
        start: Trees of an interrupted run, to continue from there; equal at both parties. Default: a new run.

    Raises:
        InputError: This party has more rows than agreed.
        ProtocolError: An opened index is beyond the choices or classes.
    """
    grower = Grower(problem.domains, problem.runs, problem.beginning if start is None else start)
    if problem.classes == 1:
        return (Leaf(0),) * problem.trees
    for level in grower.levels(progress):
        lefts = [node.attributes for node in grower.nodes]
        left = max(map(len, lefts))
        last = level.depth == problem.max_depth or not left
        chooses = problem.counts_attributes(level.depth, left)
        own = counts.level(level.trees, chooses)
        own.check(len(lefts), problem.classes, problem.max_rows)
        with engine.session.phase(f"level {level.depth}"):
            asking = np.array([node for node, questions in enumerate(lefts) if questions and not last], dtype=np.int64)
            choices, stops = np.zeros(len(lefts), dtype=np.int64), np.full(len(lefts), True)
            if chooses:
                tables = LevelCounts(own.classes[asking], tuple(table[asking] for table in own.values))
                choices[asking] = _choices(engine, problem, [lefts[node] for node in asking], tables)
            stops[asking] = choices[asking] == left
            labels = iter(_labels(engine, problem, own.classes[stops]))
        for node, choice, leaf in zip(grower.nodes, choices, stops, strict=True):
            if leaf:
                node.label = int(next(labels))
            else:
                node.attribute = node.attributes[choice]
    return grower.trees


# The attribute of each node, or that it is a leaf.


@kept
def noisy_netlist(width: int, signed: bool, law: OneSidedGeometric, form: Form) -> Netlist:
    """Build the sum of a score and its noise, without overflow. Inputs: the score, the law's uniform bits.

    Args:
        width: Bits of the score.
        signed: True if scores can be negative.
        law: Law of the noise.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    score: Integer = builder.input(width, signed=signed)
    builder.output(score.wide_add(law.draw(builder.input(law.bits))))
    return builder.build()


@kept
def greatest_netlist(width: int, signed: bool, candidates: int, bonus: int, form: Form) -> Netlist:
    """Build the index of the greatest of some numbers, the first among equals.

    Args:
        width: Bits of a number.
        signed: True if numbers can be negative.
        candidates: Number of numbers.
        bonus: Public number that is added to the last one; 0 for none.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    values: list[Integer] = [builder.input(width, signed=signed) for _ in range(candidates)]
    if bonus:
        values[-1] = values[-1].wide_add(bonus)
    builder.output(argmax(values))
    return builder.build()


def chosen_at_once(engine: Engine, problem: Problem, left: int, values: int) -> int:
    """Return the number of nodes whose choices fit in one batch.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the trees.
        left: Greatest number of attributes left at a node.
        values: Greatest number of values of these attributes together.
    """
    bits = problem.candidates(left) * problem.attribute_law(left).bits
    return max(1, _comfortable(engine) // max(2 * (values + 1) * problem.classes * problem.count_width, bits))


def labelled_at_once(engine: Engine, problem: Problem) -> int:
    """Return the number of leaves whose class choices fit in one batch.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the trees.
    """
    return max(1, _comfortable(engine) // (problem.classes * max(problem.class_law().bits, 2 * problem.count_width)))


def _comfortable(engine: Engine) -> int:
    return engine.comfortable * (1 if engine.shards is None else engine.shards.count)


def _choices(engine: Engine, problem: Problem, lefts: Sequence[tuple[int, ...]], own: LevelCounts) -> Indices:
    """Open each node's choice: its position among the node's attributes left, int64[nodes].

    The number for "stop" is the greatest number of attributes left at any node. Each node has at least one left.
    """
    lengths = np.array([len(left) for left in lefts])
    most = int(lengths.max())
    size = chosen_at_once(engine, problem, most, max(sum(problem.domains[a] for a in left) for left in lefts))
    indices = []
    for nodes in np.split(np.arange(len(lefts)), range(size, len(lefts), size)):
        tables = [table for node in nodes for table in _tables(problem, own, lefts[node], node)]
        noisy = _noisy(engine, problem, most, tables)
        with engine.session.phase("choice"):
            indices.append(chosen(engine, problem, most, noisy, lengths[nodes]))
    (opened,) = engine.reveal(Bits.join(indices))
    candidates = problem.candidates(most)
    numbers = index_below(opened, candidates, "a node's choice")
    return index_below(opened, np.where(numbers == most, candidates, lengths), "a node's choice")


def _noisy(engine: Engine, problem: Problem, left: int, tables: Sequence[Indices]) -> Bits:
    """Return each candidate's secret score with noise, from this party's counts int64[values, classes] of each."""
    sizes = np.array([len(table) for table in tables])
    (noisy,) = in_shards(engine, _scored, sizes, lambda part: (problem, left, tables[part]))
    return noisy


def _scored(engine: Engine, problem: Problem, left: int, tables: Sequence[Indices]) -> tuple[Bits]:
    """Return the secret noisy scores of some candidates: the work of a shard."""
    with engine.session.phase("scores"):
        scores = problem.measure.scores(engine, tables)
    with engine.session.phase("choice"):
        return (with_noise(engine, problem, left, scores),)


def with_noise(engine: Engine, problem: Problem, left: int, scores: Bits) -> Bits:
    """Return secret scores with their noise, and random bits below that decide between equals.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the trees.
        left: Greatest number of attributes left at a node; public.
        scores: Secret scores of `Problem.measure`, [width, candidates].
    """
    law = problem.attribute_law(left)
    add = noisy_netlist(scores.width, problem.measure.signed, law, engine.form)
    return with_ties(engine, engine.run(add, scores, engine.random(law.bits, scores.batch))[0])


def chosen(engine: Engine, problem: Problem, left: int, noisy: Bits, lengths: Indices | None = None) -> Bits:
    """Return the secret index of each node's choice among its attributes left and "stop".

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the trees.
        left: Greatest number of attributes left at a node, which is also the index of "stop"; public.
        noisy: Secret scores with noise, from `with_noise`, candidate by candidate and node by node. "Stop" is a node's
            last candidate.
        lengths: Number of attributes left at each node, int64[nodes]; public. Default: `left` at each.
    """
    candidates = problem.candidates(left)
    lengths = np.full(noisy.batch // candidates, left) if lengths is None else lengths
    ends = np.cumsum(lengths + problem.stop)
    places = padded(lengths, ends - lengths - problem.stop, left)
    if problem.stop:
        places = np.column_stack([places, ends - 1])
    bonus = problem.bonus << TIE_BITS if problem.stop else 0
    choose = greatest_netlist(noisy.width, problem.measure.signed, candidates, bonus, engine.form)
    (winners,) = engine.run(choose, *(noisy.take(column) for column in places.T))
    return winners


def _tables(problem: Problem, own: LevelCounts, left: Sequence[int], node: int) -> Iterator[Indices]:
    """Yield this party's counts of a node's candidates, int64[values, classes] each, for the attributes `left`.

    "stop" is the question with one answer.
    """
    for attribute in left:
        yield own.values[attribute][node]
    if problem.stop:
        yield own.classes[node : node + 1]


# The class of each leaf.


@kept
def class_netlist(width: int, classes: int, law: OneSidedGeometric, form: Form) -> Netlist:
    """Build the index of the greatest class count with its noise.

    The inputs are party 0's counts, one a class, then party 1's, then all uniform bits.

    Args:
        width: Bits of a count; the sum of both parties' counts must fit.
        classes: Number of classes.
        law: Law of the noise.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    random = builder.input((law.bits + TIE_BITS) * classes)
    noises = [law.draw(random[i * law.bits : (i + 1) * law.bits]) for i in range(classes)]
    bits = random[law.bits * classes :]
    ties = [bits[i * TIE_BITS : (i + 1) * TIE_BITS] for i in range(classes)]
    builder.output(noisy_argmax([a + b for a, b in zip(left, right, strict=True)], noises, ties))
    return builder.build()


def _labels(engine: Engine, problem: Problem, own: Indices) -> Indices:
    """Open the class of each leaf, int64[leaves], from this party's counts int64[leaves, classes]."""
    if not len(own):
        return np.zeros(0, dtype=np.int64)
    size = labelled_at_once(engine, problem)
    with engine.session.phase("classes"):
        parts = np.split(own, range(size, len(own), size))
        (opened,) = engine.reveal(Bits.join([_classes(engine, problem, part) for part in parts]))
    return index_below(opened, problem.classes, "a leaf's class")


def _classes(engine: Engine, problem: Problem, own: Indices) -> Bits:
    """Return the secret class of each leaf, from this party's int64[leaves, classes]."""
    each = np.ones(len(own), dtype=np.int64)
    (labels,) = in_shards(engine, _labelled, each, lambda part: (problem, own[part]))
    return labels


def _labelled(engine: Engine, problem: Problem, own: Indices) -> tuple[Bits]:
    """Return the secret classes of some leaves: the work of a shard."""
    law, width = problem.class_law(), problem.count_width
    inputs = count_inputs(engine, own.T, width, sums="modular")
    netlist = class_netlist(width, problem.classes, law, engine.form)
    return (engine.run(netlist, *inputs, engine.random((law.bits + TIE_BITS) * problem.classes, len(own)))[0],)
