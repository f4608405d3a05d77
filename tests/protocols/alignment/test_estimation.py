"""Weights estimated from one table: planted probabilities come back, and nothing comes of nothing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.alignment import estimation
from protocols.alignment.estimation import Estimate, estimate, levels, pairs_in_blocks
from protocols.alignment.weights import UNIT, Comparison, Level
from tests.support.linkage import weight

NAME = Comparison((Level(None, 1), Level(Fraction("0.8"), 2), Level(Fraction("0.45"), 3)), 4)
EQUAL = Comparison((Level(None, UNIT),), -UNIT)
FIRST = [np.array([0.8, 0.2])] * 4
SIZES = (40, 400, 1000, 500)  # values of each column
DIFFERS = (0.2, 0.1, 0.15, 0.3)  # of a duplicate
Row = list[int]


@settings(max_examples=40)
@given(st.lists(st.none() | st.text("abö", min_size=1, max_size=7), min_size=1, max_size=7))
def test_levels_are_those_of_the_rule(texts: list[str | None]) -> None:
    left, right = (np.array(side) for side in zip(*itertools.product(range(len(texts)), repeat=2), strict=True))
    expected = [weight((NAME,), (texts[i],), (texts[j],)) for i, j in zip(left, right, strict=True)]
    assert levels(NAME, texts, left, right).tolist() == expected  # each level's weight is its number


@given(st.lists(st.none() | st.sampled_from("abc"), max_size=9))
def test_the_pairs_of_a_rule_are_all_of_one_block(blocks: list[str | None]) -> None:
    left, right = pairs_in_blocks(blocks, np.random.default_rng(0))
    found = [tuple(sorted(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)]
    every = itertools.combinations(range(len(blocks)), 2)
    assert sorted(found) == [(i, j) for i, j in every if blocks[i] is not None and blocks[i] == blocks[j]]


def duplicates(chance: random.Random, rows: list[Row], share: float) -> list[Row]:
    """Second rows of some people: each cell differs with the probability of its column."""
    again = (row for row in rows if chance.random() < share)
    return [
        [
            chance.randrange(size) if chance.random() < differs else cell
            for cell, size, differs in zip(row, SIZES, DIFFERS, strict=True)
        ]
        for row in again
    ]


def families(chance: random.Random, rows: list[Row], share: float) -> list[Row]:
    """Relatives of some people: of one surname and town, with another forename and day of birth."""
    again = (row for row in rows if chance.random() < share)
    return [[chance.randrange(SIZES[0]), row[1], chance.randrange(SIZES[2]), row[3]] for row in again]


def estimated(more: Callable[..., list[Row]], share: float, patch: pytest.MonkeyPatch) -> Estimate:
    """The estimates from 3,000 people and further rows, with the third column and the second one as blocks."""
    patch.setattr(estimation, "PAIRS", 1 << 19)
    chance = random.Random(7)
    rows = [[chance.randrange(size) for size in SIZES] for _ in range(3000)]
    columns = [[str(cell) for cell in column] for column in zip(*rows, *more(chance, rows, share), strict=True)]
    texts = dict(zip("abcd", columns, strict=True))
    return estimate(dict.fromkeys("abcd", EQUAL), texts, [(columns[2], {"c"}), (columns[1], {"b"})], FIRST)


def test_planted_probabilities_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 900 duplicates; their shares have a standard error of at most 0.02."""
    found = estimated(duplicates, 0.3, monkeypatch)
    assert found.is_own == [True] * 4
    assert 0.85 < found.duplicates / (0.9 * 900) < 1.15
    for m, u, size, differs in zip(found.m, found.u, SIZES, DIFFERS, strict=True):
        assert m[0] == pytest.approx(1 - differs + differs / size, abs=0.065)
        assert u[0] == pytest.approx(1 / size, rel=0.25)  # 500 of 2^19 pairs agree in the third column
        assert sum(m) == pytest.approx(1, abs=0.01)
        assert sum(u) == pytest.approx(1, abs=0.01)


def test_duplicates_do_not_count_as_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand values, and 3,000 people who all stand twice: else a third more random pairs would agree."""
    found = estimated(duplicates, 1.0, monkeypatch)
    assert found.u[2][0] == pytest.approx(1 / 1000, rel=0.15)


@pytest.mark.parametrize(("more", "share"), [(duplicates, 0.0), (duplicates, 0.01), (families, 0.3)])
def test_without_duplicates_no_m_is_made_up(
    more: Callable[..., list[Row]], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = estimated(more, share, monkeypatch)
    assert (found.m, found.is_own, found.duplicates) == ([[0.8, 0.2]] * 4, [False] * 4, 0)


def test_a_rule_of_all_columns_but_one_trains_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "PAIRS", 1 << 10)
    texts = [str(number % 7) for number in range(100)]
    columns = {"a": texts, "b": texts}
    assert estimate(dict.fromkeys("ab", EQUAL), columns, [(texts, {"a", "c"})], FIRST[:2]).is_own == [False] * 2
