"""Two-party ID3-delta over horizontally partitioned rows, level by level.

Ideal functionality. Inputs: each party's own rows (category indices), public `Problem`. Output to both: the decision
tree of the union of the rows. The attribute of every inner node has a conditional entropy H(class | attribute) within
delta of the least. Ties and near-ties are decided by integer approximations of the entropies, a function of the exact
counts and of public parameters that depend on the engine's prices. A node is a leaf if all its rows have one class, if
it has at most `min_rows` rows, at `max_depth`, or without a remaining attribute. Its class is the majority class (the
first among equals), or its parent's majority class if it has no row. A run can resume from a tree that is decided down
to some depth. It ends with the tree of the whole run, and opens nothing of the levels above.

Rules (`protocols.rules`) bar splits. A split is *feasible* if the rows of each of its children, in the union or of
either party, are none or keep the rules. Only feasible attributes are compared; a node without any is a leaf. So every
leaf except the root keeps the rules or is empty; the class of an empty leaf is its parent's majority. The root keeps
them wherever it can be split. Otherwise the tree is a leaf of the first class, whatever the rows. The same tree results
from no rows, or from rows with this majority.

Pruning (`protocols.pruning`) bars splits that are not worth their leaves in the same way: a node without a feasible
split that is worth them is a leaf.

Leakage: the tree, and nothing else. A level opens (`protocols.openings`) that level of the tree itself. The reason why
a node is a leaf, all counts, and the barred attributes stay hidden. Number and shape of messages follow from the
problem and the tree.

Paper: Lindell, Pinkas, "Privacy Preserving Data Mining" (CRYPTO 2000; J. Cryptology 15, 2002). The paper decides "one
class left?" by comparing class symbols. Here one circuit on the class counts decides that, the minimum-rows rule,
emptiness and majority together. All nodes of a level are one batch: rounds grow with depth, not with nodes.

Cost of a level with n nodes and c classes, where s nodes are split by one of a remaining attributes. The level has n
leaf circuits, of about 3 c N ANDs for counts of N bits; in the form of few levels, of 4 c N to 17 c N. It opens n (1 +
ceil(log2 c)) bits. If a > 1, it takes s (c + 1) times x ln x for each value of each of the a attributes. It then also
takes s argmin circuits of about 2 (a - 1) ANDs a bit of a score, and opens s ceil(log2 a) bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protocols.counts import Counts, ForestCounts, Indices, LevelCounts, Unpartitioned
from protocols.edges import padded
from protocols.entropies import argmin, conditional_entropies
from protocols.feasibility import NO_RULING, Ruling, rule
from protocols.gain_ratio import greatest
from protocols.gini import impurities
from protocols.grower import Grower, Level, Node, OnLevel
from protocols.leaves import leaf_netlist, with_rows
from protocols.majority import count_inputs
from protocols.openings import Decisions, index_width, read_choices
from protocols.pieces import in_shards
from protocols.problem import Problem
from protocols.pruning import pruned
from protocols.tree import Forest, Leaf, Open, Split, Tree
from smc.engines import Bits, Engine, Word

__all__ = ["Leaf", "Level", "Open", "Problem", "Split", "Tree", "grown", "id3"]


def id3(
    engine: Engine,
    problem: Problem,
    counts: Counts,
    progress: OnLevel | None = None,
    start: Tree = Open(),  # noqa: B008 (immutable)
) -> Tree:
    """Compute the joint tree of both parties' rows.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        counts: This party's source of counts; private.
        progress: A function that is called with every level before it begins; None for none.
        start: A tree that is decided down to some depth, equal at both parties. The default is one open node.

    Returns:
        The tree; both parties learn it.

    Raises:
        InputError: This party has more rows than agreed, or its counts have another shape.
        ProtocolError: The opened bits cannot come from an honest run.
        ValueError: The open nodes of `start` lie at different depths.

    Examples:
        >>> from protocols.counts import RowCounts
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> problem = Problem(domains=(2,), classes=2, max_rows=4)
        >>> rows = [[0], [1]], [[0], [1]]  # the only attribute's values: party 0's, party 1's
        >>> classes = [0, 1], [0, 1]
        >>> def program(session):
        ...     party = session.party
        ...     counts = RowCounts(problem.domains, problem.classes, np.array(rows[party]), np.array(classes[party]))
        ...     return id3(make_engine(session, "yao"), problem, counts)
        >>> run_local(program)[0]
        Split(attribute=0, children=(Leaf(label=0), Leaf(label=1)))
    """
    (tree,) = grown(engine, problem, Unpartitioned(counts), progress, (start,))
    return tree


def grown(
    engine: Engine, problem: Problem, counts: ForestCounts, progress: OnLevel | None = None, start: Forest | None = None
) -> Forest:
    """Compute the joint trees of both parties' rows; each level of all trees is decided together.

    Args:
        engine: The engine of this session.
        problem: The public parameters, `trees` among them; both parties must agree.
        counts: This party's source of counts for all trees; private.
        progress: A function that is called with every level before it begins; None for none.
        start: Trees that are decided down to one depth, equal at both parties; None for open nodes.

    Returns:
        The trees, in the order of the source of counts; both parties learn them.

    Raises:
        InputError: This party has more rows than agreed, or its counts have another shape.
        ProtocolError: The opened bits cannot come from an honest run.
        ValueError: The open nodes of `start` lie at different depths.
    """
    start = (Open(),) * problem.trees if start is None else start
    grower = Grower(problem.domains, problem.runs, start, problem.candidates)
    if problem.classes == 1:
        return (Leaf(0),) * len(start)
    majorities: Bits | None = None  # majorities of the parents of the level's nodes
    whole = _all_rows(problem, counts)
    for level in grower.levels(progress):
        nodes, depth, parents = grower.nodes, level.depth, grower.parents
        left = max(len(node.candidates) for node in nodes)
        last = depth == problem.max_depth or not left
        ruled, prunes = problem.rules.any and (depth == 0 or not last), problem.prune is not None and not last
        tables = counts.level(level.trees, problem.counts_attributes(depth, left))
        tables.check(len(nodes), problem.classes, problem.max_rows * problem.trees)
        with engine.session.phase(f"level {depth}"):
            if majorities is None:
                majorities = _parents_majorities(engine, problem, tables, parents, depth)
            if ruled:
                ruling = _ruling(engine, problem, nodes, tables, whole, depth, last)
            else:
                ruling = NO_RULING if last or prunes or not problem.runs else _askable(engine, nodes)
            if prunes:
                ruling = pruned(engine, problem, level.trees, [node.candidates for node in nodes], tables, ruling)
            open_nodes, majorities = _leaves(engine, problem, nodes, tables, majorities.take(parents), ruling, last)
            if len(open_nodes):
                _splits(engine, problem, nodes, open_nodes, tables, ruling)
    return grower.trees


def _all_rows(problem: Problem, counts: ForestCounts) -> Indices:
    """Return this party's rows by class in one tree, int64[classes]; zeros without a closeness rule."""
    if not problem.rules.close:
        return np.zeros(problem.classes, dtype=np.int64)
    tables = counts.level((Open(),), attributes=False)
    return (tables.distinct or tables).classes[0]


# Rules for leaves.


def _ruling(
    engine: Engine, problem: Problem, nodes: list[Node], tables: LevelCounts, whole: Indices, depth: int, last: bool
) -> Ruling:
    """Return the secret verdicts of the rules on the splits of every node, and at depth 0 on the root.

    `whole` are the counts by class of all rows of this party; on the `last` level nothing is split.
    """
    tables = tables.groups or tables.distinct or tables
    splits = [[tables.values[a][i] for a in node.candidates if not last] for i, node in enumerate(nodes)]
    with engine.session.phase("rules"):
        return rule(engine, problem, splits, tables.classes if depth == 0 else None, whole)


def _askable(engine: Engine, nodes: list[Node]) -> Ruling:
    """Return public bits in place of verdicts: whether each node has a remaining attribute."""
    left = np.array([[bool(node.candidates) for node in nodes]], dtype=np.uint8)
    return Ruling((), None, None, engine.constant(left))


# Leaves: one class, few rows, no row, or no remaining question.


def _leaves(
    engine: Engine,
    problem: Problem,
    nodes: list[Node],
    tables: LevelCounts,
    inherited: Bits,
    ruling: Ruling,
    last: bool,
) -> tuple[Indices, Bits]:
    """Open which nodes are leaves, and label these; return the indices of the others, and their secret majorities.

    Args:
        engine: The engine of this session.
        problem: The public parameters.
        nodes: The nodes of the level.
        tables: This party's counts of the level.
        inherited: The secret majority of each node's parent, for a node without rows.
        ruling: Verdicts of the rules.
        last: Whether all nodes of the level must be leaves.
    """
    width = problem.count_width
    # At the last level every node is a leaf: the same circuit with a limit that no node exceeds.
    min_rows = (1 << width) - 1 if last else min(problem.min_rows, (1 << width) - 1)
    root, classes, bits = ruling.root_feasible is not None, tables.classes, ruling.bits

    def piece(part: slice) -> tuple[Any, ...]:
        return width, min_rows, classes[part], inherited.take(part), [bit.take(part) for bit in bits], root

    with engine.session.phase("leaves"):
        winner, decided = in_shards(engine, _decided, np.ones(len(nodes), dtype=np.int64), piece)
        (opened,) = engine.reveal(decided)
    decisions = Decisions.read(opened, problem.classes, np.array([last or not node.candidates for node in nodes]))
    for node, leaf, label in zip(nodes, decisions.leaves, decisions.labels, strict=True):
        if leaf:
            node.label = int(label)
    open_nodes = np.flatnonzero(~decisions.leaves)
    return open_nodes, winner.take(open_nodes)


def _decided(
    engine: Engine, width: int, min_rows: int, classes: Indices, inherited: Bits, bits: list[Bits], root: bool
) -> tuple[Bits, ...]:
    """Return each node's secret majority, and its leaf bit with the leaf's class, from own int64[nodes, classes].

    `bits` is `Ruling.bits`.
    """
    netlist = leaf_netlist(classes.shape[1], width, min_rows, engine.form, len(bits) - root, root)
    return tuple(engine.run(netlist, *_leaf_inputs(engine, classes, width), inherited, *bits))


def _leaf_inputs(engine: Engine, classes: Indices, width: int) -> list[Bits]:
    """Enter own counts, int64[nodes, classes], for `leaf_netlist`, which adds them in the form "size" only."""
    numbers = with_rows(classes) if engine.form == "size" else classes
    return count_inputs(engine, numbers.T, width, "modular" if engine.form == "size" else "whole")


def _parents_majorities(engine: Engine, problem: Problem, tables: LevelCounts, parents: Indices, depth: int) -> Bits:
    """Return the secret majority class of each parent of the first level's nodes, summed over its children.

    At the root, and for a single node, the result is class 0 without a computation.
    """
    width = index_width(problem.classes)
    first = engine.constant(np.zeros((width, int(parents[-1]) + 1), dtype=np.uint8))
    if not depth or len(parents) == 1:
        return first
    above = np.zeros((first.batch, problem.classes), dtype=np.int64)
    np.add.at(above, parents, tables.classes)
    netlist = leaf_netlist(problem.classes, problem.count_width, 0, engine.form)
    with engine.session.phase("majorities"):
        winner, _ = engine.run(netlist, *_leaf_inputs(engine, above, problem.count_width), first)
    return winner


# Splits: the attribute of least conditional entropy.


def _splits(
    engine: Engine, problem: Problem, nodes: list[Node], open_nodes: Indices, tables: LevelCounts, ruling: Ruling
) -> None:
    """Choose the attribute of every open node with the peer, open it, and note it in the node."""
    candidates = [nodes[i].candidates for i in open_nodes]
    lengths = np.array([len(left) for left in candidates])
    most = int(lengths.max())
    if most == 1:
        chosen = np.zeros(len(candidates), dtype=np.int64)  # nothing to compare
    elif problem.criterion == "gain-ratio":
        tables_of = [table[open_nodes] for table in tables.values]
        feasible = [attribute.take(open_nodes) for attribute in ruling.feasible[:most]]
        with engine.session.phase("gain ratio"):
            (index,) = engine.reveal(greatest(engine, problem, candidates, tables_of, feasible))
        chosen = read_choices(index, lengths)
    else:
        if ruling.scores is None or problem.criterion != "entropy":
            scored = conditional_entropies if problem.criterion == "entropy" else impurities
            with engine.session.phase(problem.criterion):
                scores = scored(engine, problem, candidates, [table[open_nodes] for table in tables.values])
        else:
            of_nodes = np.repeat(np.arange(len(nodes)), [len(node.candidates) for node in nodes])
            places = np.flatnonzero(np.isin(of_nodes, open_nodes)).reshape(-1, 1)
            scores = engine.words.total(ruling.scores, places, ruling.scores.width)
        ends, feasible = np.cumsum(lengths), [attribute.take(open_nodes) for attribute in ruling.feasible[:most]]

        def piece(part: slice) -> tuple[Any, ...]:
            of_nodes = slice(ends[part.start] - lengths[part.start], ends[part.stop - 1])
            return most, lengths[part], scores.take(of_nodes), [attribute.take(part) for attribute in feasible]

        with engine.session.phase("argmin"):
            (least,) = in_shards(engine, _least, lengths, piece)
            (index,) = engine.reveal(least)
        chosen = read_choices(index, lengths)
    for node, left, choice in zip(open_nodes, candidates, chosen, strict=True):
        nodes[node].attribute = left[choice]


def _least(engine: Engine, most: int, lengths: Indices, scores: Word, feasible: list[Bits]) -> tuple[Bits, ...]:
    """Return the secret position of each node's least score; node i has `lengths[i]` of the scores, at most `most`."""
    bits = engine.words.bits(scores)
    places = padded(lengths, np.cumsum(lengths) - lengths, most)
    return (argmin(engine, [bits.take(column) for column in places.T], feasible),)
