"""A level of a tree as one query: small, deep, wide, with many attributes, in every shape."""

from __future__ import annotations

import random

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.sources import from_frame
from parties.sources.databases import Database
from parties.sources.source import Source
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.tree import Leaf, Open, Split
from tests.support.agreement import assert_same_level, full, path, random_tree


def table(sizes: tuple[int, ...], classes: int, rows: int, rare: float = 1.0) -> tuple[Source, RowCounts]:
    """Random rows as a source and in memory; `rare` is the share of cells that are not the first category."""
    generator = np.random.default_rng(rows)
    cells = generator.integers(0, sizes, (rows, len(sizes))) * (generator.random((rows, len(sizes))) < rare)
    labels = generator.integers(0, classes, rows)
    schema = Schema(
        {
            **{f"a{i}": tuple(map(str, range(size))) for i, size in enumerate(sizes)},
            "t": tuple(map(str, range(classes))),
        }
    )
    columns = {f"a{i}": cells[:, i].astype(str) for i in range(len(sizes))}
    frame = pyarrow.table({**columns, "t": labels.astype(str)})
    return from_frame(frame, schema, "t"), RowCounts(sizes, classes, cells, labels)


@given(
    st.lists(st.integers(1, 4), max_size=5).map(tuple),
    st.integers(1, 3),
    st.sampled_from([0, 1, 2, 50]),
    st.integers(0, 5),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40)
def test_any_growing_tree(sizes: tuple[int, ...], classes: int, rows: int, depth: int, rng: random.Random) -> None:
    source, expected = table(sizes, classes, rows)
    by_edge = frozenset(a for a, size in enumerate(sizes) if size > 1 and rng.random() < 0.5)
    tree = random_tree(rng, sizes, depth, by_edge=by_edge)
    with source:
        assert_same_level(source, expected, tree, attributes=True)
        assert_same_level(source, expected, tree, attributes=False)


def test_a_deep_tree() -> None:
    source, expected = table((2,) * 64, 2, 2000, rare=0.05)
    with source:
        for depth in (1, 17, 60, 64):
            assert_same_level(source, expected, path(depth, 2))


def test_a_wide_level() -> None:
    source, expected = table((4,) * 7, 3, 5000)
    with source:
        assert_same_level(source, expected, full(6, 4))


def test_a_wide_table_is_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.sources.queried.PIECE", 100)
    source, expected = table((2,) * 130, 2, 300)
    with source:
        assert_same_level(source, expected, Split(129, (Open(), Open())))


@pytest.mark.parametrize("few", [False, True])
def test_rows_of_which_the_first_hardly_repeat(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept as they are, and repeat further on."""
    monkeypatch.setattr("parties.sources.queried.HEAD", 40)
    monkeypatch.setattr("parties.sources.queried.RARE", 1 if few else 1 << 10)
    source, expected = table((20, 20), 2, 300)
    with source:
        assert_same_level(source, expected, full(1, 20))
        assert np.concatenate(list(source.lines())).tolist() == expected.distinct().tolist()
        assert len(expected.distinct()) < len(np.concatenate(list(source.batches()))) == 300 if few else True
        assert source.check() == 300


def test_many_categories_and_classes() -> None:
    source, expected = table((2000, 150), 150, 3000)
    with source:
        assert_same_level(source, expected, Open())
        assert_same_level(source, expected, Split(0, (Open(),) * 2000), attributes=False)


def test_trees_without_open_nodes_and_with_leaves_beside_them() -> None:
    source, expected = table((2, 3), 2, 100)
    with source:
        for tree in (Leaf(0), Split(0, (Leaf(0), Leaf(1))), Split(1, (Leaf(0), Open(), Leaf(1)))):
            assert_same_level(source, expected, tree)


@pytest.mark.parametrize("first", [0, 1, 2, -1])
def test_three_values_are_asked_by_edges_or_the_second_alone(first: int) -> None:
    below = (Split(1, (Open(), Open()), -1), Split(1, (Open(), Open()), 2), Split(1, (Open(), Open()), 1))
    with table((3, 3), 2, 100)[0] as source:
        assert_same_level(source, table((3, 3), 2, 100)[1], Split(0, below[: 2 if first else 3], first))


def test_a_level_is_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = table((3,) * 5, 2, 100)
    asked: list[str] = []
    monkeypatch.setattr(
        Database, "sql", lambda self, query, plain=Database.sql: asked.append(plain(self, query)) or asked[-1]
    )
    with source:
        source.check()
        asked.clear()
        source.level(full(3, 3), attributes=True)
        source.level(full(5, 3), attributes=True)
    assert len(asked) == 2
    assert asked[0].count("JOIN") == 2
    assert "GROUPING SETS ((p, c3, y), (p, c4, y))" in asked[0]  # the others have been asked in every node


def test_two_threads_count_at_the_same_time() -> None:
    from concurrent.futures import ThreadPoolExecutor

    pairs = [table((3, 3, 5), 2, rows) for rows in (5000, 7000)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: [assert_same_level(*pair, full(2, 3)) for _ in range(5)], pairs))
    for source, _ in pairs:
        source.close()
