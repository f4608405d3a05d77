"""Rows by leaf and class against a walk of every row, and what is opened of them."""

from __future__ import annotations

import numpy as np
import pytest

from protocols.counts import RowCounts
from protocols.problem import Problem
from protocols.release.leaf_counts import leaf_counts, leaves_of, own_leaf_counts
from protocols.release.numbers import sum_width
from protocols.tree import Leaf, Split, Tree
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.questions import Known

TREE = Split(1, (Leaf(0), Split(0, (Leaf(1), Leaf(0))), Split(2, (Split(0, (Leaf(0), Leaf(1))), Leaf(1)))))
DOMAINS = (2, 3, 2)


def place(tree: Tree, row: list[int]) -> int:
    """The leaf of a row, by how many leaves are read before it."""
    if not isinstance(tree, Split):
        return 0
    answer = row[tree.attribute]
    return sum(map(leaves_of, tree.children[:answer])) + place(tree.children[answer], row)


@pytest.mark.parametrize("tree", [TREE, Leaf(1)], ids=["tree", "leaf"])
def test_every_row_counts_in_its_leaf(tree: Tree) -> None:
    rows = np.random.default_rng(2).integers(0, [*DOMAINS, 3], (2, 60, 4))
    problem = Problem(DOMAINS, 3, 60)
    own = [RowCounts(DOMAINS, 3, part[:, :-1], part[:, -1]) for part in rows]
    expected = np.zeros((2, leaves_of(tree), 3), dtype=np.int64)
    for party, part in enumerate(rows.tolist()):
        for row in part:
            expected[party, place(tree, row), row[-1]] += 1
    assert all(np.array_equal(own_leaf_counts(problem, own[party], tree), expected[party]) for party in (0, 1))

    def both(session: Session) -> np.ndarray:
        return leaf_counts(engine_of(session, Profile("clear")), problem, own[session.party], tree, Known(-2))

    assert all(np.array_equal(found, expected.sum(axis=0) - 2) for found in run_local(both))
    with pytest.raises(InputError, match="60 rows are more than the agreed maximum of 59"):
        own_leaf_counts(Problem(DOMAINS, 3, 59), own[0], tree)


def test_a_count_of_one_row_has_one_bit() -> None:
    problem, own = Problem((2,), 2, 1), RowCounts((2,), 2, np.array([[1]]), np.array([0]))
    tree = Split(0, (Leaf(0), Leaf(1)))

    def both(session: Session) -> int:
        engine = engine_of(session, Profile("clear"))
        assert leaf_counts(engine, problem, own, tree, Known(1)).tolist() == [[1, 1], [3, 1]]
        return session.meter.total.bits_opened

    assert run_local(both)[0] == 4 * sum_width(1, Known(1))
