"""A table's account: windows that slide, two bounds, three numbers; OpenDP's privacy filter beside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp import combinators, domains, measurements, measures, metrics, mod
from pydantic import ValidationError

from parties.jobs.spending import ConcentratedLoss, Loss, PureLoss, exact
from parties.node.budget.account import Account, Charge
from parties.sources.settings import BudgetSettings, TableSettings

mod.enable_features("contrib", "honest-but-curious")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FOUR = BudgetSettings(epsilon=4, delta=1e-7, per="year")


def charge(epsilon: float = 0.0, days: float = 1, job: str = "ab" * 16, table: str = "patients", **more: Any) -> Charge:
    return booked(PureLoss("count", exact(epsilon), **more), days, job, table)


def booked(loss: Loss, days: float = 1, job: str = "ab" * 16, table: str = "patients") -> Charge:
    return Charge(NOW - timedelta(days=days), table, "clinic-b", job, (loss,))


def account(*charges: Charge, budget: BudgetSettings | None = FOUR, **more: Any) -> Account:
    return Account("patients", budget, charges, NOW, **more)


def test_three_numbers_of_a_job_that_does_not_fit() -> None:
    found = account(charge(3.0), charge(0.6, 2)).refusal([PureLoss("count", exact(0.5))])
    assert found == (
        "the privacy budget of table 'patients' (epsilon 4 per year at delta 1e-07) does not allow the job: "
        "spent epsilon 3.6, asked 0.5, left 0.4"
    )
    assert account(charge(3.0), charge(0.6, 2)).refusal([PureLoss("count", exact(0.4))]) is None


def test_many_small_questions_cost_less_than_their_sum() -> None:
    """By rho: 120 questions of 0.05 come to 6 in sequence, and fit into 4 at delta 1e-7."""
    many = [charge(0.05, job=f"{number:032x}") for number in range(120)]
    found = account(*many)
    assert float(found.loss.epsilon) == 6
    assert found.spent < 4
    assert found.fits([PureLoss("count", exact(0.01))])
    pure = account(*many, budget=BudgetSettings(epsilon=4))
    assert pure.spent == 6
    assert not pure.fits([PureLoss("count", exact(0.01))])
    assert pure.left == 0


def test_thirds_fit_where_their_sum_does() -> None:
    """A level of a tree has a third of 0.35, which is written as a little more."""
    levels = [PureLoss("level", exact(0.35 / 3), times=3), PureLoss("leaf", exact(0.35))]
    assert account(charge(3.3)).fits(levels)
    assert not account(charge(3.3)).fits([*levels, PureLoss("count", exact(1e-9))])


def test_a_window_slides() -> None:
    old, young = charge(3.0, 365), charge(3.0, 364.9)
    assert account(old).spent == 0
    assert account(young).spent == 3
    assert account(old, young, budget=BudgetSettings(epsilon=4, per="ever")).spent == 6
    for per, spent in (("week", 0), ("month", 1)):
        assert account(charge(1.0, 7.5), budget=BudgetSettings(epsilon=4, per=per)).spent == spent


def test_a_clock_that_was_put_back_gives_nothing_back() -> None:
    assert account(charge(3.0, -400)).spent == 3


def test_a_budget_for_replacements_counts_a_row_more_or_less_twice() -> None:
    kept = BudgetSettings(epsilon=4, adjacency="replace")
    assert account(charge(1.5), budget=kept).spent == 3
    assert account(charge(1.5, adjacency="replace"), budget=kept).spent == 1.5
    assert account(charge(1.5), budget=kept).fits([PureLoss("count", exact(0.5))])
    assert not account(charge(1.5), budget=kept).fits([PureLoss("count", exact(0.6))])


def test_other_tables_have_their_own() -> None:
    assert account(charge(3.0, table="visits")).spent == 0


def test_rho_and_delta_have_numbers_of_their_own() -> None:
    gaussian = [ConcentratedLoss("sum", exact(0.2))]
    numbers = account(booked(ConcentratedLoss("sum", exact(0.2)))).numbers(gaussian)
    assert numbers is not None
    assert (numbers.unit, numbers.spent, numbers.asked) == ("rho", 0.2, 0.2)
    assert 0.06 < numbers.left < 0.07
    refusal = account(budget=BudgetSettings(epsilon=4)).refusal([PureLoss("count", exact(1.0), delta=exact(1e-12))])
    assert refusal is not None
    assert "spent delta 0, asked 1e-12, left 0" in refusal
    assert not account(budget=BudgetSettings(epsilon=4)).fits(gaussian), "without delta there is no Gaussian noise"


def test_deltas_of_their_own_have_a_part_that_is_fixed_before() -> None:
    """What rho may be spent does not depend on how much of that part was: nothing is won by a choice between them."""
    apart = FOUR.model_copy(update={"apart": 4e-8})
    alone = account(budget=FOUR.model_copy(update={"delta": 6e-8}))
    count = [PureLoss("count", exact(0.01), delta=exact(1e-8))]
    gaussian = [ConcentratedLoss("sum", exact(0.2))]
    room = alone.numbers(gaussian)
    assert room is not None
    found = account(budget=apart)
    for number in range(4):
        assert found.fits(count), number
        rho = found.numbers(gaussian)
        assert rho is not None
        assert rho.spent + rho.left == pytest.approx(room.left)
        found = found.with_uses(count)
    refusal = found.refusal(count)
    assert refusal is not None
    assert "spent delta 4e-08, asked 1e-08, left 0" in refusal
    assert found.fits([PureLoss("count", exact(0.01))])
    assert found.fits(gaussian)
    assert not account(budget=FOUR).fits(count)


def test_deltas_that_were_spent_before_there_was_a_part_are_taken_from_the_rest() -> None:
    gaussian = [ConcentratedLoss("sum", exact(0.2))]
    before = account(charge(0.01, delta=exact(9e-8)))
    as_if = account(charge(0.01), budget=FOUR.model_copy(update={"delta": 1e-8}))
    assert before.fits(gaussian) == as_if.fits(gaussian)
    assert not account(charge(0.01, delta=exact(1e-7))).fits(gaussian)


def test_a_synthesis_and_a_count_leave_most_of_ten() -> None:
    ten, count = BudgetSettings(epsilon=10, delta=1e-6), [PureLoss("count", exact(1.5))]
    synthesis = booked(ConcentratedLoss("marginals", exact(0.04136)))
    found = account(synthesis, charge(1.5, 2), budget=ten)
    assert found.spent == pytest.approx(account(synthesis, budget=ten).spent + 1.5, abs=0.02)
    assert found.spent == pytest.approx(2.816, abs=0.001)
    assert found.left is not None
    assert found.left > 3
    assert found.fits([PureLoss("count", exact(found.left * 0.999))])
    assert not found.fits([PureLoss("count", exact(found.left * 1.001))])
    assert found.fits(2 * count)
    numbers = found.numbers([ConcentratedLoss("sum", exact(0.1))])
    assert numbers is not None
    assert found.fits([ConcentratedLoss("sum", exact(numbers.left * 0.999))])
    assert not found.fits([ConcentratedLoss("sum", exact(numbers.left * 1.001))])


def test_of_a_budget_that_rho_has_nearly_spent_next_to_nothing_is_left() -> None:
    found = account(booked(ConcentratedLoss("sum", exact(0.26))))
    assert found.left is not None
    assert 0.1 < found.left < 0.5
    assert found.fits([PureLoss("count", exact(found.left * 0.999))])
    assert not found.fits([PureLoss("count", exact(found.left * 1.001))])


def test_without_a_budget_all_fits_and_is_kept() -> None:
    free = account(charge(30.0), budget=None)
    assert free.fits([PureLoss("count", exact(100.0))])
    assert free.refusal([PureLoss("count", exact(100.0))]) is None
    assert (free.spent, free.left) == (30, None)
    assert free.delta == 1e-6
    assert free.delta * 65535 <= 0.1 < 10 * free.delta * 65535


def test_a_family_of_four_pays_four_times() -> None:
    assert account(charge(0.5), budget=None, group=4).spent == 2


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40).map(lambda n: n / 16), min_size=1, max_size=10))
def test_whoever_is_admitted_is_so_by_opendps_filter(asked: list[float]) -> None:
    """Sixteenths are exact as doubles, so the two agree up to the first question that is refused.

    OpenDP's filter refuses all that come after it; here a smaller one still fits.
    """
    space = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")
    measure = measures.max_divergence()
    odometer = combinators.make_fully_adaptive_composition(*space, measure)
    theirs = combinators.make_privacy_filter(odometer, d_in=1, d_out=4.0)(1)
    ours: list[Charge] = []
    budget = BudgetSettings(epsilon=4)
    for epsilon in asked:
        one = measurements.make_user_measurement(
            *space, measure, lambda _: 0, lambda rows, loss=epsilon: loss * rows, TO="i32"
        )
        try:
            theirs(one)
            admitted = True
        except mod.OpenDPException:
            admitted = False
        assert account(*ours, budget=budget).fits([PureLoss("count", exact(epsilon))]) == admitted
        if not admitted:
            return
        ours.append(charge(epsilon, job=f"{len(ours):032x}"))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epsilon": 0}, "greater than 0"),
        ({"epsilon": -1}, "greater than 0"),
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": float("inf")}, "finite"),
        ({"epsilon": "4"}, "valid number"),
        ({}, "required"),
        ({"epsilon": 1, "delta": 1}, "less than 1"),
        ({"epsilon": 1, "delta": -1e-9}, "greater than or equal to 0"),
        ({"epsilon": 1, "delta": 1e-9, "apart": 2e-9}, "apart: must be at most delta, 1e-09"),
        ({"epsilon": 1, "per": "years"}, "'year'"),
    ],
)
def test_budgets_that_are_none(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        BudgetSettings(**fields)


@pytest.mark.parametrize(("delta", "rows", "good"), [(1e-7, 65535, True), (1 / 65535, 65535, False), (0.1, 9, True)])
def test_a_delta_that_would_publish_rows(delta: float, rows: int, good: bool) -> None:
    fields = {"source": "a.csv", "schema": "s.toml", "max_rows": rows, "budget": {"epsilon": 1, "delta": delta}}
    if good:
        assert TableSettings.model_validate(fields).budget is not None
        return
    with pytest.raises(ValidationError, match=r"budget\.delta: .* is too large"):
        TableSettings.model_validate(fields)


@pytest.mark.parametrize(("delta", "apart"), [(0.0, 0.0), (1e-6, 1e-6)])
def test_without_a_delta_to_convert_with_nothing_in_rho_fits(delta: float, apart: float) -> None:
    """And its refusal has numbers, whether or not anything was spent before: a pure loss as rho is half its square."""
    budget = BudgetSettings(epsilon=4, delta=delta, apart=apart)
    question = [ConcentratedLoss("gauss", exact(0.001))]
    for charges, spent in (((), "0"), ((charge(0.5),), "0.125")):
        found = account(*charges, budget=budget)
        assert not found.fits(question)
        assert str(found.refusal(question)).endswith(f"spent rho {spent}, asked 0.001, left 0")
