"""Tables with hidden and rounded cells: the notes' numbers, and what a reader computes from what is published."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from parties import cli
from parties.alone.publish.hiding import suppression
from parties.alone.publish.hiding.cell_rules import CellRules, Needs
from parties.alone.publish.hiding.rounding import controlled, randomly
from parties.alone.publish.hiding.suppression import hide
from parties.alone.publish.hiding.table_text import percentages
from parties.alone.publish.hiding.tabulation import Tabulated, tabulate, with_totals
from parties.sources import PlaceSettings, open_rows

BENEFITS = ["$0-19", "$20-39", "$40-59", "$60-79", "$80-99", "$100+"]
COUNTIES = {
    "A": [2, 4, 18, 20, 7, 1],
    "B": [0, 0, 7, 9, 0, 0],
    "C": [0, 6, 30, 15, 4, 0],
    "D": [0, 0, 2, 0, 0, 0],
}
SYMPTOMS = ["Hypertension", "Obesity", "Chest pain", "Short Breath"]
COSTS = {"M": ["2", "8.5", "23.5", "3"], "F": ["3", "30.5", "0", "5"]}
FEW = {("M", "Hypertension"): 1, ("F", "Short Breath"): 2}


def people(path: Path) -> None:
    rows = [(c, b) for c, counts in COUNTIES.items() for b, n in zip(BENEFITS, counts, strict=True) for _ in range(n)]
    path.write_text("county,benefit\n" + "".join(f"{c},{b}\n" for c, b in rows))


def patients(path: Path) -> None:
    lines = ["sex,symptom,cost"]
    for sex, costs in COSTS.items():
        for symptom, cost in zip(SYMPTOMS, costs, strict=True):
            number = FEW.get((sex, symptom), 5)
            lines += [f"{sex},{symptom},{float(cost) / number}"] * number
    path.write_text("\n".join(lines) + "\n")


def read(path: Path) -> dict[tuple[str, str], str]:
    with path.open(newline="") as stream:
        header, *lines = csv.reader(stream)
    return {(line[0], name): cell for line in lines for name, cell in zip(header[1:], line[1:], strict=True)}


def ranges(published: dict[tuple[str, str], str]) -> dict[tuple[str, str], tuple[float, float]]:
    """What a reader finds out: the least and the largest that each hidden cell can be."""
    unknown = {cell: i for i, (cell, text) in enumerate((c, t) for c, t in published.items() if t == "x")}
    rows, columns = list(dict.fromkeys(r for r, _ in published)), list(dict.fromkeys(c for _, c in published))
    lines = [[(r, c) for c in columns] for r in rows] if len(columns) > 1 else []
    lines += [[(r, c) for r in rows] for c in columns]
    matrix, right = [], []
    for line in lines:
        matrix.append([0.0] * len(unknown))
        right.append(0.0)
        for cell in line:
            factor = -1.0 if cell == line[-1] else 1.0
            if cell in unknown:
                matrix[-1][unknown[cell]] = factor
            else:
                right[-1] -= factor * float(published[cell])
    found = {}
    for cell, i in unknown.items():
        ends = []
        for sign in (1.0, -1.0):
            goal = [0.0] * len(unknown)
            goal[i] = sign
            solved = scipy.optimize.linprog(goal, A_eq=matrix, b_eq=right, bounds=(0, None), method="highs")
            assert solved.status in (0, 3), solved.message  # 3: there is no bound
            ends.append(sign * solved.fun if solved.status == 0 else float("inf"))
        found[cell] = (ends[0], ends[1])
    return found


def smc(*arguments: str) -> int:
    return cli.run(["publish", "table", "--data", *arguments])


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "people.csv")
    patients(tmp_path / "patients.csv")


def test_county_table(capsys: Any) -> None:
    assert smc("people.csv", "--by", "county", "--across", "benefit", "--out", "t.csv", "--report", "r.json") == 0
    published = read(Path("t.csv"))
    few = {(c, b) for c, counts in COUNTIES.items() for b, n in zip(BENEFITS, counts, strict=True) if 0 < n < 3}
    assert few == {("A", "$0-19"), ("A", "$100+"), ("D", "$40-59")}
    totals = {("D", "Total"), ("Total", "$0-19"), ("Total", "$100+")}  # they are below the threshold themselves
    hidden = {cell for cell, text in published.items() if text == "x"}
    assert few | totals < hidden
    assert [published[c, "Total"] for c in "AC"] == ["52", "55"]
    assert published["Total", "Total"] == "125"
    for cell, (low, high) in ranges(published).items():
        assert low < high - 0.5, cell
        if cell in few | totals:
            assert low < 1e-6, cell
            assert high > 3 - 1e-6, cell
    report = json.loads(Path("r.json").read_text())
    assert report == {"cells": 35, "by_the_rules": 6, "so_that_totals_do_not_tell": 2, "hidden": 8}
    alone = dict(published)
    for cell in hidden - few - totals:  # the two that only protect others are needed: without them D is known
        alone[cell] = str(sum(COUNTIES["B"]) if cell[1] == "Total" else COUNTIES[cell[0]][BENEFITS.index(cell[1])])
    assert ranges(alone)["D", "Total"] == pytest.approx((2, 2))


@pytest.mark.parametrize(
    ("of", "total"), [("rows", lambda r, c: (r, "Total")), ("columns", lambda r, c: ("Total", c)), ("all", None)]
)
def test_county_table_in_percent(of: str, total: Any) -> None:
    """A share of a published total; what the numbers hide stays hidden."""
    words = ("people.csv", "--by", "county", "--across", "benefit", "--out")
    assert smc(*words, "n.csv") == 0
    assert smc(*words, "p.csv", "--percent", of) == 0
    numbers, shares = read(Path("n.csv")), read(Path("p.csv"))
    assert numbers.keys() == shares.keys()
    for cell, number in numbers.items():
        whole = numbers[total(*cell) if total else ("Total", "Total")]
        if "x" in (number, whole):
            assert shares[cell] == "x"
        else:
            assert float(shares[cell]) == pytest.approx(100 * int(number) / int(whole), abs=0.05)
    assert shares["A", "$60-79"] == {"rows": "38.5", "columns": "45.5", "all": "16.0"}[of]
    assert shares["B", "$0-19"] == {"rows": "x", "columns": "x", "all": "0.0"}[of]


def test_shares_of_nothing_and_of_one_column() -> None:
    assert percentages([["0", "0"], ["3", "3"], ["3", "3"]], "rows")[0] == ["-", "-"]
    assert smc("people.csv", "--by", "county", "--percent", "rows", "--out", "t.csv") == 2
    assert smc("people.csv", "--by", "county", "--percent", "columns", "--out", "t.csv") == 0


def test_magnitude_table() -> None:
    assert smc("patients.csv", "--by", "sex", "--across", "symptom", "--sum", "cost", "--out", "t.csv") == 0
    published = read(Path("t.csv"))
    assert published["Total", "Total"] == "75.5"
    assert published["M", "Chest pain"] in ("23.5", "x")
    exact = {(sex, s): float(c) for sex, costs in COSTS.items() for s, c in zip(SYMPTOMS, costs, strict=True)}
    found = ranges(published)
    assert found.keys() > FEW.keys()
    for cell, (low, high) in found.items():
        assert low < high - 0.1, cell
        if cell in FEW:
            assert low <= 0.8 * exact[cell] + 1e-6
            assert high >= 1.2 * exact[cell] - 1e-6
    assert all(float(text) == exact[cell] for cell, text in published.items() if cell in exact and text != "x")


@pytest.mark.parametrize("exact", [0, suppression.EXACT])
@settings(max_examples=25)
@given(
    shape=st.sampled_from([(2, 1), (5, 1), (2, 2), (3, 4)]),
    seed=st.integers(0, 2**32),
    threshold=st.integers(2, 6),
)
def test_nothing_hidden_is_recovered(exact: int, shape: tuple[int, int], seed: int, threshold: int) -> None:
    inner = np.random.default_rng(seed).choice([0, 1, 2, 3, 5, 40], shape)
    grid = with_totals(inner)
    table = Tabulated([], [], grid, grid, np.zeros((2, *grid.shape), dtype=np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suppression, "EXACT", exact)
        hidden = hide(grid, grid, CellRules(threshold).needs(table, False))
    few = (grid > 0) & (grid < threshold)
    assert hidden[few].all()
    published = {
        (str(r), str(c)): "x" if hidden[r, c] else str(grid[r, c])
        for r in range(len(grid))
        for c in range(len(grid[0]))
    }
    for (r, c), (low, high) in ranges(published).items():
        assert low < high - 0.5
        if few[int(r), int(c)]:
            assert low < 1e-6
            assert high > threshold - 1e-6


def test_the_best_set_is_the_best() -> None:
    grid = with_totals(np.array([[1, 9, 9], [9, 5, 9], [9, 9, 30]]))
    needs = Needs(np.where(grid == 1, 1, 0), np.where(grid == 1, 1, 0))
    hidden = hide(grid, grid, needs)
    assert hidden.sum() == 4
    assert hidden[:2, :2].all()  # of all rectangles at the 1, this one hides the fewest rows


def test_rules_about_sums(tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [(draw.choice("ab"), draw.choice("uvw"), draw.choice([1, 2, 2.5, 60])) for _ in range(30)]
    (tmp_path / "rows.csv").write_text("g,h,x\n" + "".join(f"{g},{h},{x}\n" for g, h, x in rows))
    opened = open_rows(PlaceSettings(source="rows.csv"))
    table = tabulate(opened, "g", "h", "x", 3)
    opened.engine.close()
    assert (table.row_names, table.column_names, table.digits) == (["a", "b", "Total"], [*"uvw", "Total"], 1)
    needs = CellRules(dominance=(1, 60.0)).needs(table, True)
    percent = CellRules(p_percent=50.0).needs(table, True)
    seen = set()
    for i, r in enumerate(table.row_names):
        for j, c in enumerate(table.column_names):
            each = sorted((round(10 * x) for g, h, x in rows if r in (g, "Total") and c in (h, "Total")), reverse=True)
            assert table.counts[i, j] == len(each)
            assert table.values[i, j] == sum(each)
            assert table.largest[:, i, j].tolist() == (each + [0] * 3)[:3]
            assert needs.sensitive[i, j] == (each[0] > 0.6 * sum(each))
            assert percent.sensitive[i, j] == (sum(each) - sum(each[:2]) < each[0] / 2)
            seen |= {(0, bool(needs.sensitive[i, j])), (1, bool(percent.sensitive[i, j]))}
    assert len(seen) == 4


@settings(max_examples=60)
@given(
    shape=st.sampled_from([(1, 1), (2, 1), (7, 1), (1, 2), (3, 4), (8, 6)]),
    seed=st.integers(0, 2**32),
    base=st.integers(2, 11),
)
def test_rounding(shape: tuple[int, int], seed: int, base: int) -> None:
    draw = random.Random(seed).randrange
    grid = with_totals(np.random.default_rng(seed).integers(0, 40, shape))
    for rounded in (controlled(grid, base, draw), randomly(grid, base, draw)):
        assert (rounded % base == 0).all()
        assert (abs(rounded - grid) < base).all()
    whole = controlled(grid, base, draw)
    assert (whole == with_totals(whole[:-1, : shape[1]])).all()


@pytest.mark.parametrize("rounding", [controlled, randomly])
@pytest.mark.parametrize("inner", [[[1, 2], [2, 5]], [[1], [1], [3]]])
def test_rounding_is_right_on_average(rounding: Callable[..., Any], inner: list[list[int]]) -> None:
    """Exactly: all outcomes of the coins, with their probabilities."""
    grid = with_totals(np.array(inner))
    expected, weight = np.full(grid.shape, Fraction(0)), Fraction(0)
    paths: list[list[int]] = [[]]
    while paths:
        path = paths.pop()
        left, probability, ended = list(path), Fraction(1), True

        def draw(bound: int, path: list[int] = path, left: list[int] = left) -> int:
            nonlocal probability, ended
            probability /= bound
            if left:
                return left.pop(0)
            if ended:
                paths.extend([*path, x] for x in range(bound))
                ended = False
            return 0

        rounded = rounding(grid, 3, draw)
        if ended:
            expected = expected + rounded * probability
            weight += probability
    assert weight == 1
    assert (expected == grid).all()


def test_rounded_county_table() -> None:
    assert smc("people.csv", "--by", "county", "--across", "benefit", "--base", "5", "--out", "t.csv") == 0
    published = {cell: int(text) for cell, text in read(Path("t.csv")).items()}
    assert published["Total", "Total"] == 125
    assert published["C", "Total"] == 55
    for county in COUNTIES:
        assert sum(published[county, b] for b in BENEFITS) == published[county, "Total"]


BY = ["people.csv", "--by", "county"]
SUM = ["patients.csv", "--by", "sex", "--sum", "cost"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*BY, "--threshold", "1"], "the threshold must be at least 2, not 1"),
        ([*BY, "--dominance", "1", "80"], "dominance and p-percent are rules for sums; name the column to sum"),
        ([*SUM, "--dominance", "0", "80"], "dominance: n must be 1 to 100 and k between 0 and 100, not 0,80"),
        ([*SUM, "--p-percent", "0"], "p-percent must be above 0 and at most 100, not 0"),
        ([*SUM, "--margin", "nan"], "the margin must be above 0 and at most 100, not nan"),
        ([*BY, "--base", "1"], "the base must be at least 2, not 1"),
        ([*BY, "--base", str(10**30)], "the base must be at most 2^53, not 1"),
        ([*BY, "--base", "5", "--threshold", "3"], "--base: rounds every cell; give either --base or rules"),
        ([*SUM, "--base", "5"], "--base: rounds counts only; remove --base or --sum"),
        ([*BY, "--rounding", "random"], "--rounding: needs --base; add --base NUMBER"),
        ([*BY, "--across", "county"], "a column can be used only once: in --by, --across or --sum"),
        ([*BY, "--across", "benefits"], "people.csv: there is no column 'benefits' (did you mean 'benefit'?)"),
        ([*BY, "--sum", "benefit"], "people.csv, column 'benefit': '$"),
        (["x.csv", "--by", "a"], "cannot read x.csv"),
        (["negative.csv", "--by", "a", "--sum", "b"], "'-1' is negative; the rules need numbers of 0 or more"),
        (
            ["negative.csv", "--by", "c"],
            "negative.csv, column 'c': 'Total' is a value of the column and the name of the totals; rename the value",
        ),
        (
            ["negative.csv", "--by", "a", "--across", "d"],
            "negative.csv, column 'd': has only one value; leave this column out",
        ),
        (["negative.csv", "--by", "a", "--sum", "e"], "column 'e': '1e9999999' is too large"),
        (["negative.csv", "--by", "a", "--sum", "f"], "the numbers are too large, or have too many decimals, to add"),
        (["negative.csv", "--by", "a", "--sum", "g"], "the numbers are too large, or have too many decimals, to add"),
        (["empty.csv", "--by", "a"], "empty.csv: there are no rows"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: Any) -> None:
    Path("negative.csv").write_text("a,b,c,d,e,f,g\n1,-1,Total,1,1e9999999,0.1234567891,9e15\n2,1,u,1,1,1,9e15\n")
    Path("empty.csv").write_text("a\n")
    assert smc(*arguments, "--out", "t.csv") == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not Path("t.csv").exists()


def test_scipy_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", None)
    assert smc(*BY, "--across", "benefit", "--out", "t.csv") == 2
    assert "pip install 'smc-two-party[tables]'" in capsys.readouterr().err
    assert smc(*BY, "--across", "benefit", "--base", "3", "--out", "t.csv") == 0  # rounding needs no solver


def test_the_source_is_not_overwritten(capsys: Any) -> None:
    assert smc(*BY, "--out", "people.csv") == 2
    assert "would be overwritten" in capsys.readouterr().err
