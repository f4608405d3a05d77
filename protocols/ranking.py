"""Ranking of columns by their information on a class: opens the first k columns in order, and no score.

Ideal functionality. Inputs: each party's own counts n(v, c) by value and class of every column. Output to both: the
indices of the k columns with the greatest scores, in falling order, the lower index among equals. Leakage: nothing
else; neither a score nor a count is opened. Security is that of the engine. The scores of both parties' rows are

* `mi`: minus |T| H(class | column), and `gini`: minus the rows times Gini's impurity (`protocols.release.quality`),
  within 1/8 of a nat of a row and 1/32 of a row;
* `chi2`: Pearson's statistic (`protocols.significance`; all columns have the same rows), within its `ERROR`;
* `iv`: information value (Kullback 1959; in credit scoring: Siddiqi 2006) of two classes,

      sum_v (a(v) / A - b(v) / B) (ln(a(v) + 1/2) - ln(b(v) + 1/2)),

  where a, b are the rows of both classes by value and A, B their sums. The halves are for values that one class lacks.
  All columns have the same A B, so it is computed times A B: sum_v (a(v) B - b(v) A) (ln(2 a(v) + 1) - ln(2 b(v) + 1)),
  each logarithm within `LOGARITHM` / 4 (`protocols.logarithm`); ln A - ln B cancels, because the first factors add up
  to 0. So the information value has an error of at most `LOGARITHM`.

Columns whose scores differ by less than the error may change places. All pairs of columns are compared in one batch. A
column's rank is the number of columns with better scores. Cost for c columns: the scores, c (c - 1) / 2 comparisons, c
sums of c - 1 bits, and c ceil(log2(k + 1)) opened bits, which follow from the k indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs, summands
from protocols.logarithm import logarithm
from protocols.opened import index_below
from protocols.precision import derive
from protocols.release.quality import QUALITIES, sums
from protocols.significance import chi2_ratios
from smc.circuit import Builder, Form, Integer, Netlist, select, total
from smc.engines import Bits, Engine
from smc.errors import ProtocolError

LOGARITHM = 2**-12
MEASURES = ("iv", "chi2", "mi", "gini")


def rank(engine: Engine, measure: str, tables: Sequence[Indices], first: int, bound: int) -> list[int]:
    """Open the indices of the first columns, the greatest score first.

    Args:
        engine: The engine of this session.
        measure: The score, one of `MEASURES`; public. "iv" needs two classes.
        tables: This party's counts n(v, c), int64[values, classes] for each column; private.
        first: Number of columns to open, 1 or more; public.
        bound: Upper bound on the rows of a party; public.

    Returns:
        The indices in the order of falling scores, the lower index among equals. Both parties learn them.

    Raises:
        InputError: This party has more than `bound` rows, or the bound is too large for the computation.
        ProtocolError: The opened ranks are not those of an order.
    """
    with engine.session.phase("scores"):
        scores, signed = _scores(engine, measure, tables, bound)
    with engine.session.phase("order"):
        return _order(engine, scores, signed, first)


def _scores(engine: Engine, measure: str, tables: Sequence[Indices], bound: int) -> tuple[Bits, bool]:
    """Return each column's secret score, [width, columns], and whether it is signed.

    `tables` has this party's counts of each column by value and class, of at most `bound` rows.
    """
    if measure in ("mi", "gini"):
        quality = QUALITIES["entropy" if measure == "mi" else "gini"](2 * bound)
        return quality.scores(engine, tables), True
    if measure == "iv":
        return _information(engine, tables, bound), True
    values = max(map(len, tables))
    padded = np.stack([np.pad(table, ((0, values - len(table)), (0, 0))) for table in tables])
    return chi2_ratios(engine, padded, bound)[0], False


def _information(engine: Engine, tables: Sequence[Indices], bound: int) -> Bits:
    """Return A B times the information value of each column of two classes."""
    precision = derive(LOGARITHM, 4 * bound + 1, prices=engine.words.prices)
    lines = np.concatenate(list(tables))
    width = bound.bit_length()
    odd = summands(engine, (2 * lines + (engine.party == 0)).T.ravel(), precision.count_width, "the count")
    _, logs = logarithm(engine, precision, *both_inputs(engine, odd, precision.count_width, sums="modular"))
    log_bits = engine.words.bits(logs)
    counts = summands(engine, np.concatenate([lines.T.ravel(), tables[0].sum(axis=0)]), width, "the count")
    left, right = both_inputs(engine, counts, width)
    values = len(lines)
    places = [
        np.arange(values),
        np.arange(values, 2 * values),
        np.full(values, 2 * values),
        np.full(values, 2 * values + 1),
    ]
    sides = [side.take(place) for place in places for side in (left, right)]
    netlist = _information_netlist(width, log_bits.width, len(tables[0]), engine.form)
    (terms,) = engine.run(netlist, *sides, log_bits.take(places[0]), log_bits.take(places[1]))
    return sums(engine, terms, np.array([len(table) for table in tables]))


@lru_cache(maxsize=32)
def _information_netlist(width: int, log_width: int, values: int, form: Form) -> Netlist:
    """Build the sum of (a B - b A) (ln a - ln b) over values: inputs a, b, A, B of each party, then both logarithms."""
    builder = Builder(form)
    a, b, all_a, all_b = (builder.input(width).wide_add(builder.input(width)) for _ in range(4))
    logs = [builder.input(log_width, signed=True) for _ in range(2)]
    product = (a * all_b).wide_subtract(b * all_a) * logs[0].wide_subtract(logs[1])
    builder.output(product.extend(len(product) + 16))  # room for the sum of up to 2^16 values
    return builder.build()


def _order(engine: Engine, scores: Bits, signed: bool, first: int) -> list[int]:
    """Open the `first` columns with the greatest scores, in their order."""
    columns = scores.batch
    if columns == 1:
        return [0]
    low, high = np.triu_indices(columns, 1)
    (less,) = engine.run(_less_netlist(scores.width, signed, engine.form), scores.take(low), scores.take(high))
    pair = np.zeros((columns, columns), dtype=np.int64)
    pair[low, high] = pair[high, low] = np.arange(len(low))
    others = np.array([[other for other in range(columns) if other != column] for column in range(columns)])
    own_number = np.arange(columns)[:, None]
    beaten_by = less.take(pair[own_number, others].ravel())  # 1 if the pair's later column is greater
    later = (others < own_number).astype(np.uint8).ravel()  # this column is the later one: it is beaten by a 0
    beaten = beaten_by ^ engine.constant(later[None])
    lines = np.arange(beaten.batch).reshape(columns, columns - 1)
    netlist = _rank_netlist(columns - 1, first, engine.form)
    (opened,) = engine.reveal(*engine.run(netlist, *[beaten.take(line) for line in lines.T]))
    ranks = index_below(opened, first + 1, "a rank")
    expected = np.minimum(np.arange(columns), first)
    if ranks.any() and not np.array_equal(np.sort(ranks), expected):  # a counting engine opens zeros
        raise ProtocolError("the opened ranks do not form an order: the peer's messages are wrong")
    return np.argsort(ranks, kind="stable")[:first].tolist()


@lru_cache(maxsize=32)
def _less_netlist(width: int, signed: bool, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(builder.input(width, signed=signed) < builder.input(width, signed=signed))
    return builder.build()


@lru_cache(maxsize=32)
def _rank_netlist(others: int, first: int, form: Form) -> Netlist:
    """Build a circuit that counts the ones among `others` bits, but returns at most `first`."""
    builder = Builder(form)
    bits: list[Integer] = [builder.input(1) for _ in range(others)]
    count = total(bits, others.bit_length())
    builder.output(select(count < first, count, first).resize(first.bit_length()))
    return builder.build()
