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
from protocols.edges import Asked, Questions, Run, remaining, spread
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
Values = tuple[int, ...]


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


def sides(values: Values, edge: int) -> tuple[Values, ...]:
    """The values of each branch: of all of them one each, or the second of three against the others, or by an edge."""
    if edge == -1:
        return tuple(value for value in values if value != 1), tuple(value for value in values if value == 1)
    if edge:
        return tuple(value for value in values if value < edge), tuple(value for value in values if value >= edge)
    return tuple((value,) for value in values)


def parts(rows: list[Row], column: int, groups: tuple[Values, ...]) -> list[list[Row]]:
    return [[row for row in rows if row[column] in group] for group in groups]


def keeps(rows: list[Row], own: list[list[Row]], rules: Rules) -> bool:
    """Whether a group keeps k, and entropy l if there is one."""
    groups = own if rules.against == "peer" else [rows]
    for group in groups:
        if group and (len(group) < rules.k):
            return False
        if group and rules.diversity == "entropy" and entropy(group) / len(group) < math.log(rules.l):
            return False
    return True


def cuts(values: Values, middle: bool, most: int | None) -> list[tuple[Values, ...]]:
    """The values left in two by an edge between them, of three the second alone; or the middles of equal parts."""
    found: list[tuple[Values, ...]] = [(values[:place], values[place:]) for place in range(1, len(values))]
    if middle and len(values) == 3:
        found.append(sides(values, -1))
    if most is None or len(found) <= most:
        return found
    return [found[math.floor((part + 0.5) * len(found) / most)] for part in range(most)]


def check(
    tree: Tree, rows: list[Row], parent: int, depth: int, questions: Questions, problem: Problem, known: Any
) -> None:
    """Walk the tree: would a plain ID3 accept each step? `known` holds the values left of each column.

    A row has its party before its class.
    """
    candidates = []
    for column, (size, by_edge, values) in enumerate(zip(questions.sizes, questions.ordered, known, strict=True)):
        if by_edge:
            candidates += [(column, cut) for cut in cuts(values, column in questions.middle, problem.edges)]
        elif len(values) == size:
            candidates.append((column, sides(values, 0)))

    def feasible(column: int, groups: tuple[Values, ...]) -> bool:
        return all(
            keeps(group, [[row for row in group if row[-2] == party] for party in (0, 1)], problem.rules)
            for group in parts(rows, column, groups)
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
    scores = {candidate: sum(entropy(part) for part in parts(rows, *candidate)) for candidate in allowed}
    groups = sides(known[column], edge)
    assert scores[column, groups] <= min(scores.values()) + problem.delta * len(rows)
    for child, group, part in zip(tree.children, groups, parts(rows, column, groups), strict=True):
        left = group if edge else ()
        below = [left if other == column else values for other, values in enumerate(known)]
        check(child, part, majority, depth + 1, questions, problem, below)


def drawn(draw: st.DrawFn, sizes: tuple[int, ...]) -> Questions:
    ordered = tuple(draw(st.booleans()) for _ in sizes)
    middle = (i for i, (size, by_edge) in enumerate(zip(sizes, ordered, strict=True)) if size == 3 and by_edge)
    return Questions(sizes, ordered, tuple(i for i in middle if draw(st.booleans())))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Questions, Problem, np.ndarray]:
    sizes = tuple(draw(st.lists(st.integers(1, 7), max_size=3)))
    questions = drawn(draw, sizes)
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
        check(tree, plain, 0, 0, questions, problem, [tuple(range(size)) for size in questions.sizes])


@pytest.mark.one_of(4)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize(("max_depth", "edges", "middle"), [(None, None, ()), (2, None, (0,)), (3, 1, ())])
def test_costs_are_foreseen_and_nothing_else_is_opened(
    profile: Profile, rules: Rules, max_depth: int | None, edges: int | None, middle: tuple[int, ...]
) -> None:
    questions = Questions((3, 2, 4), (True, False, True), middle)
    problem = problem_of(questions, 2, 20, delta=0.05, rules=rules, max_depth=max_depth, edges=edges)
    rows = np.random.default_rng(3).integers(0, (3, 2, 4, 2), (40, 4))
    tree, meters = joint(questions, problem, rows, profile)
    assert any(isinstance(node, Split) and questions.asked[node.attribute][1] for node, _ in walk(tree))
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
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, 10, (600, 4))
    labels = (cells[:, 0] > 3) * (cells[:, 2] < 6) + (cells[:, 1] > 4) * (generator.random(600) < 0.7)
    assert_same_leaves(Questions((10,) * 4, (True,) * 4), cells, labels, cells)


@pytest.mark.parametrize("seed", range(3))
def test_three_values_are_cut_as_scikit_learn_cuts_a_column_a_value(seed: int) -> None:
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, 3, (600, 4))
    labels = (cells[:, 0] == 1) * (cells[:, 2] != 1) + (cells[:, 1] > 0) * (generator.random(600) < 0.7)
    questions = Questions((3,) * 4, (True,) * 4, (0, 1, 2, 3))
    way = assert_same_leaves(questions, cells, labels, np.eye(3)[cells].reshape(600, -1))
    assert -1 in way


def assert_same_leaves(questions: Questions, cells: np.ndarray, labels: np.ndarray, theirs: np.ndarray) -> set[int]:
    """Whether rows are together as in scikit-learn's tree of the same depth; the edges that are asked."""
    from sklearn.tree import DecisionTreeClassifier

    problem = problem_of(questions, 3, 300, delta=1e-4, max_depth=4)
    tree, _ = joint(questions, problem, np.column_stack([cells, labels]), Profile("clear"))
    asked = set()

    def leaf(row: np.ndarray) -> tuple[int, ...]:
        node, way = tree, []
        while isinstance(node, Split):
            column, edge = questions.asked[node.attribute]
            asked.add(edge)
            way.append(int(row[column] == 1 if edge == -1 else row[column] >= edge))
            node = node.children[way[-1]]
        return tuple(way)

    learnt = DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=0).fit(theirs, labels)
    ours, found = [leaf(row) for row in cells], learnt.apply(theirs).tolist()
    assert len(set(ours)) == len(set(found)) == len(set(zip(ours, found, strict=True))) > 6
    return asked


def test_questions_of_columns() -> None:
    questions = Questions((3, 1, 2, 1), (True, True, False, False))
    assert questions.asked == ((0, 1), (0, 2), (2, 0), (3, 0))
    assert questions.domains == (2, 2, 2, 1)
    assert questions.runs == (Run(0, 2),)
    nominal = Questions((2, 3, 3), (False, True, True), (2,))
    assert nominal.asked == ((0, 0), (1, 1), (1, 2), (2, 1), (2, 2), (2, -1))
    assert nominal.runs == (Run(1, 3), Run(3, 6, True))
    assert (nominal.domains, nominal.deepest) == ((2,) * 6, 5)


@given(st.data())
def test_what_remains_are_the_cuts_of_the_values_left(data: st.DataObject) -> None:
    """Each tells some of them apart, no two do so alike, and whatever else the column could ask is like one of them."""
    questions = Questions((3, 5, 3), (True,) * 3, data.draw(st.sampled_from([(0,), (0, 2)])))
    left = tuple(range(len(questions.asked)))
    known = [tuple(range(size)) for size in questions.sizes]
    while left:
        question, answer = data.draw(st.sampled_from(left)), data.draw(st.integers(0, 1))
        column, edge = questions.asked[question]
        known[column] = sides(known[column], edge)[answer]
        left = remaining(questions.runs, left, question, answer)
        for column, values in enumerate(known):
            asked = [frozenset(sides(values, edge)) for place, edge in questions.asked if place == column]
            kept = [frozenset(sides(values, questions.asked[q][1])) for q in left if questions.asked[q][0] == column]
            assert all(all(cut) for cut in kept)
            assert len(set(kept)) == len(kept)
            assert set(kept) == {cut for cut in asked if all(cut)}


@given(st.lists(st.integers(1, 9), max_size=4), st.integers(1, 4), st.data())
def test_edges_are_spread_over_those_left(sizes: list[int], most: int, data: st.DataObject) -> None:
    questions = Questions(tuple(sizes), tuple(size > 2 for size in sizes))
    left: tuple[int, ...] = tuple(range(len(questions.domains)))
    while left:
        kept = spread(questions.runs, left, most)
        assert list(kept) == sorted(set(kept))
        assert set(kept) <= set(left)
        inside = [range(run.first, run.end) for run in questions.runs]
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
