"""A joint forest against one grown anew in fractions: bootstraps as lists of rows, public draws, every rule by hand."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.bootstrap import Bootstrapped, draw
from protocols.cost_model import with_forest
from protocols.counts import RowCounts
from protocols.edges import Asked, Questions, remaining
from protocols.id3 import grown
from protocols.openings import opened
from protocols.problem import Problem
from protocols.rules import Rules
from protocols.tree import Forest, Leaf, Split, cut, decided_levels
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.meter import Meter

KEYS = (b"alice", b"bob")
Row = tuple[int, ...]  # values, then the class


def problem(questions: Questions, **more: Any) -> Problem:
    fields = {"classes": 3, "max_rows": 60, "trees": 3, "drawn": 2, "criterion": "gini"}
    return Problem(questions.domains, runs=questions.runs, **(fields | more))  # type: ignore[arg-type]


def joint(
    made: Problem, questions: Questions, rows: np.ndarray, profile: Profile, start: Forest | None = None
) -> tuple[Forest, Meter]:
    meters: dict[int, Meter] = {}

    def program(session: Any) -> Forest:
        meters[session.party] = session.meter
        own = rows[session.party :: 2]
        counts = RowCounts(questions.sizes, made.classes, own[:, :-1], own[:, -1])
        drawn = Bootstrapped(questions.sizes, made.classes, counts, made.trees, KEYS[session.party])
        return grown(engine_of(session, profile), made, Asked(drawn, questions), start=start)

    first, second = run_local(program, kernels=profile.kernels)
    assert first == second
    return first, meters[0]


def drawn(rows: int, key: bytes, tree: int) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *draw(rows, key, tree)])


def drawn_rows(rows: np.ndarray, tree: int) -> list[list[Row]]:
    """Both parties' rows of a tree, as often as they were drawn: from all sorted, which a source tells them as."""
    of_both = []
    for party, key in enumerate(KEYS):
        own = sorted(map(tuple, rows[party::2].tolist()))
        of_both.append([(*own[i], int(i)) for i in drawn(len(own), key, tree)])
    return of_both


def impurity(groups: list[Counter[int]], criterion: str) -> Fraction | float:
    groups = [group for group in groups if group]
    sizes = [sum(group.values()) for group in groups]
    if criterion == "gini":
        squares = [Fraction(sum(n * n for n in group.values()), sum(group.values())) for group in groups]
        return sum(sizes) - sum(squares)
    return -sum(n * math.log(n / size) for size, group in zip(sizes, groups, strict=True) for n in group.values())


def check(made: Problem, questions: Questions, forest: Forest, rows: np.ndarray) -> None:
    """Walk every tree level by level; fail at a step that is not within delta of the best, or against a rule."""
    every = tuple(range(len(made.domains)))
    for number, root in enumerate(forest):
        level = [(root, drawn_rows(rows, number), every, 0)]
        depth = 0
        while level:
            below = []
            for place, (node, of_both, left, above) in enumerate(level):
                union = [*of_both[0], *of_both[1]]
                counts = Counter(row[-2] for row in union)
                majority = min(counts, key=lambda label: (-counts[label], label), default=above)
                candidates = made.candidates(number, depth, place, left)
                assert set(candidates) <= set(left)
                assert len(candidates) == min(made.drawn or len(left), len(left))

                def answer(question: int, row: Row) -> int:
                    column, edge = questions.asked[question]
                    return int(row[column] == -edge if edge < 0 else row[column] >= edge) if edge else row[column]

                def parts(question: int, some: list[Row], domains: tuple[int, ...] = made.domains) -> list[list[Row]]:
                    return [[row for row in some if answer(question, row) == v] for v in range(domains[question])]

                feasible = [
                    question
                    for question in candidates
                    if all(
                        not part or len(set(part)) >= made.rules.k for own in of_both for part in parts(question, own)
                    )
                ]
                stops = len(counts) < 2 or depth == made.max_depth or not feasible
                small = [len(set(own)) for own in of_both if own]
                if depth == 0 and small and min(small) < made.rules.k:
                    assert node == Leaf(0)
                    continue
                assert isinstance(node, Leaf) == stops
                if isinstance(node, Leaf):
                    assert node.label == majority
                    continue
                assert isinstance(node, Split)
                scores = {
                    question: impurity(
                        [Counter(row[-2] for row in part) for part in parts(question, union)], made.criterion
                    )
                    for question in feasible
                }
                assert scores[node.attribute] <= min(scores.values()) + made.delta * len(union)
                for value, child in enumerate(node.children):
                    rest = remaining(questions.runs, left, node.attribute, value)
                    ours = [parts(node.attribute, own)[value] for own in of_both]
                    below.append((child, ours, rest, majority))
            level, depth = below, depth + 1


def table(sizes: tuple[int, ...], count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, size, count) for size in sizes])
    return np.column_stack([rows, (rows.sum(axis=1) + (rng.random(count) < 0.2)) % 3])


@given(data=st.data())
@settings(max_examples=25)
def test_every_tree_is_that_of_its_rows(data: st.DataObject) -> None:
    sizes = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    ordered = tuple(size > 2 and data.draw(st.booleans()) for size in sizes)
    questions = Questions(sizes, ordered, tuple(i for i, by_edge in enumerate(ordered) if by_edge and sizes[i] == 3))
    made = problem(
        questions,
        criterion=data.draw(st.sampled_from(["gini", "entropy"])),
        drawn=data.draw(st.sampled_from([None, 1, 2])),
        trees=data.draw(st.integers(1, 3)),
        max_depth=data.draw(st.sampled_from([None, 1, 3])),
        rules=Rules(k=data.draw(st.sampled_from([1, 2, 4]))),
        seed=data.draw(st.integers(0, 3)),
    )
    rows = table(sizes, data.draw(st.integers(0, 60)), data.draw(st.integers(0, 9)))
    profile = Profile(data.draw(st.sampled_from(["clear", "mixed", "lean"])))
    forest, _ = joint(made, questions, rows, profile)
    assert len(forest) == made.trees
    check(made, questions, forest, rows)


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw"), Profile("mixed"), Profile("lean")], ids=str)
def test_costs_are_foreseen_and_it_goes_on_from_any_level(profile: Profile) -> None:
    questions = Questions((3, 4, 2), (True, True, False))
    made = problem(questions, rules=Rules(k=2))
    rows = table(questions.sizes, 50, 5)
    forest, meter = joint(made, questions, rows, profile)
    check(made, questions, forest, rows)
    exact = forecast(lambda engine: with_forest(engine, made, forest), profile)
    real, counted = meter.total.as_dict(), exact.meters[0].total.as_dict()
    del real["seconds"], counted["seconds"]
    assert real == counted
    found = opened(made, forest)
    splits = sum(found.values())
    assert splits
    levels = max(map(decided_levels, forest))
    each = [opened(made, forest, depth) for depth in range(levels)]
    assert {kind: sum(level[kind] for level in each) for kind in found} == found
    half = tuple(cut(tree, levels // 2) for tree in forest)
    assert joint(made, questions, rows, Profile("clear"), half)[0] == forest


def test_a_bootstrap_is_a_draw_with_replacement_of_its_own_for_each_tree_and_key() -> None:
    draws = np.array([drawn(40, b"key", tree) for tree in range(2000)])
    assert draws.min() == 0
    assert draws.max() == 39
    expected = draws.size / 40
    chi = ((np.bincount(draws.reshape(-1)) - expected) ** 2 / expected).sum()
    assert chi < 120  # 39 degrees of freedom: 1e-9
    once = np.mean([len(set(line.tolist())) / 40 for line in draws])
    assert abs(once - (1 - (1 - 1 / 40) ** 40)) < 0.005
    assert drawn(40, b"key", 3).tolist() == draws[3].tolist()
    assert drawn(40, b"other", 3).tolist() != draws[3].tolist()


def test_draws_of_attributes_are_public_and_differ_by_tree_node_and_seed() -> None:
    made = Problem((2,) * 12, 2, 10, trees=4, drawn=3)
    left = tuple(range(12))
    draws = [
        made.candidates(tree, depth, place, left) for tree in range(4) for depth in range(4) for place in range(40)
    ]
    assert all(len(set(line)) == 3 and list(line) == sorted(line) for line in draws)
    counts = np.bincount(np.array(draws).reshape(-1), minlength=12)
    assert abs(counts - len(draws) / 4).max() < 60  # 6 standard deviations
    assert len(set(draws)) > 200
    assert [replace(made, seed=1).candidates(0, 0, place, left) for place in range(40)] != draws[:40]


def test_refusals() -> None:
    with pytest.raises(InputError, match="remove t"):
        Problem((2,), 2, 10, trees=2, rules=Rules(t=0.5))
    with pytest.raises(InputError, match="one tree, and a node at least one attribute"):
        Problem((2,), 2, 10, drawn=0)
    rows = RowCounts((2,), 2, np.zeros((200_000, 1), np.int64), np.zeros(200_000, np.int64))
    with pytest.raises(InputError, match="200,000 rows are too many for 1,000 trees"):
        Bootstrapped((2,), 2, rows, 1000, b"key")
