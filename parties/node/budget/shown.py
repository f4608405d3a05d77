"""Budget accounts and prices as an operator sees them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from parties.jobs.spending import Loss, PureLoss, exact
from parties.node.budget.account import WINDOWS, Account, Charge, Limits, Numbers
from parties.node.budget.bits import BitsAccount
from parties.node.budget.composition import Composition, advanced, epsilon_of
from parties.operator.budget import ChargeView, LeftFor, PeerSpent, Price, Simulation, TableBits, TableBudget, Totals

MOST_JOBS = 500  # listed at most, the last ones
MOST_POINTS = 400  # drawn at most
MOST_TIMES = 10_000  # largest number of questions that is shown to fit
QUESTIONS = (  # examples of jobs for a budget, each with a typical epsilon
    ("noisy count", 0.1),
    ("mean", 0.5),
    ("decision tree", 1.0),
    ("synthetic table", 2.0),
)


def price(account: Account, uses: Sequence[Loss]) -> Price:
    """Return the price of a job on a table.

    Args:
        account: The table's account.
        uses: The job's uses of noisy mechanisms.
    """
    loss = account.loss_of(uses)
    return Price(
        epsilon=_finite(account.epsilon(loss)) or 0.0,
        at=0.0 if loss.is_pure else account.delta,
        rho=float(loss.concentrated),
        delta=float(loss.delta),
        adjacency=", ".join(sorted({use.adjacency for use in uses})),
        uses=[words(use) for use in uses],
    )


def with_effect(known: Price, limits: Limits, uses: Sequence[Loss], approved: Limits, jobs: int) -> Price:
    """Return the price with the remaining budget; unchanged if it is charged already or there is no bound.

    Args:
        known: The price without the remaining budget.
        limits: The job's limits now.
        uses: The job's privacy losses.
        approved: The limits once all other approved jobs are charged.
        jobs: Number of those jobs.
    """
    if limits.budget is None or known.charged_at is not None or known.repeats:
        return known
    after = approved.with_uses(uses)
    changes = {"left": limits.left, "after": after.left, "enough_for": enough_for(after), "approved": jobs}
    changes["fits"] = limits.fits(uses) and approved.fits(uses)
    of_share, of_table = parts(limits)
    return known.model_copy(update=changes | {"of_share": of_share, "of_table": of_table})


def parts(limits: Limits) -> tuple[float | None, float | None]:
    """Return the budget left to this peer, and to the whole table; None for no bound.

    The table's budget is also None if it is smaller than the peer's share, but does not limit this peer's jobs.
    """
    share, table = limits.share.left, limits.table.left
    is_known = share is not None and table is not None and (limits.is_table_binding or table >= share)
    return share, table if is_known else None


def enough_for(account: Account | Limits) -> list[LeftFor]:
    """Return how often each of `QUESTIONS` fits into the remaining budget on its own; empty without a bound."""
    budget = account.budget
    if budget is None:
        return []

    def times(epsilon: float) -> int:
        def fits(number: int) -> bool:
            return account.fits((PureLoss("", exact(epsilon), adjacency=budget.adjacency, times=number),))

        return bisect_left(range(1, MOST_TIMES + 1), True, key=lambda number: not fits(number))

    return [LeftFor(what=what, epsilon=epsilon, times=times(epsilon)) for what, epsilon in QUESTIONS]


def simulation(limits: Limits, uses: Sequence[Loss], later: Limits, why: str, earlier: str, exact: bool) -> Simulation:
    """Return a job's effect on a table's budget, with the numbers of the account that decides.

    Args:
        limits: The job's limits now.
        uses: The job's privacy losses.
        later: The limits once all other approved jobs are charged, from which the remainder is computed.
        why: Reason for which the job would be refused; empty if it would not.
        earlier: Identifier of the earlier job that answers it; empty if there is none.
        exact: Whether the job opens exact answers.
    """
    account = limits.deciding(uses)
    computed = account.numbers(uses)
    numbers = computed or Numbers("epsilon", account.spent, account.epsilon(account.loss_of(uses)), math.inf)
    after = None if computed is None or why else _after(later, uses)
    of_share, of_table = parts(limits) if numbers.unit == "epsilon" else (None, None)
    return Simulation(
        table=account.table,
        unit=numbers.unit,
        spent=_finite(numbers.spent),
        asked=_finite(numbers.asked),
        left=_finite(numbers.left),
        after=after,
        refused=bool(why),
        why=why,
        earlier=earlier,
        exact=exact,
        price=price(account, uses) if uses else None,
        enough_for=[] if why else enough_for(later.with_uses(uses)),
        of_share=of_share,
        of_table=of_table,
    )


def _after(limits: Limits, uses: Sequence[Loss]) -> float | None:
    """Return the remainder after a job that fits, in the unit of its check: the least of the binding accounts'."""
    judged = [numbers for account in limits.binding if (numbers := account.numbers(uses)) is not None]
    if any(numbers.unit == "epsilon" for numbers in judged):
        return limits.with_uses(uses).left
    return min((numbers.left - numbers.asked for numbers in judged), default=None)


def words(use: Loss) -> str:
    """Return a privacy loss as a phrase: mechanism, amount, and how often it is used."""
    delta = f", delta {float(use.delta):.3g}" if use.delta else ""
    times = f", {use.times} times" if use.times > 1 else ""
    return f"{use.mechanism}: {use.measure} {float(use.amount):.4g}{delta}{times}"


def table_budget(account: Account, limits: Mapping[str, Limits] = MappingProxyType({}), group: int = 1) -> TableBudget:
    """Return the view of a table's account: its budget, charges, remaining parts and prices.

    Args:
        account: The table's account.
        limits: Limits of the peers that have a share, by name.
        group: Number of rows, or people, that prices are for.
    """
    budget, charges, priced = account.budget, account.charges, account.of_group(group)
    peers = sorted({charge.peer for charge in account.counted} | limits.keys())
    return TableBudget(
        table=account.table,
        budget=None if budget is None else budget.epsilon,
        delta=0.0 if budget is None else budget.delta,
        per="ever" if budget is None else budget.per,
        adjacency="add-remove" if budget is None else budget.adjacency,
        group=group,
        people=bool(account.person),
        fixed_delta=account.delta,
        spent=_finite(account.spent),
        left=account.left,
        now=_totals(priced, priced.loss),
        ever=_totals(priced, priced.composed(charges)),
        peers=[_peer_spent(priced, peer, limits.get(peer)) for peer in peers],
        jobs=[_charge_view(priced, charge) for charge in reversed(charges[-MOST_JOBS:])],
        history=_history(account),
        enough_for=enough_for(account),
    )


def table_bits(account: BitsAccount) -> TableBits:
    """Return the bits that exact answers have opened of a table."""
    peers: Counter[str] = Counter()
    for charge in account.counted:
        peers[charge.peer] += charge.bits
    return TableBits(
        spent=account.spent,
        ever=account.ever,
        bound=account.bound,
        left=account.left,
        peers=dict(sorted(peers.items())),
    )


def _peer_spent(account: Account, peer: str, limits: Limits | None) -> PeerSpent:
    loss = account.composed(charge for charge in account.counted if charge.peer == peer)
    return PeerSpent(peer=peer, totals=_totals(account, loss), left=None if limits is None else limits.left)


def _charge_view(account: Account, charge: Charge) -> ChargeView:
    loss = account.composed([charge])
    return ChargeView(
        job=charge.job,
        at=_moment(charge.at),
        peer=charge.peer,
        epsilon=_finite(account.epsilon(loss)),
        rho=float(loss.concentrated),
        delta=float(loss.delta),
        uses=[words(use) for use in charge.uses],
        counts=account.counts(charge, account.at),
    )


def _totals(account: Account, loss: Composition) -> Totals:
    delta = exact(account.delta)
    return Totals(
        epsilon=float(loss.epsilon) if loss.is_pure else None,
        delta=float(loss.delta),
        rho=float(loss.concentrated),
        at_delta=_finite(epsilon_of(loss, delta - loss.delta)),
        advanced=_finite(advanced(loss, delta - loss.delta)),
    )


def _history(account: Account) -> list[tuple[str, float]]:
    """Return the spent epsilon after each charge, and after each charge that left the window: the last such points."""
    days = None if account.budget is None else WINDOWS.get(account.budget.per)
    changes = []
    for charge in account.charges:
        loss = account.composed([charge])
        changes.append((charge.at, loss))
        if days is not None:
            changes.append((charge.at + timedelta(days=days), -1 * loss))
    losses: dict[datetime, Composition] = {}
    running = Composition()
    for at, loss in sorted(changes, key=lambda change: change[0]):
        running += loss
        losses[at] = running
    last = [(at, loss) for at, loss in losses.items() if at <= account.at][-MOST_POINTS:]
    return [(_moment(at), spent) for at, loss in last if (spent := _finite(account.epsilon(loss))) is not None]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
