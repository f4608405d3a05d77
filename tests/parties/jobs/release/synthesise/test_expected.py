"""What a synthesis is expected to take, beside runs of AIM on public tables, halves of whose rows each party had."""

from __future__ import annotations

from typing import Any

import pytest

from parties.jobs.kinds.synthesise import Synthesise
from parties.jobs.release.synthesise import expected
from parties.tables.schema import Schema

ADULT = (8, 9, 16, 7, 15, 6, 5, 2, 4, 4, 6, 7, 2)
CAR, VOTES = (4, 4, 4, 3, 3, 3, 4), (3,) * 16 + (2,)


def task(domains: tuple[int, ...], epsilon: float, rows: int, **more: Any) -> Synthesise:
    """The job on columns with so many values."""
    schema = Schema({f"c{i}": tuple(map(str, range(size))) for i, size in enumerate(domains)})
    asked = {"epsilon": epsilon, "delta": 1e-9, "max_rows": rows, **more}
    return Synthesise.canonical(Synthesise.Settings.model_validate(asked), schema)


@pytest.mark.parametrize(
    ("domains", "epsilon", "rows", "seen", "seconds"),
    [
        (ADULT, 0.5, 50_000, 35, 3.24),
        (ADULT, 1.0, 50_000, 41, 4.40),
        (CAR, 0.5, 2_000, 9, 0.09),
        (CAR, 2.0, 2_000, 11, 0.19),
        (VOTES, 1.0, 500, 10, 0.18),
        (VOTES, 4.0, 500, 21, 1.03),
    ],
)
def test_rounds_are_within_a_factor_of_two_and_long_fits_within_1_5(
    domains: tuple[int, ...], epsilon: float, rows: int, seen: int, seconds: float
) -> None:
    """`seen` rounds, and seconds of one processor in fits, were measured on the machine that is the usual one."""
    plan = task(domains, epsilon, rows).plan
    assert seen / 2 <= expected.rounds(plan) <= 2 * seen
    fits = expected.seconds(plan, "aim", "graphical")
    assert seconds < 1 or seconds / 1.5 <= fits <= 1.5 * seconds


def test_more_rows_show_more_but_a_tree_has_its_pairs() -> None:
    few, many = task(CAR, 1.0, 100), task(CAR, 1.0, 1_000_000)
    assert expected.rounds(few.plan) < expected.rounds(many.plan) <= many.plan.rounds - len(CAR)
    for generator in ("graphical", "relaxed"):
        aim, mst = ([expected.seconds(one.plan, way, generator) for one in (few, many)] for way in ("aim", "mst"))
        assert 0 < aim[0] < aim[1]
        assert mst[0] == mst[1] > 0
