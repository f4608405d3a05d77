"""Accounts as an operator sees them: totals in every term, by peer and job, and over time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from parties.jobs.spending import ConcentratedLoss, PureLoss, exact
from parties.node.budget import shown
from parties.node.budget.account import Account, Charge
from parties.node.budget.composition import epsilon_at
from parties.sources.settings import BudgetSettings
from tests.support.budgets import account

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
    family = shown.table_budget(account(now=NOW, group=4))
    assert family.now.epsilon == 9
    assert family.now.rho == 16 * found.now.rho


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
    found = shown.simulation(known, uses, why, "", False)
    assert (found.unit, found.spent, found.asked, found.left) == ("epsilon", 2.25, epsilon, 1.75)
    assert found.refused == refused
    assert found.after == (None if after is None else pytest.approx(after))
    assert len(known.charges) == 4, "nothing is changed"


def test_a_job_without_noise_asks_for_nothing() -> None:
    found = shown.simulation(account("visits", None), (), "", "", True)
    assert (found.asked, found.left, found.price, found.exact) == (0, None, None, True)
