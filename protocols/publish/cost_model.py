"""What a joint recoding will cost: its conversation follows from the problem and what it finds, without any rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from protocols.publish import lattice_search
from protocols.publish.cuts import Cut, Cuts, open_boxes, widest_first
from protocols.publish.lattice import FullDomain, levels
from protocols.publish.lattice_search import Found, Lattice, Node
from protocols.publish.mondrian import mondrian
from protocols.publish.openings import answers
from protocols.publish.problem import Problem
from smc.counting import CountingEngine


def with_cuts(engine: CountingEngine, problem: Problem, cuts: Cuts) -> None:
    """Count the run that ends with these cuts."""
    engine.answers = answers(problem.domains, len(problem.columns), cuts)
    mondrian(engine, problem, np.zeros((0, len(problem.columns) + 1), dtype=np.int64))


def with_classes(engine: CountingEngine, problem: Problem, classes: int) -> None:
    """Count a run that ends with so many classes, or with as many as the rows allow, as `halving` finds them."""
    most = max(1, 2 * problem.max_rows // problem.k)
    with_cuts(engine, problem, halving(problem.domains, min(most, classes)))


def halving(domains: tuple[int, ...], classes: int) -> Cuts:
    """Cut in the middle of the widest attribute until there are so many classes, or nothing is left to cut."""
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
    """Count the search for levels that ends with this."""
    columns = task.problem.columns
    engine.answers = lattice_search.answers(task.lattice, len(columns), search)
    levels(engine, task, np.zeros((0, len(columns) + 1), dtype=np.int64))


def with_node(engine: CountingEngine, task: FullDomain, node: Node) -> None:
    """Count the search that finds a node."""
    public = task.problem.against == "public"
    published = (False,) * task.lattice.possible(node) if public else None
    with_found(engine, task, replace(lattice_search.towards(task.lattice, sum(node)), node=node, published=published))


def costliest(lattice: Lattice) -> Node:
    """Return a node that takes most to find: nodes that are compared, or their classes where these are listed."""

    def work(height: int) -> int:
        search = lattice_search.towards(lattice, height)
        heights = [lattice_search.asked(lattice, search.first(i)) for i in range(len(search.answers))]
        nodes = [node for h in heights if h is not None for node in lattice.heights[h]]
        return len(nodes) if lattice.most is None else sum(map(lattice.possible, nodes))

    least, top = lattice_search.bounds(lattice, lattice_search.NOTHING)
    return max(lattice.heights[max(range(least, top + 1), key=work)], key=lattice.possible)
