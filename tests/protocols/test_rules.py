"""The rules for leaves against the notes' numbers, their definitions, and trees grown by definition on the union.

The reference is exact (fractions; an entropy is compared by powers of integers) and shares nothing with the protocol.
Where an entropy lies within delta above ln l the protocol may refuse what the reference allows, never the reverse.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.counts import RowCounts
from protocols.feasibility import close_netlist, rule, sums_netlist
from protocols.foresight import at_most, with_tree
from protocols.id3 import Leaf, Open, Problem, Split, Tree, id3
from protocols.rules import Rules
from protocols.tree import cut
from smc.circuit import evaluate
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.primitives.bits import from_integers, to_integers

ENGINES = ["clear", "yao", "gmw", "mixed", "lean"]
QUICK = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
Row = tuple[int, ...]  # attribute values, then the class
Group = Sequence[int]  # rows by class


# The definitions.


def is_diverse(group: Group, least: Fraction) -> bool:
    """e^H >= l for l = a / b: n^n b^n >= a^n prod n(c)^n(c)."""
    a, b = least.as_integer_ratio()
    rows = sum(group)
    return (rows * b) ** rows >= a**rows * math.prod(count**count for count in group)


def variational(group: Group, whole: Group) -> Fraction:
    return sum((abs(p - q) for p, q in zip(shares(group), shares(whole), strict=True)), Fraction(0)) / 2


def ordered(group: Group, whole: Group) -> Fraction:
    differences = [p - q for p, q in zip(shares(group), shares(whole), strict=True)]
    return sum((abs(total) for total in itertools.accumulate(differences)), Fraction(0)) / max(1, len(group) - 1)


def shares(group: Group) -> list[Fraction]:
    return [Fraction(count, sum(group)) for count in group]


def entropy(group: Group) -> float:
    return -sum(float(p) * math.log(p) for p in shares(group) if p)


def keeps(rules: Rules, group: Group, whole: Group, margin: float = 0) -> bool:
    """By definition; with a margin, only if the entropy is so much above ln l."""
    if not any(group):
        return True
    least = Fraction(str(rules.l))
    if rules.diversity == "entropy":
        diverse = is_diverse(group, least) and entropy(group) >= math.log(least) + margin
    else:
        diverse = sum(count > 0 for count in group) >= least
    distance = {"variational": variational, "ordered": ordered}[rules.distance]
    return sum(group) >= rules.k and diverse and distance(group, whole) <= Fraction(str(rules.t))


# The notes' numbers.

DISEASES = ("heart", "viral", "cancer")
FOUR_ANONYMOUS = ("heart heart viral viral", "cancer heart viral viral", "cancer cancer cancer cancer")
THREE_DIVERSE = ("heart viral cancer cancer", "cancer heart viral viral", "heart viral cancer cancer")
SALARIES = ((3, 5, 9), (6, 11, 8), (4, 7, 10))
ILLNESSES = (  # of the same nine people
    ("gastric ulcer", "stomach ulcer", "pneumonia"),
    ("gastritis", "flu", "bronchitis"),
    ("gastritis", "bronchitis", "stomach ulcer"),
)


def counted(groups: Sequence[Sequence[Any]], values: Sequence[Any]) -> np.ndarray:
    return np.array([[list(group).count(value) for value in values] for group in groups])


def kept(groups: np.ndarray, **rules: Any) -> list[bool]:
    found = Rules(**rules).keeps(groups, groups.sum(axis=0)).tolist()
    assert found == Rules(**rules).keeps(groups[None], groups.sum(axis=0))[0].tolist()
    return found


def test_the_tables_of_twelve_patients() -> None:
    """Both are 4-anonymous; one group of the first is all cancer; the second is 3-diverse, by entropy 2.83."""
    left, right = (counted([line.split() for line in table], DISEASES) for table in (FOUR_ANONYMOUS, THREE_DIVERSE))
    for table in (left, right):
        assert table.sum() == 12
        assert kept(table, k=4) == [True] * 3
        assert kept(table, k=5) == [False] * 3
    assert kept(left, l=2) == [True, True, False]
    assert kept(left, l=3) == [False, True, False]
    assert kept(right, l=3) == [True] * 3
    assert kept(right, l=2.82, diversity="entropy") == [True] * 3
    assert kept(right, l=2.83, diversity="entropy") == [False] * 3  # e^H = 2.8284
    assert kept(right, l=3, diversity="entropy") == [False] * 3
    assert kept(left, l=1.99, diversity="entropy") == [True, True, False]


def test_the_distances_of_nine_salaries() -> None:
    table = counted(SALARIES, range(3, 12))
    whole = table.sum(axis=0)
    assert [ordered(group, whole) for group in table] == [Fraction(1, 6), Fraction(1, 6), Fraction(1, 12)]
    assert kept(table, t=0.1667, distance="ordered") == [True] * 3
    assert kept(table, t=0.1666, distance="ordered") == [False, False, True]
    assert kept(table, t=0.0833, distance="ordered") == [False] * 3
    low = counted([(3, 4, 5)], range(3, 12))
    assert Rules(t=0.375, distance="ordered").keeps(low, whole).tolist() == [True]
    assert Rules(t=0.374, distance="ordered").keeps(low, whole).tolist() == [False]


def test_the_distances_of_nine_illnesses() -> None:
    table = counted(ILLNESSES, sorted({one for group in ILLNESSES for one in group}))
    assert [variational(group, table.sum(axis=0)) for group in table] == [
        Fraction(5, 9),
        Fraction(4, 9),
        Fraction(1, 3),
    ]
    for t, expected in (
        (0.556, [True] * 3),
        (0.555, [False, True, True]),
        (0.444, [False, False, True]),
        (0.333, [False] * 3),
    ):
        assert kept(table, t=t) == expected


# One group: the local answer and the circuits.


def rules_for(classes: int, rows: int) -> st.SearchStrategy[Rules]:
    """Any rules that a table of so many rows a party could keep."""

    def made(draw: st.DrawFn) -> Rules:
        against = draw(st.sampled_from(["peer", "public"]))
        most = rows if against == "peer" else 2 * rows
        fields: dict[str, Any] = {"k": draw(st.sampled_from([1, 1, 2, 3, 5]))}
        if draw(st.booleans()) and min(classes, most) > 1:
            if draw(st.booleans()) and min(classes, most / 3) > 1.2:
                fields |= {"diversity": "entropy", "l": draw(st.sampled_from([1.1, 1.5, 2, 2.5]))}
                if not fields["l"] < min(classes, most / 3):
                    fields["l"] = 1.1
            else:
                fields["l"] = draw(st.integers(2, min(classes, most)))
        if draw(st.booleans()):
            fields["t"] = draw(st.sampled_from([0.05, 0.25, 0.5, 0.9]))
            fields["distance"] = draw(st.sampled_from(["variational", "ordered"]))
        if Rules(**fields).any:
            fields["against"] = against
        return Rules(**fields)

    return st.composite(made)()


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_groups_are_judged_by_the_definitions(data: st.DataObject) -> None:
    classes = data.draw(st.integers(2, 5))
    table = np.array(data.draw(st.lists(st.lists(st.integers(0, 12), min_size=classes, max_size=classes), min_size=1)))
    rules = data.draw(rules_for(classes, 100))
    whole = table.sum(axis=0)
    for group, found in zip(table.tolist(), rules.keeps(table, whole).tolist(), strict=True):
        assert found <= keeps(rules, group, whole.tolist())
        assert found >= keeps(rules, group, whole.tolist(), margin=2e-9)


def test_large_numbers_do_not_overflow() -> None:
    """At t exactly the distance: one row more or less decides."""
    whole = np.array([1 << 30, 1 << 30])
    groups = np.array([[3 << 28, 1 << 28], [(3 << 28) + 1, 1 << 28], [(3 << 28) - 1, 1 << 28]])
    for distance in ("variational", "ordered"):
        assert Rules(t=0.25, distance=distance).keeps(groups, whole).tolist() == [True, False, True]  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize(("classes", "width"), [(2, 3), (3, 2)])
def test_the_circuit_of_sums(form: Any, classes: int, width: int) -> None:
    rows = [row for row in itertools.product(range(1 << width), repeat=2 * classes) if sum(row) < 1 << width]
    columns = [from_integers(list(column), width) for column in zip(*rows, strict=True)]
    for k, diversity in itertools.product((1, 2, (1 << width) - 1), range(1, classes + 1)):
        outputs = evaluate(sums_netlist(classes, width, k, diversity, form), columns)
        for row, found in zip(rows, zip(*map(to_integers, outputs), strict=True), strict=True):
            group = [row[c] + row[classes + c] for c in range(classes)]
            assert found == (keeps(Rules(k, diversity), group, group), sum(group), *group[:-1])


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize("terms", [1, 2, 3])
def test_the_circuit_of_closeness(form: Any, terms: int) -> None:
    rng = np.random.default_rng(terms)
    values = rng.integers(-8, 8, (terms, 500))
    limits = np.concatenate(
        [2 * np.maximum(values, 0).sum(axis=0)[:250] + rng.integers(-1, 2, 250), rng.integers(-64, 64, 250)]
    )
    inputs = [from_integers([int(v) % 16 for v in line], 4) for line in values]
    inputs.append(from_integers([int(v) % 256 for v in limits], 8))
    (found,) = evaluate(close_netlist(terms, 4, 8, form), inputs)
    assert to_integers(found) == (2 * np.maximum(values, 0).sum(axis=0) <= limits).astype(int).tolist()


@pytest.mark.parametrize("name", ["clear", "mixed"])
def test_an_entropy_in_doubt_is_refused(play, name: str) -> None:
    """All groups of a few rows, with logarithms so rough that some entropies are computed on the wrong side of ln l."""
    groups = np.array([group for group in itertools.product(range(6), repeat=3) if any(group)])
    whole = groups.sum(axis=0)
    for least in sorted({math.floor(math.exp(entropy(group)) * 1000 + 1) / 1000 for group in groups[::9].tolist()})[
        1:-1
    ]:
        rules = Rules(l=least, diversity="entropy", against="public")
        problem = Problem((1,), 3, max_rows=500, delta=1, rules=rules)

        def feasible(engine: Any, problem: Problem = problem) -> list[int]:
            splits = [[(groups // 2 if engine.party else groups - groups // 2)[i : i + 1]] for i in range(len(groups))]
            (bits,) = engine.reveal(*rule(engine, problem, splits, None, whole).bits)
            return list(bits[0].tolist())

        for group, found in zip(groups.tolist(), play(feasible, name).agreed, strict=True):
            assert found <= keeps(rules, group, group)
            assert found >= keeps(rules, group, group, margin=problem.delta)


# Whole trees.


def classes_of(rows: Sequence[Row], problem: Problem) -> list[int]:
    counts = Counter(row[-1] for row in rows)
    return [counts[c] for c in range(problem.classes)]


class Reference:
    """What the definitions say of a tree over rows of which each has an owner."""

    def __init__(self, rows: Sequence[Row], side: Sequence[int], problem: Problem) -> None:
        self.problem, self.rules = problem, problem.rules
        self.all = list(zip(rows, side, strict=True))
        self.doubtful = 0

    def keeps(self, part: Sequence[tuple[Row, int]], margin: float = 0) -> bool:
        sides = ((0,), (1,)) if self.rules.against == "peer" else ((0, 1),)
        return all(
            keeps(
                self.rules,
                classes_of([row for row, owner in part if owner in side], self.problem),
                classes_of([row for row, owner in self.all if owner in side], self.problem),
                margin,
            )
            for side in sides
        )

    def is_feasible(self, part: Sequence[tuple[Row, int]], attribute: int, margin: float = 0) -> bool:
        values = range(self.problem.domains[attribute])
        return all(self.keeps([one for one in part if one[0][attribute] == value], margin) for value in values)

    def check(self, tree: Tree) -> None:
        attributes = tuple(range(len(self.problem.domains)))
        if self.keeps(self.all):
            if self.keeps(self.all, self.margin) or tree != Leaf(0):
                self.walk(tree, self.all, attributes, 0, 0)
        else:
            assert tree == Leaf(0)

    @property
    def margin(self) -> float:
        return 2e-9 if self.rules.against == "peer" else self.problem.delta

    def walk(
        self, tree: Tree, part: list[tuple[Row, int]], attributes: tuple[int, ...], parent: int, depth: int
    ) -> None:
        """Fail at a step that ID3 would not accept among the splits that keep the rules."""
        assert self.keeps(part)
        counts = classes_of([row for row, _ in part], self.problem)
        label = counts.index(max(counts)) if part else parent
        stop = len(part) <= self.problem.min_rows or sum(count > 0 for count in counts) <= 1
        stop |= depth == self.problem.max_depth
        allowed = [] if stop else [a for a in attributes if self.is_feasible(part, a)]
        sure = [a for a in allowed if self.is_feasible(part, a, self.margin)]
        if isinstance(tree, Leaf):
            assert tree == Leaf(label)
            assert not sure
            return
        assert isinstance(tree, Split)
        assert tree.attribute in allowed
        scores = {a: self.score(part, a) for a in allowed}
        assert scores[tree.attribute] <= min((scores[a] for a in sure), default=math.inf) + self.problem.delta
        left = tuple(a for a in attributes if a != tree.attribute)
        for value, child in enumerate(tree.children):
            self.walk(child, [one for one in part if one[0][tree.attribute] == value], left, label, depth + 1)

    def score(self, part: Sequence[tuple[Row, int]], attribute: int) -> float:
        groups: dict[int, list[Row]] = {}
        for row, _ in part:
            groups.setdefault(row[attribute], []).append(row)
        return sum(len(rows) / len(part) * entropy(classes_of(rows, self.problem)) for rows in groups.values())


def counts_of(rows: Sequence[Row], side: Sequence[int], problem: Problem, party: int) -> RowCounts:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(problem.domains) + 1)
    own = table[np.array(side, dtype=np.int64) == party]
    return RowCounts(problem.domains, problem.classes, own[:, :-1], own[:, -1])


def joint(play: Any, rows: Sequence[Row], side: Sequence[int], problem: Problem, name: str) -> Tree:
    tree: Tree = play(lambda e: id3(e, problem, counts_of(rows, side, problem, e.party)), name).agreed
    return tree


@pytest.mark.parametrize("name", ENGINES)
@QUICK
@given(data=st.data())
def test_random_tables(play, name: str, data: st.DataObject) -> None:
    domains = data.draw(st.lists(st.integers(1, 3), max_size=3))
    classes = data.draw(st.integers(2, 4))
    columns = [st.integers(0, size - 1) for size in (*domains, classes)]
    rows = data.draw(st.lists(st.tuples(*columns), max_size=60))
    side = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    problem = Problem(
        tuple(domains),
        classes,
        max_rows=data.draw(st.sampled_from([60, 1000])),
        delta=data.draw(st.sampled_from([0.1, 0.001])),
        min_rows=data.draw(st.sampled_from([0, 0, 3])),
        max_depth=data.draw(st.sampled_from([None, None, 0, 1])),
        rules=data.draw(rules_for(classes, 60)),
    )
    Reference(rows, side, problem).check(joint(play, rows, side, problem, name))


def speaking(rows: int, classes: int, seed: int) -> tuple[list[Row], list[int]]:
    """Rows whose first attributes say much of the class, and owners who have different ones."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, [3, 2, 4, 2, classes], (rows, 5))
    told = rng.random((rows, 2)) < (0.7, 0.4)
    for column in (0, 1):
        table[:, column] = np.where(told[:, column], table[:, -1] % (3, 2)[column], table[:, column])
    side = (rng.random(rows) < np.where(table[:, 2] == 0, 0.2, 0.6)).astype(int)
    return [tuple(row) for row in table.tolist()], side.tolist()


TRIED = {  # each of them changes the tree, and leaves some of it
    "k": Rules(k=8),
    "k public": Rules(k=12, against="public"),
    "l": Rules(l=2),
    "l public": Rules(l=3, against="public"),
    "entropy": Rules(l=1.6, diversity="entropy"),
    "entropy public": Rules(l=2.2, diversity="entropy", against="public"),
    "t": Rules(t=0.5),
    "t public": Rules(t=0.4, against="public"),
    "ordered": Rules(t=0.35, distance="ordered"),
    "ordered public": Rules(t=0.3, distance="ordered", against="public"),
    "all": Rules(5, 2, "distinct", 0.6, "ordered"),
    "all public": Rules(5, 1.8, "entropy", 0.5, "variational", "public"),
}


@pytest.mark.parametrize("name", ["clear", "yao", "gmw", "mixed"])
@pytest.mark.parametrize("tried", TRIED)
def test_trees_with_something_to_say(play, tried: str, name: str) -> None:
    rows, side = speaking(150, 3, 7)
    plain = Problem((3, 2, 4, 2), 3, max_rows=120)
    problem = replace(plain, rules=TRIED[tried])
    tree = joint(play, rows, side, problem, name)
    assert isinstance(tree, Split)
    Reference(rows, side, problem).check(tree)
    if name == "clear":
        with pytest.raises(AssertionError):
            Reference(rows, side, problem).check(joint(play, rows, side, plain, name))


@pytest.mark.parametrize("against", ["peer", "public"])
@pytest.mark.parametrize("rules", [{"k": 20}, {"k": 10, "l": 1.3, "diversity": "entropy", "t": 0.3}], ids=str)
def test_a_real_table(play, shared: Path, rules: dict[str, Any], against: Any) -> None:
    with (shared / "data" / "car.csv").open(newline="") as stream:
        _, *lines = [line for line in csv.reader(stream) if line]
    domains = [sorted(set(column)) for column in zip(*lines, strict=True)]
    rows = [tuple(domain.index(cell) for cell, domain in zip(line, domains, strict=True)) for line in lines]
    side = np.random.default_rng(9).integers(0, 2, len(rows)).tolist()
    sizes = [len(domain) for domain in domains]
    problem = Problem(tuple(sizes[:-1]), sizes[-1], 1728, rules=Rules(**rules, against=against))
    tree = joint(play, rows, side, problem, "mixed")
    assert isinstance(tree, Split)
    Reference(rows, side, problem).check(tree)


@pytest.mark.parametrize("tried", ["k", "all", "all public", "ordered public"])
def test_both_forms_of_circuits_find_the_same(play, tried: str) -> None:
    rows, side = speaking(90, 3, 5)
    problem = Problem((3, 2, 4, 2), 3, max_rows=90, rules=TRIED[tried])

    def in_form(form: Any) -> Tree:
        def program(engine: Any) -> Tree:
            engine.form = form
            return id3(engine, problem, counts_of(rows, side, problem, engine.party))

        tree: Tree = play(program, "clear").agreed
        return tree

    assert in_form("size") == in_form("depth")


@pytest.mark.parametrize("tried", ["all", "all public"])
def test_a_level_in_many_batches(play, monkeypatch: pytest.MonkeyPatch, tried: str) -> None:
    rows, side = speaking(120, 3, 6)
    problem = Problem((3, 2, 4, 2), 3, max_rows=120, rules=TRIED[tried])
    expected = joint(play, rows, side, problem, "clear")
    for module in ("entropies", "feasibility"):
        monkeypatch.setattr(f"protocols.{module}.BATCH", 7)
    for name in ("clear", "mixed"):
        assert joint(play, rows, side, problem, name) == expected


@pytest.mark.parametrize("against", ["peer", "public"])
@pytest.mark.parametrize("depth", [None, 0])
def test_a_root_that_breaks_a_rule_is_the_first_class(play, against: Any, depth: int | None) -> None:
    """Five rows in all of class 1, three of one party: as if there were none, unless they are enough."""
    rows, side = [(0, 1)] * 5, [0, 0, 0, 1, 1]
    enough = 2 if against == "peer" else 5
    for k, label in ((enough, 1), (enough + 1, 0)):
        problem = Problem((2,), 2, max_rows=10, max_depth=depth, rules=Rules(k=k, against=against))
        assert joint(play, rows, side, problem, "mixed") == Leaf(label)
    alone = Problem((2,), 2, max_rows=10, max_depth=depth, rules=Rules(k=5, against=against))
    assert joint(play, rows, [0] * 5, alone, "mixed") == Leaf(1)  # none of the other party's is none to protect


def test_the_last_attribute_is_barred_too(play) -> None:
    """One attribute left: nothing is compared, and yet a split by it is made only if it may be."""
    rows = [(value, value) for value in (0, 0, 0, 1, 1)]
    for k, tree in ((2, Split(0, (Leaf(0), Leaf(1)))), (3, Leaf(0))):
        problem = Problem((2,), 2, max_rows=10, rules=Rules(k=k, against="public"))
        assert joint(play, rows, [0, 1, 0, 1, 0], problem, "yao") == tree


def test_what_is_left_when_the_peer_takes_its_own_rows_away(play) -> None:
    """Twelve rows to either side, but one of them alone among the others': a public k of 4 shows it."""
    rows = [(v, v) for v in (0, 1) for _ in range(12)]
    side = [0] * 11 + [1] + [1] * 12
    for against, tree in (("public", Split(0, (Leaf(0), Leaf(1)))), ("peer", Leaf(0))):
        problem = Problem((2,), 2, max_rows=30, rules=Rules(k=4, against=against))  # type: ignore[arg-type]
        assert joint(play, rows, side, problem, "mixed") == tree


@pytest.mark.parametrize("tried", ["all", "all public", "entropy public", "k public"])
def test_a_run_goes_on_from_every_level(play, tried: str) -> None:
    rows, side = speaking(120, 3, 4)
    problem = Problem((3, 2, 4, 2), 3, max_rows=120, rules=TRIED[tried])

    def run(start: Tree) -> Any:
        return play(lambda e: id3(e, problem, counts_of(rows, side, problem, e.party), start=start), "mixed")

    whole = run(Open())
    depths = {int(path.split("/")[0][6:]) for path in whole.meters[0].phases if path.startswith("level")}
    assert len(depths) > 1
    for depth in range(len(depths) + 1):
        again = run(cut(whole.agreed, depth))
        assert again.agreed == whole.agreed
        for one, other in zip(whole.meters, again.meters, strict=True):
            opened = {path: cost.bits_opened for path, cost in one.phases.items() if cost.bits_opened}
            later = {path: bits for path, bits in opened.items() if int(path.split("/")[0][6:]) >= depth}
            assert later == {path: cost.bits_opened for path, cost in other.phases.items() if cost.bits_opened}


@pytest.mark.parametrize("tried", TRIED)
def test_only_the_tree_is_opened_and_costs_are_foreseen(tried: str) -> None:
    """A run costs to the byte what is counted for its tree alone, and at most what is counted for any tree."""
    rows, side = speaking(80, 3, 3)
    problem = Problem((3, 2, 4, 2), 3, max_rows=80, delta=0.05, rules=TRIED[tried])
    for profile in (Profile("mixed"), Profile("gmw")) if "all" in tried else (Profile("lean"), Profile("yao")):
        meters = {}

        def both(session: Any, profile: Profile = profile, meters: Any = meters) -> Tree:
            meters[session.party] = session.meter
            return id3(engine_of(session, profile), problem, counts_of(rows, side, problem, session.party))

        tree, same = run_local(both)
        assert tree == same
        exact = forecast(lambda e, tree=tree: with_tree(e, problem, tree), profile)  # type: ignore[misc]
        bound = forecast(lambda e: at_most(e, problem), profile)
        for party in (0, 1):
            real = public(meters[party].total)
            assert public(exact.costs[party]) == real
            assert all(value >= real[name] for name, value in public(bound.costs[party]).items())


def public(cost: Any) -> dict[str, Any]:
    return {name: value for name, value in cost.as_dict().items() if name != "seconds"}


def test_nothing_is_computed_without_rules(play) -> None:
    """Rules that rule nothing out are none: the same messages as ever (which the transcripts pin)."""
    rows, side = speaking(40, 3, 2)
    run = play(
        lambda e: id3(e, Problem((3, 2, 4, 2), 3, 40, rules=Rules()), counts_of(rows, side, PLAIN, e.party)), "mixed"
    )
    assert not any("rules" in path for path in run.meters[0].phases)


PLAIN = Problem((3, 2, 4, 2), 3, 40)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 41}, "k is 41, but there are at most 40 rows of a party"),
        ({"k": 81, "against": "public"}, "k is 81, but there are at most 80 rows in all"),
        ({"l": 0.5}, "l is 0.5"),
        ({"l": math.nan}, "l is nan"),
        ({"l": math.inf}, "l is inf"),
        ({"l": 2.5}, "l is 2.5: distinct classes are counted"),
        ({"l": 4}, "l is 4, but a leaf can have 3 classes at most"),
        ({"l": 3, "diversity": "entropy"}, "l is 3: for entropy it must be below 3 here"),
        ({"diversity": "entropy"}, "needs an l above 1"),
        ({"t": 0}, "t is 0"),
        ({"t": -0.1}, "t is -0.1"),
        ({"t": 1.5}, "t is 1.5"),
        ({"t": math.nan}, "t is nan"),
        ({"distance": "ordered"}, "needs a t below 1"),
        ({"against": "public"}, "it needs one of them"),
    ],
)
def test_rules_that_cannot_be_are_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        replace(PLAIN, rules=Rules(**rules))
    assert "\n" not in str(caught.value)


def test_a_t_of_too_many_digits_is_refused() -> None:
    """Against the public it is compared in 64-bit words; each party alone has numbers of any size."""
    fine, rows = 0.123456789, 65535
    Problem((2,), 3, rows, rules=Rules(t=fine))
    Problem((2,), 3, rows, rules=Rules(t=0.1234, against="public"))
    with pytest.raises(InputError, match=r"t 0\.123457 with up to 131,070 rows in all does not fit 64-bit words"):
        Problem((2,), 3, rows, rules=Rules(t=fine, against="public"))
