"""Budgets never go back: what may have been spent by jobs that a rollback has taken is charged when it is accepted."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from parties.jobs.spending import ConcentratedLoss, PureLoss, exact
from parties.link.identity import Identity
from parties.node.desk import published
from parties.node.peers import PeerIdentity
from parties.node.records import AuditLog
from parties.node.starting.rollback import charge
from parties.sources.settings import BudgetSettings, TableSettings, share_budgets
from smc.errors import InputError
from tests.support.ledgers import Pair, Party, agreed
from tests.support.registry import registered

BUDGET = BudgetSettings(epsilon=2, delta=1e-6, per="year", bits=500)


def accept(party: Party, lost: float | None = None, bits: int | None = None, delta: float | None = None) -> None:
    """As the command does, beside the node."""
    found = [entry.fields for entry in party.ledger.log.audit.of_kind("rolled back")]
    log = party.ledger.log.audit
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
        job = alice.ledger.decisions.propose({"protocol": "noisy", "table": "days", "epsilon": 1.5}).id
        pair.deliver()
        bob.ledger.decisions.decide(job, "approved")
        pair.deliver()
        alice.begin(job)
        alice.ledger.runs.met(job, 0, "yao")
        alice.opens(job)
        assert alice.ledger.accounts.share("days", "bob").left == pytest.approx(0.5)
        bob.ledger.heads.hold("alice", alice.ledger.heads.shown("bob").own)
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
    return alice.ledger.heads.lost("bob", bob.ledger.heads.shown("alice")).accepted


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
        entry = published.entry("alice", "smc", alice.ledger.accounts, alice.ledger.spendings.released())
        (table,) = entry["tables"]
        assert [(one["protocol"], len(one["day"])) for one in table["releases"]] == [("rollback", len("2026-03-01"))]
        assert (table["budget"]["epsilon"], table["max_rows"]) == (2, 100)
        alice.ledger.jobs.check(tmp_path / "log.json")
        alice.crash()
    with registered(("noisy", "tests.support.noisy:Noisy")), pytest.raises(InputError, match="privacy budget"):
        alice.ledger.decisions.propose({"protocol": "noisy", "table": "days", "epsilon": 0.01})


def test_a_table_without_a_budget_is_published_as_such(pair: Pair) -> None:
    ledger = pair.parties[0].ledger
    (table,) = published.entry("alice", "smc", ledger.accounts, ledger.spendings.released())["tables"]
    assert (table["budget"], table["releases"]) == (None, [])


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


class Log:
    """A log that keeps what is added to it."""

    def __init__(self) -> None:
        self.added: list[tuple[str, Any]] = []

    def latest(self) -> datetime:
        return datetime(2099, 3, 1, tzinfo=UTC)

    def append(self, kind: str, job: str | None, fields: dict[str, Any]) -> None:
        assert job is None
        self.added.append((kind, fields))


@pytest.mark.parametrize(
    ("budget", "said", "spent", "bits"),
    [
        ({"epsilon": 2, "bits": 9}, (None, None, None), (1, 0), 4),
        ({"epsilon": 2, "delta": 1e-6, "bits": 0}, (None, None, None), (1, 5e-7), None),
        ({"epsilon": 2, "delta": 1e-6, "bits": 9}, (0.0, None, 1e-7), (0, 1e-7), 4),
        ({"epsilon": 2, "bits": 9}, (0.0, 3, None), None, 3),
        ({"epsilon": 2, "bits": 9}, (0.25, 0, None), (0.25, 0), None),
    ],
)
def test_what_is_charged_of_a_share(
    identities: dict[str, Identity],
    budget: dict[str, float],
    said: tuple[float | None, int | None, float | None],
    spent: tuple[float, float] | None,
    bits: int | None,
) -> None:
    """Half of each, unless the operator says less; no earlier than what the log has, and nothing of other tables."""
    log, (lost, lost_bits, lost_delta) = Log(), said
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0, share=0.5)
    days, free = (TableSettings.model_construct(budget=one) for one in (BudgetSettings.model_validate(budget), None))
    charge(cast("AuditLog", log), who, {"days": days, "free": free}, lost, lost_bits, lost_delta)
    assert {fields["counts_from"] for _, fields in log.added} == {"2099-03-01T00:00:00.000+00:00"}
    assert {(fields["table"], fields["peer"]) for _, fields in log.added} == {("days", "bob")}
    charged = dict(log.added)
    assert len(charged) == len(log.added)
    assert ("spent" in charged, "counted" in charged) == (spent is not None, bits is not None)
    if spent is not None:
        (use,) = charged["spent"]["uses"]
        assert tuple(float(use.get(name, 0)) for name in ("epsilon", "delta")) == spent
    if bits is not None:
        assert (charged["counted"]["bits"], charged["counted"]["depth"]) == (bits, 0)


def test_no_job_runs_with_anybody_before_it_is_accepted(back: Pair) -> None:
    """What is lost may be that another peer's certificate was revoked; also after a restart."""
    alice = back.parties[0]
    job = agreed(back)
    meet(back)
    for _ in range(2):
        assert alice.begin(job) is None
        assert "were rolled back, as bob knows, and may lack revocations" in (alice.ledger.jobs.find(job).note)
        alice.crash()
    accept(alice, 0, 0)
    assert alice.begin(job) is not None


def test_of_people_it_is_charged_by_person(pair: Pair, identities: dict[str, Identity]) -> None:
    """Else it would be a charge of another sort, and no sum."""
    alice = pair.parties[0]
    table = alice.offers.tables["days"].settings.model_copy(update={"budget": BUDGET, "person": "nr"})
    with alice.connection:
        entries = charge(
            alice.ledger.log.audit,
            alice.who,
            {"days": table, "bare": alice.offers.tables["days"].settings},
            None,
            None,
        )
    assert [(entry.kind, entry.fields["table"]) for entry in entries] == [("spent", "days"), ("counted", "days")]
    assert entries[0].fields["person"] == "nr"


def test_a_budget_that_two_names_share_is_charged_once(back: Pair) -> None:
    """And the budget of other rows besides."""
    alice = back.parties[0]
    own = {"schema": "s.toml", "max_rows": 100}
    spelled = {"days": {"source": "/a.csv", "budget": BUDGET.model_dump()}, "nights": {"same_rows_as": "days"}}
    spelled |= {"weeks": {"source": "/b.csv", "budget": {"epsilon": 1}}}
    tables = {name: TableSettings.model_validate({"source": "/a.csv"} | own | more) for name, more in spelled.items()}
    alice.tables = share_budgets(tables)
    alice.crash()
    assert not meet(back)
    accept(alice)
    alice.crash()
    accounts = alice.ledger.accounts
    assert [accounts.account(name).spent for name in ("days", "nights", "weeks")] == [2, 2, 1]
    assert [accounts.bits(name).spent for name in ("days", "nights", "weeks")] == [500, 500, 4096]
