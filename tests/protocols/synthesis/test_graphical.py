"""The graphical model against the whole distribution, written out cell by cell."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.synthesis.graphical import Graphical, MarkovRandomField, Target, fit, start_of, targets_of
from protocols.synthesis.junction import GrowingTree, JunctionTree, junction_tree, size
from protocols.synthesis.marginals import Measurement

DOMAINS = (3, 2, 4, 2, 3)
SETS = st.lists(
    st.sets(st.integers(0, 4), min_size=1, max_size=3).map(lambda one: tuple(sorted(one))), min_size=1, max_size=7
)


def whole(model: MarkovRandomField) -> Any:
    """The expected counts of all columns together: the product of the potentials."""
    logs = np.zeros(model.domains)
    for columns, table in model.potentials.items():
        logs = logs + table.reshape([size if i in columns else 1 for i, size in enumerate(model.domains)])
    masses = np.exp(logs)
    return model.total * masses / masses.sum()


def summed(joint: Any, columns: tuple[int, ...]) -> Any:
    return joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in columns))


@settings(max_examples=40)
@given(SETS, st.integers(0, 1000))
def test_every_marginal_is_that_of_the_product(sets: list[tuple[int, ...]], seed: int) -> None:
    random = np.random.default_rng(seed)
    targets = [Target(one, np.zeros([DOMAINS[i] for i in one]), 1.0) for one in dict.fromkeys(sets)]
    start = {target.columns: random.normal(0, 2, target.counts.shape) for target in targets}
    model = fit(DOMAINS, targets, 50.0, start, steps=0)
    joint = whole(model)
    asked = [columns for many in range(1, 5) for columns in combinations(range(5), many)]
    for columns, found in zip(asked, model.project(asked), strict=True):
        np.testing.assert_allclose(found, summed(joint, columns), atol=1e-9)


def check(tree: JunctionTree, sets: list[tuple[int, ...]]) -> None:
    """Every set is in a clique, no clique in another, and a column's cliques hang together."""
    for one in sets:
        holding = [place for place, clique in enumerate(tree.cliques) if set(one) <= set(clique)]
        assert tree.home(one) == holding[0]
    assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)
    for place, (parent, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
        assert parent < place
        assert separator == (tuple(sorted(set(tree.cliques[place]) & set(tree.cliques[parent]))) if place else ())
    for column in range(5):
        holding = [place for place, clique in enumerate(tree.cliques) if column in clique]
        assert sum(column not in tree.separators[place] for place in holding) == 1


@settings(max_examples=60)
@given(SETS)
def test_the_tree_is_one(sets: list[tuple[int, ...]]) -> None:
    tree = junction_tree(DOMAINS, sets)
    check(tree, sets)
    assert size(DOMAINS, tree.cliques) == sum(prod(DOMAINS[i] for i in clique) for clique in tree.cliques)


@settings(max_examples=60)
@given(SETS)
def test_a_tree_grows_by_what_was_told_at_most(sets: list[tuple[int, ...]]) -> None:
    """Whatever is asked in between, the tree of some sets in their order is the same."""
    growing = GrowingTree(DOMAINS)
    for many in range(len(sets)):
        told = growing.sizes(sets[:many], sets)
        tree = growing.of(sets[: many + 1])
        check(tree, sets[: many + 1])
        assert size(DOMAINS, tree.cliques) <= told[many]
        assert size(DOMAINS, tree.cliques) <= size(DOMAINS, junction_tree(DOMAINS, sets[: many + 1]).cliques)
    assert GrowingTree(DOMAINS).of(sets) == growing.of(sets)


def test_the_fit_is_where_no_distribution_is_nearer() -> None:
    """At the optimum mass moves nowhere for less: the slope of the loss is least on all cells that have mass."""
    random = np.random.default_rng(5)
    truth = random.dirichlet(np.full(prod(DOMAINS), 0.6)).reshape(DOMAINS) * 2000
    sets = [(0,), (1,), (2,), (0, 1), (1, 2), (2, 3), (0, 2), (3, 4)]
    targets = [Target(one, summed(truth, one) + random.normal(0, 5, [DOMAINS[i] for i in one]), 1 / 25) for one in sets]
    model = fit(DOMAINS, targets, 2000.0, start_of(targets), steps=3000, near=0.0)
    slope = np.zeros(DOMAINS)
    for target in targets:
        one = target.weight * (model.project([target.columns])[0] - target.counts)
        slope = slope + one.reshape([size if i in target.columns else 1 for i, size in enumerate(DOMAINS)])
    joint = whole(model)
    gap = float((joint * (slope - slope.min())).sum())  # what the loss is above the least, at most (Frank, Wolfe)
    near = model.project([target.columns for target in targets])
    loss = sum(0.5 * t.weight * float(((one - t.counts) ** 2).sum()) for t, one in zip(targets, near, strict=True))
    assert gap < 0.005 * loss


def test_measurements_of_one_set_count_by_their_variance() -> None:
    first = Measurement(("b", "a"), np.array([[10, 20], [30, 40], [0, 0]]), 1.0)
    second = Measurement(("a", "b"), np.array([[20, 30, 0], [10, 50, 0]]), 2.0)
    (target,), total = targets_of(["a", "b"], [first, second])
    assert target.columns == (0, 1)
    assert target.weight == 1.25
    np.testing.assert_allclose(target.counts, (4 * first.counts.T + second.counts) / 5)
    assert total == pytest.approx((4 * 100 + 110) / 5)


def test_rows_follow_the_model_and_the_seed() -> None:
    random = np.random.default_rng(1)
    domain = {"a": 3, "b": 4, "c": 2}
    truth = random.integers(0, 60, (3, 4, 2))
    found = [
        Measurement(("a", "b"), truth.sum(axis=2), 0.5),
        Measurement(("b", "c"), truth.sum(axis=0), 0.5),
        Measurement(("a",), truth.sum(axis=(1, 2)), 0.5),
        Measurement(("c",), truth.sum(axis=(0, 1)), 0.5),
    ]
    many = int(truth.sum())
    rows = Graphical().generate(domain, found, many, 7)
    assert list(rows) == list(domain)
    for one in found:
        counts = np.zeros(one.counts.shape, dtype=np.int64)
        np.add.at(counts, tuple(rows[name] for name in one.columns), 1)
        assert np.abs(counts - one.counts).sum() < 0.04 * many
    again, other = Graphical().generate(domain, found, many, 7), Graphical().generate(domain, found, many, 8)
    assert all((rows[name] == again[name]).all() for name in domain)
    assert any((rows[name] != other[name]).any() for name in domain)


@pytest.mark.parametrize("rows", [1, 17])
def test_columns_of_which_nothing_is_known_are_uniform(rows: int) -> None:
    made = Graphical().generate({"a": 2, "b": 5}, [Measurement(("a",), np.array([-3, -1]), 1.0)], rows, 0)
    assert {len(codes) for codes in made.values()} == {rows}
    assert set(made["b"]) <= set(range(5))
    assert len(set(made["b"])) == min(rows, 5)
