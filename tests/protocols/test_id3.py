"""The joint tree against a plain ID3 on the union, written anew from the textbook: it shares nothing with the protocol.

A plain ID3 and an ID3-delta may part only where two attributes' entropies lie within delta; so the check walks the
joint tree and asks at every node whether the plain algorithm would accept this step.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.counts import RowCounts
from protocols.entropies import argmin, argmin_netlist
from protocols.id3 import Leaf, Open, Problem, Split, Tree, id3
from protocols.openings import opened
from protocols.rules import Rules
from protocols.tree import cut
from smc.circuit import evaluate
from smc.engines import Bits, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.primitives.bits import from_integers, to_integers
from smc.session import Session

ENGINES = ["clear", "yao", "gmw", "mixed", "lean", "mixed three-halves"]
QUICK = settings(max_examples=12)
Row = tuple[int, ...]  # attribute values, then the class


def conditional_entropy(rows: list[Row], attribute: int) -> float:
    """H(class | attribute) in nats, by its definition over conditional distributions."""
    groups: dict[int, Counter[int]] = {}
    for row in rows:
        groups.setdefault(row[attribute], Counter())[row[-1]] += 1
    result = 0.0
    for counts in groups.values():
        size = sum(counts.values())
        result += size / len(rows) * -sum(n / size * math.log(n / size) for n in counts.values())
    return result


def majority(rows: list[Row]) -> int:
    counts = Counter(row[-1] for row in rows)
    return min(counts, key=lambda label: (-counts[label], label))


def stops(rows: list[Row], problem: Problem, attributes: tuple[int, ...], depth: int) -> bool:
    """Whether ID3 makes a leaf of them."""
    if not attributes or depth == problem.max_depth or len(rows) <= problem.min_rows:
        return True
    return len({row[-1] for row in rows}) <= 1


def plain_id3(rows: list[Row], problem: Problem, attributes: tuple[int, ...], parent: int, depth: int) -> Tree:
    """ID3 with the first attribute of least entropy."""
    if stops(rows, problem, attributes, depth):
        return Leaf(majority(rows) if rows else parent)
    best = min(attributes, key=lambda a: (round(conditional_entropy(rows, a), 12), attributes.index(a)))
    left = tuple(a for a in attributes if a != best)
    children = (
        plain_id3([row for row in rows if row[best] == v], problem, left, majority(rows), depth + 1)
        for v in range(problem.domains[best])
    )
    return Split(best, tuple(children))


def check(tree: Tree, rows: list[Row], problem: Problem, attributes: tuple[int, ...], parent: int, depth: int) -> int:
    """Walk the tree; fail at a step plain ID3 would not accept; return how many steps were near-ties."""
    plain = plain_id3(rows, problem, (), parent, depth)  # a leaf
    assert isinstance(tree, Leaf) == stops(rows, problem, attributes, depth)
    if isinstance(tree, Leaf):
        assert tree == plain
        return 0
    entropies = {a: conditional_entropy(rows, a) for a in attributes}
    least = min(entropies.values())
    assert tree.attribute in attributes
    assert entropies[tree.attribute] <= least + problem.delta
    near = [a for a in attributes if entropies[a] <= least + problem.delta]
    left = tuple(a for a in attributes if a != tree.attribute)
    ties = len(near) > 1
    for v, child in enumerate(tree.children):
        part = [row for row in rows if row[tree.attribute] == v]
        ties += check(child, part, problem, left, majority(rows), depth + 1)
    return ties


def joint(play: Any, rows: list[Row], side: np.ndarray, problem: Problem, name: str = "mixed", **more: Any) -> Tree:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(problem.domains) + 1)

    def program(engine: Any) -> Tree:
        own = table[side == engine.party]
        return id3(engine, problem, RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1]))

    return play(program, name, **more).agreed


def assert_right(tree: Tree, rows: list[Row], problem: Problem) -> None:
    attributes = tuple(range(len(problem.domains)))
    if check(tree, rows, problem, attributes, 0, 0) == 0:
        assert tree == plain_id3(rows, problem, attributes, 0, 0)


TENNIS = """
sunny hot high weak no / sunny hot high strong no / overcast hot high weak yes / rain mild high weak yes
rain cool normal weak yes / rain cool normal strong no / overcast cool normal strong yes / sunny mild high weak no
sunny cool normal weak yes / rain mild normal weak yes / sunny mild normal strong yes / overcast mild high strong yes
overcast hot normal weak yes / rain mild high strong no
"""


def coded(rows: list[list[str]], target: int = -1) -> tuple[list[Row], Problem]:
    target %= len(rows[0])
    order = [i for i in range(len(rows[0])) if i != target] + [target]
    domains = [sorted({row[i] for row in rows}) for i in order]
    table = [tuple(domain.index(row[i]) for domain, i in zip(domains, order, strict=True)) for row in rows]
    return table, Problem(tuple(len(d) for d in domains[:-1]), len(domains[-1]), max_rows=65535)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("split", ["random", "all at 0", "all at 1", "odd and even"])
def test_tennis_on_every_engine(play, name: str, split: str) -> None:
    rows, problem = coded([line.split() for line in TENNIS.replace("\n", "/").split("/") if line.strip()])
    side = {
        "random": np.random.default_rng(3).integers(0, 2, 14),
        "all at 0": np.zeros(14),
        "all at 1": np.ones(14),
        "odd and even": np.arange(14) % 2,
    }[split]
    tree = joint(play, rows, side, problem, name)
    # The published tree (Quinlan 1986): outlook; humidity when sunny, wind when rain.
    assert tree == Split(0, (Leaf(1), Split(3, (Leaf(0), Leaf(1))), Split(2, (Leaf(0), Leaf(1)))))


@pytest.mark.parametrize("name", ["yao", pytest.param("gmw", marks=pytest.mark.campaign)])
def test_a_small_tree_over_trapdoor_ot(play, name: str) -> None:
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]
    problem = Problem((2, 2), 2, max_rows=2, delta=0.1)
    assert joint(play, rows, np.array([0, 1, 0, 1]), problem, name, ot="trapdoor") == Split(0, (Leaf(0), Leaf(1)))


REAL = [
    ("tennis.csv", "Play", 5, 0),
    ("tic-tac-toe.csv", "Class", 3, 0),
    ("tic-tac-toe.csv", "Class", 1, 40),
    ("car.csv", "class", 3, 0),
    ("car.csv", "class", 2, 86),
    ("house-votes-84.csv", "class", 3, 0),
    ("balance-scale.csv", "Class Name", 2, 0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "target", "splits", "min_rows"), REAL)
def test_real_tables_under_random_splits(
    play, shared: Path, file: str, target: str, splits: int, min_rows: int
) -> None:
    with (shared / "data" / file).open(newline="") as stream:
        header, *lines = [row for row in csv.reader(stream) if row]
    rows, problem = coded(lines, header.index(target))
    problem = Problem(problem.domains, problem.classes, 65535, min_rows=min_rows)
    rng = np.random.default_rng(len(rows))
    shares = [0.5, 0.1, 0.9, 0.0, 1.0]  # of party 1; the last two give all rows to one party
    for share in [*shares[:splits], *shares[3:]]:
        side = (rng.random(len(rows)) < share).astype(int)
        assert_right(joint(play, rows, side, problem), rows, problem)


@pytest.mark.parametrize("name", ENGINES)
@QUICK
@given(data=st.data())
def test_random_tables(play, name: str, data: st.DataObject) -> None:
    domains = data.draw(st.lists(st.integers(1, 4), max_size=4))
    classes = data.draw(st.integers(1, 4))
    columns = [st.integers(0, size - 1) for size in (*domains, classes)]
    rows = data.draw(st.lists(st.tuples(*columns), max_size=40))
    side = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))))
    problem = Problem(
        tuple(domains),
        classes,
        max_rows=data.draw(st.sampled_from([40, 1000, 65535])),
        delta=data.draw(st.sampled_from([0.1, 0.001, 1e-5])),
        min_rows=data.draw(st.sampled_from([0, 0, 1, 5, 1000])),
        max_depth=data.draw(st.sampled_from([None, 0, 1, 2])),
    )
    assert_right(joint(play, rows, side, problem, name), rows, problem)


@pytest.mark.parametrize(("min_rows", "leaf"), [(4, False), (5, True), (6, True)])
def test_a_node_of_exactly_the_minimum_is_a_leaf(play, min_rows: int, leaf: bool) -> None:
    rows = [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1)]
    tree = joint(play, rows, np.array([0, 1, 0, 1, 0]), Problem((2,), 2, 10, min_rows=min_rows))
    assert tree == (Leaf(0) if leaf else Split(0, (Leaf(0), Leaf(1))))


@pytest.mark.parametrize("form", ["size", "depth"])
def test_the_least_of_those_that_are_allowed(form: Any) -> None:
    """Every three numbers of three bits, with every choice of those that count."""
    rows = np.indices((8, 8, 8, 2, 2, 2)).reshape(6, -1)
    values, allowed = rows[:3] - 4, (rows[3:] == 1) | ~rows[3:].any(axis=0)
    inputs = [from_integers([int(x) & 7 for x in value], 3) for value in values] + [row[None] for row in rows[3:]]
    (found,) = evaluate(argmin_netlist(3, 3, form, ruled=True), [part.astype(np.uint8) for part in inputs])
    assert to_integers(found) == np.where(allowed, values, 9).argmin(axis=0).tolist()


@pytest.mark.parametrize("name", ["clear", "yao", "gmw"])
@pytest.mark.parametrize("count", [64, 65, 129, 4097])
def test_the_least_of_many_groups(monkeypatch: pytest.MonkeyPatch, name: str, count: int) -> None:
    """Winners of groups compete again; the first wins among equals, and nothing is barred where all are."""
    monkeypatch.setattr("protocols.entropies.COMPARED", 8 if count > 1000 else 64)
    chance, batch = np.random.default_rng(count), 3
    values = chance.integers(-7, 8, (count, batch))
    allowed = chance.integers(0, 10, values.shape) == 0
    allowed[:, 1] = False
    values[-1, 2], allowed[-1, 2] = -8, True  # the last group, which is smaller, wins

    def program(session: Session) -> Any:
        engine = make_engine(session, name)

        def entered(owner: int, table: Any, width: int) -> list[Bits]:
            bits = (table[:, None] >> np.arange(width)[:, None] & 1).astype(np.uint8)
            whole = np.moveaxis(bits, 0, 1).reshape(width, -1) if session.party == owner else None
            secret = engine.input(owner, whole, width, count * batch)
            return [secret.take(slice(i, i + batch)) for i in range(0, count * batch, batch)]

        return engine.reveal(argmin(engine, entered(0, values, 4), entered(1, allowed.astype(int), 1)))[0]

    found = run_local(program)[0]
    expected = np.where(allowed | ~allowed.any(axis=0), values, 9).argmin(axis=0)
    assert to_integers(found) == expected.tolist()


def test_what_a_rule_finds_serves_the_criterion_of_entropy_alone(play) -> None:
    """Of these rows the first attribute leaves less entropy (30.1 against 30.4), the second less Gini (19.7, 19.8)."""
    one = np.column_stack([np.repeat([0, 1], [3, 11]), np.repeat([0, 1], [4, 10]), np.zeros(14)])
    two = np.column_stack([np.repeat([0, 1], [25, 21]), np.repeat([0, 1], [3, 43]), np.ones(46)])
    rows = np.concatenate([one, two]).astype(np.int64)

    def found(criterion: Any) -> tuple[Tree, bool]:
        rules = Rules(l=1.05, diversity="entropy", against="public")
        problem = Problem((2, 2), 2, 60, max_depth=1, rules=rules, criterion=criterion)
        run = play(
            lambda e: id3(e, problem, RowCounts((2, 2), 2, rows[e.party :: 2, :2], rows[e.party :: 2, 2])), "mixed"
        )
        return run.agreed, any(path.startswith(f"level 0/{criterion}") for path in run.meters[0].phases)

    assert found("entropy") == (Split(0, (Leaf(1), Leaf(1))), False), "they are not computed twice"
    assert found("gini") == (Split(1, (Leaf(0), Leaf(1))), True)


@pytest.mark.parametrize("name", ENGINES)
def test_equal_attributes_and_equal_classes_fall_to_the_first(play, name: str) -> None:
    rows = [(2, 0, 0, 0), (2, 0, 0, 0), (2, 1, 1, 1), (2, 1, 1, 1)]  # the second and third column say the same
    problem = Problem((3, 2, 2), 2, 10)
    side = np.array([0, 1, 1, 0])
    assert joint(play, rows, side, problem, name) == Split(1, (Leaf(0), Leaf(1)))
    assert joint(play, rows, side, Problem((3, 2, 2), 2, 10, max_depth=0), name) == Leaf(0)


def test_an_empty_node_takes_its_own_parents_majority(play) -> None:
    # At the root class 0 wins; below attribute 0 = 1 class 1 wins, and there the value 2 of attribute 1 has no row.
    rows = [(0, 0, 0)] * 9 + [(1, 0, 0)] * 2 + [(1, 1, 1)] * 3
    tree = joint(play, rows, np.arange(14) % 2, Problem((2, 3), 2, 20))
    assert tree == Split(0, (Leaf(0), Split(1, (Leaf(0), Leaf(1), Leaf(1))))) or tree == Split(
        1, (Leaf(0), Leaf(1), Leaf(0))
    )
    assert_right(tree, rows, Problem((2, 3), 2, 20))


def test_a_level_in_many_batches(play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocols.entropies.BATCH", 7)
    rng = np.random.default_rng(8)
    rows = [tuple(row) for row in rng.integers(0, 3, (60, 4)).tolist()]
    problem = Problem((3, 3, 3), 3, max_rows=60)
    for name in ("mixed", "yao"):
        assert_right(joint(play, rows, rng.integers(0, 2, 60), problem, name), rows, problem)


def test_nobody_has_a_row(play) -> None:
    problem = Problem((2, 3), 3, max_rows=10)
    assert joint(play, [], np.zeros(0), problem) == Leaf(0)


def test_one_class_needs_no_conversation(play) -> None:
    rows = np.zeros((5, 1), dtype=np.int64)
    problem = Problem((2,), 1, 10)
    run = play(lambda e: id3(e, problem, RowCounts((2,), 1, rows, rows[:, 0])), "yao")
    assert run.agreed == Leaf(0)
    assert not any(opened(problem, (Leaf(0),)).values())
    assert run.meters[0].total.messages == 0


def test_exactly_the_tree_is_opened(play, monkeypatch: pytest.MonkeyPatch) -> None:
    """The opened bits are: a leaf flag and a class field a node (zero unless a leaf), an index a split."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (80, 5))
    problem = Problem((3, 3, 3, 3), 3, max_rows=80)
    opened: list[np.ndarray] = []

    def program(engine: Any) -> Tree:
        reveal = engine.reveal

        def watched(*secrets: Any) -> Any:
            result = reveal(*secrets)
            if engine.party == 0:
                opened.extend(result)
            return result

        engine.reveal = watched
        own = rows[engine.party :: 2]
        return id3(engine, problem, RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1]))

    tree = play(program, "mixed").agreed
    level, expected, left = [tree], [], 4
    while level:
        fields = [(1, node.label) if isinstance(node, Leaf) else (0, 0) for node in level]
        expected.append([flag + 2 * label for flag, label in fields])
        splits = [node for node in level if isinstance(node, Split)]
        if splits and left > 1:
            expected.append([candidates_index(tree, node) for node in splits])
        level, left = [child for node in splits for child in node.children], left - 1
    found = [(bits * (1 << np.arange(len(bits)))[:, None]).sum(axis=0).tolist() for bits in opened]
    assert found == expected


def candidates_index(tree: Tree, wanted: Tree, used: tuple[int, ...] = ()) -> int | None:
    """The position of a split's attribute among those not asked above it."""
    if isinstance(tree, Leaf):
        return None
    if tree is wanted:
        return [a for a in range(4) if a not in used].index(tree.attribute)
    found = (candidates_index(child, wanted, (*used, tree.attribute)) for child in tree.children)
    return next((index for index in found if index is not None), None)


def test_the_shape_of_the_conversation_depends_on_the_tree_only(play) -> None:
    """Two splits of the same rows: the same steps with the same sizes, in both directions."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 2, (50, 4))
    problem = Problem((2, 2, 2), 2, max_rows=50)

    def shape(first: int, name: str) -> list[Any]:
        def program(engine: Any) -> Tree:
            own = rows[:first] if engine.party == 0 else rows[first:]
            return id3(engine, problem, RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1]))

        run = play(program, name)
        return [run.agreed] + [[(step, len(data)) for step, data in r.sent] for r in run.recorders]

    for name in ("yao", "gmw", "mixed"):
        assert shape(0, name) == shape(25, name) == shape(50, name)


@pytest.mark.parametrize("criterion", ["entropy", "gain-ratio", "gini"])
def test_scores_that_do_not_fit_are_refused(criterion: Any) -> None:
    rows, delta = 1 << 24, 1e-6
    Problem((2,), 2, 1 << 16, delta, criterion=criterion).check()
    with pytest.raises(
        InputError, match=r"33,?554,?432 rows in all do(es)? not fit 64-bit words: .* smaller --max-rows"
    ):
        Problem((2,), 2, rows, delta, criterion=criterion).check()


@pytest.mark.parametrize(
    "change",
    [{"classes": 0}, {"domains": (2, 0)}, {"max_rows": 0}, {"min_rows": -1}, {"max_depth": -1}],
)
def test_impossible_problems_are_refused(change: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"domains": (2, 2), "classes": 2, "max_rows": 10}
    with pytest.raises(InputError):
        Problem(**(fields | change))


@pytest.mark.parametrize(
    ("rows", "classes", "message"),
    [
        (np.zeros((2, 3), int), np.zeros(2, int), "shape"),
        (np.zeros((11, 2), int), np.zeros(11, int), "more than the agreed maximum"),
        (np.full((2, 2), 2), np.zeros(2, int), "outside"),
        (np.zeros((2, 2), int), np.full(2, -1), "outside"),
    ],
)
def test_rows_that_do_not_fit_are_refused(play, rows: np.ndarray, classes: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(lambda e: id3(e, Problem((2, 2), 2, max_rows=10), RowCounts((2, 2), 2, rows, classes)), "clear")


@pytest.mark.parametrize("name", ENGINES)
def test_a_run_goes_on_from_every_level(play, name: str) -> None:
    """From the tree cut at any depth it finds the whole run's tree, and opens what lies below the cut only."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 3, (50, 5))  # few enough that some nodes are empty, and take their parent's majority
    problem = Problem((3, 3, 3, 3), 3, max_rows=80)

    def program(start: Tree) -> Any:
        def run(engine: Any) -> tuple[Tree, list[tuple[int, int]]]:
            own = rows[engine.party :: 2]
            counts = RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1])
            levels: list[tuple[int, int]] = []
            tree = id3(engine, problem, counts, lambda level: levels.append((level.depth, level.nodes)), start)
            return tree, levels

        return play(run, name)

    whole = program(Open())
    tree, levels = whole.agreed
    check(tree, [tuple(row) for row in rows.tolist()], problem, tuple(range(4)), 0, 0)
    assert len(levels) > 3
    for depth in range(len(levels) + 1):
        run = program(cut(tree, depth))
        assert run.agreed == (tree, levels[depth:])
        whole_opened, opened = (
            {path: cost.bits_opened for path, cost in meter.phases.items() if cost.bits_opened}
            for meter in (whole.meters[0], run.meters[0])
        )
        assert opened == {path: bits for path, bits in whole_opened.items() if int(path.split("/")[0][6:]) >= depth}


def test_a_start_with_open_nodes_at_two_depths_is_refused(play) -> None:
    counts = RowCounts((2, 2), 2, np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64))
    start = Split(0, (Open(), Split(1, (Open(), Leaf(0)))))
    with pytest.raises(ValueError, match="one depth"):
        play(lambda e: id3(e, Problem((2, 2), 2, max_rows=10), counts, start=start), "clear")
