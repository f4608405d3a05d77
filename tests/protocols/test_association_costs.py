"""What association rules cost at most: against every number of sets that rows can have, counted without a peer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import association_costs
from protocols.association import ItemSet, Problem, by_support, frequent, holding, number_of_rules, rules_of
from protocols.threshold import FEW
from smc.counting import CountingEngine, forecast
from smc.engines import Profile
from smc.errors import InputError

PROFILES = (Profile("yao"), Profile("gmw", "ferret", form="depth"), Profile("gmw", "extension", form="size"))


def decided(problem: Problem, rows: list[set[int]]) -> tuple[list[int], int] | None:
    """How many sets of each length Apriori decides on, and how many rules; None if it stops before."""
    levels: tuple[tuple[ItemSet, ...], ...] = ()
    numbers = []
    least = max(problem.support * len(rows), problem.least_rows)
    try:
        while candidates := problem.candidates(levels):
            numbers.append(len(candidates))
            levels = (*levels, tuple(c for c in candidates if sum(set(c) <= row for row in rows) >= least))
    except InputError:
        return None
    assert len(rules_of(levels)) == number_of_rules(levels)
    return numbers, number_of_rules(levels)


def spent(problem: Problem, numbers: list[int], rules: int, rows: int | None, profile: Profile) -> int:
    def program(engine: CountingEngine) -> None:
        by_support(engine, problem, 0)
        for many in numbers:
            frequent(engine, problem, [()] * many, np.zeros(many, dtype=np.int64), rows)
        if rules:
            holding(engine, problem, [((0,), (1,))] * rules, lambda sets: np.zeros(len(sets), dtype=np.int64), 0)

    return forecast(program, profile).bytes


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_run_decides_on_more_or_sends_more(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    baskets = data.draw(st.booleans())
    columns = tuple(c for c, size in enumerate(sizes) for _ in range(size))
    items = list(range(len(columns)))
    row = (
        st.sets(st.sampled_from(items))
        if baskets
        else st.tuples(*(st.sampled_from([i for i in items if columns[i] == c]) for c in range(len(sizes)))).map(set)
    )
    same = data.draw(row)
    rows = data.draw(st.lists(st.one_of(st.just(same), row), min_size=1, max_size=20))
    problem = Problem(
        tuple(items) if baskets else columns,
        data.draw(st.integers(-(-len(rows) // 2), 20)),
        Fraction(data.draw(st.integers(1, 10)), 10),
        data.draw(st.integers(1, 12)),
        Fraction(1, 2),
        Fraction(data.draw(st.integers(0, 1))),
        data.draw(st.integers(2, 4)),
        data.draw(st.sampled_from([None, 20])),
    )
    found = decided(problem, rows)
    if found is None:
        return
    numbers, rules = found
    *most, most_rules = association_costs.most(problem)
    assert all(many <= bound for many, bound in zip(numbers, most, strict=False))
    assert rules <= most_rules
    profile = data.draw(st.sampled_from(PROFILES))
    by_share = problem.support * len(rows) >= problem.least_rows
    assert spent(problem, numbers, rules, 0 if by_share else None, profile) <= association_costs.most_bytes(
        problem, profile
    )


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("few", [FEW, FEW + 1])
def test_fewer_questions_may_take_more_gates(profile: Profile, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that decides on as many sets as still take a shallow circuit, where some more may be."""
    problem = Problem(tuple(range(FEW + 8)), 40, Fraction(1, 2), max_length=2)
    monkeypatch.setattr(association_costs, "most", lambda problem: [FEW + 8, 0, 0])
    assert spent(problem, [few], 0, 0, profile) <= association_costs.most_bytes(problem, profile)


def test_parts_cost_no_less_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(tuple(range(60)), 40, Fraction(1, 20), max_length=3)
    for profile in PROFILES:
        whole = association_costs.most_bytes(problem, profile)
        with monkeypatch.context() as patched:
            patched.setattr(association_costs, "COUNTED", 0)
            patched.setattr(association_costs, "PART", 1 << 15)
            assert association_costs.most_bytes(problem, profile) >= whole


def test_a_typical_run_is_one_that_there_can_be() -> None:
    problem = Problem(tuple(c for c in range(17) for _ in range(3)), 100, Fraction(1, 10))
    typical, most = association_costs.typical(problem), association_costs.most(problem)
    assert all(some <= bound for some, bound in zip(typical, most, strict=True))
    assert sum(typical) * 4 < sum(most), "so a run may be stopped that is larger than forecast"


@pytest.mark.parametrize("values", [3, 8, 20, 50])
def test_a_typical_run_is_near_that_of_values_by_zipf_s_law(values: int) -> None:
    """Of six columns that do not depend on each other: half as much at least, and four times as much at most."""
    rng, shares = np.random.default_rng(values), 1 / np.arange(1, values + 1)
    cells = rng.choice(values, size=(400, 6), p=shares / shares.sum()) + values * np.arange(6)
    problem = Problem(tuple(np.repeat(range(6), values).tolist()), 200, Fraction(1, 20), max_length=3)
    run = decided(problem, [set(row) for row in cells.tolist()])
    assert run is not None
    assert 0.5 < sum(association_costs.typical(problem)) / (sum(run[0]) + run[1]) < 4
