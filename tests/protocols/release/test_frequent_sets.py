"""The most frequent sets with noise: the exact law of the choice on small tables, and runs against a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.association import ItemSet, Problem
from protocols.release.choice import TIE_BITS
from protocols.release.frequent_sets import candidates_after, most_samples, noisy_sets
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session
from tests.support.questions import Known

COLUMNS = (0, 0, 1, 1)  # two columns of two values
SETS: list[ItemSet] = [(0,), (1,), (2,), (3,), (0, 2), (0, 3), (1, 2), (1, 3)]
Row = tuple[int, ...]  # the items of a row, or of a basket


def counted(rows: Sequence[Row]) -> dict[ItemSet, int]:
    return {items: sum(set(items) <= set(row) for row in rows) for items in SETS}


def places(scores: Mapping[ItemSet, int | Fraction], problem: Problem, first: int) -> tuple[ItemSet, ...]:
    """The sets that win, by what the module's text says."""
    chosen: list[ItemSet] = []
    while len(chosen) < first:
        open_ = [
            items
            for items in SETS
            if items not in chosen
            and len(items) <= problem.max_length
            and all(part in chosen for part in combinations(items, len(items) - 1) if part)
        ]
        if not open_:
            break
        chosen.append(max(open_, key=lambda items: (scores[items], -order(items, chosen, problem))))
    return tuple(chosen)


def order(items: ItemSet, chosen: list[ItemSet], problem: Problem) -> int:
    """The place of a candidate among equals: items first, then sets by when they became candidates."""
    if len(items) == 1:
        return items[0]
    since = max(chosen.index((item,)) for item in items)
    return 100 * (since + 1) + candidates_after(problem, chosen[: since + 1]).index(items)


@pytest.mark.parametrize("row", [(0, 2), (0,), (0, 1, 2, 3)])  # the last is a basket with all items
def test_the_proof_moves_every_draw_to_one_that_gives_the_same_answer(row: Row) -> None:
    """Of all draws below a bound: the map of the proof, there and back, and that it costs `first` at most."""
    problem = Problem((0, 1, 2, 3) if row == (0, 1, 2, 3) else COLUMNS, 20, Fraction(1, 10), max_length=2)
    base: list[Row] = [(0, 2), (1, 3), (1, 2)]
    less, more = counted(base), counted([*base, row])
    for first in (1, 3):
        for noise in product(range(2), repeat=len(SETS)):
            drawn = dict(zip(SETS, noise, strict=True))
            for left, right, add in ((less, more, True), (more, less, False)):
                answer = places({x: left[x] + drawn[x] for x in SETS}, problem, first)
                moved = {x: drawn[x] + ((1 - more[x] + less[x]) if add else more[x] - less[x]) for x in answer}
                assert places({x: right[x] + moved.get(x, drawn[x]) for x in SETS}, problem, first) == answer
                assert 0 <= sum(moved.values()) - sum(drawn[x] for x in answer) <= first


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([2, 3])), max_size=12),
    st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([2, 3])), max_size=12),
    st.integers(1, 8),
    st.integers(1, 2),
)
def test_without_noise_to_speak_of_the_sets_are_the_reference(
    left: list[Row], right: list[Row], first: int, longest: int
) -> None:
    problem = Problem(COLUMNS, 12, Fraction(1, 10), max_length=longest)
    check_answer(problem, first, (left, right), ran(problem, first, (left, right)))


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw", "ferret")], ids=str)
def test_engines_open_the_same(profile: Profile) -> None:
    problem = Problem(COLUMNS, 12, Fraction(1, 10), max_length=2)
    sides: Any = ([(0, 2), (0, 2), (0, 3)], [(0, 2), (1, 2), (1, 3)])
    check_answer(problem, 6, sides, ran(problem, 6, sides, profile))


def test_equals_stand_in_a_random_order() -> None:
    """Of four items that all rows have, each is the first: that one is not in 60 runs has a chance below 1e-7."""
    problem = Problem((0, 1, 2, 3), 12, Fraction(1, 10), max_length=1)
    winners = [ran(problem, 1, ([(0, 1, 2, 3)], []))[0][0] for _ in range(60)]
    assert set(winners) == {(0,), (1,), (2,), (3,)}


def test_what_chooses_has_noise_of_the_first_law_and_what_is_told_of_the_second() -> None:
    problem, laws = Problem(COLUMNS, 12, Fraction(1, 10), max_length=1), (Known(1), DiscreteLaplace(Fraction(1)))

    def party(session: Session) -> list[tuple[int, int]]:
        engine, drawn = engine_of(session, Profile("clear")), []
        whole = engine.random
        setattr(engine, "random", lambda bits, batch: drawn.append((bits, batch)) or whole(bits, batch))  # noqa: B010
        noisy_sets(engine, problem, 3, laws, lambda sets: np.zeros(len(sets), dtype=np.int64), 0)
        return drawn

    assert run_local(party)[0] == [(1, 4), (TIE_BITS, 4), (laws[1].bits, 3 + 1)]


def check_answer(problem: Problem, first: int, sides: tuple[list[Row], list[Row]], answer: Any) -> None:
    """Compare with the sets that win by what the module's text says, in whatever order equals stand."""
    rows = [*sides[0], *sides[1]]
    counts = counted(rows)
    chosen, numbers = answer
    favoured = {items: counts[items] + Fraction(len(chosen) - place, 100) for place, items in enumerate(chosen)}
    assert tuple(chosen) == places({**counts, **favoured}, problem, first)
    assert numbers == [*(counts[items] for items in chosen), len(rows)]


def ran(problem: Problem, first: int, sides: Any, profile: Profile = Profile("clear")) -> Any:  # noqa: B008 (immutable)
    tiny = Fraction(1, 64)  # a draw is 0 but for 2^-92
    laws = OneSidedGeometric(tiny), DiscreteLaplace(tiny)

    def party(session: Session) -> Any:
        own = counted(sides[session.party])

        def counting(sets: Sequence[ItemSet]) -> Any:
            return np.array([own[items] for items in sets], dtype=np.int64)

        return noisy_sets(engine_of(session, profile), problem, first, laws, counting, len(sides[session.party]))

    one, other = run_local(party)
    assert one == other
    return one


@given(st.integers(2, 6), st.integers(1, 5), st.data())
def test_candidates_are_never_more_than_said(columns: int, longest: int, data: st.DataObject) -> None:
    """However sets are chosen; and each becomes one once, when the last of its parts is chosen."""
    problem = Problem(tuple(c for c in range(columns) for _ in range(2)), 9, Fraction(1, 2), max_length=longest)
    candidates: list[ItemSet] = [(item,) for item in range(2 * columns)]
    chosen: list[ItemSet] = []
    seen = set(candidates)
    while candidates and len(chosen) < 14:
        chosen.append(candidates.pop(data.draw(st.integers(0, len(candidates) - 1))))
        fresh = candidates_after(problem, chosen)
        assert len(fresh) < len(chosen)
        assert not seen & set(fresh)
        seen |= set(fresh)
        candidates += fresh
    assert len(seen) <= most_samples(problem, len(chosen))
    wanted = {
        items
        for size in range(2, longest + 1)
        for items in combinations(range(2 * columns), size)
        if len({item // 2 for item in items}) == size and all(part in chosen for part in combinations(items, size - 1))
    }
    assert {items for items in seen if len(items) > 1} == wanted
