"""Joint full-domain generalisation: one level for each attribute of the rows of two parties, without opening a count.

Ideal functionality. Inputs: each party's own rows (category indices); public `FullDomain`: hierarchies, rules, and the
largest number of rows of both parties that may be suppressed (MaxSup). Output to both: a node of the lattice, which
sets a level for each attribute. A node *suffices* if it suppresses at most MaxSup rows. The output has the least height
with such a node, and is the first of them in a public order (`Lattice.heights`). A class that does not keep the rules
is suppressed as a whole:

* `peer`: each party suppresses its own rows of a class if they do not keep the rules by themselves. Each party counts
  its own suppressed rows, and a node takes one comparison of the sum of two numbers;
* `public`: both parties suppress a class with fewer than k rows together. The output then also says whether each
  possible class of the node has k rows, because the parties need it to suppress the others. Classes that occur are not
  public. So all possible classes are compared, and only nodes with at most `max_classes` of them are searched. These
  include the top, and every node above one of them.

First the parties decide whether the rows may be published (`protocols.publish.precheck`).

Leakage: nothing else. The binary search opens whether some node of a height suffices; this follows from the height of
the result. The classes with k rows follow from the published tables. A class that is not published has no row or too
few; the result does not distinguish these. But a party with r rows in such a class learns that the peer has fewer than
k - r.

Paper: P. Samarati, "Protecting Respondents' Identities in Microdata Release" (IEEE TKDE 13, 2001). All nodes of a
height are one batch. Cost of a node, counts of N bits: against the peer N input bits from each party and 2 N ANDs.
Against the public, for every possible class the cost in `protocols.publish.suppression`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs
from protocols.publish.lattice_search import NOTHING, Found, Lattice, Node, asked, bounds, digits, read
from protocols.publish.precheck import OwnRows, precheck
from protocols.publish.problem import Problem
from protocols.publish.suppression import (
    at_most_netlist,
    published_netlist,
    small_rows,
    together_netlist,
)
from protocols.publish.tournament import first_netlist, tournament
from smc.engines import Bits, Engine
from smc.errors import InputError

MOST_POSSIBLE = 1 << 25  # possible classes of all nodes of a height: half a gigabyte of counts


@dataclass(frozen=True)
class FullDomain:
    """Public settings of a search: `problem`, the lattice of the hierarchies, and MaxSup (`max_suppressed`).

    Raises InputError if the settings do not fit, or if rows may be suppressed under rules that larger classes may
    break.
    """

    problem: Problem
    lattice: Lattice
    max_suppressed: int = 0

    def __post_init__(self) -> None:
        models = self.problem.models
        if tuple(len(levels[0]) for levels in self.lattice.hierarchies) != self.problem.domains:
            raise InputError("every attribute needs a hierarchy of its values")
        if not 0 <= self.max_suppressed <= 2 * self.problem.max_rows:
            raise InputError(
                f"max_suppressed_rows is {self.max_suppressed:,}: it must be from 0 to "
                f"{2 * self.problem.max_rows:,}, the bound on the rows of both"
            )
        if self.max_suppressed and (models.close or models.diversity == "entropy"):
            raise InputError(
                "max_suppressed_rows must be 0 with t or entropy l-diversity, because larger classes may break these "
                "rules; set it to 0"
            )
        if self.problem.against == "public" and models.any:
            raise InputError("l and t need against = peer here; set it, or use smc publish joint")
        if (self.problem.against == "public") != (self.lattice.most is not None):
            raise InputError("max_classes goes with against = public, which needs it; give both or neither")
        if self.lattice.most is not None:
            most = max(sum(map(self.lattice.possible, nodes)) for nodes in self.lattice.heights)
            if most > MOST_POSSIBLE:
                raise InputError(
                    f"the combinations of levels have up to {most:,} possible classes at one step of the search, "
                    f"more than {MOST_POSSIBLE:,}; give a smaller max_classes, fewer levels or fewer columns"
                )


@dataclass(frozen=True)
class Asking:
    """Step of a run: the number of nodes to compare next, and the state of the search."""

    nodes: int
    search: Found


def levels(
    engine: Engine,
    task: FullDomain,
    rows: Indices,
    progress: Callable[[Asking], None] | None = None,
    start: Found = NOTHING,
    names: Sequence[str] = (),
) -> Found:
    """Run the search to its end and return all its answers, which both parties open.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        task: Public problem of the search.
        rows: This party's distinct rows, int64[lines, columns + 1]; private. The columns are the attributes, the other
            columns, and last the number of equal rows.
        progress: Called before each step with the number of nodes and the search so far. Default: not called.
        start: Answers of an interrupted run, to continue from there; equal at both parties. Default: a new run.
        names: Names of the columns, for messages. Default: their numbers.

    Raises:
        InputError: The rows have another shape, a value is out of range, or this party has more rows than agreed.
        JointRefusalError: The rows of both parties may not be published.
        ProtocolError: The opened position is not that of a node.
    """
    problem, lattice, search = task.problem, task.lattice, start
    party_rows = OwnRows(problem, rows)

    def tell(asking: Asking) -> None:
        if progress is not None:
            progress(asking)
        if not asking.search.steps:
            precheck(engine, problem, party_rows, names)

    places: dict[int, Bits] = {}
    while (height := asked(lattice, search)) is not None:
        tell(Asking(len(lattice.heights[height]), search))
        with engine.session.phase(f"height {height}"):
            may, places[height] = _first(engine, task, party_rows, height)
            search = replace(search, answers=(*search.answers, bool(engine.reveal(may)[0][0, 0])))
    node = search.node
    if node is None:
        height, _ = bounds(lattice, search)
        tell(Asking(len(lattice.heights[height]), search))
        with engine.session.phase("levels"):
            node = _node(engine, task, party_rows, height, places.get(height))
            search = replace(search, node=node)
    if problem.against == "public" and search.published is None:
        tell(Asking(1, search))
        with engine.session.phase("published"):
            search = replace(search, published=_published(engine, task, party_rows, node))
    return search


def _node(engine: Engine, task: FullDomain, party_rows: OwnRows, height: int, place: Bits | None) -> Node:
    """Return the first sufficient node of a height, opened; the caller knows that there is one.

    Its position is already secret-shared if this run has compared this height.
    """
    nodes = task.lattice.heights[height]
    if len(nodes) == 1:
        return nodes[0]
    if place is None:
        _, place = _first(engine, task, party_rows, height)
    return read(task.lattice, height, engine.reveal(place)[0])


def _first(engine: Engine, task: FullDomain, party_rows: OwnRows, height: int) -> tuple[Bits, Bits]:
    """Return secret bits: whether some node of a height suffices, and the position of the first such node."""
    problem, nodes = task.problem, task.lattice.heights[height]
    with engine.session.phase("suppressed"):
        if problem.against == "peer":
            left_out = np.array([_own_suppressed(task, party_rows, node) for node in nodes], dtype=np.uint64)
            netlist = together_netlist(problem.count_width, task.max_suppressed, engine.form)
            (good,) = engine.run(netlist, *both_inputs(engine, left_out, problem.count_width))
        else:
            rows = small_rows(engine, problem.k, [_by_class(task, party_rows, node) for node in nodes])
            (good,) = engine.run(at_most_netlist(rows.width, task.max_suppressed, engine.form), rows)
    with engine.session.phase("first"):
        may, _, place = tournament(
            engine, first_netlist, [good, good], np.array([len(nodes)]), digits(task.lattice, height)
        )
    return may, place


def _published(engine: Engine, task: FullDomain, party_rows: OwnRows, node: Node) -> tuple[bool, ...]:
    """Open for each possible class of a node whether both parties together have k rows in it."""
    k = task.problem.k
    counts = np.minimum(_by_class(task, party_rows, node), k).astype(np.uint64)
    sides = both_inputs(engine, counts, k.bit_length())
    (bits,) = engine.reveal(*engine.run(published_netlist(k, engine.form), *sides))
    return tuple(bool(bit) for bit in bits[0])


def _by_class(task: FullDomain, party_rows: OwnRows, node: Node) -> Indices:
    """Return the number of this party's rows in every class that is possible at a node, int64[classes]."""
    place: Indices = np.zeros(len(party_rows.numbers), dtype=np.int64)
    for codes, sizes, level in zip(task.lattice.codes(node, party_rows.values), task.lattice.sizes, node, strict=True):
        place = place * sizes[level] + codes
    return party_rows.tally(place, task.lattice.possible(node))


def _own_suppressed(task: FullDomain, party_rows: OwnRows, node: Node) -> int:
    """Count this party's rows in classes where its own rows do not keep the rules."""
    place: Indices = np.zeros(len(party_rows.numbers), dtype=np.int64)
    number = 1
    for codes, sizes, level in zip(task.lattice.codes(node, party_rows.values), task.lattice.sizes, node, strict=True):
        if number * sizes[level] > 4 * len(place) + 1024:  # only classes that occur
            occurring, place = np.unique(place, return_inverse=True)
            number = max(1, len(occurring))
        place, number = place * sizes[level] + codes, number * sizes[level]
    counts = party_rows.tally(place * party_rows.kinds + party_rows.kind, number * party_rows.kinds).reshape(
        number, party_rows.kinds
    )
    fit = task.problem.keeps(counts, party_rows.whole)
    return int(counts[~fit].sum())
