"""Pruned trees against a reference by the definitions, and penalties against sums over all tables and SciPy."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from protocols.bootstrap import joined
from protocols.cost_model import at_most, with_tree
from protocols.counts import LevelCounts, RowCounts
from protocols.edges import Asked, Questions, remaining
from protocols.id3 import Leaf, Open, Problem, Split, Tree, grown, id3
from protocols.problem import Prune
from protocols.pruning import LEVEL, complexity, half_quantile
from protocols.rules import NO_RULES, Rules
from protocols.tree import Forest, cut, encode
from smc.counting import forecast
from smc.engines import Profile
from tests.support.noisy_rows import answers, noisy, timeless

PRUNES: tuple[Prune, ...] = get_args(Prune)
RULES = [NO_RULES, Rules(k=3), Rules(k=4, against="public"), Rules(l=1.4, diversity="entropy", against="public")]
slow = pytest.mark.slow


@pytest.mark.parametrize("rows", [1, 2, 7, 20])
@pytest.mark.parametrize("classes", [1, 2, 3, 4])
def test_the_complexity_sums_over_all_counts(classes: int, rows: int) -> None:
    total = 0.0
    for counts in itertools.product(range(rows + 1), repeat=classes):
        if sum(counts) == rows:
            tables = math.factorial(rows) / math.prod(map(math.factorial, counts))
            total += tables * math.prod((n / rows) ** n for n in counts)
    assert float(complexity(classes, rows)) == pytest.approx(math.log(total), abs=0.02 / rows)


@pytest.mark.parametrize("tests", [1, 8, 300])
@pytest.mark.parametrize("freedom", [1, 2, 5, 12, 400])
def test_the_quantile_is_scipys(freedom: int, tests: int) -> None:
    assert float(half_quantile(freedom, tests)) == pytest.approx(chi2.isf(LEVEL / tests, freedom) / 2, rel=1e-9)
    assert half_quantile(0, tests) == 0


class Reference:
    """What the definitions say of a pruned tree of questions; rows end with their owner and class."""

    def __init__(self, problem: Problem, rows: np.ndarray) -> None:
        self.problem, self.rows = problem, rows
        self.pruned = 0  # leaves that nothing else makes one

    def check(self, tree: Tree) -> Reference:
        self.walk(tree, self.rows, tuple(range(len(self.problem.domains))), 0, 0, 1)
        return self

    def keeps(self, part: np.ndarray) -> bool:
        rules = self.problem.rules
        sides = [part[part[:, -2] == party] for party in (0, 1)] if rules.against == "peer" else [part]
        entropic = rules.diversity == "entropy"
        return all(
            not len(side)
            or (len(side) >= rules.k and (not entropic or nats(side) >= len(side) * (math.log(rules.l) + 1e-9)))
            for side in sides
        )

    def margin(self, part: np.ndarray, parts: Sequence[np.ndarray], left: int, cells: int) -> float:
        """Gain less penalty."""
        problem, values = self.problem, len(parts)
        if problem.prune == "pessimistic":
            return sum(map(right, parts)) - right(part) - (values - 1) / 2
        gain = nats(part) - sum(map(nats, parts))
        if problem.prune == "chi2":
            freedom = (values - 1) * (problem.classes - 1)
            return gain - (float(chi2.isf(LEVEL / left, freedom)) / 2 if freedom else 0)
        rows = max(1, 2 * problem.max_rows // cells)
        of_parts = values * float(complexity(problem.classes, max(1, rows // values)))
        return gain - math.log(left) - max(0, of_parts - float(complexity(problem.classes, rows)))

    def walk(self, tree: Tree, part: np.ndarray, left: tuple[int, ...], parent: int, depth: int, cells: int) -> None:
        problem, counts = self.problem, np.bincount(part[:, -1], minlength=self.problem.classes)
        label = int(counts.argmax()) if len(part) else parent
        unsure = 0 if problem.prune == "pessimistic" else problem.delta * len(part) + 1e-9
        scores, sure, maybe = {}, [], []
        ends = depth == problem.max_depth or len(part) <= problem.min_rows or (counts > 0).sum() <= 1
        for question in () if ends else left:
            parts = [part[part[:, question] == value] for value in range(problem.domains[question])]
            if all(map(self.keeps, parts)):
                margin = self.margin(part, parts, len(left), cells)
                scores[question] = sum(map(nats, parts))
                sure += [question] if margin > unsure else []
                maybe += [question] if margin > -unsure else []
                self.pruned += isinstance(tree, Leaf) and margin <= -unsure
        if isinstance(tree, Leaf):
            assert tree.label == label
            assert not sure
            return
        assert isinstance(tree, Split)
        assert tree.attribute in maybe
        assert scores[tree.attribute] <= min((scores[a] for a in sure), default=math.inf) + problem.delta * len(part)
        for value, child in enumerate(tree.children):
            rest = remaining(problem.runs, left, tree.attribute, value)
            below = part[part[:, tree.attribute] == value]
            self.walk(child, below, rest, label, depth + 1, cells * problem.domains[tree.attribute])


def nats(part: np.ndarray) -> float:
    return -sum(n * math.log(n / len(part)) for n in Counter(part[:, -1].tolist()).values())


def right(part: np.ndarray) -> int:
    return max(Counter(part[:, -1].tolist()).values(), default=0)


def counts_of(problem: Problem, rows: np.ndarray, party: int, questions: Questions | None = None) -> Any:
    own = rows[rows[:, -2] == party]
    sizes = problem.domains if questions is None else questions.sizes
    counts = RowCounts(sizes, problem.classes, own[:, :-2], own[:, -1])
    return counts if questions is None else Asked(counts, questions)


@slow
@pytest.mark.parametrize("name", ["clear", "yao", "gmw", "mixed", "lean"])
@settings(max_examples=12)
@given(data=st.data())
def test_random_tables(play, name: str, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=3))
    ordered = tuple(data.draw(st.booleans()) and size > 1 for size in sizes)
    classes = data.draw(st.integers(2, 4))
    number, seed = data.draw(st.integers(0, 60)), data.draw(st.integers(0, 999))
    rows = np.random.default_rng(seed).integers(0, [*sizes, 2, classes], (number, len(sizes) + 2))
    if sizes:
        rows[: number // 2, -1] = rows[: number // 2, 0] % classes
    middle = tuple(i for i, by_edge in enumerate(ordered) if by_edge and sizes[i] == 3)
    questions = Questions(tuple(sizes), ordered, middle)
    problem = Problem(
        questions.domains,
        classes,
        max_rows=data.draw(st.sampled_from([60, 1000])),
        min_rows=data.draw(st.sampled_from([0, 0, 3])),
        max_depth=data.draw(st.sampled_from([None, None, 0, 1])),
        rules=Rules(k=data.draw(st.integers(2, 3)), against=data.draw(st.sampled_from(["peer", "public"])))
        if data.draw(st.booleans())
        else NO_RULES,
        runs=questions.runs,
        prune=data.draw(st.sampled_from(PRUNES)),
    )
    tree = play(lambda e: id3(e, problem, counts_of(problem, rows, e.party, questions)), name).agreed
    if not (problem.rules.any and tree == Leaf(0)):  # a root that may break a rule itself
        Reference(problem, answers(questions, rows)).check(tree)


@slow
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("prune", PRUNES)
def test_noise_is_pruned(play, prune: Prune, rules: Rules) -> None:
    rows = noisy(300, 3)
    problem = Problem((3, 2, 4, 2), 2, max_rows=200, rules=rules, prune=prune)
    runs = {
        name: play(lambda e: id3(e, problem, counts_of(problem, rows, e.party)), name) for name in ("clear", "mixed")
    }
    tree = runs["clear"].agreed
    assert isinstance(tree, Split)
    assert Reference(problem, rows).check(tree).pruned
    Reference(problem, rows).check(runs["mixed"].agreed)
    plain = Problem((3, 2, 4, 2), 2, max_rows=200, rules=rules)
    with pytest.raises(AssertionError):
        Reference(problem, rows).check(play(lambda e: id3(e, plain, counts_of(plain, rows, e.party)), "clear").agreed)


@slow
@pytest.mark.parametrize("prune", PRUNES)
def test_edges_are_pruned_in_any_batches_and_forms(play, prune: Prune, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = noisy(200, 5, 3)
    questions = Questions((3, 2, 4, 2), (True, False, True, False))
    problem = Problem(questions.domains, 3, 150, runs=questions.runs, rules=Rules(k=2), prune=prune)

    def grown(form: Any) -> Tree:
        def program(engine: Any) -> Tree:
            engine.form = form
            return id3(engine, problem, counts_of(problem, rows, engine.party, questions))

        tree: Tree = play(program, "clear").agreed
        return tree

    tree = grown("size")
    assert Reference(problem, answers(questions, rows)).check(tree).pruned
    assert grown("depth") == tree
    for module in ("entropies", "feasibility"):
        monkeypatch.setattr(f"protocols.{module}.BATCH", 7)
    assert grown("size") == tree


class Twice:
    """The same rows for all trees."""

    def __init__(self, counts: RowCounts) -> None:
        self.counts = counts

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        return joined([self.counts.level(tree, attributes) for tree in forest])


@slow
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("prune", PRUNES)
def test_trees_of_a_forest_are_pruned_alike(play, prune: Prune, criterion: Any) -> None:
    rows = noisy(200, 6)
    alone = Problem((3, 2, 4, 2), 2, 150, rules=Rules(k=2), criterion=criterion, prune=prune)
    tree = play(lambda e: id3(e, alone, counts_of(alone, rows, e.party)), "clear").agreed
    problem = replace(alone, trees=2)
    assert play(lambda e: grown(e, problem, Twice(counts_of(problem, rows, e.party))), "clear").agreed == (tree, tree)
    plain = replace(alone, prune=None)
    assert len(encoded(tree)) < len(
        encoded(play(lambda e: id3(e, plain, counts_of(plain, rows, e.party)), "clear").agreed)
    )


def encoded(tree: Tree) -> str:
    return json.dumps(encode(tree))


@slow
@pytest.mark.parametrize("rules", RULES[:3], ids=str)
@pytest.mark.parametrize("prune", PRUNES)
def test_a_run_goes_on_and_costs_what_is_estimated(play, prune: Prune, rules: Rules) -> None:
    rows = noisy(200, 4)
    problem = Problem((3, 2, 4, 2), 2, max_rows=150, rules=rules, prune=prune)

    def run(start: Tree) -> Any:
        return play(lambda e: id3(e, problem, counts_of(problem, rows, e.party), start=start), "mixed")

    whole = run(Open())
    assert run(cut(whole.agreed, 1)).agreed == whole.agreed
    exact = forecast(lambda engine: with_tree(engine, problem, whole.agreed), Profile("mixed"))
    most = forecast(lambda engine: at_most(engine, problem), Profile("mixed"))
    for meter, same, bound in zip(whole.meters, exact.meters, most.meters, strict=True):
        assert timeless(same) == timeless(meter)
        assert bound.total.bytes_sent >= meter.total.bytes_sent
