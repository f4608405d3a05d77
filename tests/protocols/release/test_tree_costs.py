"""A tree with noise counted beforehand: how many nodes noise splits, and a bound for any tree."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release.tree_costs import most_bytes, most_levels, node_counts, split_by_noise, typical, typical_levels
from protocols.release.tree_openings import with_forest
from protocols.release.tree_problem import Problem
from protocols.tree import Leaf, Split, Tree
from smc.counting import forecast
from smc.engines import Profile

PROFILES = [Profile("yao"), Profile("mixed", garbling="three-halves"), Profile("lean", "ferret"), Profile("gmw")]


def problem(domains: tuple[int, ...], **more: Any) -> Problem:
    fields = {"classes": 2, "max_rows": 500, "max_depth": 3, "epsilon": Fraction(1), "leaf_epsilon": Fraction(1, 4)}
    return Problem(domains, **{**fields, **more})


@pytest.mark.parametrize("questions", [1, 3, 14, 55])
def test_noise_alone_splits_as_often_as_the_law_says(questions: int) -> None:
    """100,000 choices with the protocol's law: 5 standard deviations, so it errs less than once in a million.

    The scale is 400 rows, so that the whole numbers of the protocol are as good as real ones.
    """
    made, draws = (
        problem((2,) * questions, max_depth=1, epsilon=Fraction(1, 200), leaf_epsilon=Fraction(1, 400)),
        100_000,
    )
    alpha = np.exp(-1 / float(made.attribute_law(questions).scale))
    noise = np.random.default_rng(questions).geometric(1 - alpha, (draws, questions + 1))
    noise[:, -1] += made.bonus
    split = (noise.argmax(axis=1) < questions).mean()
    likely = split_by_noise(questions)
    assert abs(split - likely) < 5 * np.sqrt(likely * (1 - likely) / draws) + 0.002


def test_levels_with_few_rows_are_split_by_noise_and_with_many_by_what_they_gain() -> None:
    few, many = (typical_levels(problem((4,) * 20, max_rows=rows)) for rows in (2, 10**7))
    nodes, splits = few[1]
    assert nodes == 4
    assert splits == round(4 * split_by_noise(19))
    assert few[2][1] < many[2][1] < many[2][0]


def test_without_stop_every_node_is_split() -> None:
    levels = typical_levels(problem((3, 3, 3, 3), stop=False, trees=2))
    assert levels == [(2, 2), (6, 6), (18, 18), (54, 0)]
    assert most_levels(problem((3, 3, 3, 3), stop=False, trees=2)) == [2, 6, 18, 54]


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_a_tree_that_is_known_ahead_is_counted_to_the_gate(profile: Profile) -> None:
    """Without "stop", and with columns of one width, there is no other tree: also with its own noise at each level."""
    made = problem((3,) * 5, stop=False, max_depth=3)
    leaf: Tree = Leaf(0)
    for attribute in (2, 1, 0):
        leaf = Split(attribute, (leaf,) * 3)
    exact = forecast(lambda engine: with_forest(engine, made, (leaf,)), profile).costs[0]
    likely = forecast(lambda engine: typical(engine, made, 10**6), profile).costs[0]
    assert (likely.and_gates, likely.bytes_sent) == (exact.and_gates, exact.bytes_sent)


def test_one_wide_column_makes_not_every_level_as_wide() -> None:
    narrow, mixed, wide = (
        forecast(lambda engine, made=made: typical(engine, made, 10**6), Profile("yao")).bytes  # type: ignore[misc]
        for made in map(problem, ((3,) * 8, (40, *(3,) * 7), (40,) * 8))
    )
    assert narrow < mixed < wide / 20


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize(
    "made", [problem((3, 2, 4)), problem((3, 2, 4), trees=3), problem((4,) * 6, stop=False)], ids=str
)
def test_parts_cost_about_the_same_as_the_whole(profile: Profile, made: Problem) -> None:
    whole, parts = (
        forecast(lambda engine, largest=largest: typical(engine, made, largest), profile).costs[0]  # type: ignore[misc]
        for largest in (10**9, 300)
    )
    assert whole.and_gates * 0.9 <= parts.and_gates <= 1.1 * whole.and_gates


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    domains = tuple(draw(st.lists(st.integers(1, 5), max_size=4)))
    depth, stop = draw(st.integers(0, 3)), draw(st.booleans())
    leaf = Fraction(1, 4) if min(depth, len(domains) - (not stop)) > 0 else Fraction(1)
    return problem(
        domains,
        classes=draw(st.integers(1, 4)),
        max_depth=depth,
        leaf_epsilon=leaf,
        stop=stop,
        trees=draw(st.integers(1, 3)),
        quality=draw(st.sampled_from(["max", "gini", "entropy"])),
    )


def tree_of(draw: st.DrawFn, made: Problem) -> Tree:
    """A tree that a run could find: any, with "stop"."""

    def grown(left: tuple[int, ...], depth: int) -> Tree:
        if depth == made.max_depth or not left or (made.stop and draw(st.integers(0, 3)) == 0):
            return Leaf(0)
        asked = draw(st.sampled_from(left))
        rest = tuple(a for a in left if a != asked)
        return Split(asked, tuple(grown(rest, depth + 1) for _ in range(made.domains[asked])))

    return grown(tuple(range(len(made.domains))), 0)


@pytest.mark.one_of(2)
@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("largest", [10**6, 60])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_no_trees_cost_more_than_the_most(profile: Profile, largest: int, data: st.DataObject) -> None:
    made = data.draw(problems())
    forest = tuple(tree_of(data.draw, made) for _ in range(made.trees))
    if made.classes == 1:
        forest = (Leaf(0),) * made.trees
    most = most_bytes(made, profile, largest)
    assert forecast(lambda engine: with_forest(engine, made, forest), profile).bytes <= most
    assert forecast(lambda engine: typical(engine, made, 10**6), profile).bytes <= most


@pytest.mark.parametrize(("trees", "largest"), [(8, 10**6), (100, 10**6), (100, 60), (104, 32)])
def test_many_leaves_cost_no_more_than_the_most(trees: int, largest: int) -> None:
    """Leaves alone, of a level that is cut in parts or not."""
    made = problem((), max_depth=0, trees=trees, leaf_epsilon=Fraction(1))
    for profile in (Profile("yao"), Profile("gmw")):
        found = forecast(lambda engine: with_forest(engine, made, (Leaf(0),) * trees), profile).bytes
        assert found <= most_bytes(made, profile, largest)
    assert node_counts(made, (3, 4)) == (1 + 3 + 4) * made.classes, "by class: of all rows, and by each value"


@pytest.mark.parametrize("batch", [1, 5, 9, 15])
def test_batches_that_fill_no_block_cost_no_more_than_the_most(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine bits take as much as sixteen, so that many batches of nine cost more than blocks of eight."""
    made = problem((4, 4, 3, 2), stop=False, max_depth=3)
    monkeypatch.setattr("protocols.release.tree.chosen_at_once", lambda *_: batch)
    monkeypatch.setattr("protocols.release.tree_costs.chosen_at_once", lambda *_: batch)
    tree: Tree = Leaf(0)
    for attribute in (2, 1, 0):
        tree = Split(attribute, (tree,) * made.domains[attribute])
    for profile in (Profile("gmw"), Profile("lean", "ferret")):
        most = most_bytes(made, profile, 1000)
        assert forecast(lambda engine: with_forest(engine, made, (tree,)), profile).bytes <= most


def test_a_tree_that_asks_the_widest_column_first_costs_no_more_than_the_most() -> None:
    made = problem((2, 40, 2), max_depth=2)
    tree = Split(1, (Split(0, (Leaf(0), Leaf(0))),) * 40)
    assert most_levels(made) == [1, 40, 80]
    for profile in PROFILES:
        assert forecast(lambda engine: with_forest(engine, made, (tree,)), profile).bytes <= most_bytes(
            made, profile, 1000
        )
