"""Forecast of the cost of a noisy tree from its problem alone: a typical tree, and an upper bound for every tree.

Which nodes are split follows from the noise wherever the rows say little. At a node whose questions gain nothing, each
of a questions and "stop" have independent noise, exponential in units of its scale, and "stop" a bonus of 2 scales. So
"stop" is chosen with probability E[(1 - e^-(X + 2))^a] for exponential X, and the node is split with

    q(a) = 1 - (1 - (1 - e^-2)^(a + 1)) / ((a + 1) e^-2):    0.19 of 3 questions, 0.41 of 8, 0.56 of 14, 0.87 of 55.

So nodes without any row are split, too, and the more columns there are, the more often. A question may gain something
besides: with n rows at a node (the bound's, dealt evenly to all nodes of the level) 2 % of them, which are x = n / 50
over the bonus of noise; that decides x / (1 + x) of the nodes, and half of those are split that noise would not have.
A question that noise chooses is any, and has as many answers as the mean of the domains; one that is chosen for its
gain has their geometric mean. The root of a typical tree is split, for a tree of one leaf costs next to nothing.

2 % and a half are rough, chosen by trees of public tables: four of five forecasts are within a factor of 2 there
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
    """Return the number of nodes at each depth of typical trees, all trees together, and the number of split ones."""
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
    """Count a run that ends with typical trees, each level in parts.

    A level's bytes, gates and seconds are those of a part times the number of parts.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        problem: Public problem of the trees.
        largest: Greatest number of row counts of a part, but a part has one node at least.
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
    """Return the number of row counts that are scored for a node, which decides the effort of counting.

    Args:
        problem: Public problem of the trees.
        left: Number of values of each attribute left.
    """
    return (sum(left) + 1) * problem.classes


def most_levels(problem: Problem) -> list[int]:
    """Return a bound on the number of nodes at each depth, all trees together; the rows do not lower it."""
    nodes = [problem.trees]
    for size in sorted(problem.domains, reverse=True)[: problem.max_depth]:
        nodes.append(nodes[-1] * size)
    return nodes


def most_bytes(problem: Problem, profile: Profile, largest: int) -> int:
    """Return a number of bytes, both ways together, that no run of this problem exceeds under this profile.

    The trees in which every node is split by the attribute with most values: a split has a leaf at least below it, so
    it costs no less than the leaf that it could have been. A level is counted in parts of whole blocks, each in a
    session of its own, of about `largest` counts of rows; and one part of leaves for those that a level could have.

    Args:
        problem: Public problem of the trees.
        profile: Engine and settings of the run.
        largest: Number of row counts of a part, about.
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
    """Return the number of nodes with attributes of `left` values in one batch, or of leaves if there are none.

    Nodes with fewer attributes or values have no smaller batches.
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
    """Count a level of nodes that are all split, or of leaves, in a session of its own."""
    return forecast(lambda engine: _level(engine, problem, left, nodes, 0 if last else nodes, last), profile).bytes


class _LevelCountedError(Exception):
    """Signal that the wanted level has been counted."""


def _level(
    engine: CountingEngine, problem: Problem, left: tuple[int, ...], nodes: int, splits: int, last: bool
) -> None:
    """Count a level of `nodes` nodes with attributes of `left` values each, and nothing after it.

    They are roots of separate trees, with an epsilon that leaves each level its share.
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
    """Return runs of one question each, if there are any."""
    return tuple(Run(i, i + 1) for i in range(len(left))) if problem.runs else ()
