"""Trees over columns that lie apart: the tree of the joined rows, however the columns are divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.bootstrap import joined as joined_levels
from protocols.counts import LevelCounts, RowCounts
from protocols.id3 import Problem, id3
from protocols.rules import Rules
from protocols.tree import Leaf, Open, Split, Tree
from protocols.vertical import Columns, VerticalCounts
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.recipes import EngineName
from smc.session import Session

ENGINES: list[EngineName] = ["clear", "yao", "gmw", "mixed", "lean"]


def table(seed: int, rows: int, domains: tuple[int, ...], classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, size, rows) for size in domains])
    return values, (values.sum(axis=1) + rng.integers(0, 2, rows)) % classes


def source(engine: Any, columns: Columns, values: np.ndarray, labels: np.ndarray) -> VerticalCounts:
    engine.masked_numbers = True
    own = values[:, columns.of(engine.party)]
    return VerticalCounts(engine, columns, own, labels if engine.party == columns.class_owner else None)


def apart(name: EngineName, problem: Problem, columns: Columns, values: np.ndarray, labels: np.ndarray) -> Tree:
    def program(session: Session) -> Tree:
        engine = make_engine(session, name)
        return id3(engine, problem, source(engine, columns, values, labels))

    left, right = run_local(program)
    assert left == right
    return left


def joined(name: EngineName, problem: Problem, values: np.ndarray, labels: np.ndarray) -> Tree:
    """The tree of the rows divided as rows, by the protocol that the tests of ID3 compare with other programs."""
    half = len(labels) // 2

    def program(session: Session) -> Tree:
        part = slice(0, half) if session.party == 0 else slice(half, None)
        counts = RowCounts(problem.domains, problem.classes, values[part], labels[part])
        return id3(make_engine(session, name), problem, counts)

    return run_local(program)[0]


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 99),
    rows=st.integers(1, 60),
    domains=st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple),
    classes=st.integers(2, 3),
    data=st.data(),
)
def test_the_tree_is_that_of_the_joined_rows(
    seed: int, rows: int, domains: tuple[int, ...], classes: int, data: Any
) -> None:
    owners = tuple(data.draw(st.integers(0, 1)) for _ in domains)
    name = data.draw(st.sampled_from(ENGINES))
    columns = Columns(domains, classes, owners, data.draw(st.integers(0, 1)), rows)
    problem = Problem(domains=domains, classes=classes, max_rows=rows, max_depth=data.draw(st.integers(0, 3)))
    values, labels = table(seed, rows, domains, classes)
    assert apart(name, problem, columns, values, labels) == joined(name, problem, values, labels)


@pytest.mark.parametrize("owners", [(0, 0, 0), (1, 1, 1), (0, 1, 0)])
def test_rules_of_leaves_hold_for_the_joined_rows(owners: tuple[int, ...]) -> None:
    values, labels = table(3, 80, (3, 2, 3), 2)
    problem = Problem(domains=(3, 2, 3), classes=2, max_rows=80, rules=Rules(k=6, against="public"))
    columns = Columns((3, 2, 3), 2, owners, 0, 80)
    assert apart("yao", problem, columns, values, labels) == joined("yao", problem, values, labels)


def counted(columns: Columns, values: np.ndarray, labels: np.ndarray, asked: list[Tree]) -> list[LevelCounts]:
    """The joint numbers of some trees, asked one after the other."""

    def program(session: Session) -> list[LevelCounts]:
        engine = make_engine(session, "gmw")
        counts = source(engine, columns, values, labels)
        return [counts.level(tree, attributes=True) for tree in asked]

    left, right = run_local(program)
    return [
        LevelCounts(a.classes + b.classes, tuple(x + y for x, y in zip(a.values, b.values, strict=True)))
        for a, b in zip(left, right, strict=True)
    ]


@pytest.mark.parametrize("class_owner", [0, 1])
def test_every_number_is_that_of_the_rows(class_owner: int) -> None:
    """With edges, leaves, the last child from its parent, and a tree that goes on after a restart."""
    domains, rows = (3, 4, 2), 70
    values, labels = table(5, rows, domains, 3)
    columns = Columns(domains, 3, (0, 1, 1), class_owner, rows)
    first: Tree = Split(0, (Open(), Open(), Open()))
    below: Tree = Split(0, (Leaf(1), Split(1, (Open(), Open()), edge=2), Split(1, (Open(), Open()), edge=-3)))
    plain = RowCounts(domains, 3, values, labels)
    for asked in ([Open(), first, below], [first, below], [below], [first, first]):
        for tree, found in zip(asked, counted(columns, values, labels, asked), strict=True):
            expected = plain.level(tree, attributes=True)
            assert (found.classes == expected.classes).all()
            for attribute in range(3):
                assert (found.values[attribute] == expected.values[attribute]).all()


def added(program: Any) -> Any:
    """The sum of both parties' shares."""
    left, right = run_local(program)
    return left + right


@pytest.mark.parametrize("class_owner", [0, 1])
def test_each_of_several_trees_has_every_third_row(class_owner: int) -> None:
    values, labels = table(8, 50, (3, 2, 2), 2)
    columns = Columns((3, 2, 2), 2, (0, 1, 0), class_owner, 50, trees=3)
    grown: Tree = Split(0, (Open(), Open(), Open()))
    asked = [(Open(), Open(), Open()), (grown, Leaf(0), grown)]

    def program(session: Session) -> Any:
        counts = source(make_engine(session, "mixed"), columns, values, labels)
        return np.concatenate([flat(counts.level(forest, attributes=True)) for forest in asked])

    def flat(level: LevelCounts) -> np.ndarray:
        return np.concatenate([level.classes.ravel(), *(part.ravel() for part in level.values)])

    parts = [RowCounts((3, 2, 2), 2, values[tree::3], labels[tree::3]) for tree in range(3)]
    expected = [
        joined_levels([part.level(tree, attributes=True) for part, tree in zip(parts, forest, strict=True)])
        for forest in asked
    ]
    assert added(program).tolist() == np.concatenate([*map(flat, expected)]).tolist()


BOXES: list[dict[int, list[bool]]] = [
    {},
    {0: [True, False, True]},
    {1: [False, True], 2: [False, True]},
    {2: [True, False], 1: [True, True], 0: [False, True, True]},
    {3: [True, False, True], 1: [False, True]},
    {3: [False, False, False]},
]
WEIGHTS = [
    None,
    [[3, 0], [1, -7], [0, 2]],
    [[3, 0], [1, -7], [0, 1 << 40]],
    [[1, 0, 2, 70_000], [0, 1, 2, 3], [0, 0, 0, 0]],
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_sums_of_boxes_are_those_of_the_rows(engine: EngineName, weights: list[list[int]] | None) -> None:
    """With columns of one party, of both, of neither, with the class, and weights of all widths."""
    values, labels = table(9, 60, (3, 2, 2), 3)
    columns = Columns((3, 2, 2), 3, (0, 1, 1), 0, 60)
    boxes = [{a: np.array(chosen) for a, chosen in box.items()} for box in BOXES]
    factors = None if weights is None else np.array(weights, dtype=np.int64)
    found = added(lambda session: source(make_engine(session, engine), columns, values, labels).sums(boxes, factors))
    whole = np.column_stack([values, labels])
    of_rows = np.ones((60, 1), dtype=np.int64) if factors is None else factors[labels]
    for box, numbers in zip(BOXES, found.tolist(), strict=True):
        inside = np.array([all(box[a][row[a]] for a in box) for row in whole])
        assert numbers == of_rows[inside].sum(axis=0).tolist()


def test_boxes_with_one_part_of_the_other_party_share_their_transfers_and_own_boxes_send_nothing() -> None:
    values, labels = table(9, 3000, (3, 2, 2), 3)
    columns = Columns((3, 2, 2), 3, (0, 1, 1), 0, 3000)
    here, there = np.array([True, False, False]), np.array([False, True])

    def program(session: Session) -> list[int]:
        counts, sent = source(make_engine(session, "gmw"), columns, values, labels), [0]
        for boxes in ([{0: here, 1: there}], [{0: here, 1: there}, {1: there, 3: here}], [{0: here}, {1: there}, {}]):
            counts.sums(boxes)
            sent.append(session.meter.total.bytes_sent + session.meter.total.bytes_received)
        return np.diff(sent).tolist()

    one, two, none = run_local(program)[0]
    assert two < one + 3000 * 3  # two bytes a row for the further box; the first also pays for the base OTs
    assert none == 0


def test_the_last_child_costs_nothing_once_its_parent_is_counted() -> None:
    values, labels = table(6, 200, (2, 2, 2), 2)
    columns = Columns((2, 2, 2), 2, (0, 1, 1), 0, 200)

    def program(session: Session) -> list[int]:
        counts = source(make_engine(session, "gmw"), columns, values, labels)
        sent = []
        for tree in (Open(), Split(0, (Open(), Open()))):
            before = session.meter.total.bytes_sent + session.meter.total.bytes_received
            counts.level(tree, attributes=True)
            sent.append(session.meter.total.bytes_sent + session.meter.total.bytes_received - before)
        return sent

    first, second = run_local(program)[0]
    assert second < first  # one node of two attributes, after one node of three and the base OTs


def test_a_party_without_columns_or_rows() -> None:
    for rows, owners in ((0, (0, 1)), (9, (0, 0)), (9, (1, 1))):
        values, labels = table(7, rows, (2, 3), 2)
        problem = Problem(domains=(2, 3), classes=2, max_rows=max(1, rows))
        tree = apart("yao", problem, Columns((2, 3), 2, owners, 0, rows), values, labels)
        assert tree == joined("yao", problem, values, labels)


@pytest.mark.parametrize(
    ("values", "labels", "why"),
    [
        (np.zeros((4, 1), int), None, "class column"),
        (np.zeros((3, 1), int), np.zeros(4, int), "shape"),
        (np.zeros((4, 2), int), np.zeros(4, int), "shape"),
        (np.full((4, 1), 2), np.zeros(4, int), "outside"),
        (np.zeros((4, 1), int), np.full(4, -1), "outside"),
    ],
)
def test_columns_that_do_not_fit_are_refused(values: np.ndarray, labels: np.ndarray | None, why: str) -> None:
    columns = Columns((2, 2), 2, (0, 1), 0, 4)

    def program(session: Session) -> str:
        if session.party == 1:
            return ""
        with pytest.raises(InputError, match=why):
            VerticalCounts(make_engine(session, "clear"), columns, values, labels)
        return why

    assert run_local(program)[0] == why
