"""Forecast of the cost of a joint recoding without any rows: its messages follow from the problem and the result."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from protocols.publish import lattice_search
from protocols.publish.cuts import Cut, Cuts, open_boxes, whole, widest_first
from protocols.publish.lattice import FullDomain, levels
from protocols.publish.lattice_search import Found, Lattice, Node
from protocols.publish.mondrian import OwnCells, ask, mondrian
from protocols.publish.openings import answers, first_question, second_question
from protocols.publish.problem import Problem
from smc.counting import CountingEngine, forecast
from smc.engines import Profile

BLOCK = 8  # boxes; whole blocks cost as much in separate batches as in one
LARGEST = 1 << 17  # edges counted at once


def with_cuts(engine: CountingEngine, problem: Problem, cuts: Cuts) -> None:
    """Count the cost of the joint Mondrian that ends with these cuts.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        problem: Public problem of the recoding.
        cuts: All cuts of the run, level by level.
    """
    engine.answers = answers(problem.domains, len(problem.columns), cuts)
    mondrian(engine, problem, np.zeros((0, len(problem.columns) + 1), dtype=np.int64))


def with_classes(engine: CountingEngine, problem: Problem, classes: int) -> None:
    """Count the cost of a joint Mondrian that ends with the cuts of `halving`.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        problem: Public problem of the recoding.
        classes: Number of classes; a number above the limit by the bound on rows and k is cut to this limit.
    """
    most = max(1, 2 * problem.max_rows // problem.k)
    with_cuts(engine, problem, halving(problem.domains, min(most, classes)))


def halving(domains: tuple[int, ...], classes: int) -> Cuts:
    """Return cuts of each box in the middle of its widest attribute, until there are enough classes or single values.

    Args:
        domains: Number of values of each attribute.
        classes: Number of classes to reach.
    """
    cuts: Cuts = ()
    left = classes - 1
    while boxes := open_boxes(domains, cuts):
        level: list[Cut | None] = []
        for box in boxes:
            order = widest_first(domains, box)
            level.append(Cut(order[0], sum(box[order[0]]) // 2) if order and left > 0 else None)
            left -= level[-1] is not None
        cuts = (*cuts, tuple(level))
    return cuts


def with_found(engine: CountingEngine, task: FullDomain, search: Found) -> None:
    """Count the cost of the search for levels that ends in this state.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        task: Public problem of the search.
        search: Final state of the search.
    """
    columns = task.problem.columns
    engine.answers = lattice_search.answers(task.lattice, len(columns), search)
    levels(engine, task, np.zeros((0, len(columns) + 1), dtype=np.int64))


def with_node(engine: CountingEngine, task: FullDomain, node: Node) -> None:
    """Count the cost of a search that ends at a given node.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        task: Public problem of the search.
        node: Level of each attribute.
    """
    public = task.problem.against == "public"
    published = (False,) * task.lattice.possible(node) if public else None
    with_found(engine, task, replace(lattice_search.towards(task.lattice, sum(node)), node=node, published=published))


def most_bytes(problem: Problem, profile: Profile) -> int:
    """Return an upper bound on the bytes of a joint Mondrian of this problem, both directions together.

    A recoding has C classes at most, one for each k rows or combination of values. So there are 2 C - 1 boxes, on as
    many levels as there are edges. Each box compares the edges of all attributes at most. Each level is counted in
    blocks of boxes; the last block may be short. A block costs no more among others than in a level of its own.

    Args:
        problem: Public problem of the recoding.
        profile: Engine and settings of the run.
    """
    classes = min(math.prod(problem.domains), max(1, 2 * problem.max_rows // problem.k))
    levels = min(classes, 1 + sum(size - 1 for size in problem.domains))
    blocks = -(-(2 * classes - 1) // BLOCK)
    part = min(blocks, max(1, LARGEST // (BLOCK * sum(problem.domains))))

    some = min(levels, max(1, part // 8), 16)

    def several_levels(engine: CountingEngine) -> None:
        for _ in range(some):
            _asked_for_all(engine, problem, BLOCK)

    root = forecast(lambda engine: with_cuts(engine, problem, ((None,),)), profile)
    short = forecast(several_levels, profile)
    full = forecast(lambda engine: _asked_for_all(engine, problem, BLOCK * part), profile)
    return root.bytes + -(-levels // some) * short.bytes + -(-blocks // part) * full.bytes


def _asked_for_all(engine: CountingEngine, problem: Problem, boxes: int) -> None:
    """Count the cost of a level of `boxes` boxes that all hold every value and are compared in all attributes."""
    same = [whole(problem.domains)] * boxes
    party_rows = OwnCells(problem, np.zeros((0, len(problem.columns) + 1), dtype=np.int64))
    party_rows.count(boxes)
    for question in (first_question, second_question):
        ask(engine, problem, party_rows, *question(problem.domains, same, [None] * boxes))


def most_bytes_of_levels(task: FullDomain, profile: Profile) -> int:
    """Return an upper bound on the bytes of a search for levels, both directions together.

    The steps of the search follow from the height at which it ends. At each height the node with most classes is the
    most expensive.

    Args:
        task: Public problem of the search.
        profile: Engine and settings of the run.
    """
    least, top = lattice_search.bounds(task.lattice, lattice_search.NOTHING)
    nodes = [max(task.lattice.heights[height], key=task.lattice.possible) for height in range(least, top + 1)]
    return max(forecast(partial(with_node, task=task, node=node), profile).bytes for node in nodes)


def costliest(lattice: Lattice) -> Node:
    """Return the costliest node: its search compares most nodes, or against the public, most possible classes."""

    def work(height: int) -> int:
        search = lattice_search.towards(lattice, height)
        heights = [lattice_search.asked(lattice, search.first(i)) for i in range(len(search.answers))]
        nodes = [node for h in heights if h is not None for node in lattice.heights[h]]
        return len(nodes) if lattice.most is None else sum(map(lattice.possible, nodes))

    least, top = lattice_search.bounds(lattice, lattice_search.NOTHING)
    return max(lattice.heights[max(range(least, top + 1), key=work)], key=lattice.possible)
