"""Reduced-error pruning by two parties against Quinlan's procedure in plain Python on all rows together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.counts import Dealt, RowCounts
from protocols.edges import Asked, Questions
from protocols.holdout import Parts, heights, parted, prune, pruned
from protocols.id3 import Leaf, Problem, Split, Tree, id3
from tests.support.noisy_rows import answers, noisy


def reduced(tree: Tree, growing: np.ndarray, held_out: np.ndarray) -> tuple[Tree, int]:
    """The pruned tree, and how many of the rows held out it gets wrong; rows end with their class."""
    if isinstance(tree, Leaf):
        return tree, sum(row[-1] != tree.label for row in held_out)
    assert isinstance(tree, Split)
    branches = [
        reduced(child, *(rows[rows[:, tree.attribute] == value] for rows in (growing, held_out)))
        for value, child in enumerate(tree.children)
    ]
    wrong = sum(errors for _, errors in branches)
    classes = growing[:, -1].tolist()
    label = max(sorted(set(classes)), key=classes.count)
    as_leaf = sum(row[-1] != label for row in held_out)
    if as_leaf <= wrong:
        return Leaf(label), as_leaf
    return Split(tree.attribute, tuple(child for child, _ in branches)), wrong


def parts_of(questions: Questions, classes: int, rows: np.ndarray, out: np.ndarray, party: int) -> Parts:
    """One party's rows, those in `out` held out."""

    def counts(where: np.ndarray) -> Any:
        own = rows[(rows[:, -2] == party) & where]
        return Asked(RowCounts(questions.sizes, classes, own[:, :-2], own[:, -1]), questions)

    return Parts(counts(~out), counts(out))


def played(play: Any, name: str, problem: Problem, questions: Questions, rows: np.ndarray, out: np.ndarray) -> Any:
    """The grown tree and the verdicts on it; each level is told of before it is decided, and is the same if not
    decided here."""

    def program(engine: Any) -> Any:
        parts, told = parts_of(questions, problem.classes, rows, out, engine.party), []
        tree = id3(engine, problem, parts.growing)
        levels = prune(engine, problem, parts, tree, progress=lambda levels, splits: told.append((len(levels), splits)))
        assert told == [(place, len(verdicts)) for place, verdicts in enumerate(levels)]
        assert prune(engine, problem, parts, tree, levels[:1]) == levels
        return tree, levels

    return play(program, name).agreed


def check(tree: Tree, levels: Any, questions: Questions, rows: np.ndarray, out: np.ndarray) -> Tree:
    """Compare the result with the reference."""
    asked = np.delete(answers(questions, rows), -2, axis=1)
    expected, _ = reduced(tree, asked[~out], asked[out])
    assert len(levels) == heights(tree)
    assert pruned(tree, levels) == expected
    assert pruned(tree, ()) == tree
    return expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clear", "yao", "lean"])
@settings(max_examples=15)
@given(data=st.data())
def test_random_tables(play, name: str, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    ordered = tuple(data.draw(st.booleans()) and size > 1 for size in sizes)
    classes, number = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = rng.integers(0, [*sizes, 2, classes], (number, len(sizes) + 2))
    rows[: number // 2, -1] = rows[: number // 2, 0] % classes
    out = rng.random(number) < data.draw(st.sampled_from([0.0, 0.4, 0.9]))
    middle = tuple(i for i, by_edge in enumerate(ordered) if by_edge and sizes[i] == 3)
    questions = Questions(tuple(sizes), ordered, middle)
    problem = Problem(questions.domains, classes, 60, runs=questions.runs)
    check(*played(play, name, problem, questions, rows, out), questions, rows, out)


@pytest.mark.parametrize("form", ["size", "depth"])
def test_noise_is_pruned_and_what_is_true_is_not(play, form: Any) -> None:
    rows = noisy(400, 3, 3)
    out = np.arange(400) % 3 == 0
    questions = Questions((3, 2, 4, 2), (False,) * 4)
    problem = Problem(questions.domains, 3, 250)

    def program(engine: Any) -> Any:
        engine.form = form
        parts = parts_of(questions, 3, rows, out, engine.party)
        tree = id3(engine, problem, parts.growing)
        return tree, prune(engine, problem, parts, tree)

    tree, levels = play(program, "clear").agreed
    simple = check(tree, levels, questions, rows, out)
    assert heights(tree) == 4
    assert heights(simple) == 2, "two columns say the class"


def lines(part: Dealt) -> np.ndarray:
    return np.concatenate([np.zeros((0, 6), np.int64), *part.batches()])


def test_rows_are_held_out_by_a_key_and_no_other() -> None:
    cells = noisy(300, 1)
    rows = RowCounts((3, 2, 4, 2), 2, cells[:, :4], cells[:, -1])
    growing, held_out = parted((3, 2, 4, 2), 2, rows, 0.3, b"key")
    numbers = [lines(part)[:, -1].sum() for part in (growing, held_out)]
    assert numbers == [210, 90]
    both = np.concatenate([lines(growing), lines(held_out)])
    assert sorted(np.repeat(both[:, :-1], both[:, -1], axis=0).tolist()) == sorted(cells[:, [0, 1, 2, 3, 5]].tolist())
    shuffled = RowCounts((3, 2, 4, 2), 2, cells[::-1, :4], cells[::-1, -1])
    assert np.array_equal(lines(parted((3, 2, 4, 2), 2, shuffled, 0.3, b"key")[1]), lines(held_out))
    assert not np.array_equal(lines(parted((3, 2, 4, 2), 2, rows, 0.3, b"yek")[1]), lines(held_out))
    none = RowCounts((3, 2, 4, 2), 2, cells[:0, :4], cells[:0, -1])
    assert not any(len(lines(part)) for part in parted((3, 2, 4, 2), 2, none, 0.3, b"key"))


def test_a_branch_counts_as_it_is_after_its_own_pruning(play) -> None:
    """The lower split becomes a leaf that is right three times more: that saves the upper one."""
    tree = Split(0, (Split(1, (Leaf(0), Leaf(1))), Leaf(1)))
    growing = [[0, 0, 0, 0]] * 3 + [[0, 1, 1, 1]] * 2 + [[1, 0, 1, 1]] * 3
    rows = np.array([*growing, *[[0, 1, 0, 0]] * 3, [1, 0, 1, 1]])  # columns, owner, class
    out = np.arange(len(rows)) >= len(growing)
    questions = Questions((2, 2), (False, False))
    problem = Problem((2, 2), 2, 20)
    levels = play(lambda e: prune(e, problem, parts_of(questions, 2, rows, out, e.party), tree), "yao").agreed
    assert check(tree, levels, questions, rows, out) == Split(0, (Leaf(0), Leaf(1)))
