"""Shares that can be, nearest to estimates: beside a solver, and how much nearer to the truth they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from parties.alone.local.coins import Coins
from parties.alone.local.decoded import document, report_of
from parties.alone.local.estimation import on_simplex
from parties.alone.local.plan import LocalPlan
from parties.alone.local.subset import SubsetSelection
from smc.errors import InputError
from smc.primitives.prg import Prg


@given(st.lists(st.integers(-300, 700).map(lambda x: x / 500), min_size=1, max_size=5))
def test_no_shares_are_nearer(estimates: list[float]) -> None:
    shares, wanted = on_simplex(np.array(estimates)), np.array(estimates)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    total = {"type": "eq", "fun": lambda x: x.sum() - 1}
    start = np.full(len(wanted), 1 / len(wanted))
    solved = minimize(
        lambda x: ((x - wanted) ** 2).sum(), start, bounds=[(0, 1)] * len(wanted), constraints=[total], tol=1e-12
    )
    assert ((shares - wanted) ** 2).sum() <= solved.fun + 1e-8


def test_of_many_values_most_of_the_error_goes() -> None:
    names, rows = tuple(map(str, range(300))), 20_000
    made = SubsetSelection(names, 1.0)
    truth = np.bincount(np.arange(rows) % 20, minlength=300) / rows
    tally = np.zeros(301, dtype=np.int64)
    for start in range(0, rows, 5000):
        people = np.arange(start, start + 5000)
        coins = Coins(people.astype(np.uint64), "q", stream=Prg(start.to_bytes(16, "little")))
        tally += made.tally(made.report(people % 20, coins))
    found = made.estimate(tally)
    errors = [((shares - truth) ** 2).sum() for shares in (found.values, on_simplex(found.values))]
    assert errors[1] < errors[0] / 4
    plan = LocalPlan(question="q", mechanism="subset", values=names, epsilon=1.0)
    told = document(plan, made, found, rows, projected=True)
    assert sum(row["projected"] for row in told["estimates"]) == pytest.approx(1)
    assert ", projected " in report_of(told).text()


def test_shares_that_need_not_add_up_are_not_projected() -> None:
    plan = LocalPlan(question="q", mechanism="mean", low=0.0, high=1.0, epsilon=1.0)
    made = plan.made()
    with pytest.raises(InputError, match="need not add up to 1; remove --projected"):
        document(plan, made, made.estimate(np.array([3, 9])), 9, projected=True)
