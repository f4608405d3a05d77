"""Association rules of both parties' rows, level by level (Apriori): frequent sets, and the rules that hold.

Ideal functionality. Inputs: each party's own rows, each a set of items; public `Problem`. Output to both: the sets X of
at most `max_length` items that are frequent, that is with n(X) rows of both parties of N in all

    n(X) >= support N  and  n(X) >= least_rows;

and all rules X -> Y of frequent sets X u Y, X and Y not empty and disjoint, with

    n(X u Y) >= confidence n(X)  and  n(X u Y) N >= lift n(X) n(Y).

Leakage: one more bit, opened first: whether support N >= least_rows. A set is then compared with the larger bound only.
The candidates of a level follow from the frequent sets of the level before. The candidate rules follow from all
frequent sets. Each other opened bit belongs to the output: a candidate is frequent or not, a rule holds or not. No
count is opened. The bounds are public. The sizes and the order of all messages follow from the output. Security is that
of the engine. A rule of confidence 1 reveals that no row of either party contradicts it.

Papers: Agrawal, Srikant, "Fast Algorithms for Mining Association Rules" (VLDB 1994); Kantarcioglu, Clifton, "Privacy-
Preserving Distributed Mining of Association Rules on Horizontally Partitioned Data" (IEEE TKDE 16, 2004), whose secure
union and sum need three parties or more: here both thresholds are circuits on two parties' counts.

Let the support be p / q. Party 0 rounds its p rows / q up to a whole number, party 1 rounds its own down. n(X) >=
support N if n(X) is at least the sum of both numbers. It must be one more if party 1's remainder is greater than the
amount that party 0 added. That is one secret bit for all sets of a level (`_share`). A share modulo 2^64 has no such
parts: there q n(X) - p N is compared with 0, which costs log2(q) ANDs more for each candidate.

A linear threshold for each of c candidates, with counts of w bits, costs about w + 2 ANDs and opens one bit. Each of r
rules costs log2(q) ANDs more. With a limit on lift it also takes two products of w + 1 bits, about 4 w^2 ANDs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices
from protocols.inputs import both_rows, summands
from protocols.threshold import at_least_zero, decided, reached, side_width
from smc.circuit import Builder, Form, Netlist, all_of
from smc.engines import Bits, Engine
from smc.errors import InputError

ItemSet = tuple[int, ...]  # items in rising order
Rule = tuple[ItemSet, ItemSet]  # left-hand side, right-hand side
Levels = tuple[tuple[ItemSet, ...], ...]  # frequent sets of one item, of two, ...
Counting = Callable[[Sequence[ItemSet]], Indices]  # returns this party's rows with all items of each set
MOST_CANDIDATES = 1 << 20  # sets of a level, or rules
MOST_BITS = 62
FEWER = "raise support, or name fewer columns"
MOST_CELLS = 1 << 22  # largest table of counts that is kept in memory


@dataclass(frozen=True)
class Problem:
    """Public parameters of a run, equal at both parties. Raise InputError for values out of range.

    Attributes:
        columns: Column of each item; no row has two items of one column.
        max_rows: Upper bound on the rows of a party.
        support: Least share of both parties' rows that have all items of a frequent set.
        least_rows: Least number of these rows.
        confidence: Least share of the rows with a rule's left side that have its right side too.
        lift: Least confidence of a rule, divided by the share of all rows with its right side; 0 for no limit.
        max_length: Most items of a frequent set.
        most: Upper bound on the candidates of a level, and on the rules; None for `MOST_CANDIDATES`.
    """

    columns: tuple[int, ...]
    max_rows: int
    support: Fraction
    least_rows: int = 1
    confidence: Fraction = Fraction(0)
    lift: Fraction = Fraction(0)
    max_length: int = 4
    most: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.support <= 1:
            raise InputError(f"support: must be above 0 and at most 1, not {float(self.support):g}")
        if not 0 <= self.confidence <= 1 or self.lift < 0:
            raise InputError("confidence must be from 0 to 1, lift from 0 up")
        largest = ((1 << MOST_BITS) - 1) // (2 * self.max_rows)
        if max(self.support.denominator, self.confidence.denominator) > largest:
            raise InputError(f"support and confidence: give at most {len(str(largest)) - 1} digits after the point")
        if max(self.lift.numerator, self.lift.denominator) > 1 << 20:
            raise InputError("lift: give at most 6 digits")

    def candidates(self, levels: Levels) -> list[ItemSet]:
        """Return the candidates of the next level: the sets whose subsets of the level before are all frequent.

        Args:
            levels: Frequent sets of one item, of two items and so on; public.

        Returns:
            The sets, each with its items in rising order; an empty list beyond `max_length`.

        Raises:
            InputError: There are too many candidates, or the frequent sets have too many rules.
        """
        length = len(levels) + 1
        limit = self.most or MOST_CANDIDATES
        most = f"at most {limit:,} are decided"
        if (rules := number_of_rules(levels)) > limit:
            raise InputError(f"{rules:,} rules may hold, {most}: raise support, or lower max_length")
        if length == 1:
            return [(item,) for item in range(len(self.columns))]
        if length > self.max_length:
            return []
        frequent = set(levels[-1])
        by_beginning: dict[ItemSet, list[int]] = {}
        for items in levels[-1]:
            by_beginning.setdefault(items[:-1], []).append(items[-1])
        joined = sum(_pairs([self.columns[end] for end in ends]) for ends in by_beginning.values())
        if joined > MOST_CANDIDATES:
            raise InputError(f"{joined:,} sets of {length} values may be frequent, {most}: {FEWER}")
        sets = [
            (*beginning, first, second)
            for beginning, ends in by_beginning.items()
            for first, second in combinations(sorted(ends), 2)
            if self.columns[first] != self.columns[second]
            and all(part in frequent for part in combinations((*beginning, first, second), length - 1))
        ]
        if len(sets) > limit:
            raise InputError(f"{len(sets):,} sets of {length} may be frequent, {most}: {FEWER}")
        return sets


def _pairs(columns: Sequence[int]) -> int:
    """Return the number of pairs of items of different columns, from the column of each item."""
    return (len(columns) ** 2 - sum(number**2 for number in Counter(columns).values())) // 2


def number_of_rules(levels: Levels) -> int:
    """Return the number of rules of the frequent sets: a set of n items has 2^n - 2."""
    return sum(len(sets) * ((1 << length) - 2) for length, sets in enumerate(levels, start=1))


def rules_of(levels: Levels) -> list[Rule]:
    """Return all rules of the frequent sets, whether they hold or not."""
    return [
        (items_if, tuple(item for item in items if item not in items_if))
        for items in chain.from_iterable(levels[1:])
        for size in range(1, len(items))
        for items_if in combinations(items, size)
    ]


def by_support(engine: Engine, problem: Problem, rows: int) -> bool:
    """Open whether the share `support` of all rows is at least `least_rows`.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        rows: Number of this party's rows; private.

    Returns:
        True if `support` is the larger bound or both bounds are equal; both parties learn this bit.

    Raises:
        InputError: This party's side is beyond the public bound, or the bound does not fit a threshold.
    """
    share, scale = problem.support.numerator, problem.support.denominator
    sides = share * np.array([rows], dtype=np.int64) - (scale * problem.least_rows if engine.party == 0 else 0)
    return bool(decided(engine, sides, max(share * problem.max_rows, scale * problem.least_rows))[0])


def frequent(
    engine: Engine, problem: Problem, candidates: Sequence[ItemSet], own_counts: Indices, rows: int | None
) -> list[ItemSet]:
    """Open which of the candidates are frequent.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        candidates: Sets of one level; public.
        own_counts: This party's rows with all items of each candidate, int64[candidates]; private.
        rows: Number of this party's rows; private. None if `by_support` opened that `least_rows` is larger.

    Returns:
        The frequent sets, in the order of the candidates. Both parties learn one bit a candidate.

    Raises:
        InputError: A side of this party is beyond the public bound, or the bound does not fit a threshold.
    """
    if rows is None:
        sides = own_counts - (problem.least_rows if engine.party == 0 else 0)
        opened = decided(engine, sides, max(problem.max_rows, problem.least_rows))
    elif engine.masked_numbers:
        share, scale = problem.support.numerator, problem.support.denominator
        sides = scale * own_counts - share * np.array([rows], dtype=np.int64)
        opened = decided(engine, sides, scale * problem.max_rows)
    else:
        own_share, not_more = _share(engine, problem.support, rows)
        opened = decided(engine, own_counts - own_share, problem.max_rows + 1, not_more)
    return [items for items, bit in zip(candidates, opened, strict=True) if bit]


def _share(engine: Engine, share: Fraction, rows: int) -> tuple[int, Bits]:
    """Return this party's number own_i and a secret bit [1, 1].

    own_0 + own_1 - bit is the share of all rows of both parties, rounded up.
    """
    whole, rest = divmod(share.numerator * rows, share.denominator)
    added = -rest % share.denominator  # added by party 0, which rounds up
    bit = at_least_zero(engine, np.array([-rest if engine.party else added]), share.denominator)
    return (whole if engine.party else whole + (rest > 0) + 1), bit


def holding(engine: Engine, problem: Problem, rules: Sequence[Rule], counting: Counting, rows: int) -> list[Rule]:
    """Open which of the rules hold.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        rules: Rules of frequent sets, at least one; public.
        counting: A function from sets to this party's rows with all items of each, int64[sets]; its counts are private.
        rows: Number of this party's rows; private. Only used if `problem.lift` is above 0.

    Returns:
        The rules that hold, in the order of `rules`. Both parties learn one bit a rule.

    Raises:
        InputError: A side of a comparison is beyond the public bound, or a count does not fit the bits of `max_rows`.
    """
    sets = list(dict.fromkeys(chain.from_iterable((tuple(sorted((*a, *b))), a, b) for a, b in rules)))
    counts = dict(zip(sets, counting(sets).tolist(), strict=True))
    both, of_if, of_then = (
        np.array([counts[items] for items in lines], dtype=np.int64)
        for lines in zip(*((tuple(sorted((*a, *b))), a, b) for a, b in rules), strict=True)
    )
    share, scale = problem.confidence.numerator, problem.confidence.denominator
    sides, bound = scale * both - share * of_if, scale * problem.max_rows
    if problem.lift == 0:
        opened = decided(engine, sides, bound)
    else:
        counts_of = both, of_if, of_then, np.full(len(rules), rows, dtype=np.int64)
        opened = _lifted(engine, problem, sides, side_width(engine, sides, bound), counts_of)
    return [rule for rule, bit in zip(rules, opened, strict=True) if bit]


def _lifted(
    engine: Engine, problem: Problem, sides: Indices, side: int, counts: Sequence[Indices]
) -> NDArray[np.uint8]:
    """Open whether each rule reaches confidence and lift, uint8[rules].

    Args:
        engine: The engine of this session.
        problem: The public parameters.
        sides: This party's side of the comparison for confidence, of each rule.
        side: Number of bits of these.
        counts: This party's rows with both sets of each rule, with the first, with the second, and all rows.
    """
    width = problem.max_rows.bit_length()
    netlist = _lift(side, width, problem.lift, engine.form)
    numbers = [(sides, side, True), *((summands(engine, n, width, "the count"), width, False) for n in counts)]
    size = max(1, engine.comfortable // (side + 4 * width))
    inputs = (
        both_rows(engine, [(values[i : i + size], bits, signed) for values, bits, signed in numbers])
        for i in range(0, len(sides), size)
    )
    (opened,) = engine.reveal(Bits.join([engine.run(netlist, *sides)[0] for sides in inputs]))
    return opened[0]


@lru_cache(maxsize=64)
def _lift(side: int, width: int, lift: Fraction, form: Form) -> Netlist:
    """Build a circuit for "both parties' sides add up to 0 or more, and n(both) N >= lift n(if) n(then)"."""
    builder = Builder(form)
    left, right = builder.input(side + 4 * width), builder.input(side + 4 * width)
    both, of_if, of_then, rows = (
        left[at : at + width].wide_add(right[at : at + width]) for at in range(side, side + 4 * width, width)
    )
    confident = reached(left[:side].as_signed(), right[:side].as_signed())
    lifted = both * rows * lift.denominator >= of_if * of_then * lift.numerator
    builder.output(all_of([confident, lifted]))
    return builder.build()


def counted(lines: Iterable[Indices], values: Sequence[int], places: Indices, sets: Sequence[ItemSet]) -> Indices:
    """Count this party's rows with all items of each set, int64[sets].

    Args:
        lines: Pieces of this party's rows, each int64[lines, columns + 1]. The last column is the number of equal rows.
            Every other column holds a category, an index from 0 up.
        values: Number of categories of each column; public.
        places: Column and category of each item, int64[items, 2]; public.
        sets: Sets of items, each with at least one item; public.
    """
    totals = np.zeros(len(sets), dtype=np.int64)
    groups = list(_by_columns(places, sets))
    for piece in lines:
        categories, weights = np.ascontiguousarray(piece[:, :-1].T), piece[:, -1].astype(np.float64)  # exact below 2^53
        for columns, wanted, numbers in groups:
            shape = [values[column] for column in columns]
            cells = _cell(shape, [categories[column] for column in columns])
            codes = _cell(shape, list(wanted.T))
            if math.prod(shape) <= MOST_CELLS:
                totals[numbers] += np.bincount(cells, weights, minlength=math.prod(shape))[codes].astype(np.int64)
                continue
            there, at = np.unique(cells, return_inverse=True)
            sums, found_at = np.bincount(at, weights), np.searchsorted(there, codes).clip(max=max(0, len(there) - 1))
            if len(there):
                totals[numbers] += np.where(there[found_at] == codes, sums[found_at], 0).astype(np.int64)
    return totals


def _by_columns(places: Indices, sets: Sequence[ItemSet]) -> Iterator[tuple[tuple[int, ...], Indices, Indices]]:
    """Yield the sets grouped by their columns: columns, categories int64[n, columns], positions in `sets` int64[n].

    `places` has the column and category of each item.
    """
    chosen = np.fromiter(sets, dtype=object, count=len(sets))
    lengths = np.array([len(items) for items in sets], dtype=np.int64)
    for length in np.unique(lengths):
        numbers = np.flatnonzero(lengths == length)
        items = np.array(chosen[numbers].tolist(), dtype=np.int64)
        columns, group = np.unique(places[items, 0], axis=0, return_inverse=True)
        order = np.argsort(group, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
        for names, part in zip(columns, parts, strict=True):
            yield tuple(names.tolist()), places[items[part], 1], numbers[part]


def _cell(shape: Sequence[int], categories: Sequence[Indices]) -> Indices:
    """Return each row's cell number in a table of this shape (2^62 cells at most), from one array for each column."""
    cells = np.zeros(len(categories[0]), dtype=np.int64)
    for size, column in zip(shape, categories, strict=True):
        cells = cells * size + column
    return cells
