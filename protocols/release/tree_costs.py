"""Forecast of the cost of a noisy tree from its problem alone: a typical tree, and an upper bound for every tree.

Where the rows have little information, the noise decides whether a node is split. At a node whose questions gain
nothing, each of a questions and "stop" have independent noise, exponential in units of its scale. "Stop" also has a
bonus of 2 scales. So "stop" is chosen with probability E[(1 - e^-(X + 2))^a] for exponential X, and the node is split
with

    q(a) = 1 - (1 - (1 - e^-2)^(a + 1)) / ((a + 1) e^-2):    0.19 of 3 questions, 0.41 of 8, 0.56 of 14, 0.87 of 55.

So even nodes without rows are split, and more often if there are more columns. A question may also gain. The forecast
assumes a gain of 2 % of the n rows at a node (the bound on rows, spread evenly over the level's nodes). Let x be this
gain, n / 50, divided by the bonus. Then the gain decides x / (1 + x) of the nodes. Of those that noise would not split,
half are split for their gain. A question chosen by noise has on average as many answers as the mean of the domains, one
chosen for its gain their geometric mean. The root of a typical tree is split, because a tree of one leaf costs little.

The constants 2 % and one half are rough, fitted to trees of public tables: four of five forecasts are within a factor 2
(benchmarks/tree_costs.py).
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

from protocols.counts import NoRows
from protocols.edges import Run, Runs
from protocols.grower import Level
from protocols.release.quality import UNITS
from protocols.release.tree import chosen_at_once, labelled_at_once, private_tree
from protocols.release.tree_openings import OpenedLevel
from protocols.release.tree_problem import Problem
from protocols.tree import Open
from smc.counting import CountingEngine, forecast
from smc.engines import Profile

BONUS = 2.0  # bonus of "stop", in scales of the noise
GAIN = 0.02  # gain of a question, as a share of a node's rows
PAYS = 0.5  # share of the nodes with enough rows in which a question gains
BLOCK = 8  # nodes; whole blocks cost as much in separate batches as in one


def split_by_noise(questions: int) -> float:
    """Return the probability that a node is split by noise alone, if none of its questions gains anything."""
    none = math.exp(-BONUS)
    return 1 - (1 - (1 - none) ** (questions + 1)) / ((questions + 1) * none)


def typical_levels(problem: Problem) -> list[tuple[int, int]]:
    """Return for each depth the number of nodes of typical trees, all trees together, and of split nodes."""
    questions = len(problem.domains)
    any_width = sum(problem.domains) / max(1, questions)
    usual = math.exp(sum(map(math.log, problem.domains)) / max(1, questions))
    unit = UNITS if problem.measure.signed else 1
    nodes, levels = float(problem.trees), []
    for depth in range(min(problem.max_depth, questions)):
        gained = GAIN * 2 * problem.max_rows / nodes
        decided = gained / (gained + problem.bonus / unit) if problem.levels else 1.0
        by_noise = split_by_noise(questions - depth)
        by_gain = (1 - by_noise) * PAYS * decided
        if depth == 0 or not problem.stop:
            by_noise, by_gain = 1 - decided, decided
        splits = min(nodes, nodes * (by_noise + by_gain))
        if round(splits) == 0:
            break
        levels.append((max(1, round(nodes)), round(splits)))
        nodes *= by_noise * any_width + by_gain * usual
    return [*levels, (max(1, round(nodes)), 0)]


def typical(engine: CountingEngine, problem: Problem, largest: int) -> None:
    """Count the cost of a run that ends with typical trees, each level in parts.

    A level's bytes, gates and seconds are those of a part times the number of parts.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        problem: Public problem of the trees.
        largest: Upper bound on the row counts of a part; a part has at least one node in any case.
    """
    mean = sum(problem.domains) / max(1, len(problem.domains))
    domains = tuple(sorted(problem.domains, key=lambda size: abs(size - mean)))
    for depth, (nodes, splits) in enumerate(typical_levels(problem) if problem.classes > 1 else []):
        left = domains[depth:]
        part = min(nodes, max(1, largest // node_counts(problem, left)))
        for number, times in ((part, nodes // part), (nodes % part, 1)):
            with engine.session.phase(f"level {depth}"), engine.repeated(times):
                if number:
                    _level(engine, problem, left, number, round(splits * number / nodes), depth == problem.max_depth)


def node_counts(problem: Problem, left: tuple[int, ...]) -> int:
    """Return the number of row counts that enter the scores of a node; the time of a forecast grows with it.

    Args:
        problem: Public problem of the trees.
        left: Number of values of each attribute left.
    """
    return (sum(left) + 1) * problem.classes


def most_levels(problem: Problem) -> list[int]:
    """Return an upper bound on the nodes at each depth, all trees together; it does not depend on the rows."""
    nodes = [problem.trees]
    for size in sorted(problem.domains, reverse=True)[: problem.max_depth]:
        nodes.append(nodes[-1] * size)
    return nodes


def most_bytes(problem: Problem, profile: Profile, largest: int) -> int:
    """Return an upper bound on the bytes of a run of this problem, both directions together.

    In the largest trees every node is split by the attribute with most values. A split has leaves below it, so it costs
    no less than a leaf. A level is counted in parts of whole blocks, each in a session of its own, with about `largest`
    row counts. One more part of leaves covers the leaves that a level may have.

    Args:
        problem: Public problem of the trees.
        profile: Engine and settings of the run.
        largest: Approximate number of row counts of a part.
    """
    if problem.classes == 1:
        return 0
    widest, total = sorted(problem.domains, reverse=True), 0
    for depth, nodes in enumerate(most_levels(problem)):
        left = tuple(widest[: len(widest) - depth])
        last = not left or depth == problem.max_depth
        room = BLOCK * max(1, largest // (BLOCK * node_counts(problem, () if last else left)))
        batch = _at_once(problem, profile, () if last else left)
        if batch < BLOCK:  # parts of one block are cut as the level is, and filled up as often
            room = BLOCK
        else:
            nodes += (BLOCK - 1) * -(-nodes // batch)  # each batch of the level is filled up to whole blocks
        times = -(-nodes // room)
        part = -(-nodes // (times * BLOCK)) * BLOCK
        total += times * _level_bytes(problem, profile, left, part, last)
        if not last:
            total += _level_bytes(problem, profile, (), BLOCK, True)
    return total


def _at_once(problem: Problem, profile: Profile, left: tuple[int, ...]) -> int:
    """Return how many nodes with attributes of `left` values fit in a batch; without attributes, how many leaves.

    A batch holds at least as many nodes with fewer attributes or values.
    """
    sizes = []

    def batch(engine: CountingEngine) -> None:
        chooses = left and problem.levels
        sizes.append(
            chosen_at_once(engine, problem, len(left), sum(left)) if chooses else labelled_at_once(engine, problem)
        )

    forecast(batch, profile)
    return min(sizes)


def _level_bytes(problem: Problem, profile: Profile, left: tuple[int, ...], nodes: int, last: bool) -> int:
    """Return the bytes of a level in a session of its own: all its `nodes` nodes are split, or if `last` are leaves."""
    return forecast(lambda engine: _level(engine, problem, left, nodes, 0 if last else nodes, last), profile).bytes


class _LevelCountedError(Exception):
    """Signal that a level has been counted; it ends the run."""


def _level(
    engine: CountingEngine, problem: Problem, left: tuple[int, ...], nodes: int, splits: int, last: bool
) -> None:
    """Count the cost of one level: `nodes` nodes with attributes of `left` values each, of which `splits` are split.

    The nodes are roots of separate trees, whose epsilon gives the level its share.
    """
    last = last or not left
    levels = 0 if last else min(1, len(left) - (not problem.stop))
    epsilon = problem.leaf_epsilon + levels * problem.level_epsilon
    alone = replace(
        problem, domains=left, max_depth=int(not last), epsilon=epsilon, trees=nodes, runs=_single(problem, left)
    )
    chooses = not last and alone.candidates(len(left)) > 1
    choices = [0] * splits + [len(left)] * (nodes - splits) if chooses else None
    opened = OpenedLevel(choices, [0] * (nodes - splits), len(left), nodes)

    def begins(level: Level) -> None:
        if level.depth:
            raise _LevelCountedError

    engine.answers = opened.bits(alone)
    with suppress(_LevelCountedError):
        private_tree(engine, alone, NoRows(alone.domains, alone.classes), begins, (Open(),) * nodes)


def _single(problem: Problem, left: tuple[int, ...]) -> Runs:
    """Return one run for each question if the problem has runs, else none."""
    return tuple(Run(i, i + 1) for i in range(len(left))) if problem.runs else ()
