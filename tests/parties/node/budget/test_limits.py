"""What an approver sees of a budget is what there is: the lesser of the peer's share and the whole table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.jobs.kind import Bits, Disclosure
from parties.jobs.spending import ConcentratedLoss, Loss, PureLoss, exact
from parties.node.acts.accounts import Accounts
from parties.node.budget import shown
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.sources.settings import BudgetSettings

PEERS = ("bob", "carol")
EPSILONS = st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 1.0])


class World:
    """The accounts of a table `t`, and what jobs have charged; `shares` by peer, the others left the file."""

    def __init__(self, budget: BudgetSettings, shares: dict[str, float]) -> None:
        self.charges: list[Charge] = []
        self.bits: list[BitsCharge] = []
        settings = SimpleNamespace(budget=budget, person=None, max_rows=100, same_rows_as=None, source=None)
        offers = SimpleNamespace(tables={"t": SimpleNamespace(settings=settings)}, version=lambda _: "")
        self.open: list[Any] = []
        jobs = SimpleNamespace(starts=list, charges=lambda *_: self.charges, bits=lambda *_: self.bits)
        jobs.last = lambda _, states: self.open
        accounts = Accounts.__new__(Accounts)  # its groups of names need tables of a file
        accounts._offers, accounts._jobs = cast("Any", offers), cast("Any", jobs)
        accounts._spendings = cast("Any", jobs)
        accounts._peers = cast("Any", _Peers(shares))
        accounts._clock, accounts._groups = cast("Any", SimpleNamespace(now=lambda: NOW)), {}
        self.accounts = accounts

    def spend(self, peer: str, *uses: Loss) -> None:
        at = NOW - timedelta(days=1)
        self.charges.append(Charge(at, "t", peer, f"{len(self.charges):032x}", uses))


class _Peers(dict[str, Any]):
    def __init__(self, shares: dict[str, float]) -> None:
        super().__init__({name: SimpleNamespace(peer_name=name, share=share) for name, share in shares.items()})

    def __iter__(self) -> Any:
        return iter(self.values())


NOW = datetime(2026, 3, 1, tzinfo=UTC)


def job(peer: str, *uses: Loss, bits: int = 0) -> Any:
    disclosure = Disclosure(lambda _: [], dict, Bits.once(bits), uses)
    task = SimpleNamespace(disclosure=disclosure)
    proposal = SimpleNamespace(task=task, id="1" * 32, tables=("t", "t"), specification={}, holding=None)
    known = {"id": "1" * 32, "table": "t", "peer": peer, "charged": None, "bits": (), "repeats": "", "version": ""}
    ours = SimpleNamespace(proposal=proposal, verdict="")
    return SimpleNamespace(ours=ours, proposal=proposal, task=task, gives=True, **known)


def pure(epsilon: float) -> Loss:
    return PureLoss("discrete Laplace", exact(epsilon))


def effect(world: World, asked: Any) -> Any:
    price = shown.price(world.accounts.account("t"), asked.task.disclosure.spends)
    return world.accounts.effect(asked, price)


def test_the_operator_sees_what_a_peer_that_left_has_spent() -> None:
    """Dave left the file with 0.9 of 1 spent: of bob's share 0.3 are left, of the table 0.1."""
    world = World(BudgetSettings(epsilon=1), {"bob": 0.3, "carol": 0.7})
    world.spend("dave", pure(0.9))
    fits, does_not = job("bob", pure(0.05)), job("bob", pure(0.2))
    price = effect(world, fits)
    assert (price.left, price.after) == (pytest.approx(0.1), pytest.approx(0.05))
    assert "epsilon 0.1 is left to the peer (0.3 of its share, 0.1 of the table), after it 0.05" in price.effect
    refusal = world.accounts.refusal(does_not)
    assert refusal
    simulated = world.accounts.simulated(does_not, refusal)
    assert (simulated.left, simulated.of_share, simulated.of_table) == pytest.approx((0.1, 0.3, 0.1))
    limits = {name: world.accounts.limits("t", name) for name in PEERS}
    table = shown.table_budget(world.accounts.account("t"), limits)
    assert [(one.peer, one.left) for one in table.peers if one.peer != "dave"] == [
        ("bob", pytest.approx(0.1)),
        ("carol", pytest.approx(0.1)),
    ]


def test_a_share_within_the_table_is_named_beside_it() -> None:
    world = World(BudgetSettings(epsilon=1), {"bob": 0.5, "carol": 0.5})
    world.spend("carol", pure(0.3))
    price = effect(world, job("bob", pure(0.2)))
    assert "epsilon 0.5 is left to the peer (0.5 of its share, 0.7 of the table), after it 0.3" in price.effect
    only = World(BudgetSettings(epsilon=1), {"bob": 1.0})
    assert "of the table's budget epsilon 1 is left, after it 0.8" in effect(only, job("bob", pure(0.2))).effect


def test_what_is_left_counts_jobs_that_are_approved_already() -> None:
    """Two jobs approved one after the other: the second consent has the first in it, and a repetition costs nothing."""
    world = World(BudgetSettings(epsilon=1), {"bob": 0.5, "carol": 0.5})
    world.accounts.earlier = lambda job: job.repeats  # type: ignore[method-assign, assignment, return-value]
    asked = job("bob", pure(0.1))
    world.open = [approved("bob", 1, pure(0.15)), approved("carol", 2, pure(0.2)), approved("bob", 3)]
    world.open += [approved("bob", 4, pure(0.3), repeats="5" * 32), asked]
    price = effect(world, asked)
    assert (price.left, price.after, price.approved) == (pytest.approx(0.5), pytest.approx(0.25), 2)
    assert "after it and 2 approved jobs 0.25" in price.effect
    world.spend("dave", pure(0.6))  # who left the file: now the whole table binds
    together = effect(world, asked)
    assert (together.after, together.fits) == (0, False)
    assert together.effect.endswith("and the job does not fit beside 2 approved before it")
    alone = effect(world, job("bob", pure(0.45)))
    assert not alone.fits
    world.open = []
    assert effect(world, job("bob", pure(0.45))).effect.endswith("and the job does not fit")


def approved(peer: str, number: int, *uses: Loss, repeats: str = "") -> Any:
    found = job(peer, *uses)
    found.id, found.repeats, found.ours.verdict = f"{number:032x}", repeats, "approved"
    return found


def test_bits_are_the_lesser_too() -> None:
    world = World(BudgetSettings(epsilon=1, bits=100), {"bob": 0.5, "carol": 0.5})
    world.bits.append(BitsCharge(NOW, "t", "dave", "2" * 32, 0, 80))
    exposure = world.accounts.exposure_now(job("bob", bits=10))
    assert exposure is not None
    assert (exposure.left, exposure.of_share, exposure.of_table) == (20, 50, 20)
    assert "20 are left here (50 of its share, 20 of the table)" in exposure.words
    for bits, fits in ((20, True), (21, False)):
        assert world.accounts.bits_fit(job("bob"), bits, ()) is fits


@st.composite
def _jobs(draw: st.DrawFn) -> tuple[World, list[tuple[str, Loss]]]:
    share = draw(st.sampled_from([0.1, 0.3, 0.5, 0.7]))
    delta = draw(st.sampled_from([0.0, 1e-6]))
    world = World(BudgetSettings(epsilon=1, delta=delta), {"bob": share, "carol": 1 - share})
    for peer in draw(st.lists(st.sampled_from([*PEERS, "dave"]), max_size=4)):
        world.spend(peer, pure(draw(EPSILONS)))
    rho = st.sampled_from([0.001, 0.01, 0.03]).map(lambda rho: ConcentratedLoss("discrete Gaussian", exact(rho)))
    uses = EPSILONS.map(pure) | rho
    return world, draw(st.lists(st.tuples(st.sampled_from(PEERS), uses), min_size=1, max_size=6))


@given(_jobs())
def test_after_an_approval_as_much_is_left_as_consent_said(case: tuple[World, list[tuple[str, Loss]]]) -> None:
    """By price, simulation and the list of budgets alike; and what is left fits, and no more does."""
    world, jobs = case
    accounts = world.accounts
    for peer, use in jobs:
        asked = job(peer, use)
        refusal, price = accounts.refusal(asked), effect(world, asked)
        simulated = accounts.simulated(asked, refusal)
        left = price.left
        assert left == accounts.limits("t", peer).left
        for epsilon in (left * 1.01 + 1e-6, *([left * 0.99] if left else [])):
            assert bool(accounts.refusal(job(peer, pure(epsilon)))) is (epsilon > left)
        if simulated.unit == "epsilon":
            assert simulated.left == left
        assert (simulated.asked > simulated.left + 1e-9) is bool(refusal), "its numbers are those of the decision"
        if refusal:
            continue
        world.spend(peer, use)
        limits = accounts.limits("t", peer)
        assert limits.left == pytest.approx(price.after, abs=1e-12)
        again = accounts.simulated(asked, "")
        assert again.left == pytest.approx(simulated.after, abs=1e-12)
        table = shown.table_budget(accounts.account("t"), {peer: limits})
        assert next(one.left for one in table.peers if one.peer == peer) == limits.left
