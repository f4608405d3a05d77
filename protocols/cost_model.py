"""Forecast of the cost of an ID3 without any row: its messages follow from the problem and the tree.

With the tree of an earlier run the count is exact. Without one, `typical` counts a tree of typical shape, and
`most_bytes` bounds every run by the largest one that the problem allows. That run has at depth d as many nodes as the d
attributes with most values produce. It splits as many of them as can have enough rows. At each split it compares all
attributes except the d with fewest values.

A typical tree has s(d) = 1 / sqrt(g^(-2 d) + r^-2) splits at depth d. Here v is the geometric mean of the domains, R
the bound on a party's rows, n the number of columns.

* Growth a level: g = min(0.93 v, 5.4) under rules, g = min(0.9 v, 4.4) without.
* Room: r = R / 30 for plain trees, r = R n^0.37 / (9.7 k v^1.34) under rules. The rows of all children must keep the
  rules, and with more columns one is likelier to do so.
* Beyond the room, a level has 0.4 times the splits of the level before, under rules 0.26. In plain trees of c > 2
  classes the number stays.
* A plain tree of c > 2 classes may have a bound that allows a row for every fourth combination of values. Then
  g = (1 - 1 / 2c) v and r = R / 8. An example is a table that lists all cases of something.

These numbers are fitted to trees of ten tables (benchmarks/tree_costs.py), with the usual k and plain, and of a
chess endgame (benchmarks/peers/endgame.py). The forecast is least certain for very many columns of little information.
Such a tree splits by the columns with most values and has more nodes.

In a tree of binary splits that compares some edges of a column (`Problem.edges`), two nodes follow every split, so
little is uncertain. g = 1.9, because a few nodes of each level have rows of one class, and r = 0.65 sqrt(R / k). A node
compares the root's questions, except the edges of narrow columns that splits above it used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

import numpy as np

from protocols.counts import Counted, ForestCounts, NoRows
from protocols.edges import Run, Runs
from protocols.feasibility import Grouped
from protocols.grower import Level
from protocols.id3 import Problem, Tree, grown
from protocols.openings import Decisions, choice_bits, levels
from protocols.tree import Forest, Leaf, Open, Split
from smc.counting import Answers, CountingEngine, CountingSession, Program, make_counting_engine
from smc.engines import Profile
from smc.primitives.bits import BitMatrix

PLAIN_GROWTH, MOST_PLAIN_GROWTH = 0.9, 4.4  # splits below a split: as a share of its children, and the upper limit
RULED_GROWTH, MOST_RULED_GROWTH = 0.93, 5.4  # the same two numbers under rules
PLAIN_ROOM, RULED_ROOM, RULED_POWER, CHOICE_POWER = 30.0, 9.7, 1.34, 0.37  # see the module's docstring
MOST_CELLS, FILLED_ROOM = 4, 8.0  # cells a row, and room, of plain trees of a table with rows in most cells
PLAIN_FALL, RULED_FALL = 0.4, 0.26  # splits of a level, as a share of those above, beyond the room
CUT_GROWTH, CUT_ROOM = 1.9, 0.65  # trees with two answers that compare some edges of a column
MOST_COUNTED = 1 << 10  # about so many attributes of a node are counted; more cost in proportion
BLOCK = 8  # instances; whole blocks cost as much in separate batches as in one


def with_tree(engine: CountingEngine, problem: Problem, tree: Tree, counts: ForestCounts | None = None) -> None:
    """Count the cost of a run whose result is a given tree.

    Args:
        engine: The engine that counts.
        problem: The public parameters, of one tree.
        tree: The final tree, without open nodes.
        counts: Source of counts whose own messages are counted too; None if counting sends none.
    """
    with_forest(engine, problem, (tree,), counts)


def with_forest(engine: CountingEngine, problem: Problem, forest: Forest, counts: ForestCounts | None = None) -> None:
    """Count the cost of a run whose result is a given forest.

    Args:
        engine: The engine that counts.
        problem: The public parameters.
        forest: The final trees, without open nodes.
        counts: Source of counts whose own messages are counted too; None if counting sends none.
    """
    silent = _opening(engine, problem, iter(_forest_answers(problem, forest)))
    grown(engine, problem, silent if counts is None else counts)


def typical_counts(problem: Counted, counts: ForestCounts, splits: Iterable[int], trees: int = 1) -> None:
    """Count the cost of the messages that a source of counts sends for trees of typical shape.

    Args:
        problem: The public parameters.
        counts: The source of counts.
        splits: Number of split nodes of each level of all trees, down to the level of leaves alone; the first ones of
            each tree are split.
        trees: Number of trees, which all have one shape.
    """
    mean = mean_domain(problem)
    order = sorted(range(len(problem.domains)), key=lambda place: abs(math.log(problem.domains[place] / mean)))
    tree: Tree = Open()
    for depth, number in enumerate(splits):
        counts.level((tree,) * trees, problem.counts_attributes(depth, len(order) - depth))
        if number:
            tree = _split(tree, order[depth], problem.domains[order[depth]], iter(range(-(-number // trees))))


def _split(tree: Tree, attribute: int, size: int, numbers: Iterator[int]) -> Tree:
    """Return a tree whose open nodes are split, as many as there are numbers; the other open nodes become leaves."""
    if isinstance(tree, Open):
        return Leaf(0) if next(numbers, None) is None else Split(attribute, (Open(),) * size)
    if isinstance(tree, Split):
        return Split(tree.attribute, tuple(_split(child, attribute, size, numbers) for child in tree.children))
    return tree


def typical(engine: CountingEngine, problem: Problem, largest: int) -> None:
    """Count the cost of a run that ends with a typical tree; see the module's first lines.

    Args:
        engine: The engine that counts.
        problem: The public parameters.
        largest: Number of entropy counts above which each level is counted in parts. A level's bytes, gates and seconds
            are then those of one part times the number of parts.
    """
    ordered, splits = _ordered(problem), typical_splits(problem)
    domains = ordered.domains
    if problem.edges is not None:
        for depth, (nodes, inner) in enumerate(_typical_levels(ordered, splits)):
            left = _left(problem, depth)[: _compared_at(problem, depth)]
            level_in_parts(engine, problem, depth, nodes, inner, left, largest // (_depth(problem) + 1))
        return
    if typical_cells(problem) <= largest:
        grown(engine, ordered, _opening(engine, ordered, _full_answers(ordered, splits)))
        return
    for depth, (nodes, inner) in enumerate(_typical_levels(ordered, splits)):
        level_in_parts(engine, problem, depth, nodes, inner, domains[depth:], largest // (len(domains) + 1))


def typical_levels(problem: Problem) -> list[tuple[int, int, int]]:
    """Return the nodes and splits of each level of a typical tree, and the attributes left at a node."""
    levels = enumerate(_typical_levels(_ordered(problem), typical_splits(problem)))
    return [(nodes, inner, _compared_at(problem, depth)) for depth, (nodes, inner) in levels]


def _ordered(problem: Problem) -> Problem:
    """Return the problem of a typical tree: attributes of about the mean number of values come first."""
    mean = mean_domain(problem)
    domains = tuple(sorted(problem.domains, key=lambda size: abs(math.log(size / mean))))
    return replace(problem, domains=domains, runs=_single(problem, len(domains)), edges=None)


def typical_forest(engine: CountingEngine, problem: Problem, largest: int) -> None:
    """Count the cost of a run that ends with typical trees, `problem.trees` of them.

    Each node compares `problem.drawn` attributes, or all that are left. All levels are counted in parts.

    Args:
        engine: The engine that counts.
        problem: The public parameters.
        largest: Upper bound on the entropy counts of a part of a level.
    """
    single, every = replace(problem, trees=1, drawn=None), len(problem.domains)
    ordered = _ordered(single)
    domains = ordered.domains
    for depth, (nodes, inner) in enumerate(_typical_levels(ordered, typical_splits(single))):
        left = domains[depth:][: problem.drawn]
        if depth:
            nodes, inner = nodes * problem.trees, inner * problem.trees
            level_in_parts(engine, single, depth, nodes, inner, left, largest // (every + 1))
        else:
            with engine.repeated(problem.trees):
                level_in_parts(engine, single, depth, nodes, inner, left, largest)


def level_in_parts(
    engine: CountingEngine,
    problem: Problem,
    depth: int,
    nodes: int,
    splits: int,
    left: tuple[int, ...],
    largest: int,
) -> None:
    """Count the cost of a level: that of one of its equal parts, times the number of parts.

    A part has some of the nodes. If a node compares very many attributes, it also has some of these.

    Args:
        engine: The engine that counts.
        problem: The public parameters.
        depth: Depth of the level; the root has depth 0.
        nodes: Number of open nodes of the level.
        splits: Number of these nodes that are split.
        left: Numbers of values of the attributes that a node compares.
        largest: Upper bound on the entropy counts of a part; a part has at least one split in any case.
    """
    times = max(1, min(splits, -(-splits * sum(left) * (problem.classes + 1) // max(1, largest))))
    alike = max(1, len(left) // MOST_COUNTED)
    left = left[::alike]
    with engine.session.phase(f"level {depth}"), engine.repeated(times * alike):
        _level(engine, problem, depth, -(-nodes // times), -(-splits // times), left)


def typical_splits(problem: Problem) -> list[int]:
    """Return the number of nodes that a typical tree splits at each depth; see the module's first lines."""
    mean, splits, nodes, beyond = mean_domain(problem), [], 1, 0
    if problem.edges is not None:
        growth, fall = CUT_GROWTH, 1.0
        room = CUT_ROOM * math.sqrt(problem.max_rows / max(1, problem.rules.k))
    elif problem.rules.any:
        growth, fall = min(RULED_GROWTH * mean, MOST_RULED_GROWTH), RULED_FALL
        choice = max(1, len(problem.domains) - sum(run.middle for run in problem.runs)) ** CHOICE_POWER
        room = problem.max_rows * choice / (RULED_ROOM * max(1, problem.rules.k) * mean**RULED_POWER)
    else:
        filled = problem.classes > 2 and math.prod(problem.domains) <= MOST_CELLS * problem.max_rows
        growth = mean * (1 - 1 / (2 * problem.classes)) if filled else min(PLAIN_GROWTH * mean, MOST_PLAIN_GROWTH)
        room = problem.max_rows / (FILLED_ROOM if filled else PLAIN_ROOM)
        fall = PLAIN_FALL if problem.classes <= 2 else 1.0
    for depth in range(_depth(problem)):
        expected = 1 / math.hypot(growth**-depth, 1 / room)
        if growth**depth > room:
            expected *= fall**beyond
            beyond += 1
        splits.append(min(nodes, max(round(expected), int(depth == 0)), _possible(problem)))
        nodes = math.ceil(splits[-1] * mean)
    return splits


def typical_cells(problem: Problem) -> int:
    """Return the approximate number of counts in a typical tree's entropies; they take most of `typical`'s time."""
    return sum(problem.compared) * (problem.classes + 1) * sum(typical_splits(problem))


def counted_typically(problem: Problem, largest: int) -> int:
    """Return about how many entropy counts `typical` goes through; of a level counted in parts, those of one part.

    Args:
        problem: The public parameters.
        largest: Number of entropy counts above which `typical` counts each level in parts.
    """
    each = sum(problem.compared) * (problem.classes + 1)
    levels = 1 + (len(problem.domains) if problem.edges is None else _depth(problem))
    return min(typical_cells(problem), sum(max(largest // levels, each) for _ in range(_depth(problem))))


def at_most(engine: CountingEngine, problem: Problem) -> None:
    """Count the largest run of this problem: no run has more bytes, messages, rounds or gates.

    Args:
        engine: The engine that counts.
        problem: The public parameters.
    """
    for depth, (nodes, splits) in enumerate(_largest(problem)):
        _level(engine, problem, depth, nodes, splits, _left(problem, depth))


def cells(problem: Problem) -> int:
    """Return the number of counts in the entropies of the largest tree; they take most of the time of `at_most`."""
    return sum(splits * _cells_of_a_split(problem, depth) for depth, (_, splits) in enumerate(_largest(problem)))


def most_bytes(problem: Problem, profile: Profile, largest: int) -> int:
    """Return an upper bound on the bytes of a run of this problem, both directions together.

    In parts, a level of n nodes and s splits costs at most t times a part. The part has n / t nodes and s / t splits,
    rounded up to whole blocks. It runs in a session of its own.

    Args:
        problem: The public parameters.
        profile: Engine and transport settings that the run uses.
        largest: Number of entropy counts above which the run is counted in parts.
    """
    if cells(problem) <= largest:
        return _bytes(lambda engine: at_most(engine, problem), profile)
    total = 0
    for depth, (nodes, splits) in enumerate(_largest(problem)):
        room = BLOCK * max(1, largest // (BLOCK * max(1, _cells_of_a_split(problem, depth))))
        times = max(1, -(-splits // room), -(-nodes // max(room, largest // problem.classes)))
        part = [-(-number // (times * BLOCK)) * BLOCK for number in (nodes, splits)]
        total += times * _level_bytes(problem, profile, depth, *part)
    return total


def counted_cells(problem: Problem, largest: int) -> int:
    """Return about how many entropy counts `most_bytes` counts; they take most of its time.

    Args:
        problem: The public parameters.
        largest: Number of entropy counts above which `most_bytes` counts in parts.
    """
    if cells(problem) <= largest:
        return cells(problem)
    each = [_cells_of_a_split(problem, depth) for depth in range(_depth(problem))]
    return sum(max(largest, BLOCK * size) for size in each)


def _level_bytes(problem: Problem, profile: Profile, depth: int, nodes: int, splits: int) -> int:
    """Return the bytes of a level in a session of its own; below the root without the messages that begin the session.

    With silent OT they are included, because OTs left over from them would serve the level at no cost.
    """

    def level(engine: CountingEngine) -> None:
        _level(engine, problem, 0, 1, 1, _left(problem, 0))
        with engine.session.phase("below"):
            _level(engine, problem, depth, nodes, splits, _left(problem, depth))

    if depth:
        return _bytes(level, profile, None if profile.ot == "ferret" else "below")
    return _bytes(lambda engine: _level(engine, problem, 0, 1, min(1, splits), _left(problem, 0)), profile)


def _bytes(program: Program, profile: Profile, phase: str | None = None) -> int:
    """Return the bytes that a program sends and receives, counted as party 0; of one phase, or of all phases."""
    session = CountingSession(0)
    program(make_counting_engine(session, profile))
    cost = session.meter.total if phase is None else session.meter.phases[phase]
    return cost.bytes_sent + cost.bytes_received


class _LevelCountedError(Exception):
    """Signal that a level has been counted; it ends the run."""


def _level(
    engine: CountingEngine, problem: Problem, depth: int, nodes: int, splits: int, left: tuple[int, ...]
) -> None:
    """Count one level of nodes with attributes of `left` values each, and nothing after it."""
    last = not left or depth == problem.max_depth
    first = min(depth, 1)  # a root stands for all levels above
    domains = (nodes, *left) if first else left
    depth_of_all = first if last else first + 1
    alone = replace(problem, domains=domains, max_depth=depth_of_all, runs=_single(problem, len(domains)), edges=None)
    start: Tree = Split(0, (Open(),) * nodes) if first else Open()

    def begins(level: Level) -> None:
        if level.depth > first:
            raise _LevelCountedError

    with suppress(_LevelCountedError):
        most = [*([1] * first), 0 if last else splits]
        answers = _full_answers(alone, most, nodes, len(left), first)
        grown(engine, alone, _opening(engine, alone, answers), begins, (start,))


def most_splits(problem: Problem) -> list[int]:
    """Return upper bounds on the splits at each depth, down to the last depth that can have any."""
    return [splits for _, splits in _largest(problem) if splits]


def most_nodes(problem: Problem) -> int:
    """Return an upper bound on the nodes of a tree."""
    return sum(nodes for nodes, _ in _largest(problem))


def _depth(problem: Problem) -> int:
    """Return the number of levels that can have splits."""
    return len(problem.domains) if problem.max_depth is None else min(len(problem.domains), problem.max_depth)


def mean_domain(problem: Counted) -> float:
    """Return the geometric mean of the attributes' numbers of values."""
    return math.exp(sum(map(math.log, problem.domains)) / max(1, len(problem.domains)))


def _left(problem: Problem, depth: int) -> tuple[int, ...]:
    """Return upper bounds on the numbers of values of a node's attributes left at this depth, the largest first."""
    return tuple(sorted(problem.compared, reverse=True)[: len(problem.domains) - depth])


def _compared_at(problem: Problem, depth: int) -> int:
    """Return the number of questions that a typical node at this depth compares.

    Each split above halved the edges of a column.
    """
    if problem.edges is None:
        return len(problem.domains) - depth
    sizes = [(run.end - run.first, run.middle) for run in problem.runs]
    sizes += [(1, False)] * (len(problem.domains) - sum(size for size, _ in sizes))
    first = [min(problem.edges, size) for size, _ in sizes]
    halves = [(size - middle - 1) / 2 for size, middle in sizes]  # edges left below; a middle value is not asked again
    lost = sum(now * (now - min(problem.edges, half)) for now, half in zip(first, halves, strict=True))
    return max(1, round(len(problem.compared) - depth * lost / max(1, sum(first))))


def _single(problem: Problem, number: int) -> Runs:
    """Return `number` runs of one question each if the problem has runs; longer runs would leave fewer questions."""
    return tuple(Run(i, i + 1) for i in range(number)) if problem.runs else ()


def _largest(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield upper bounds on the nodes and on the splits of each level."""
    domains, possible, nodes, product = sorted(problem.domains, reverse=True), _possible(problem), 1, 1
    for size in domains[: _depth(problem)]:
        splits = min(nodes, possible)
        yield nodes, splits
        product *= size
        nodes = min(product, splits * domains[0])
    yield nodes, 0


def _typical_levels(ordered: Problem, splits: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of nodes and splits of each level of a typical tree, down to the last level with nodes.

    Level d splits at most `splits[d]` nodes, by attribute number d.
    """
    nodes = 1
    for size, most in zip(ordered.domains, splits, strict=False):
        inner = min(nodes, most)
        yield nodes, inner
        nodes = inner * size
        if not nodes:
            return
    yield nodes, 0


def _cells_of_a_split(problem: Problem, depth: int) -> int:
    return sum(_left(problem, depth)) * (problem.classes + 1)


def _possible(problem: Problem) -> int:
    """Return an upper bound on the nodes of a level that can be split: they have enough rows, of two classes."""
    return 2 * problem.max_rows // max(2, problem.min_rows + 1, problem.rules.k)


def _opening(engine: CountingEngine, problem: Problem, answers: Answers) -> ForestCounts:
    """Set the values that a counting engine opens, and return a source of counts that are all 0."""
    engine.answers = answers
    source, on_shares = NoRows(problem.domains, problem.classes), engine.masked_numbers
    return Grouped(source, problem.rules.k, groups=True) if on_shares and problem.rules.against == "peer" else source


@lru_cache(maxsize=2)  # the counts of all profiles use these answers
def _forest_answers(problem: Problem, forest: Forest) -> tuple[list[BitMatrix], ...]:
    """Return the opened bits, in order, of the run that ends with these trees."""
    answers = []
    for level in levels(problem, forest):
        answers.append([level.decisions.bits(problem.classes)])
        if level.choices is not None:
            answers.append([choice_bits(level.choices, level.left)])
    return tuple(answers)


def _full_answers(
    problem: Problem, most: Sequence[int], nodes: int = 1, left: int | None = None, depth: int = 0
) -> Iterator[list[BitMatrix]]:
    """Yield the bits that `id3` opens for a tree that splits at most `most[depth]` nodes at each depth, else all nodes.

    The tree begins at `depth` with `nodes` nodes, each with `left` remaining attributes; None: all attributes.
    """
    left = len(problem.domains) if left is None else left
    while nodes:
        splits = min(nodes, most[depth]) if left and depth != problem.max_depth and depth < len(most) else 0
        yield [Decisions(np.arange(nodes) >= splits, np.zeros(nodes, dtype=np.int64)).bits(problem.classes)]
        if splits and left > 1:
            yield [choice_bits([0] * splits, left)]
        nodes = splits * problem.domains[depth] if left else 0
        left, depth = left - 1, depth + 1
