"""Attribute of greatest gain ratio (Quinlan 1993, C4.5), secret until its index is opened.

Of a node of n rows with class counts n(c), and an attribute with n(v) and n(v, c),

    gain = n ln n - sum n(c) ln n(c) - sum n(v) ln n(v) + sum n(v, c) ln n(v, c),
    split information = n ln n - sum n(v) ln n(v).

The circuit chooses the greatest ratio among the attributes that divide the rows (split information above 0) and whose
gain is no less than the mean of the node's candidates; the first among equals. If rules bar all of these
(`protocols.rules`), it chooses the greatest ratio among the other allowed attributes. An attribute with many values, or
one in which few rows differ, can have a great ratio by chance. The mean guards against this.

Error. A gain has four sums of x ln x, each of counts that add up to n; a split information has two. So they are wrong
by at most 4 n e <= n delta (`protocols.precision`). They are divided by n's power of two, exactly except for truncated
digits: 3/16 delta a row. So the choice is right for some gains and split informations within 5/4 delta a row of the
true ones. An attribute without gain or split information has exactly 0 of it. Ratios G / S and G' / S' compare rightly
if
|G S' - G' S|, a row each, is above 5/4 delta (G + S + G' + S') + 4 delta^2.

Cost for a node of a attributes: x ln x as for the entropy and of the node's own counts; about 15 (N + K) ANDs an
attribute to scale, K = log2(8 / delta) rounded up; a - 1 comparisons of two products of about K + 2 by K + 6 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from protocols.counts import Indices
from protocols.edges import padded
from protocols.entropies import BATCH, groups
from protocols.inputs import both_inputs
from protocols.logarithm import x_log_x
from protocols.openings import index_width
from protocols.pieces import in_shards
from protocols.precision import Precision
from protocols.problem import Problem
from smc.circuit import Builder, Form, Netlist, any_of, concatenate, multiply, normalise, select, total
from smc.circuit.kept import kept
from smc.engines import Bits, Engine, Word
from smc.primitives import bits as bitpack


def greatest(
    engine: Engine,
    problem: Problem,
    candidates: Sequence[Sequence[int]],
    tables: Sequence[Indices],
    feasible: Sequence[Bits],
) -> Bits:
    """Return the position of the best of each node's candidates, secret.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        candidates: The attributes that each node compares, at least one a node; public.
        tables: This party's n(v, c), int64[nodes, values, classes] for each attribute; private.
        feasible: Secret bits [1, nodes] by position: 1 if the candidate is allowed. Empty if all are allowed.

    Returns:
        The position among the node's candidates, secret bits [index width, nodes].
    """
    weights = np.array([sum(problem.domains[attribute] for attribute in line) for line in candidates])
    most = max(map(len, candidates))

    def piece(part: slice) -> tuple[Any, ...]:
        return problem, candidates[part], [table[part] for table in tables], most, [bit.take(part) for bit in feasible]

    (places,) = in_shards(engine, _greatest, weights, piece)
    return places


def _greatest(
    engine: Engine,
    problem: Problem,
    candidates: Sequence[Sequence[int]],
    tables: Sequence[Indices],
    most: int,
    feasible: Sequence[Bits],
) -> tuple[Bits]:
    """Return the secret position of the best of each node's `candidates`, which are at most `most`."""
    words, form = engine.words, engine.form
    lengths = np.array([len(line) for line in candidates])
    starts = np.cumsum(lengths) - lengths
    of_nodes = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.array([tables[line[0]][node].sum() for node, line in enumerate(candidates)])
    precision = problem.precision(words.prices)
    gains, splits = (words.bits(word) for word in _informations(engine, problem, precision, candidates, tables))
    sides = [side.take(of_nodes) for side in both_inputs(engine, rows.astype(np.uint64), precision.count_width)]
    digits = math.ceil(-math.log2(problem.delta / 8))
    netlist = scaled_netlist(precision, problem.classes, digits, form)
    gains, splits = engine.run(netlist, gains, splits, *sides)
    # Whether a gain is at least the mean.
    none = engine.constant(np.zeros((gains.width, 1), dtype=np.uint8))
    members = groups(starts, lengths)
    columns = [Bits.join([gains, none]).take(np.where(column < 0, gains.batch, column)) for column in members.T]
    (sums,) = engine.run(_sum_netlist(len(columns), gains.width, form), *columns)
    numbers = engine.constant(bitpack.from_integers(lengths[of_nodes].tolist(), most.bit_length()))
    (ranks,) = engine.run(
        _rank_netlist(gains.width, splits.width, sums.width, most.bit_length(), form),
        gains,
        splits,
        sums.take(of_nodes),
        numbers,
    )
    # A knockout: the later of two candidates wins only if it is greater.
    places = padded(lengths, starts, most).T
    players = []
    for place, column in enumerate(places):
        index = engine.constant(bitpack.from_integers([place] * len(lengths), index_width(most)))
        parts = (part.take(column) for part in (gains, splits, ranks))
        players.append([index, *parts, *feasible[place : place + 1]])
    while len(players) > 1:
        pairs = [
            [Bits.join(parts) for parts in zip(*players[side::2][: len(players) // 2], strict=True)] for side in (0, 1)
        ]
        widths = tuple(part.width for part in pairs[0])
        winners = engine.run(_better_netlist(widths, form), *pairs[0], *pairs[1])
        spans = [slice(at, at + len(lengths)) for at in range(0, winners[0].batch, len(lengths))]
        players = [[part.take(span) for part in winners] for span in spans] + players[2 * len(spans) :]
    return (players[0][0],)


def _informations(
    engine: Engine,
    problem: Problem,
    precision: Precision,
    candidates: Sequence[Sequence[int]],
    tables: Sequence[Indices],
) -> tuple[Word, Word]:
    """Return gain and split information of each candidate, node by node, computed a few nodes at a time."""
    sizes = [sum(problem.domains[attribute] for attribute in line) * (problem.classes + 1) for line in candidates]
    cuts = np.flatnonzero(np.diff((np.cumsum(sizes) - 1) // BATCH)) + 1
    parts = [
        _of_nodes(engine, problem, precision, [[tables[a][i] for a in candidates[i]] for i in nodes])
        for nodes in np.split(np.arange(len(candidates)), cuts)
    ]
    gains, splits = zip(*parts, strict=True)
    return engine.words.join(gains), engine.words.join(splits)


def _of_nodes(
    engine: Engine, problem: Problem, precision: Precision, nodes: Sequence[Sequence[Indices]]
) -> tuple[Word, Word]:
    """Return gain and split information of some nodes, from int64[values, classes] of each node and candidate."""
    words, width = engine.words, precision.sum_width
    counts: list[int] = []
    lines: tuple[list[list[int]], ...] = ([], [], [], [])  # positions to add and to subtract: gain, then split

    def places(values: Indices) -> list[int]:
        counts.extend(values.reshape(-1).tolist())
        return [*range(len(counts) - values.size, len(counts))]

    for tables in nodes:
        classes = tables[0].sum(axis=0)
        whole, by_class = places(classes.sum(keepdims=True)), places(classes)
        for table in tables:
            by_value, cells = places(table.sum(axis=1)), places(table)
            for line, members in zip(lines, (whole + cells, by_class + by_value, whole, by_value), strict=True):
                line.append(members)
    inputs = both_inputs(engine, np.array(counts, dtype=np.int64), precision.count_width, sums="modular")
    logs = x_log_x(engine, precision, *inputs)
    sums = [words.total(logs, _filled(line), width) for line in lines]
    return words.subtract(sums[0], sums[1], width), words.subtract(sums[2], sums[3], width)


def _filled(lines: Sequence[Sequence[int]]) -> Indices:
    """Return lists of positions as one array, int64[lists, longest], filled up with -1."""
    longest = max(map(len, lines))
    return np.array([[*line, *[-1] * (longest - len(line))] for line in lines])


@kept
def scaled_netlist(precision: Precision, classes: int, digits: int, form: Form = "size") -> Netlist:
    """Build a circuit that scales gain and split information by the node's number of rows.

    Args:
        precision: Parameters of the logarithm.
        classes: Number of classes.
        digits: Binary digits of the scaled numbers.
        form: "size" for few gates, "depth" for few levels.

    Returns:
        The circuit. Its inputs are gain, split information, and the rows of party 0 and of party 1. Its outputs are the
        first two, at least 0. They are divided by the greatest power of two up to the number of rows.
    """
    width, builder = precision.count_width, Builder(form)
    values = [builder.input(precision.sum_width, signed=True) for _ in range(2)]
    _, shift = normalise(builder.input(width) + builder.input(width))
    for value, most in zip(values, (classes, precision.bound), strict=True):
        bits = math.ceil(2 * (math.log(most) + 20 * 2.0**-digits)).bit_length() + digits
        positive = builder.integer([wire & ~value[-1] for wire in value[:-1]])
        more = digits - precision.fraction
        fixed = positive[-more:] if more <= 0 else concatenate(builder.constant(0, more), positive)
        builder.output((fixed.resize(width - 1 + bits) << shift)[width - 1 :])
    return builder.build()


@kept
def _sum_netlist(members: int, width: int, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(total([builder.input(width) for _ in range(members)], width + members.bit_length()))
    return builder.build()


@kept
def _rank_netlist(gain: int, split: int, whole: int, number: int, form: Form) -> Netlist:
    """Build a circuit that returns whether a gain is at least the mean, and whether split information is above 0.

    Inputs, with these widths: the gain, the split information, the sum of the gains, and their number.
    """
    builder = Builder(form)
    gains, splits, sums, numbers = (builder.input(width) for width in (gain, split, whole, number))
    builder.output([multiply(gains, numbers, gain + number) >= sums, any_of(splits.wires)])
    return builder.build()


@kept
def _better_netlist(widths: tuple[int, ...], form: Form) -> Netlist:
    """Build the choice of the better of two candidates: each an index, a gain, a split information, priority bits."""
    builder = Builder(form)
    first, second = ([builder.input(width) for width in widths] for _ in range(2))
    ranks = [concatenate(*player[3:]) for player in (first, second)]
    products = [multiply(x[1], y[2], widths[1] + widths[2]) for x, y in ((first, second), (second, first))]
    later = (ranks[0] < ranks[1]) | ((ranks[0] == ranks[1]) & (products[0] < products[1]))
    for mine, theirs in zip(first, second, strict=True):
        builder.output(select(later, theirs, mine))
    return builder.build()
