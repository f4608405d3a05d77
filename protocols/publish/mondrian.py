"""Joint Mondrian: one recoding for the rows of two parties, without opening a count.

Ideal functionality. Inputs: each party's own rows (category indices), public `Problem`. Output to both: boxes of
values, as the cuts that make them. Each box is a class: its rows are equal after the recoding. The first box holds all
values. A box is cut into two in the attribute of which it has the largest share, at an edge between two values. Only
edges with rows that keep the rules on both sides are allowed. The edge that divides the rows of both parties most
evenly is taken; among equals the one nearest the middle in the order of values, then the lower one. If the attribute
has no allowed edge, the next widest is tried, and so on; a box without any allowed edge stays. With the score "ncp" the
edge of least loss is taken instead, the lowest one among equals. The loss is the sum over rows of the number of further
values in their range. Rules (`protocols.publish.problem`): k rows, l-diversity and t-closeness of a sensitive column
(`protocols.rules`), against the `public` or the `peer`. A run can resume from the cuts of some levels. It ends with the
cuts of the whole run, and opens nothing of those levels.

First the parties decide whether the rows may be published (`protocols.publish.precheck`); if not, both get a
`JointRefusalError` with the reason.

Leakage: the cuts, which are published, and nothing else. A box is compared in its other attributes only if its widest
could not be cut; this follows from the final cut, or from its absence. With the rule `public`, a party can subtract its
own rows of a class; the rest may be fewer than k rows of the peer.

Paper: K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity" (ICDE 2006). Widths are public:
those of the boxes, not of the rows inside, which are not opened. One level is one batch.

e edges of rows counted with N bits cost e (N + 2) input bits of each party, and about 3 N + log2 e ANDs an edge: a sum,
a comparison and a choice. An inner box costs the edges of its widest attribute, a final box those of all attributes. l
and t cost nothing more against the peer. Against the public they cost what `protocols.feasibility` states for two
groups an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs
from protocols.publish.balance import nearest_netlist, sides_netlist, sum_netlist
from protocols.publish.cuts import Cut, Cuts, Level, open_boxes
from protocols.publish.loss import enough_netlist, least_netlist, total_netlist
from protocols.publish.openings import Asked, first_question, second_question
from protocols.publish.precheck import OwnRows, models_kept, precheck
from protocols.publish.problem import Problem
from protocols.publish.tournament import first_netlist, longer, masked_netlist, stacked, tournament
from smc.engines import Bits, Engine
from smc.primitives import bits as bitpack

Columns = Sequence[str]


@dataclass(frozen=True)
class Progress:
    """Progress of a run: the number of boxes to decide next, and the cuts so far."""

    boxes: int
    cuts: Cuts


def mondrian(
    engine: Engine,
    problem: Problem,
    rows: Indices,
    progress: Callable[[Progress], None] | None = None,
    start: Cuts = (),
    names: Columns = (),
) -> Cuts:
    """Run joint Mondrian to its end and return all cuts, level by level, which both parties open.

    The last level cuts nothing.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the recoding.
        rows: This party's distinct rows, int64[lines, columns + 1]; private. The columns are the attributes, the other
            columns, and last the number of equal rows.
        progress: Called before each level with the number of open boxes and the cuts so far. Default: not called.
        start: Cuts of an interrupted run, to continue from there; equal at both parties. Default: a new run.
        names: Names of the columns, for messages. Default: their numbers.

    Raises:
        InputError: The rows have another shape, a value is out of range, or this party has more rows than agreed.
        JointRefusalError: The rows of both parties may not be published.
        ProtocolError: The opened bits are not those of a cut.
    """
    party_rows = OwnCells(problem, rows)
    cuts = start
    for level in cuts:
        party_rows.descend(level)
    while boxes := open_boxes(problem.domains, cuts):
        if progress is not None:
            progress(Progress(len(boxes), cuts))
        if not cuts:
            precheck(engine, problem, party_rows, names)
        with engine.session.phase(f"level {len(cuts)}"):
            party_rows.count(len(boxes))
            level_cuts: list[Cut | None] = [None] * len(boxes)
            for question in (first_question, second_question):
                cut_question, places = question(problem.domains, boxes, level_cuts)
                for place, cut in zip(places, ask(engine, problem, party_rows, cut_question, places), strict=True):
                    level_cuts[place] = cut
        party_rows.descend(tuple(level_cuts))
        cuts = (*cuts, tuple(level_cuts))
    return cuts


class OwnCells(OwnRows):
    """This party's rows, the box of each row, and this party's row counts in each open box (`tables`).

    A box is open if the next level decides whether it is cut. A count is the number of rows up to a value.
    """

    def __init__(self, problem: Problem, rows: Indices) -> None:
        super().__init__(problem, rows)
        self._domains = problem.domains
        self._place: Indices = np.zeros(len(rows), dtype=np.int64)  # number of the open box, -1 in a closed one
        self.tables: list[Indices] = []

    def count(self, boxes: int) -> None:
        """Set `tables` by counting the rows of each open box.

        There is one table for each attribute, int64[boxes, values, kinds]: the number of rows up to each value. A kind
        is a value of the sensitive column for l and t; otherwise there is one kind.
        """
        inside = np.flatnonzero(self._place >= 0)
        self.tables = []
        for attribute, size in enumerate(self._domains):
            cell = self._place[inside] * size + self.values[inside, attribute]
            counts = self.tally(cell * self.kinds + self.kind[inside], boxes * size * self.kinds, inside)
            self.tables.append(counts.reshape(boxes, size, self.kinds).cumsum(axis=1))

    def descend(self, level: Level) -> None:
        """Move all rows on to the open boxes of the next level."""
        attribute = np.array([0 if cut is None else cut.attribute for cut in level])
        value = np.array([0 if cut is None else cut.value for cut in level])
        is_cut = np.array([cut is not None for cut in level])
        first = np.where(is_cut, 2 * (np.cumsum(is_cut) - 1), -1)
        moving = np.flatnonzero(self._place >= 0)
        at = self._place[moving]
        upper = self.values[moving, attribute[at]] >= value[at]
        self._place[moving] = np.where(is_cut[at], first[at] + upper, -1)


def ask(
    engine: Engine, problem: Problem, party_rows: OwnCells, question: Asked, places: Sequence[int]
) -> list[Cut | None]:
    """Open where each box of a question is cut.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the recoding.
        party_rows: This party's rows, counted by open box; private.
        question: Boxes of the question, with their attributes; public.
        places: Index of each of these boxes among the open boxes; public.

    Returns:
        The cut of each box, None if it has no allowed edge; both parties learn it. Empty if there is no box.

    Raises:
        ProtocolError: The opened bits are not those of a cut.
    """
    if not places:
        return []
    edges = np.array([sum(box[a][1] - box[a][0] - 1 for a in order) for box, order in _pairs(question)])
    width = problem.count_width + 1
    parts = (np.cumsum(edges) - 1) // max(1, engine.comfortable // (4 * width))
    starts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(places)]
    best = []
    for low, high in pairwise(starts):
        part = Asked(question.domains, question.boxes[low:high], question.orders[low:high])
        best.append(_best(engine, problem, party_rows, part, places[low:high]))
    with engine.session.phase("cuts"):
        (opened,) = engine.reveal(Bits.join(best))
    return question.read(opened)


def _pairs(question: Asked) -> zip[tuple[tuple[tuple[int, int], ...], tuple[int, ...]]]:
    return zip(question.boxes, question.orders, strict=True)


def _best(engine: Engine, problem: Problem, party_rows: OwnCells, question: Asked, places: Sequence[int]) -> Bits:
    """Return the secret cut of each box, in the form of `Asked.bits`."""
    lengths = question.lengths
    ranks, digits = question.widths
    lower = np.concatenate(
        [
            party_rows.tables[a][place, box[a][0] : box[a][1] - 1]
            for place, (box, order) in zip(places, _pairs(question), strict=True)
            for a in order
        ]
    )
    attributes = np.array([len(order) for order in question.orders])
    boxes = party_rows.tables[0][np.repeat(places, attributes), -1]  # rows of each box, once for each attribute
    upper = np.repeat(boxes, lengths, axis=0) - lower
    bits = _allowed(engine, problem, party_rows, lower, upper)
    rows = (lower.sum(axis=-1), upper.sum(axis=-1))
    if problem.score == "ncp":
        may, edge = _least_loss(engine, problem, rows, bits, lengths, digits)
    else:
        may, edge = _most_even(engine, problem, rows, boxes.sum(axis=-1), bits, lengths, digits)
    with engine.session.phase("attributes"):
        may, edge, rank = tournament(engine, first_netlist, [may, edge], attributes, ranks)
        masked = masked_netlist(ranks + digits, engine.form)
        return engine.run(masked, may, stacked(longer(engine, rank, ranks), edge))[0]


def _most_even(
    engine: Engine,
    problem: Problem,
    rows: tuple[Indices, Indices],
    totals: Indices,
    bits: list[Bits],
    lengths: Indices,
    digits: int,
) -> tuple[Bits, Bits]:
    """Return for each group of edges the secret bit "has an allowed edge", and the edge that divides most evenly."""
    width = problem.count_width + 1
    with engine.session.phase("sums"):
        differences = (rows[0] - rows[1]) & ((1 << width) - 1)
        balances = engine.both(bitpack.from_integers(differences, width))
        players = engine.run(sum_netlist(width, engine.form), *balances, *bits)
    with engine.session.phase("edges"):
        may, balance, edge = tournament(engine, nearest_netlist, players, lengths, digits)
    with engine.session.phase("sides"):  # if the most even edge has too few rows on a side, so has every other
        sides = both_inputs(engine, totals.astype(np.uint64), problem.count_width)
        netlist = sides_netlist(width, problem.count_width, problem.least, engine.form)
        (may,) = engine.run(netlist, may, balance, *sides)
    return may, edge


def _least_loss(
    engine: Engine, problem: Problem, rows: tuple[Indices, Indices], bits: list[Bits], lengths: Indices, digits: int
) -> tuple[Bits, Bits]:
    """Return for each group of edges the secret bit "has an allowed edge", and the allowed edge with the least loss."""
    places = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    loss = rows[0] * places + rows[1] * (np.repeat(lengths, lengths) - 1 - places)
    width = problem.count_width + max(problem.domains).bit_length()
    enough = problem.least.bit_length()
    with engine.session.phase("sides"):
        sides = [both_inputs(engine, np.minimum(side, problem.least).astype(np.uint64), enough) for side in rows]
        (may,) = engine.run(enough_netlist(enough, problem.least, engine.form), *bits, *sides[0], *sides[1])
    with engine.session.phase("sums"):
        losses = both_inputs(engine, loss.astype(np.uint64), width)
        (total,) = engine.run(total_netlist(width, engine.form), *losses)
    with engine.session.phase("edges"):
        may, _, edge = tournament(engine, least_netlist, [may, total], lengths, digits)
    return may, edge


def _allowed(engine: Engine, problem: Problem, party_rows: OwnCells, lower: Indices, upper: Indices) -> list[Bits]:
    """Return two bits an edge: both 1 if the rows on both sides keep the rules; k of the union is decided later."""
    if problem.against == "public" and problem.models.any:
        with engine.session.phase("models"):
            return models_kept(engine, problem, np.stack([lower, upper], axis=1), party_rows.whole)
    allowed = problem.keeps(lower, party_rows.whole) & problem.keeps(upper, party_rows.whole)
    return list(engine.both(allowed.astype(np.uint8)[None]))
