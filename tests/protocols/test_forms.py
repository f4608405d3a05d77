"""Circuits of few gates and circuits of few levels: every protocol says the same with both."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.counts import RowCounts
from protocols.entropies import argmin_netlist
from protocols.equality import equal
from protocols.id3 import Problem, id3
from protocols.leaves import leaf_netlist, with_rows
from protocols.logarithm import open_logarithm, rough_netlist
from protocols.majority import majority
from protocols.millionaires import comparison, strict, three_way
from protocols.precision import derive
from smc.circuit import Netlist, evaluate
from smc.engines import Engine
from smc.primitives.bits import from_integers, to_integers

pytestmark = pytest.mark.slow

QUICK = settings(max_examples=15)


def in_both(play: Any, program: Callable[[Engine], Any], name: str = "clear") -> Any:
    """The result of a program, the same in both forms."""

    def in_form(form: str) -> Callable[[Engine], Any]:
        def run(engine: Engine) -> Any:
            engine.form = form  # type: ignore[assignment]
            return program(engine)

        return run

    size, depth = (play(in_form(form), name).agreed for form in ("size", "depth"))
    assert repr(size) == repr(depth)
    return depth


def outputs(netlist: Netlist, columns: list[tuple[int, ...]]) -> list[list[int]]:
    """Of one batch, given argument by argument."""
    rows = [from_integers(list(values), width) for values, width in zip(columns, netlist.input_widths, strict=True)]
    return [to_integers(bits) for bits in evaluate(netlist, rows)]


@pytest.mark.parametrize("name", ["clear", "gmw"])
@pytest.mark.parametrize("width", [1, 2, 17, 64])
def test_comparisons(play, name: str, width: int) -> None:
    top = (1 << width) - 1
    pairs = list(itertools.product(sorted({0, 1, top // 2, top - 1, top}), repeat=2))
    sides = [[pair[i] for pair in pairs] for i in (0, 1)]
    greater = [x > y for x, y in pairs]
    names = ["party0" if x > y else "party1" if y > x else "equal" for x, y in pairs]
    assert in_both(play, lambda e: strict(e, sides[e.party], width), name).tolist() == greater
    assert in_both(play, lambda e: three_way(e, sides[e.party], width), name) == names
    assert in_both(play, lambda e: equal(e, sides[e.party], width), name).tolist() == [x == y for x, y in pairs]


@pytest.mark.parametrize("name", ["clear", "gmw"])
@pytest.mark.parametrize("classes", [1, 2, 3, 5, 8, 9, 12])
def test_majority(play, name: str, classes: int) -> None:
    counts = np.random.default_rng(classes).integers(0, 4, (2, classes, 100))
    counts[:, :, :40] *= 10  # up to 30 of 31: sums that need one bit more
    expected = counts.sum(axis=0).argmax(axis=0).tolist()
    assert in_both(play, lambda e: majority(e, counts[e.party], 5), name).tolist() == expected


@pytest.mark.parametrize(("delta", "bound"), [(0.1, 1), (0.1, 6), (0.001, 15), (0.001, 16), (0.01, 40)])
def test_the_rough_approximation_of_all_counts(delta: float, bound: int) -> None:
    precision = derive(delta, bound)
    columns = list(zip(*itertools.product(range(1 << precision.count_width), repeat=2), strict=True))
    size, depth = (rough_netlist(precision, form) for form in ("size", "depth"))
    assert outputs(size, columns) == outputs(depth, columns)


@pytest.mark.parametrize("name", ["clear", "gmw", "mixed"])
@pytest.mark.parametrize(("delta", "bound"), [(0.1, 2), (0.001, 100), (0.001, 131070), (1e-5, 1 << 20)])
def test_logarithm(play, name: str, delta: float, bound: int) -> None:
    x = np.unique(np.concatenate([[0, 1, bound, bound // 2], np.random.default_rng(1).integers(0, bound + 1, 20)]))
    sides = [x // 3, x - x // 3]
    for times_x in (False, True):
        found = in_both(play, lambda e, t=times_x: open_logarithm(e, sides[e.party], bound, delta, t).tolist(), name)
        exact = np.log(np.maximum(x, 1)) * (x if times_x else 1)
        error = np.abs(np.array(found) - exact)[x > 0]
        assert (error <= delta / 4 * (x[x > 0] if times_x else 1) + 1e-9).all()


@pytest.mark.parametrize(("classes", "width"), [(2, 1), (2, 3), (3, 2), (4, 1)])
def test_leaves_of_all_counts(classes: int, width: int) -> None:
    parents = range(classes)
    rows = [row for row in itertools.product(range(1 << width), repeat=2 * classes) if sum(row) < 1 << width]
    columns = list(zip(*((*row, parent) for row in rows for parent in parents), strict=True))
    for min_rows in range(1 << width):
        netlists = [leaf_netlist(classes, width, min_rows, form) for form in ("size", "depth")]
        winners, decided = outputs(netlists[1], columns)
        numbers = np.array(columns).T
        sides = [with_rows(numbers[:, side * classes : (side + 1) * classes]).T for side in (0, 1)]
        assert [winners, decided] == outputs(netlists[0], [*map(list, sides[0]), *map(list, sides[1]), columns[-1]])
        for row, parent, winner, found in zip(
            *([r for r in rows for _ in parents], columns[-1], winners, decided), strict=True
        ):
            counts = [row[i] + row[classes + i] for i in range(classes)]
            leaf = sum(counts) <= min_rows or sum(count > 0 for count in counts) <= 1
            label = counts.index(max(counts)) if any(counts) else parent
            assert (winner, found) == (counts.index(max(counts)), leaf + 2 * label * leaf)


def test_a_number_of_rows_that_is_no_sum_asks_another_question() -> None:
    """The peer enters no rows of a class, and -5 rows in all: docs/security.md states what it learns."""
    ours = [counts for counts in itertools.product(range(9), repeat=3) if sum(counts) < 16]
    entered = [
        *zip(*ours, strict=True),
        [sum(counts) for counts in ours],
        *[[0] * len(ours)] * 3,
        [-5 % 32] * len(ours),
    ]
    _, decided = outputs(leaf_netlist(3, 5, 0, "size"), [*map(list, entered), [0] * len(ours)])
    assert [found & 1 for found in decided] == [sum(counts) - max(counts) == 5 for counts in ours]


def test_costs() -> None:
    """Levels are rounds; the table of the form "depth" beside that of "size"."""
    precision = derive(0.001, 131070)
    for factory, levels in (
        (lambda form: comparison(32, False, form), 6),
        (lambda form: comparison(32, True, form), 6),
        (lambda form: argmin_netlist(6, 44, form), 9),
        (lambda form: leaf_netlist(4, 17, 0, form), 11),
        (lambda form: rough_netlist(precision, form), 16),
    ):
        size, depth = factory("size"), factory("depth")
        assert depth.depth == levels < size.depth / 2
        assert size.and_count < depth.and_count < 4 * size.and_count


@pytest.mark.parametrize("name", ["clear", "gmw", "mixed"])
@QUICK
@given(data=st.data())
def test_trees(play, name: str, data: st.DataObject) -> None:
    domains = data.draw(st.lists(st.integers(1, 4), max_size=4))
    classes = data.draw(st.integers(1, 4))
    columns = [st.integers(0, size - 1) for size in (*domains, classes)]
    rows = data.draw(st.lists(st.tuples(*columns), max_size=40))
    side = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))))
    min_rows = data.draw(st.sampled_from([0, 1, 5, 1000]))
    problem = Problem(tuple(domains), classes, max_rows=40, min_rows=min_rows)
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(domains) + 1)

    def program(engine: Engine) -> Any:
        own = table[side == engine.party]
        return id3(engine, problem, RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1]))

    in_both(play, program, name)
