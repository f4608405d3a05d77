"""Rebuilt rows: solutions beside all that brute force finds, what is certain, counts that contradict each other."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parties.alone.attacks import reconstruction
from parties.alone.attacks.reconstruction import Count, Programme, certain, programme, ranked, rebuilt, solutions
from smc.errors import InputError

AXES = {"a": "xy", "b": "uv", "c": "mn"}
CELLS = list(itertools.product(*AXES.values()))
Row = tuple[str, ...]


def silent(what: str) -> None:
    del what


def published(rows: list[Row], *names: str) -> list[Count]:
    """The table of these columns, zeros too."""
    counts = []
    for values in itertools.product(*(AXES[name] for name in names)):
        known = dict(zip(names, values, strict=True))
        number = sum(all(row[[*AXES].index(name)] == value for name, value in known.items()) for row in rows)
        counts.append(Count(tuple(known.items()), number))
    return counts


def every_solution(problem: Programme, total: int) -> list[tuple[int, ...]]:
    unknowns = problem.combinations.shape[1]
    sums = problem.sums.toarray()
    return [
        numbers
        for numbers in itertools.product(range(total + 1), repeat=unknowns)
        if sum(numbers) <= total and (np.abs(sums @ np.array(numbers) - problem.numbers) <= problem.slack).all()
    ]


@settings(max_examples=25)
@given(rows=st.lists(st.sampled_from(CELLS), min_size=1, max_size=4))
def test_solutions_and_what_is_certain_are_brute_forces(rows: list[Row]) -> None:
    problem = programme([*published(rows, "a", "b"), *published(rows, "b", "c"), *published(rows, "a", "c")])
    every = every_solution(problem, len(rows))
    drawn = solutions(problem, 6, np.random.default_rng(1), silent)
    assert {tuple(line) for line in drawn.tolist()} <= set(every)
    assert certain(problem, drawn, 60, silent).tolist() == np.array(every).min(axis=0).tolist()


@settings(max_examples=25)
@given(
    rows=st.lists(st.sampled_from(CELLS), min_size=2, max_size=3),
    shifts=st.lists(st.integers(-1, 1), min_size=8, max_size=8),
)
def test_counts_that_are_off_are_off_least(rows: list[Row], shifts: list[int]) -> None:
    counts = [*published(rows, "a", "b"), *published(rows, "b", "c")]
    noisy = [Count(c.values, c.number + shift) for c, shift in zip(counts, shifts, strict=True)]
    problem = programme(noisy, slack=1)
    sums = problem.sums.toarray()
    every = every_solution(problem, len(rows) + 2)
    assume(every)
    least = min(float(np.abs(sums @ np.array(numbers) - problem.numbers).sum()) for numbers in every)
    for line in solutions(problem, 3, np.random.default_rng(1), silent):
        assert np.abs(sums @ line - problem.numbers).sum() == pytest.approx(least)


def people(rows: int = 120) -> list[Row]:
    rng = np.random.default_rng(3)
    return [tuple(map(str, row)) for row in rng.integers(0, 4, (rows, 4)).tolist()]


def three_tables(rows: list[Row], hide_below: int = 0, noise: float = 0.0) -> list[Count]:
    rng = np.random.default_rng(4)
    counts = []
    for places in ((0, 1, 2), (1, 2, 3), (0, 2, 3)):
        often = Counter(tuple(row[place] for place in places) for row in rows)
        for values in itertools.product("0123", repeat=3):
            number = often[values]
            if noise:
                number = max(0, round(number + rng.laplace(0, noise)))
            if number >= hide_below or not number:
                known = tuple((f"c{place}", value) for place, value in zip(places, values, strict=True))
                counts.append(Count(known, number))
    return counts


def test_120_people_from_three_tables_before_and_after() -> None:
    """Of three exact tables most rows are rebuilt, many for certain; of noisy ones no more than by chance."""
    rows = people()
    problem = programme(three_tables(rows))
    order = [[*problem.axes].index(f"c{place}") for place in range(4)]
    true = reconstruction.true_counts(problem, [[row[order.index(i)] for i in range(4)] for row in rows])
    assert true.sum() == len(rows)
    drawn = solutions(problem, 10, np.random.default_rng(1), silent)
    chance = reconstruction.by_chance(problem, rows, 10, np.random.default_rng(1))
    before = rebuilt(drawn, true)
    sure = certain(problem, drawn, 60, silent)
    assert (sure <= true).all(), "what is certain is true"
    assert sure.sum() > 25
    assert before > 80 > 1.8 * chance
    assert [share for _, _, share in ranked(drawn)] == sorted((s for *_, s in ranked(drawn)), reverse=True)
    # Cells below three hidden, without a total: nothing is certain any more.
    hidden = programme(three_tables(rows, hide_below=3))
    after = solutions(hidden, 5, np.random.default_rng(1), silent)
    assert certain(hidden, after, 20, silent).sum() < 10
    # Noise of epsilon 1, a third for each table.
    noisy = programme(three_tables(rows, noise=3.0), slack=30)
    true = reconstruction.true_counts(noisy, [[row[int(name[1])] for name in noisy.axes] for row in rows])
    after = solutions(noisy, 3, np.random.default_rng(1), silent)
    assert rebuilt(after, true) < 1.3 * chance
    assert not certain(noisy, after, 1, silent).any()


def test_a_count_of_none_that_may_be_off() -> None:
    counts = [Count((("a", "x"),), 0), Count((("a", "y"),), 3)]
    assert programme(counts).combinations.shape[1] == 1
    assert programme(counts, slack=1).combinations.shape[1] == 2


def test_what_cannot_be_solved() -> None:
    one, other = Count((("a", "x"),), 3), Count((("a", "x"),), 5)
    with pytest.raises(
        InputError, match="no rows give all these counts: they contradict each other; if they are rounded"
    ):
        solutions(programme([one, other]), 1, np.random.default_rng(), silent)
    with pytest.raises(InputError, match="contradict each other by more than --slack"):
        solutions(programme([one, Count((("a", "x"),), 9)], slack=1), 1, np.random.default_rng(), silent)
    with pytest.raises(InputError, match="0 combinations could have rows"):
        programme([Count((("a", "x"),), 0)])
    with pytest.raises(InputError, match="2 combinations could have rows; give tables that leave 1 to 1"):
        programme([one, Count((("a", "y"),), 1)], most=1)
    many = [Count((("a", str(i)), ("b", str(i))), 1) for i in range(1100)]
    with pytest.raises(InputError, match="1,210,000 combinations of values are too many"):
        programme(many)
