"""Accounts as an operator sees them: totals in every term, by peer and job, and over time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from parties.jobs.spending import ConcentratedLoss, PureLoss, exact
from parties.node.budget import shown
from parties.node.budget.account import Account, Charge
from parties.node.budget.composition import epsilon_at
from parties.operator.budget import enough_for
from parties.sources.settings import BudgetSettings
from tests.support.budgets import account, alone

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_totals_by_table_peer_and_job() -> None:
    found = shown.table_budget(account(now=NOW))
    assert (found.budget, found.spent, found.left) == (4, 2.25, 1.75)
    assert (found.now.epsilon, found.ever.epsilon) == (2.25, 3.25)
    assert found.now.delta == 1e-12
    assert found.now.rho == (4 * 0.25**2 + 0.5**2 + 0.75**2) / 2
    assert found.now.at_delta is not None
    assert found.now.advanced is not None
    assert found.now.at_delta < found.now.advanced
    (peer,) = found.peers
    assert (peer.peer, peer.totals) == ("university", found.now)
    assert [(job.epsilon, job.counts) for job in found.jobs] == [(0.75, True), (0.5, True), (1, True), (1, False)]


def test_over_time_charges_come_and_go() -> None:
    found = shown.table_budget(account(now=NOW))
    assert [spent for _, spent in found.history] == [1, 2, 2.5, 1.5, 2.25]
    assert found.history[3][0] == "2026-01-25T00:00:00+00:00", "a year after the first"


def test_a_group_has_a_price_of_its_own_and_the_budget_of_one() -> None:
    known = account(now=NOW)
    found, family = (shown.table_budget(known, {"university": alone(known)}, group) for group in (1, 4))
    assert (family.now.epsilon, family.now.rho) == (9, 16 * found.now.rho)
    assert [job.epsilon for job in family.jobs] == [3, 2, 4, 4]
    alike = ("budget", "spent", "left", "enough_for", "history")
    assert [getattr(family, name) for name in alike] == [getattr(found, name) for name in alike]
    (one,), (four,) = found.peers, family.peers
    assert (four.left, four.totals) == (one.left, family.now)


def test_gaussian_noise_is_told_at_a_delta() -> None:
    use = ConcentratedLoss("discrete Gaussian", exact(0.05))
    charges = [Charge(NOW - timedelta(days=1), "patients", "b", "ab" * 16, (use,))]
    found = Account("patients", BudgetSettings(epsilon=4, delta=1e-7), charges, NOW)
    price, table = shown.price(found, [use]), shown.table_budget(found)
    assert (price.at, price.rho) == (1e-7, 0.05)
    assert price.epsilon == table.spent == epsilon_at(found.loss.concentrated, shown.exact(1e-7))
    assert (table.now.epsilon, table.now.advanced) == (None, None)
    assert table.left is not None
    assert 0 < table.left < 4 - price.epsilon + 1


@pytest.mark.parametrize(("epsilon", "refused", "after"), [(1.0, False, 0.75), (1.75, False, 0), (2.0, True, None)])
def test_a_simulation_has_the_numbers_of_the_decision(epsilon: float, refused: bool, after: float | None) -> None:
    known, uses = account(now=NOW), (PureLoss("discrete Laplace", exact(epsilon)),)
    why = known.refusal(uses) or ""
    found = shown.simulation(alone(known), uses, alone(known), why, "", False)
    assert (found.unit, found.spent, found.asked, found.left) == ("epsilon", 2.25, epsilon, 1.75)
    assert found.refused == refused
    assert found.after == (None if after is None else pytest.approx(after))
    assert len(known.charges) == 4, "nothing is changed"


def test_a_simulation_in_rho_leaves_what_is_not_asked() -> None:
    known = Account("patients", BudgetSettings(epsilon=4, delta=1e-7), [], NOW)
    uses = [ConcentratedLoss("discrete Gaussian", exact(0.05))]
    found = shown.simulation(alone(known), uses, alone(known), "", "", False)
    assert (found.unit, found.spent, found.asked) == ("rho", 0, 0.05)
    assert found.left is not None
    assert found.after == pytest.approx(found.left - 0.05)


def test_what_has_no_budget_has_no_delta() -> None:
    found = shown.table_budget(account("visits", None))
    assert (found.budget, found.delta, found.left) == (None, 0, None)


def test_a_job_without_noise_asks_for_nothing() -> None:
    of_table = alone(account("visits", None))
    found = shown.simulation(of_table, (), of_table, "", "", True)
    assert (found.asked, found.left, found.price, found.exact) == (0, None, None, True)


def test_what_is_left_is_told_by_questions() -> None:
    """Of pure losses, sums; a budget with a delta is enough for more by zero-concentrated composition."""
    found = shown.table_budget(account(now=NOW))  # left 1.75
    assert [(left.what, left.times) for left in found.enough_for] == [
        ("noisy count", 17),
        ("mean", 3),
        ("decision tree", 1),
        ("synthetic table", 0),
    ]
    assert enough_for(found.enough_for) == (
        "17 noisy counts of epsilon 0.1 or 3 means of epsilon 0.5 or 1 decision tree of epsilon 1"
    )
    fresh = Account("t", BudgetSettings(epsilon=1, delta=1e-6), [], NOW)
    counts = shown.enough_for(fresh)[0]
    more, less = (tuple([PureLoss("count", exact(0.1))] * n) for n in (counts.times + 1, counts.times))
    assert fresh.fits(less)
    assert not fresh.fits(more)
    assert shown.enough_for(Account("t", None, [], NOW)) == []


def test_a_price_tells_what_it_leaves_until_it_is_spent() -> None:
    of_table, uses = account(now=NOW), (PureLoss("tree", exact(1.5)),)
    price = shown.price(of_table, uses)
    effect = shown.with_effect(price, alone(of_table), uses, alone(of_table), 0)
    assert (effect.left, effect.after) == (1.75, 0.25)
    assert "epsilon 1.75 is left, after it 0.25, enough for 2 noisy counts of epsilon 0.1" in effect.effect
    spent = price.model_copy(update={"charged_at": "2026-03-01T00:00:00+00:00"})
    assert shown.with_effect(spent, alone(of_table), uses, alone(of_table), 0).effect == ""
    boundless = alone(Account("t", None, [], NOW))
    assert shown.with_effect(price, boundless, uses, boundless, 0).effect == ""
