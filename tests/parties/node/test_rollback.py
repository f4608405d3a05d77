"""Budgets never go back: what may have been spent by jobs that a rollback has taken is charged when it is accepted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parties.jobs.spending import ConcentratedLoss, PureLoss, exact
from parties.link.identity import Identity
from parties.node import published
from parties.node.rollback import charge
from parties.sources.settings import BudgetSettings
from smc.errors import InputError
from tests.support.ledgers import Pair, Party, agreed
from tests.support.registry import registered

BUDGET = BudgetSettings(epsilon=2, delta=1e-6, per="year", bits=500)


def accept(party: Party, lost: float | None = None, bits: int | None = None, delta: float | None = None) -> None:
    """As the command does, beside the node."""
    found = [entry.fields for entry in party.ledger._journal._log.of_kind("rolled back")]
    log = party.ledger._journal._log
    tables = {name: offer.settings for name, offer in party.offers.tables.items()}
    with party.connection:
        for fields in found:
            log.append("rollback accepted", None, fields)
        charge(log, party.who, tables, lost, bits, delta)


@pytest.fixture
def back(pair: Pair) -> Pair:
    """Alice, whose copy from before she spent 1.5 of 2 was put back; bob has her signature under what is lost."""
    alice, bob = pair.parties
    for party in pair.parties:
        party.budget = BUDGET
        party.crash()
    old = alice.path.with_suffix(".old")
    alice.connection.close()
    shutil.copy(alice.path, old)
    alice.open()
    with registered(("noisy", "tests.support.noisy:Noisy")):
        job = alice.ledger.propose({"protocol": "noisy", "table": "days", "epsilon": 1.5}).id
        pair.deliver()
        bob.ledger.decide(job, "approved")
        pair.deliver()
        alice.begin(job)
        alice.ledger.met(job, 0, "yao")
        alice.opens(job)
        assert alice.ledger.accounts.share("days", "bob").left == pytest.approx(0.5)
        bob.ledger.hold("alice", alice.ledger.shown("bob"))
    alice.connection.close()
    for file in alice.path.parent.glob("node.sqlite*"):
        if file != old:
            file.unlink()
    shutil.copy(old, alice.path)
    alice.open()
    assert alice.ledger.accounts.share("days", "bob").left == 2
    return pair


def meet(pair: Pair) -> bool:
    alice, bob = pair.parties
    return alice.ledger.lost("bob", bob.ledger.shown("alice")).accepted


def test_all_of_the_peers_share_is_charged(back: Pair, tmp_path: Path) -> None:
    """By a command, while the node runs; and so after it is started anew."""
    alice = back.parties[0]
    assert not meet(back)
    accept(alice)
    assert meet(back)
    for _ in range(2):
        account, bits = alice.ledger.accounts.share("days", "bob"), alice.ledger.accounts.bits("days", "bob")
        assert (account.spent, account.left) == (2, 0)
        assert (bits.spent, bits.left) == (500, 0)
        entry = published.entry("alice", "smc", alice.ledger.accounts, alice.ledger.released())
        assert [one["protocol"] for one in entry["tables"][0]["releases"]] == ["rollback"]
        alice.ledger.check(tmp_path / "log.json")
        alice.crash()
    with registered(("noisy", "tests.support.noisy:Noisy")), pytest.raises(InputError, match="privacy budget"):
        alice.ledger.propose({"protocol": "noisy", "table": "days", "epsilon": 0.01})


def test_who_knows_better_says_so(back: Pair) -> None:
    alice = back.parties[0]
    meet(back)
    accept(alice, 1.5, 0)
    assert meet(back)
    assert alice.ledger.accounts.share("days", "bob").left == pytest.approx(0.5)
    assert alice.ledger.accounts.bits("days", "bob").left == 500


@pytest.mark.parametrize(("lost", "delta", "fits"), [(0.5, None, False), (0.5, 1e-7, True), (0.0, None, True)])
def test_an_epsilon_alone_leaves_no_delta(back: Pair, lost: float, delta: float | None, fits: bool) -> None:
    """What is lost may have had Gaussian noise: nothing with it fits any more, unless the delta is said, too."""
    alice = back.parties[0]
    meet(back)
    accept(alice, lost, 0, delta)
    assert meet(back)
    for account in (alice.ledger.accounts.share("days", "bob"), alice.ledger.accounts.account("days")):
        assert account.fits([PureLoss("laplace", exact(1.5))])
        assert account.fits([ConcentratedLoss("gauss", exact(0.001))]) == fits
        refusal = account.refusal([ConcentratedLoss("gauss", exact(0.001))])
        assert (refusal is None) == fits
        assert refusal is None or refusal.endswith("left 0")
        assert float(account.loss.delta) == (0 if lost == 0 else 1e-6 if delta is None else delta)


def test_no_job_runs_with_anybody_before_it_is_accepted(back: Pair) -> None:
    """What is lost may be that another peer's certificate was revoked; also after a restart."""
    alice = back.parties[0]
    job = agreed(back)
    meet(back)
    for _ in range(2):
        assert alice.begin(job) is None
        assert "were rolled back, as bob knows, and may have forgotten who is revoked" in (alice.ledger.find(job).note)
        alice.crash()
    accept(alice, 0, 0)
    assert alice.begin(job) is not None


def test_of_people_it_is_charged_by_person(pair: Pair, identities: dict[str, Identity]) -> None:
    """Else it would be a charge of another sort, and no sum."""
    alice = pair.parties[0]
    table = alice.offers.tables["days"].settings.model_copy(update={"budget": BUDGET, "person": "nr"})
    with alice.connection:
        entries = charge(
            alice.ledger._journal._log,
            alice.who,
            {"days": table, "bare": alice.offers.tables["days"].settings},
            None,
            None,
        )
    assert [(entry.kind, entry.fields["table"]) for entry in entries] == [("spent", "days"), ("counted", "days")]
    assert entries[0].fields["person"] == "nr"
