"""Linked tables: a reader's linear programme over all of them leaves every sensitive cell the doubt asked for."""

from __future__ import annotations

import numpy as np
import pytest

from parties.alone.publish.hiding import linked, suppression
from parties.alone.publish.hiding.cell_rules import CellRules
from parties.alone.publish.hiding.linked import Linked
from parties.alone.publish.hiding.tabulation import TOTAL, Tabulated, with_totals
from smc.errors import InputError

pytest.importorskip("scipy")
AXES = [("county", "benefit"), ("county", "age")]


def tabulated(cube: np.ndarray) -> list[Tabulated]:
    """Return the tables county x benefit and county x age of int64[counties, benefits, ages]."""
    tables = []
    for axis, name in ((2, "b"), (1, "a")):
        counts = with_totals(cube.sum(axis=axis))
        rows, columns = counts.shape
        titles = [f"c{i}" for i in range(rows - 1)], [f"{name}{i}" for i in range(columns - 1)]
        tables.append(Tabulated([*titles[0], TOTAL], [*titles[1], TOTAL], counts, counts, np.zeros((2, rows, columns))))
    return tables


def together(cube: np.ndarray, rules: CellRules) -> Linked:
    tables = tabulated(cube)
    return linked.linked(AXES, tables, [rules.needs(table, False) for table in tables])


def test_shared_margins_are_one_cell() -> None:
    cube = np.arange(12).reshape(2, 3, 2)
    tables = together(cube, CellRules(threshold=2))
    benefit, age = tables.places
    assert (benefit[:, -1] == age[:, -1]).all()
    assert len(tables.values) == benefit.size + age.size - 3
    assert np.abs(tables.balance @ tables.values).max() == 0
    with pytest.raises(InputError, match="same columns"):
        linked.linked([("a", "b"), ("b", "a")], tabulated(cube), [])


@pytest.mark.parametrize("seed", range(8))
def test_every_sensitive_cell_is_left_in_doubt(seed: int) -> None:
    """The reader's programme is written once more here, over the cells of both tables by themselves."""
    import scipy.optimize

    cube = np.random.default_rng(seed).poisson(1.2, (4, 3, 3)) * np.array([1, 4, 9])
    rules = CellRules(threshold=4)
    tables = together(cube, rules)
    hidden = linked.hide(tables)
    assert (hidden & tables.sensitive == tables.sensitive).all()
    unknowns = [(t, i, j) for t in (0, 1) for i in range(5) for j in range(4)]
    index = {cell: n for n, cell in enumerate(unknowns)}
    equations, right = [], []

    def equation(parts: dict[tuple[int, int, int], float], value: float) -> None:
        line = np.zeros(len(unknowns))
        for cell, factor in parts.items():
            line[index[cell]] += factor
        equations.append(line)
        right.append(value)

    for t in (0, 1):
        for i in range(5):
            equation({**{(t, i, j): 1.0 for j in range(3)}, (t, i, 3): -1.0}, 0)
        for j in range(4):
            equation({**{(t, i, j): 1.0 for i in range(4)}, (t, 4, j): -1.0}, 0)
    grids = [table.values for table in tabulated(cube)]
    for i in range(5):
        equation({(0, i, 3): 1.0, (1, i, 3): -1.0}, 0)
    for t, i, j in unknowns:
        if not hidden[tables.places[t][i, j]]:
            equation({(t, i, j): 1.0}, grids[t][i, j])
    for t, i, j in unknowns:
        place = tables.places[t][i, j]
        if not tables.sensitive[place]:
            continue
        objective = np.zeros(len(unknowns))
        objective[index[t, i, j]] = 1
        ends = [
            scipy.optimize.linprog(sign * objective, A_eq=equations, b_eq=right, bounds=(0, None)) for sign in (1, -1)
        ]
        least, most = ends[0].fun, np.inf if ends[1].status == 3 else -ends[1].fun
        assert least <= 1e-5
        assert most >= 4 - 1e-5
        assert linked.interval(tables, hidden, int(place)) == pytest.approx((least, most), abs=1e-6)


def test_a_total_that_another_table_publishes_gives_a_cell_away() -> None:
    """County B has one small cell, hidden with its total in docs/publish-tables.md; another table has the total."""
    benefits = np.array([[2, 4, 18, 20, 7, 1], [0, 0, 2, 9, 0, 0], [0, 6, 30, 15, 4, 0], [0, 0, 2, 0, 0, 0]])
    cube = np.stack([benefits // 2, benefits - benefits // 2], axis=2)
    tables = together(cube, CellRules(threshold=3))
    table, place = tabulated(cube)[0], tables.places[0]
    hidden = np.ones(len(tables.values), dtype=bool)
    hidden[place[~suppression.hide(table.values, table.counts, CellRules(threshold=3).needs(table, False))]] = False
    assert hidden[place[1, -1]]
    assert linked.unsafe(tables, hidden) is None
    hidden[place[1, -1]] = False
    assert linked.unsafe(tables, hidden) == place[1, 2]
    assert linked.interval(tables, hidden, place[1, 2]) == pytest.approx((2, 2))
    assert linked.unsafe(tables, linked.hide(tables)) is None


@pytest.mark.parametrize("text", ["", "a*", "a*b*c", "a*a"])
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(InputError, match="is not a table"):
        linked.axes_of(text)
