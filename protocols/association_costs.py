"""Forecast of the cost of association rules: the sets and rules of a run, at most and typically, without rows.

*At most.* Let a row have at most one item of each of c columns. N rows then have N C(c, l) sets of l items in total. A
frequent set is in at least max(s N, L) rows, where s is the support and L the least rows. So at most

    F_l = C(c, l) min(1 / s, 2 R / L)

sets of l items are frequent, R the bound on a party's rows. Each of the l parts of a candidate of l items is frequent,
and so are its items. A frequent part has at most F_1 - l + 1 further items. So there are at most
F_(l-1) (F_1 - l + 1) / l candidates of l items, and sum of F_l (2^l - 2) rules. No run has more sets than there are,
nor more candidates than `Problem.most`.

*Typically.* In F_l, C(c, l) is replaced by a sum over all choices of l columns: of the products of 1 / max(2, H_v), H_v
= 1 + 1/2 + ... + 1/v for a column of v values. For by Zipf's law, 1 / (s H_v) of its values are frequent. A basket may
have every item; then 8 items are assumed. The forecast is a guess between two kinds of tables. In ten tables of 3 to 50
values a column, with supports of 0.02 to 0.2, runs decided on 0.15 to 3.4 times as many sets and rules. No public
number distinguishes the two kinds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np

from protocols.association import MOST_CANDIDATES, Problem, by_support, frequent, holding
from protocols.threshold import FEW
from smc.counting import CountingEngine, forecast
from smc.engines import Profile

Number = TypeVar("Number", int, float)
BASKET = 8  # items of a typical basket
COUNTED = 1 << 20  # more candidates are counted in parts: up to this number counting takes a few seconds
PART = 1 << 18  # candidates of a part; a multiple of the blocks that engines round up to


def sets(problem: Problem) -> list[int]:
    """Return the number of possible sets of one item, of two items, and so on to the longest."""
    return _products(list(Counter(problem.columns).values()), problem.max_length)


def _products(factors: Sequence[Number], max_length: int) -> list[Number]:
    """Return the sum of the products of one factor, of each two factors, and so on."""
    sums: list[Number] = [1, *[0] * max_length]
    for factor in factors:
        more = [factor * fewer for fewer in sums]
        sums[1:] = [before + product for before, product in zip(sums[1:], more[:-1], strict=True)]
    return sums[1:]


def most(problem: Problem) -> list[int]:
    """Return upper bounds on the numbers of candidates of each length that a run decides, then on that of rules."""
    columns = len(set(problem.columns))
    rate = min(1 / problem.support, Fraction(2 * problem.max_rows, problem.least_rows))
    lengths = range(1, problem.max_length + 1)
    return _decided(problem, [math.floor(math.comb(columns, length) * rate) for length in lengths])


def typical(problem: Problem) -> list[int]:
    """Return the number of candidates of each length that a typical run decides, then the number of rules."""
    sizes = list(Counter(problem.columns).values())
    sizes = sizes[:BASKET] if len(sizes) == len(problem.columns) else sizes
    shares = [1 / max(2.0, sum(1 / rank for rank in range(1, size + 1))) for size in sizes]
    return _decided(problem, [math.floor(many / problem.support) for many in _products(shares, problem.max_length)])


def _decided(problem: Problem, frequent_sets: Sequence[int]) -> list[int]:
    """Return the numbers of candidates of each length, and of rules, from upper bounds on the frequent sets."""
    limit = problem.most or MOST_CANDIDATES
    every = sets(problem)
    frequent_at_most = [min(pair) for pair in zip(frequent_sets, every, strict=True)]
    candidates = every[:1]
    for length in range(2, problem.max_length + 1):
        joined = frequent_at_most[length - 2] * max(0, frequent_at_most[0] - length + 1) // length
        candidates.append(min(limit, every[length - 1], joined))
        frequent_at_most[length - 1] = min(frequent_at_most[length - 1], candidates[-1])
    rules = sum(many * ((1 << length) - 2) for length, many in enumerate(frequent_at_most, start=1))
    return [*candidates, min(limit, rules)]


def count(engine: CountingEngine, problem: Problem, numbers: Sequence[int]) -> None:
    """Count the cost of a run; many candidates are counted in parts of one size.

    Args:
        engine: The engine that counts.
        problem: The public parameters.
        numbers: Number of candidates of each length, then number of rules, such as `most` or `typical` returns.
    """
    *candidates, rules = numbers
    for length, many in enumerate(candidates, start=1):
        if not many:
            break
        times = -(-many // PART)
        with engine.session.phase(f"sets of {length}"):
            if length == 1:
                by_support(engine, problem, 0)
            with engine.repeated(times):
                _sets(engine, problem, -(-many // times), 0)
    if rules:
        times = -(-rules // PART)
        with engine.session.phase("rules"), engine.repeated(times):
            _rules(engine, problem, -(-rules // times))


def most_bytes(problem: Problem, profile: Profile) -> int:
    """Return an upper bound on the bytes of a run, both directions together.

    Many candidates are cut into parts, each in a session of its own. Together the parts cost at least as much as one
    batch.

    Args:
        problem: The public parameters.
        profile: Engine and transport settings that the run uses.
    """
    *candidates, rules = most(problem)
    wider = problem.least_rows.bit_length() > (problem.max_rows + 1).bit_length()  # sides without support are wider
    bounds: tuple[int | None, ...] = (0, None) if wider else (0,)

    def whole(engine: CountingEngine, rows: int | None) -> None:
        by_support(engine, problem, 0)
        for many in candidates:
            _any_sets(engine, problem, many, rows)
        _any_rules(engine, problem, rules)

    def part(engine: CountingEngine, many: int, rows: int | None) -> None:
        by_support(engine, problem, 0)
        _any_sets(engine, problem, many, rows)

    if sum(candidates) + rules <= COUNTED:
        return max(forecast(partial(whole, rows=rows), profile).bytes for rows in bounds)
    total = 0
    for many in candidates:
        most_of_part = partial(part, many=min(many, PART))
        each = max(forecast(partial(most_of_part, rows=rows), profile).bytes for rows in bounds)
        total += -(-many // PART) * each
    counted = forecast(lambda engine: _any_rules(engine, problem, min(rules, PART)), profile)
    return total + -(-rules // PART) * counted.bytes


def _any_sets(engine: CountingEngine, problem: Problem, most: int, rows: int | None) -> None:
    """Count an upper bound for any number of sets up to `most`.

    `FEW` sets are counted as well, because a small batch may take a circuit with more gates.
    """
    _sets(engine, problem, most, rows)
    if most > FEW and engine.form != "size":
        _sets(engine, problem, FEW, rows)


def _any_rules(engine: CountingEngine, problem: Problem, most: int) -> None:
    """Count an upper bound for any number of rules up to `most`."""
    if most:
        _rules(engine, problem, most)
    if most > FEW and engine.form != "size" and not problem.lift:
        _rules(engine, problem, FEW)


def _sets(engine: CountingEngine, problem: Problem, many: int, rows: int | None) -> None:
    frequent(engine, problem, [()] * many, np.zeros(many, dtype=np.int64), rows)


def _rules(engine: CountingEngine, problem: Problem, many: int) -> None:
    holding(engine, problem, [((0,), (1,))] * many, lambda counted: np.zeros(len(counted), dtype=np.int64), 0)
