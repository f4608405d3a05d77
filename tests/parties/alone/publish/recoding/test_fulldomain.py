"""Full-domain generalisation: three algorithms against brute force over the lattice, and the notes' nine rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.alone.publish.cells import Cells, grouped, reduced
from parties.alone.publish.models.closeness import TCloseness
from parties.alone.publish.models.diversity import EntropyLDiversity, LDiversity, RecursiveLDiversity
from parties.alone.publish.models.model import KAnonymity, PrivacyModel, fitting, suppressed
from parties.alone.publish.models.presence import Presence
from parties.alone.publish.recoding.fulldomain import Search
from parties.alone.publish.recoding.lattice import minimal, nodes_of
from parties.alone.publish.recoding.rollup import Rollup
from parties.alone.publish.recoding.searches import DistanceVectors
from parties.alone.publish.recoding.utility import UTILITIES, utility_of
from parties.alone.publish.rules import Rule, hierarchy
from smc.errors import InputError
from tests.support.anonymity import ETHNICITY, ZIP, all_nodes, cells_of, flat, naive_classes, tables

MODELS = st.sampled_from(
    [
        [KAnonymity(2)],
        [KAnonymity(4)],
        [KAnonymity(2), LDiversity("s", 2)],
        [KAnonymity(3), EntropyLDiversity("s", 1.5)],
        [RecursiveLDiversity("s", 3, 2)],
        [TCloseness("s", 0.3), KAnonymity(2)],
        [TCloseness("s", 0.2, "hierarchical")],
    ]
)


def nine_rows() -> Cells:
    return cells_of([(flat("ethnicity", ETHNICITY), ETHNICITY), (hierarchy("zip", Rule(prefixes=(4,)), ZIP), ZIP)])


def test_nine_rows_of_lesson_7() -> None:
    cells = nine_rows()
    rollup = Search(cells, []).rollup
    lost = {node: suppressed(rollup.classes(node), [KAnonymity(2)]) for node in all_nodes(cells)}
    assert lost[0, 0] == 6
    assert lost[1, 0] == lost[0, 1] == 2
    assert lost[1, 1] == lost[0, 2] == 0
    search = Search(cells, [KAnonymity(2)], 2)
    assert search.lowest() == [(0, 1), (1, 0)]
    assert minimal(search.solutions("flash")) == minimal(search.solutions("incognito")) == [(0, 1), (1, 0)]


@given(tables())
def test_classes_are_those_of_the_rows(cells: Cells) -> None:
    rollup = Rollup(cells)
    for node in all_nodes(cells):
        classes, groups = rollup.classes(node), rollup.groups(node)
        found = {}
        for group, size, rows in zip(groups.T, classes.sizes, classes.histogram("s"), strict=True):
            names = tuple(h.labels[n][g] for h, n, g in zip(cells.hierarchies, node, group, strict=True))
            found[names] = {i: int(n) for i, n in enumerate(rows) if n}
            assert size == rows.sum()
        assert found == {names: dict(rows) for names, rows in naive_classes(cells, node).items()}


@settings(max_examples=150)
@given(tables(public=True), MODELS, st.integers(0, 12), st.sampled_from([None, Presence(0.2, 0.9), Presence(0, 0.6)]))
def test_all_algorithms_find_what_brute_force_finds(
    cells: Cells, models: list[PrivacyModel], most: int, presence: PrivacyModel | None
) -> None:
    models = [*models, presence] if presence else models
    solutions = [node for node in all_nodes(cells) if Search(cells, models, most).holds(node)]
    assert nodes_of(Search(cells, models, most).solutions("flash")) == solutions
    assert nodes_of(Search(cells, models, most).solutions("incognito")) == solutions
    least = min(map(sum, solutions), default=0)
    lowest = [node for node in solutions if sum(node) == least]
    assert Search(cells, models, most).lowest() == lowest
    below = {n: [m for m in solutions if m != n and all(a <= b for a, b in zip(m, n, strict=True))] for n in solutions}
    assert minimal(Search(cells, models, most).solutions()) == [n for n in solutions if not below[n]]
    if not solutions:
        with pytest.raises(InputError, match="is impossible"):
            Search(cells, models, most).best()


@given(tables(), MODELS, st.integers(0, 12), st.sampled_from(sorted(UTILITIES)))
def test_the_best_loses_least(cells: Cells, models: list[PrivacyModel], most: int, name: str) -> None:
    search = Search(cells, models, most)
    measure = utility_of(name, cells, most)
    losses = {}
    for node in all_nodes(cells):
        classes = search.rollup.classes(node)
        if search.holds(node):
            fits = fitting(classes, models)
            losses[node] = measure.loss(node, search.rollup.groups(node), classes, fits)
    if not losses:
        return
    found = Search(cells, models, most).best("flash", name)
    assert found.loss == min(losses.values()) == losses[found.node]
    lowest = Search(cells, models, most).best("samarati", name)
    assert lowest.loss == min(losses[node] for node in lowest.minimal)


@given(tables(), st.integers(1, 6))
def test_distance_vectors_count_what_is_suppressed(cells: Cells, k: int) -> None:
    matrix = DistanceVectors(cells, k)
    for node in all_nodes(cells):
        sizes = [sum(rows.values()) for rows in naive_classes(cells, node).values()]
        assert matrix.suppressed(node) == sum(size for size in sizes if size < k)


def test_flash_counts_few_of_the_nodes() -> None:
    values = [str(i) for i in range(64)]
    rule = hierarchy("x", Rule(ranges=(2, 4, 8, 16, 32)), values)
    cells = cells_of([(rule, values * 2), (rule, values + values[::-1]), (rule, values * 2)])
    search = Search(cells, [KAnonymity(5)])
    solutions = search.solutions()
    assert solutions.size == 343
    assert solutions.any()
    assert search.rollup.steps < 120


@given(st.lists(st.tuples(*[st.integers(0, 2**31 - 2)] * 4), min_size=1), st.booleans())
def test_groups_of_keys_of_any_size(rows: list[tuple[int, ...]], small: bool) -> None:
    columns = np.array(rows, dtype=np.int32).T % (3 if small else 2**31 - 1)
    order, starts = grouped(columns, [2**31 - 1] * 4)
    assert [tuple(c) for c in columns[:, order].T] == sorted(tuple(c) for c in columns.T)
    distinct, counts = reduced(columns)
    assert len(starts) == len(counts) == len({tuple(c) for c in columns.T})
    assert counts.sum() == len(rows)
    assert [tuple(c) for c in distinct.T] == sorted({tuple(c) for c in columns.T})


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (KAnonymity(10), "10-anonymity is impossible .*all 9 rows as one class reach only 9"),
        (LDiversity("s", 4), "distinct 4-diversity of s is impossible .* reach only 3"),
        (Presence(0.1, 0.5), r"\(0.1, 0.5\)-presence is impossible .* reach only 1 to 1"),
    ],
)
def test_what_cannot_be_reached(model: PrivacyModel, problem: str) -> None:
    cells = cells_of([(flat("zip", ZIP), ZIP)], [(flat("s", ETHNICITY), ETHNICITY)], [ZIP])
    for algorithm in ("flash", "incognito", "samarati"):
        with pytest.raises(InputError, match=problem):
            Search(cells, [KAnonymity(2), model]).best(algorithm)  # type: ignore[arg-type]


def test_no_rows(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="the table has no rows"):
        Search(Cells((), (), np.zeros((0, 0), np.int32), np.zeros((0, 0), np.int32), np.zeros(0, np.int64)), [])
