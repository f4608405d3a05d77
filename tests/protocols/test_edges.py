"""Ordered columns asked by an edge, against a plain ID3 that knows ranges of values and nothing of questions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.cost_model import at_most, most_bytes, typical, with_tree
from protocols.counts import RowCounts
from protocols.edges import Asked, Questions, remaining, spread
from protocols.id3 import Leaf, Problem, Split, Tree, id3
from protocols.openings import KINDS, opened
from protocols.rules import NO_RULES, Rules
from protocols.tree import cut, walk
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.session import Session

pytestmark = pytest.mark.slow

PROFILES = [Profile("yao"), Profile("mixed"), Profile("lean", "ferret"), Profile("gmw")]
RULES = [NO_RULES, Rules(k=3), Rules(k=3, against="public"), Rules(k=2, l=1.5, diversity="entropy", against="public")]
Row = tuple[int, ...]  # values, then the class
Node = int | tuple[Any, ...]  # a class; or column, edge and children


def problem_of(questions: Questions, classes: int = 2, max_rows: int = 100, **more: Any) -> Problem:
    return Problem(questions.domains, classes, max_rows, runs=questions.runs, **{"delta": 0.001, **more})


def joint(
    questions: Questions, problem: Problem, rows: np.ndarray, profile: Profile = PROFILES[0], start: Tree | None = None
) -> tuple[Tree, dict[int, Meter]]:
    """The tree of rows int64[rows, columns + 1], every other one of them at party 1."""
    meters = {}

    def program(session: Session) -> Tree:
        meters[session.party] = session.meter
        own = rows[session.party :: 2]
        counts = Asked(RowCounts(questions.sizes, problem.classes, own[:, :-1], own[:, -1]), questions)
        more = {} if start is None else {"start": start}
        return id3(engine_of(session, profile), problem, counts, **more)

    tree, same = run_local(program)
    assert tree == same
    return tree, meters


def entropy(rows: list[Row]) -> float:
    return -sum(n * math.log(n / len(rows)) for n in Counter(row[-1] for row in rows).values())


def parts(rows: list[Row], column: int, edge: int, size: int) -> list[list[Row]]:
    if edge:
        return [[row for row in rows if (row[column] < edge) is below] for below in (True, False)]
    return [[row for row in rows if row[column] == value] for value in range(size)]


def keeps(rows: list[Row], own: list[list[Row]], rules: Rules) -> bool:
    """Whether a group keeps k, and entropy l if there is one."""
    groups = own if rules.against == "peer" else [rows]
    for group in groups:
        if group and (len(group) < rules.k):
            return False
        if group and rules.diversity == "entropy" and entropy(group) / len(group) < math.log(rules.l):
            return False
    return True


def compared_edges(low: int, high: int, most: int | None) -> list[int]:
    """The edges between these values, or the middles of as many equal parts of them."""
    edges = list(range(low + 1, high))
    if most is None or len(edges) <= most:
        return edges
    return [edges[math.floor((part + 0.5) * len(edges) / most)] for part in range(most)]


def check(
    tree: Tree, rows: list[Row], parent: int, depth: int, questions: Questions, problem: Problem, known: Any
) -> None:
    """Walk the tree: would a plain ID3 accept each step? `known` holds the range of values of each column.

    A row has its party before its class.
    """
    candidates = []
    for column, (size, by_edge, (low, high)) in enumerate(zip(questions.sizes, questions.ordered, known, strict=True)):
        if by_edge:
            candidates += [(column, edge) for edge in compared_edges(low, high, problem.edges)]
        elif high - low == size:
            candidates.append((column, 0))

    def feasible(column: int, edge: int) -> bool:
        groups = parts(rows, column, edge, questions.sizes[column])
        return all(
            keeps(group, [[row for row in group if row[-2] == party] for party in (0, 1)], problem.rules)
            for group in groups
        )

    counts = Counter(row[-1] for row in rows)
    majority = min(counts, key=lambda label: (-counts[label], label)) if rows else parent
    allowed = [candidate for candidate in candidates if feasible(*candidate)]
    ends = depth == problem.max_depth or len(rows) <= problem.min_rows or len(counts) <= 1 or not allowed
    assert isinstance(tree, Leaf) == ends
    if isinstance(tree, Leaf):
        assert tree.label == majority
        return
    column, edge = questions.asked[tree.attribute]
    scores = {
        candidate: sum(entropy(part) for part in parts(rows, *candidate, questions.sizes[candidate[0]]))
        for candidate in allowed
    }
    assert scores[column, edge] <= min(scores.values()) + problem.delta * len(rows)
    for value, (child, part) in enumerate(
        zip(tree.children, parts(rows, column, edge, questions.sizes[column]), strict=True)
    ):
        low, high = known[column]
        inner = ((low, edge), (edge, high))[value] if edge else (value, value)
        below = [inner if other == column else span for other, span in enumerate(known)]
        check(child, part, majority, depth + 1, questions, problem, below)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Questions, Problem, np.ndarray]:
    sizes = tuple(draw(st.lists(st.integers(1, 7), max_size=3)))
    questions = Questions(sizes, tuple(draw(st.booleans()) for _ in sizes))
    rules = draw(st.sampled_from(RULES))
    problem = problem_of(
        questions,
        2,
        delta=0.05,
        max_depth=draw(st.none() | st.integers(0, 4)),
        rules=rules,
        min_rows=draw(st.sampled_from([0, 5])),
        edges=draw(st.sampled_from([None, 1, 2, 3])),
    )
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    rows = generator.integers(0, (*sizes, 2), (draw(st.integers(0, 40)), len(sizes) + 1))
    return questions, problem, rows


@given(cases())
@settings(max_examples=60, deadline=None)
def test_a_plain_id3_accepts_every_step(case: tuple[Questions, Problem, np.ndarray]) -> None:
    questions, problem, rows = case
    tree, _ = joint(questions, problem, rows, Profile("clear"))
    plain = [(*map(int, row[:-1]), party % 2, int(row[-1])) for party, row in enumerate(rows)]
    if not questions.asked:
        assert isinstance(tree, Leaf)
    elif not problem.rules.any or keeps(plain, [plain[0::2], plain[1::2]], problem.rules):
        check(tree, plain, 0, 0, questions, problem, [(0, size) for size in questions.sizes])


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize(("max_depth", "edges"), [(None, None), (2, None), (3, 1)])
def test_costs_are_foreseen_and_nothing_else_is_opened(
    profile: Profile, rules: Rules, max_depth: int | None, edges: int | None
) -> None:
    questions = Questions((3, 2, 4), (True, False, True))
    problem = problem_of(questions, 2, 20, delta=0.05, rules=rules, max_depth=max_depth, edges=edges)
    rows = np.random.default_rng(3).integers(0, (3, 2, 4, 2), (40, 4))
    tree, meters = joint(questions, problem, rows, profile)
    assert any(isinstance(node, Split) and node.attribute in (0, 1, 3, 4, 5) for node, _ in walk(tree))
    exact = forecast(lambda engine: with_tree(engine, problem, tree), profile)
    bound = forecast(lambda engine: at_most(engine, problem), profile)
    for party in (0, 1):
        real = public(meters[party].total)
        assert public(exact.costs[party]) == real
        for name, value in public(bound.costs[party]).items():
            assert value >= real[name]
    found = opened(problem, (tree,))
    assert found[KINDS[0]] == sum(1 for _ in walk(tree))


def public(cost: Cost) -> dict[str, Any]:
    fields: dict[str, Any] = cost.as_dict()
    del fields["seconds"]
    return fields


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@given(cases())
@settings(max_examples=15, deadline=None)
def test_no_tree_costs_more_than_the_most(profile: Profile, case: tuple[Questions, Problem, np.ndarray]) -> None:
    questions, problem, rows = case
    tree, _ = joint(questions, problem, rows, Profile("clear"))
    for largest in (10**9, 200):
        most = most_bytes(problem, profile, largest)
        assert forecast(lambda engine: with_tree(engine, problem, tree), profile).bytes <= most
        assert forecast(lambda engine: typical(engine, problem, 10**6), profile).bytes <= most


def test_engines_agree_and_a_run_can_be_taken_up() -> None:
    questions = Questions((6, 2, 5), (True, False, True))
    problem = problem_of(questions, 3, delta=1e-4, max_depth=4)  # so small that no two attributes are as good
    rows = np.random.default_rng(8).integers(0, (6, 2, 5, 3), (80, 4))
    tree, _ = joint(questions, problem, rows, Profile("clear"))
    for profile in PROFILES:
        assert joint(questions, problem, rows, profile)[0] == tree
    for depth in range(4):
        assert joint(questions, problem, rows, Profile("clear"), cut(tree, depth))[0] == tree


@pytest.mark.parametrize("seed", range(4))
def test_scikit_learn_finds_the_same_leaves(seed: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    generator = np.random.default_rng(seed)
    cells = generator.integers(0, 10, (600, 4))
    labels = (cells[:, 0] > 3) * (cells[:, 2] < 6) + (cells[:, 1] > 4) * (generator.random(600) < 0.7)
    questions = Questions((10,) * 4, (True,) * 4)
    problem = problem_of(questions, 3, 300, delta=1e-4, max_depth=4)
    tree, _ = joint(questions, problem, np.column_stack([cells, labels]), Profile("clear"))

    def leaf(row: np.ndarray) -> tuple[int, ...]:
        node, way = tree, []
        while isinstance(node, Split):
            column, edge = questions.asked[node.attribute]
            way.append(int(row[column] >= edge))
            node = node.children[way[-1]]
        return tuple(way)

    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=0).fit(cells, labels).apply(cells)
    ours = [leaf(row) for row in cells]
    assert len(set(ours)) == len(set(theirs)) == len(set(zip(ours, theirs.tolist(), strict=True))) > 6


def test_questions_of_columns() -> None:
    questions = Questions((3, 1, 2, 1), (True, True, False, False))
    assert questions.asked == ((0, 1), (0, 2), (2, 0), (3, 0))
    assert questions.domains == (2, 2, 2, 1)
    assert questions.runs == ((0, 2),)


@given(st.lists(st.integers(1, 9), max_size=4), st.integers(1, 4), st.data())
def test_edges_are_spread_over_those_left(sizes: list[int], most: int, data: st.DataObject) -> None:
    questions = Questions(tuple(sizes), tuple(size > 2 for size in sizes))
    left: tuple[int, ...] = tuple(range(len(questions.domains)))
    while left:
        kept = spread(questions.runs, left, most)
        assert list(kept) == sorted(set(kept))
        assert set(kept) <= set(left)
        inside = [range(*run) for run in questions.runs]
        for run in inside:
            of_run, compared = [q for q in left if q in run], [q for q in kept if q in run]
            assert len(compared) == min(most, len(of_run))
            if len(of_run) > most:  # no stretch without one is longer than a part and what rounding adds
                gaps = [of_run.index(q) for q in compared]
                assert max(b - a for a, b in itertools.pairwise([-1, *gaps, len(of_run)])) <= len(of_run) / most + 1
        assert [q for q in left if not any(q in run for run in inside)] == [
            q for q in kept if not any(q in run for run in inside)
        ]
        left = remaining(questions.runs, left, data.draw(st.sampled_from(kept)), data.draw(st.integers(0, 1)))
