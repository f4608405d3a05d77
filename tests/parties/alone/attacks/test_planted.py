"""Planted leaks in published rows, each found by the strongest attack, and a protected twin of each, not found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from parties.alone.attacks import membership, published_counts
from parties.alone.attacks.agreement import agreement
from parties.alone.attacks.inference import infer
from parties.alone.attacks.protected import attacks
from parties.alone.attacks.reconstruction import Count, bounds_of_hidden, programme
from parties.alone.comparing.fidelity import copies, nearest
from parties.alone.publish.hierarchy import build
from parties.alone.publish.models.classes import Classes, Layout
from parties.alone.publish.models.risks import risks
from parties.alone.publish.models.strongest import facts
from parties.alone.publish.protecting.method import Method
from parties.alone.publish.protecting.microaggregation import Microaggregation
from parties.alone.publish.protecting.perturbing import Noise, RankSwapping
from parties.alone.publish.protecting.rows import Rows
from parties.models.bayes import NaiveBayesModel
from parties.tables.delimited import Columns
from protocols.arrays import Codes

PEOPLE = 400


def people(seed: int = 1) -> Rows:
    """Four numbers that together are nobody else's, and two secrets that hang on none of them."""
    rng = np.random.default_rng(seed)
    numbers = {name: np.round(rng.normal(100, 20, PEOPLE), 3) for name in ("cm", "kg", "age", "pay")}
    columns = {name: [f"{x:g}" for x in column] for name, column in numbers.items()}
    columns["disease"] = rng.choice(["flu", "cold", "gout", "none"], PEOPLE).tolist()
    columns["income"] = [f"{x:.2f}" for x in rng.gamma(2, 1000, PEOPLE)]
    cells = {name: np.array(column, dtype=object) for name, column in columns.items()}
    return Rows(cells, tuple(numbers), np.ones(PEOPLE), np.arange(PEOPLE), "people")


NUMBERS = ("cm", "kg", "age", "pay")
WEAK: dict[str, Method] = {
    "noise": Noise(columns=NUMBERS, d=0.01),
    "rank swapping": RankSwapping(columns=NUMBERS, p=3),
    "microaggregation of each column": Microaggregation(columns=NUMBERS, aggr=3, by="univariate"),
}
STRONG: dict[str, Method] = {
    "noise": Noise(columns=NUMBERS, d=50.0),
    "rank swapping": RankSwapping(columns=NUMBERS, p=100),
    "microaggregation": Microaggregation(columns=NUMBERS, aggr=100, by="mdav"),
}


def report(method: Method, seed: int = 3) -> dict[str, Any]:
    source = people()
    changed, _ = method.run(source, np.random.default_rng(seed))
    return attacks(source, changed, ["disease", "income"], np.random.default_rng(seed))


@pytest.mark.parametrize("name", WEAK)
def test_numbers_that_are_changed_too_little(name: str) -> None:
    """Equality finds nobody, for no number is published as it was."""
    figures = report(WEAK[name])
    assert figures["linking"]["strongest"]["right"] > 0.9
    for secret in ("disease", "income"):
        found = figures[f"inference ({secret})"]
        assert found["with"] > 0.9
        assert (found["strongest"]["found"], found["worst_hit"]["found"]) == (True, True)
        assert found["worst_hit"]["right"] == 10
        assert found["without"] < 0.35


@pytest.mark.parametrize("name", STRONG)
def test_numbers_that_are_changed_enough(name: str) -> None:
    figures = report(STRONG[name])
    assert figures["linking"]["strongest"]["right"] < 0.1
    for secret in ("disease", "income"):
        found = figures[f"inference ({secret})"]
        assert found["with"] < found["without"] + 0.12
        assert (found["strongest"]["found"], found["worst_hit"]["found"]) == (False, False)


LABELS = {
    "bracketed": lambda low: f"[{low}, {low + 10}[",
    "dashes": lambda low: f"{low}-{low + 9}",
    "of a schema": lambda low: f"{low} to under {low + 10}",
}


@pytest.mark.parametrize("style", LABELS)
@pytest.mark.parametrize("known", ["numbers", "labels"])
def test_ranges_that_have_moved_by_one(style: str, known: str) -> None:
    """Each range is its neighbour's: none is the right one, and the nearest row has the secret."""
    rng = np.random.default_rng(5)
    lows = rng.integers(0, 40, (6, PEOPLE)) * 10
    secret = rng.choice(["flu", "cold", "gout", "none"], PEOPLE).tolist()

    def found(moved: np.ndarray[Any, Any]) -> dict[str, Any]:
        columns = []
        for was, low in zip(lows, moved, strict=True):
            mine = [str(x + 4) if known == "numbers" else LABELS[style](x) for x in was.tolist()]
            columns.append(agreement("c", mine, [LABELS[style](x) for x in low.tolist()]))
        return infer(columns, secret, secret)

    leak = found(lows + 10 * rng.choice([-1, 1], lows.shape))
    assert leak["strongest"]["right"] > 0.9
    assert leak["class"] < 0.4
    twin = found(rng.permuted(lows, axis=1))
    assert not twin["strongest"]["found"]
    assert not twin["worst_hit"]["found"]


def test_a_number_is_right_if_it_is_near() -> None:
    """Incomes that are published a little off, by people who are known exactly."""
    rng = np.random.default_rng(6)
    names = [f"person {i}" for i in range(PEOPLE)]
    income = rng.gamma(2, 1000, PEOPLE)
    told = [f"{x:.2f}" for x in income]
    near = [f"{x:.2f}" for x in income * rng.uniform(0.99, 1.01, PEOPLE)]
    columns = [agreement("name", names, names)]
    leak = infer(columns, near, told)
    assert leak["strongest"]["right"] > 0.95
    assert leak["worst_hit"]["right"] == 10
    twin = infer(columns, rng.permutation(near).tolist(), told)
    assert not twin["strongest"]["found"]
    assert not twin["worst_hit"]["found"]


def test_a_few_people_are_not_lost_in_the_mean() -> None:
    """Ten of a thousand stand alone, with a secret of their own; all others hide in one class."""
    rng = np.random.default_rng(7)
    zones = ["?"] * 990 + [f"zone {i}" for i in range(10)]
    secret = rng.choice(["flu", "cold"], 990).tolist() + ["gout"] * 10
    leak = infer([agreement("zone", zones, zones)], secret, secret)
    assert leak["class"] < 0.6
    assert (leak["worst_hit"]["right"], leak["worst_hit"]["people"]) == (10, 10)
    assert leak["worst_hit"]["found"]
    assert "no worse hit" not in facts(leak)["worst-hit people"]
    twin = infer([agreement("zone", zones, rng.permutation(zones).tolist())], secret, secret)
    assert not twin["worst_hit"]["found"]
    same = infer([agreement("zone", zones, zones)], ["flu"] * 1000, ["flu"] * 1000)
    assert facts(same)["worst-hit people"].endswith("; no worse hit than all people")


def counted(rows: list[tuple[str, str]]) -> NaiveBayesModel:
    values: dict[str, list[int]] = {}
    for value, label in rows:
        values.setdefault(value, [0, 0])[label == "y"] += 1
    classes = {label: sum(own == label for _, own in rows) for label in "ny"}
    return NaiveBayesModel("c", classes, {"a": values})


def table(rows: list[tuple[str, str]]) -> Columns:
    columns = {"a": [value for value, _ in rows], "c": [label for _, label in rows]}
    return Columns(Path("rows.csv"), columns, range(len(rows)))


def test_counts_of_a_model_name_who_is_alone_in_them() -> None:
    rng = np.random.default_rng(8)
    rows = [(str(a), str(c)) for a, c in zip(rng.choice([*"xyz"], 99), rng.choice([*"ny"], 99), strict=True)]
    leak = published_counts.alone(counted([*rows, ("rare", "y")]), table([*rows, ("rare", "y")]))
    assert (leak["exact"], leak["alone"], leak["found"]) == (True, 1, True)
    of_both = published_counts.alone(counted([*rows, *rows, ("rare", "y")]), table([*rows, ("rare", "y")]))
    assert of_both["found"], "the peer's rows in the counts hide nobody who is alone"
    assert not published_counts.alone(counted(rows), table(rows))["found"]
    exact = counted([*rows, ("rare", "y")])
    noisy = {value: [max(0, n - 3), m + 2] for value, (n, m) in exact.columns["a"].items()}
    twin = published_counts.alone(NaiveBayesModel("c", exact.classes, {"a": noisy}), table([*rows, ("rare", "y")]))
    assert (twin["exact"], twin["found"]) == (False, False)


def test_a_few_members_are_copied() -> None:
    """Thirty of a thousand synthetic rows: the mean hides them, and so does a threshold that suits everybody."""
    rng = np.random.default_rng(9)
    members, others, made = rng.integers(0, 9, (3, 1000, 8))
    copied = np.concatenate([members[:30], made[30:]])

    def attacked(synthetic: Codes) -> dict[str, Any]:
        sure = tuple(-nearest(rows, synthetic).astype(np.float64) for rows in (members, others))
        return membership.strongest({"columns": sure}, np.random.default_rng(1))

    leak = attacked(copied)
    assert leak["sum"] < 1.1
    assert leak["worst_hit"]["found"]
    assert leak["worst_hit"]["members"] >= 30
    assert leak["worst_hit"]["others"] <= 2
    assert not attacked(made)["worst_hit"]["found"]
    leak = copies(members, copied)
    assert (leak["copied"], leak["found"]) == (30, True)
    twin = copies(members, made)
    assert (twin["copied"], twin["found"]) == (0, False)


@pytest.mark.parametrize("values", [2, 3, 4, 6])
def test_rows_of_the_same_law_are_no_copies(values: int) -> None:
    """In small and large domains rows are alike by chance; ten times as many synthetic rows hit more of them."""
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        law = [rng.dirichlet(np.ones(values)) for _ in range(6)]
        own, made = (np.column_stack([rng.choice(values, n, p=p) for p in law]) for n in (300, 3000))
        wrong += copies(own, made)["found"]
    assert wrong <= 1


def test_members_are_told_by_the_hypergeometric_law() -> None:
    members, others = np.array([1.0] * 9 + [0.0] * 91), np.array([1.0] * 1 + [0.0] * 99)
    m, o, chance = membership._most_members(members, others)
    assert (m, o) == (9, 1)
    assert np.exp(chance) / 2 == pytest.approx(scipy.stats.hypergeom.sf(8, 200, 100, 10))


def test_hidden_counts_that_totals_tell() -> None:
    """A table hides one cell, whose row and column tell it, and its value stands nowhere else."""
    cells = {("N", "a"): 3, ("N", "b"): 4, ("S", "a"): 5}
    counts = [Count((("county", c), ("age", a)), number) for (c, a), number in cells.items()]
    hidden = (("county", "S"), ("age", "b"))
    counts += [Count((("county", "N"),), 7), Count((("county", "S"),), 7), Count(hidden, None)]
    problem = programme(counts)
    assert bounds_of_hidden(problem, 60, lambda doing: None) == {hidden: (2, 2)}
    hide = [Count(count.values, None if len(count.values) == 2 else count.number) for count in counts]
    twin = bounds_of_hidden(programme(hide), 60, lambda doing: None)
    assert all(least < (most or 99) for least, most in twin.values())
    assert twin[hidden] == (0, 7)


def test_classes_that_give_a_few_away() -> None:
    """A class of ten with a rare value, in a table of classes that say nothing: `publish check` begins with it."""
    rng = np.random.default_rng(10)
    rows = np.array([rng.multinomial(40, [0.9, 0.1]) for _ in range(30)])

    def report(last: list[int]) -> dict[str, Any]:
        counts = np.concatenate([rows, [last]])
        layout = Layout((build("ill", [("no", "*"), ("yes", "*")]),), False, np.append(counts.sum(), counts.sum(0)))
        figures = risks(Classes(np.column_stack([counts.sum(1), counts]), layout))
        found: dict[str, Any] = figures["sensitive"]["ill"]
        return found

    leak = report([0, 10])
    assert leak["worst_hit"] == {"right": 10, "people": 10, "found": True}
    assert not report([9, 1])["worst_hit"]["found"]
