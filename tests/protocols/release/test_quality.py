"""Scores against their definitions, and what a row changes of them over all small tables."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from protocols.release.quality import QUALITIES, UNITS, EntropyQuality, GiniQuality, Quality
from smc.engines import Engine
from smc.primitives import bits as bitpack
from smc.recipes import CIRCUITS, GARBLED, SHARED

Table = tuple[tuple[int, ...], ...]
CLOSE = 1e-9  # of floating numbers


def truth(name: str, table: Table) -> float:
    """The quality in rows or nats, by its definition."""
    if name == "max":
        return sum(max(line) for line in table)
    if name == "gini":
        filled = [line for line in table if sum(line)]
        return float(-sum(sum(line) - Fraction(sum(x * x for x in line), sum(line)) for line in filled))
    return -sum(sum(x * math.log(sum(line) / x) for x in line if x) for line in table)


def small_tables(most: int) -> list[Table]:
    """All tables of two values and up to three classes with at most so many rows."""
    found: list[Table] = []
    for classes in (2, 3):
        for cells in product(range(most + 1), repeat=2 * classes):
            if sum(cells) <= most:
                found.append((cells[:classes], cells[classes:]))
    return found


def with_a_row(table: Table) -> list[Table]:
    """The neighbours with one row more."""
    return [
        tuple(tuple(n + (u == v and d == c) for d, n in enumerate(line)) for u, line in enumerate(table))
        for v in range(len(table))
        for c in range(len(table[0]))
    ]


def scored(play: Any, quality: Quality, tables: list[Table], name: str = "clear") -> list[int]:
    """The scores, opened; the rows are shared out between the parties at random."""
    rng = np.random.default_rng(len(tables))
    every = [np.array(table, dtype=np.int64) for table in tables]
    first = [rng.integers(0, table + 1) for table in every]

    def program(engine: Engine) -> list[int]:
        own = first if engine.party == 0 else [table - part for table, part in zip(every, first, strict=True)]
        (opened,) = engine.reveal(quality.scores(engine, own))
        return bitpack.to_integers(opened, signed=quality.signed)

    found: list[int] = play(program, name).agreed
    return found


@pytest.mark.parametrize("name", QUALITIES)
def test_what_a_row_changes_of_the_truth(name: str) -> None:
    """By brute force: monotone in one direction, by less than D."""
    most = 5
    change = {"max": 1.0, "gini": 2.0, "entropy": math.log(most + 1) + 1}[name]
    sign = 1 if name == "max" else -1
    moves = [
        sign * (truth(name, more) - truth(name, table)) for table in small_tables(most) for more in with_a_row(table)
    ]
    assert min(moves) >= -CLOSE
    assert max(moves) <= change + CLOSE
    assert max(moves) > change * 0.7, "a bound that nothing comes near proves little"


@pytest.mark.parametrize("name", QUALITIES)
@pytest.mark.parametrize("bound", [6, 4000])
def test_what_a_row_changes_of_the_scores(play, name: str, bound: int) -> None:
    """The integers that are computed: all moves lie in one interval of `sensitivity` units."""
    quality, most = QUALITIES[name](bound), 5
    for classes in (2, 3):
        tables = [table for table in small_tables(most) if len(table[0]) == classes]
        every = sorted({more for table in tables for more in (table, *with_a_row(table))})
        scores = dict(zip(every, scored(play, quality, every), strict=True))
        moves = [scores[more] - scores[table] for table in tables for more in with_a_row(table)]
        assert max(moves) - min(moves) <= quality.sensitivity
    if name != "max":  # two scores, each wrong by the error either way, and as much where they must not fall
        made: Any = quality
        assert made.sensitivity >= UNITS * (made.change + 4 * made.error)


@pytest.mark.parametrize("bound", [2, 7, 1000, 65534])
def test_what_is_proven_of_fractions_and_logarithms_gives_the_error(bound: int) -> None:
    """n rows are off by 2 n times what a fraction is, and by 2 n times what a logarithm is."""
    gini, entropy = GiniQuality(bound), EntropyQuality(bound)
    for prices in (CIRCUITS, GARBLED, SHARED):
        assert 2 * bound * gini._parameters(prices).error <= gini.error
        assert 2 * bound * entropy._problem(2).precision(prices).error <= entropy.error


@pytest.mark.parametrize("name", ["gini", "entropy"])
@pytest.mark.parametrize(("bound", "classes"), [(3, 2), (50, 3), (2000, 4), (131070, 2)])
def test_scores_are_as_precise_as_they_say(play, name: str, bound: int, classes: int) -> None:
    """Random tables, few rows and as many as there can be; the error is that of the docstring, and a unit's cut."""
    quality: Any = QUALITIES[name](bound)
    rng = np.random.default_rng(bound)
    tables: list[Table] = []
    for rows in (0, 1, 2, bound // 2, bound, bound, bound):
        values = int(rng.integers(1, 6))
        cells = rng.multinomial(min(rows, bound), rng.dirichlet(np.full(values * classes, 0.3)))
        tables.append(tuple(map(tuple, cells.reshape(values, classes).tolist())))
    for table, score in zip(tables, scored(play, quality, tables), strict=True):
        exact = truth(name, table) + (sum(map(sum, table)) if name == "gini" else 0)
        assert -float(quality.error) - 1 / UNITS - CLOSE <= score / UNITS - exact <= float(quality.error) + CLOSE


@pytest.mark.parametrize("name", QUALITIES)
@pytest.mark.parametrize("engine", ["yao", "gmw", "mixed", "lean"])
def test_every_engine_scores_alike(play, name: str, engine: str) -> None:
    quality: Any = QUALITIES[name](200)
    tables: list[Table] = [((3, 1), (0, 0), (5, 2)), ((1, 0),), ((0, 0), (0, 0)), ((10, 20), (30, 40)), ((100, 100),)]
    exact = [truth(name, table) + (sum(map(sum, table)) if name == "gini" else 0) for table in tables]
    for score, wanted in zip(scored(play, quality, tables, engine), exact, strict=True):
        if name == "max":
            assert score == wanted
        else:
            assert abs(score / UNITS - wanted) <= float(quality.error) + 1 / UNITS
