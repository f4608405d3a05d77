"""Association rules of both parties' rows, level by level (Apriori): which sets are frequent, and which rules hold.

Ideal functionality. Inputs: each party's own rows, each a set of items; public `Problem`. Output to both: the sets X of
at most `max_length` items that are frequent, that is with n(X) rows of both parties of N in all

    n(X) >= support N  and  n(X) >= least_rows;

and of all rules X -> Y of frequent sets X u Y, X and Y not empty and apart, those with

    n(X u Y) >= confidence n(X)  and  n(X u Y) N >= lift n(X) n(Y).

Leakage: whether support N >= least_rows, with each level of sets. Nothing else. The candidates of a level are made of
the frequent sets of the level before, as are those for rules; each opened bit is a statement about one of them, and
belongs to the output: a candidate is frequent or not, a rule holds or not. No count is opened. The bounds are public,
so are sizes and the order of all messages, given the output. Security is that of the engine. A rule of confidence 1
says that there is no exception among the rows of both.

Papers: Agrawal, Srikant, "Fast Algorithms for Mining Association Rules" (VLDB 1994); Kantarcioglu, Clifton, "Privacy-
Preserving Distributed Mining of Association Rules on Horizontally Partitioned Data" (IEEE TKDE 16, 2004), whose secure
union and sum need three parties or more: here both thresholds are circuits on two parties' counts.

Cost of c candidates, counts of w bits, a support of a / b: one linear threshold each, w + log2 b ANDs, and one bit
opened, and one of all of them; of r rules likewise, and where lift is asked for two products of w + 1 bits, about
4 w^2 ANDs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations

import numpy as np

from protocols.counts import Indices
from protocols.inputs import checked
from protocols.threshold import decided, reached, side_bits
from smc.circuit import Builder, Form, Netlist, all_of
from smc.engines import Bits, Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack

ItemSet = tuple[int, ...]  # items in rising order
Rule = tuple[ItemSet, ItemSet]  # if, then
Levels = tuple[tuple[ItemSet, ...], ...]  # frequent sets of one item, of two, ...
Counting = Callable[[Sequence[ItemSet]], Indices]  # own rows with all items of each set
MOST_CANDIDATES = 1 << 20  # sets of a level, or rules
MOST_BITS = 62
LARGE = 1 << 14  # thresholds at once for which fewer gates are worth more than fewer rounds
FEWER = "raise support, or name fewer columns"


@dataclass(frozen=True)
class Problem:
    """What both agree on. `columns` names the column of each item: two items of one column are never in one row."""

    columns: tuple[int, ...]
    max_rows: int
    support: Fraction
    least_rows: int = 1
    confidence: Fraction = Fraction(0)
    lift: Fraction = Fraction(0)
    max_length: int = 4
    most: int | None = None  # candidates of a level, or rules

    def __post_init__(self) -> None:
        if not 0 < self.support <= 1:
            raise InputError(f"support: must be above 0 and at most 1, not {float(self.support):g}")
        if not 0 <= self.confidence <= 1 or self.lift < 0:
            raise InputError("confidence must be from 0 to 1, lift from 0 up")
        if 2 * self.max_rows * max(self.support.denominator, self.confidence.denominator) >= 1 << MOST_BITS:
            raise InputError("support and confidence: give fewer digits")
        if max(self.lift.numerator, self.lift.denominator) > 1 << 20:
            raise InputError("lift: give fewer digits")

    def candidates(self, levels: Levels) -> list[ItemSet]:
        """Return the sets of the next level: all of whose parts are frequent.

        `InputError` if they are too many, or the rules of the sets so far are, which are decided in the end.
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
        joined = sum(len(ends) * (len(ends) - 1) // 2 for ends in by_beginning.values())
        if joined > MOST_CANDIDATES:
            raise InputError(f"{joined:,} sets of {length} may be frequent, {most}: {FEWER}")
        found = [
            (*beginning, first, second)
            for beginning, ends in by_beginning.items()
            for first, second in combinations(sorted(ends), 2)
            if self.columns[first] != self.columns[second]
            and all(part in frequent for part in combinations((*beginning, first, second), length - 1))
        ]
        if len(found) > limit:
            raise InputError(f"{len(found):,} sets of {length} may be frequent, {most}: {FEWER}")
        return found


def number_of_rules(levels: Levels) -> int:
    """Return how many rules the frequent sets have: of n items, 2^n - 2."""
    return sum(len(sets) * ((1 << length) - 2) for length, sets in enumerate(levels, start=1))


def rules_of(levels: Levels) -> list[Rule]:
    """Return all rules of the frequent sets, whether they hold or not."""
    return [
        (items_if, tuple(item for item in items if item not in items_if))
        for items in chain.from_iterable(levels[1:])
        for size in range(1, len(items))
        for items_if in combinations(items, size)
    ]


def frequent(
    engine: Engine, problem: Problem, candidates: Sequence[ItemSet], own_counts: Indices, rows: int
) -> list[ItemSet]:
    """Open which of the candidates are frequent. `own_counts` is int64[candidates], this party's, of `rows` in all.

    First which bound is the greater one, for all of them: each then takes one threshold.
    """
    share, scale = problem.support.numerator, problem.support.denominator
    least = problem.least_rows if engine.party == 0 else 0
    most = scale * max(problem.max_rows, problem.least_rows)
    (is_support,) = decided(engine, np.array([share * rows - scale * least], dtype=np.int64), most)
    sides = scale * own_counts - share * rows if is_support else own_counts - least
    opened = _opened(engine, [sides], [most])  # of one width: what is sent does not depend on it
    return [items for items, bit in zip(candidates, opened, strict=True) if bit]


def holding(engine: Engine, problem: Problem, rules: Sequence[Rule], counting: Counting, rows: int) -> list[Rule]:
    """Open which of the rules hold."""
    sets = list(dict.fromkeys(chain.from_iterable((tuple(sorted((*a, *b))), a, b) for a, b in rules)))
    counts = dict(zip(sets, counting(sets).tolist(), strict=True))
    both, of_if, of_then = (
        np.array([counts[items] for items in lines], dtype=np.int64)
        for lines in zip(*((tuple(sorted((*a, *b))), a, b) for a, b in rules), strict=True)
    )
    share, scale = problem.confidence.numerator, problem.confidence.denominator
    sides = [scale * both - share * of_if]
    products = None if problem.lift == 0 else (both, of_if, of_then, np.full(len(rules), rows, dtype=np.int64))
    opened = _opened(engine, sides, [scale * problem.max_rows], products, problem)
    return [rule for rule, bit in zip(rules, opened, strict=True) if bit]


def _opened(
    engine: Engine,
    sides: Sequence[Indices],
    bounds: Sequence[int],
    products: Sequence[Indices] | None = None,
    problem: Problem | None = None,
) -> Indices:
    """Open whether the sums of all sides are 0 or more, uint8[questions]; and, of products, whether lift is reached."""
    widths = tuple(bound.bit_length() + 1 for bound in bounds)
    lifted: tuple[int, int, int] | None = None
    if products is not None and problem is not None:
        lifted = problem.max_rows.bit_length(), problem.lift.numerator, problem.lift.denominator
    netlist = _netlist(widths, lifted, "size" if len(sides[0]) >= LARGE else engine.form)
    matrices = [side_bits(side, bound) for side, bound in zip(sides, bounds, strict=True)]
    if products is not None and lifted is not None:
        matrices += [bitpack.from_integers(checked(part, lifted[0], "the count"), lifted[0]) for part in products]
    inputs = np.concatenate(matrices)
    size = max(1, engine.comfortable // len(inputs))
    parts = []
    for start in range(0, max(1, inputs.shape[1]), size):
        parts.append(engine.run(netlist, *engine.both(inputs[:, start : start + size]))[0])
    (opened,) = engine.reveal(Bits.join(parts))
    return np.asarray(opened[0])


@lru_cache(maxsize=64)
def _netlist(widths: tuple[int, ...], lifted: tuple[int, int, int] | None, form: Form) -> Netlist:
    """Build one bit of party 0's and party 1's sides, and of four counts each if lift (a / b) is asked for."""
    builder = Builder(form)
    length = sum(widths) + (4 * lifted[0] if lifted else 0)
    left, right = builder.input(length), builder.input(length)
    start, conditions = 0, []
    for width in widths:
        place = slice(start, start + width)
        conditions.append(reached(left[place].as_signed(), right[place].as_signed()))
        start += width
    if lifted is not None:
        width, a, b = lifted
        both, of_if, of_then, rows = (
            left[at : at + width].wide_add(right[at : at + width]) for at in range(start, length, width)
        )
        conditions.append(both * rows * b >= of_if * of_then * a)
    builder.output(all_of(conditions))
    return builder.build()


def counted(lines: Iterable[Indices], item_of: Sequence[Sequence[int]], sets: Sequence[ItemSet], items: int) -> Indices:
    """Count own rows with all items of each set, int64[sets].

    Each piece of `lines` is int64[rows, columns + 1], the category of each column and how many rows there are;
    `item_of[column][category]` is the item's number, -1 if there is none.
    """
    totals = np.zeros(len(sets), dtype=np.int64)
    by_beginning: dict[ItemSet, list[int]] = {}
    for place, item_set in enumerate(sets):
        by_beginning.setdefault(item_set[:-1], []).append(place)
    lasts = {beginning: [sets[place][-1] for place in places] for beginning, places in by_beginning.items()}
    for piece in lines:
        has = np.zeros((len(piece), items + 1), dtype=bool)
        for column, numbers in enumerate(item_of):
            has[np.arange(len(piece)), np.asarray(numbers)[piece[:, column]]] = True  # -1 is the one behind all items
        weights = piece[:, -1].astype(np.float64)
        by_item = has.astype(np.float64)  # sums of numbers of rows below 2^53 are exact
        for beginning, places in by_beginning.items():
            inside = has[:, list(beginning)].all(axis=1)
            sums = np.matmul(weights[inside], by_item[inside][:, lasts[beginning]])
            totals[places] += sums.astype(np.int64)
    return totals
