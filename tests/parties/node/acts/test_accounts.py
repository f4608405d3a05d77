"""What jobs cost a table, in the ledgers of two parties: once, never more than there is, never undone."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parties.node.acts.accounts import Accounts
from parties.node.acts.ledger import Ledger
from parties.node.budget.account import BudgetError
from parties.node.desk import published
from parties.node.exchanges.commitment import Commitments
from parties.node.exchanges.openings import Leaving, Stored, Written
from parties.node.log import spendings
from parties.node.records import commit
from parties.sources.settings import BudgetSettings, TableSettings, share_budgets
from smc.errors import InputError, LinkError
from smc.meter import Cost
from tests.support.ledgers import REPORT, Pair, Party, offer_otherwise
from tests.support.registry import registered

pytestmark = pytest.mark.slow

COINS = [[1, 2, 3, 4], [5, 6, 7, 8]]
ROWS = "ab" * 32


@pytest.fixture
def noisy(pair: Pair) -> Iterator[Pair]:
    """Alice has a budget of 2, Bob none; both know the kind for tests, and say which rows their tables have."""
    pair.parties[0].budget = BudgetSettings(epsilon=2)
    for party in pair.parties:
        party.version = "1"
        party.crash()
    with registered(("noisy", "tests.support.noisy:Noisy")):
        yield pair


def propose(pair: Pair, epsilon: float = 1.5, **more: Any) -> str:
    fields = {"protocol": "noisy", "table": "days", "epsilon": epsilon, **more}
    return pair.parties[0].ledger.decisions.propose(fields).id


def agree(pair: Pair, epsilon: float = 1.5, **more: Any) -> str:
    job = propose(pair, epsilon, **more)
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job, "approved")
    pair.deliver()
    return job


def both(pair: Pair, job: str, party: int) -> Commitments:
    digest = pair.parties[0].ledger.jobs.find(job).ours.proposal.digest
    signed = [commit(one.who.identity, digest, ROWS) for one in pair.parties]
    return Commitments(signed[party], signed[1 - party])


def run(pair: Pair, job: str, repeats: str = "") -> None:
    for party, one in enumerate(pair.parties):
        assert one.begin(job) is not None
        one.ledger.runs.met(job, 0, "" if repeats else "yao", both(pair, job, party), repeats)
        if not repeats:
            one.opens(job)
        one.ledger.runs.computed(job, COINS, Cost(1, 2, 3, 4), REPORT)
        one.ledger.runs.over(job)
    pair.deliver()


def spent(ledger: Ledger) -> list[str | None]:
    return [entry.job for entry in ledger.log.entries(1000, None) if entry.kind == "spent"][::-1]


def test_it_is_spent_when_the_first_share_leaves_and_only_then(noisy: Pair) -> None:
    """Neither to propose nor to consent nor to compute costs anything; a crash later gives nothing back."""
    job = agree(noisy)
    alice = noisy.parties[0]
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "yao")
    alice.ledger.runs.write_opening(job, Written(0, 0, b"share", bytes(16)))
    assert spent(alice.ledger) == []
    alice.ledger.runs.opening_leaves(job, Leaving(0, 0))
    assert spent(alice.ledger) == [job]
    alice.crash()
    assert spent(alice.ledger) == [job]
    for _ in range(3):
        assert alice.begin(job) is not None, "what is left is less than it asked for, but it has paid"
        alice.ledger.runs.met(job, 0, "yao")
        alice.opens(job)
        alice.ledger.runs.broke(job, "the link broke", Cost(1, 2, 3, 4))
        alice.ledger.runs.over(job)
    alice.ledger.decisions.cancel(job)
    assert spent(alice.ledger) == [job]
    assert alice.ledger.accounts.account("days").spent == 1.5
    alice.ledger.jobs.check(alice.path.parent / "log.json")


def test_what_has_not_left_is_given_back(noisy: Pair) -> None:
    """A session that a peer closes before anything leaves costs nothing, however often; while it lasts it reserves."""
    one, two = agree(noisy, 1.5), agree(noisy, 1.25)
    alice = noisy.parties[0]
    for _ in range(3):
        assert alice.begin(one) is not None
        alice.ledger.runs.met(one, 0, "yao", both(noisy, one, 0))
        alice.ledger.runs.write_opening(one, Written(0, 0, b"share", bytes(16)))
        assert alice.begin(two) is None, "what is reserved fits no other job"
        alice.ledger.runs.broke(one, "the peer hung up", Cost(1, 2, 3, 4))
        alice.ledger.runs.over(one)
    alice.ledger.decisions.cancel(one)
    assert spent(alice.ledger) == []
    run(noisy, two)
    assert spent(alice.ledger) == [two]


@pytest.mark.parametrize("ended", [False, True])
def test_a_failure_by_own_rows_is_charged(noisy: Pair, ended: bool) -> None:
    """That rows made it fail is an answer about rows, also if the peer has ended the job meanwhile."""
    job, error = agree(noisy), InputError("a value that does not fit")
    alice = noisy.parties[0]
    alice.begin(job)
    if ended:
        alice.ledger.runs.failed(job, LinkError("lost"), "lost")
    alice.ledger.runs.failing(job, error)
    assert spent(alice.ledger) == [job]
    alice.ledger.runs.failed(job, error, "an error in its own input")
    alice.ledger.runs.over(job)
    assert alice.ledger.accounts.account("days").spent == 1.5
    alice.ledger.jobs.check(alice.path.parent / "log.json")


def test_a_repeat_beyond_the_budget_is_not_charged_if_it_fails(noisy: Pair) -> None:
    """Its session reads no rows before both know whether it is a repeat: nothing is spent beyond the budget."""
    first = agree(noisy)
    run(noisy, first)
    again, alice = agree(noisy), noisy.parties[0]
    assert alice.begin(again) is not None
    alice.ledger.runs.failing(again, InputError("the peer's answer is neither yes nor no"))
    alice.ledger.runs.over(again)
    assert spent(alice.ledger) == [first]
    assert alice.ledger.accounts.account("days").spent == 1.5


def test_a_result_without_a_share_is_charged(noisy: Pair) -> None:
    """A kind that says it spends, and opens nothing by shares, does not get its answer for nothing."""
    job = agree(noisy)
    alice = noisy.parties[0]
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "yao", both(noisy, job, 0))
    alice.ledger.runs.computed(job, COINS, Cost(1, 2, 3, 4), REPORT)
    assert spent(alice.ledger) == [job]


def test_a_charge_that_is_not_written_is_not_spent(noisy: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record, the entry and that the share leaves are one transaction: none of them is there without the others."""
    job = agree(noisy)
    alice = noisy.parties[0]
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "yao")
    alice.ledger.runs.write_opening(job, Written(0, 0, b"share", bytes(16)))

    def full(record: object) -> None:
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(alice.ledger.jobs.store, "put", full)
    with pytest.raises(sqlite3.OperationalError):
        alice.ledger.runs.opening_leaves(job, Leaving(0, 0))
    alice.crash()
    assert spent(alice.ledger) == []
    assert alice.ledger.jobs.find(job).charged is None
    assert alice.ledger.runs.openings(job) == Stored(0, 0, (b"share",), bytes(16))


def test_what_does_not_fit_is_refused_when_it_is_proposed(noisy: Pair) -> None:
    with pytest.raises(InputError, match=r"spent epsilon 0, asked 2\.5, left 2"):
        propose(noisy, 2.5)
    run(noisy, agree(noisy, 1.5))
    with pytest.raises(InputError, match=r"spent epsilon 1\.5, asked 1, left 0\.5"):
        propose(noisy, 1.0)
    assert noisy.parties[1].ledger.accounts.account("days").fits([]), "a table without a budget"
    run(noisy, agree(noisy, 0.5))
    assert noisy.parties[0].ledger.accounts.account("days").left == 0


def test_two_that_fit_one_by_one_only(noisy: Pair) -> None:
    """Begun together, the second waits; when the first has paid, it is refused, and the peer hears the numbers."""
    one, two = agree(noisy, 1.5), agree(noisy, 1.25)
    alice, bob = noisy.parties
    assert alice.begin(one) is not None
    assert alice.begin(two) is None
    assert alice.state(two) == "queued"
    assert "another job under way" in alice.ledger.jobs.find(two).note
    alice.ledger.runs.met(one, 0, "yao", both(noisy, one, 0))
    alice.opens(one)
    assert alice.begin(two) is None
    assert alice.state(two) == "refused"
    noisy.deliver()
    assert bob.state(two) == "refused"
    theirs = bob.ledger.jobs.find(two).theirs
    assert theirs is not None
    assert "spent epsilon 1.5, asked 1.25, left 0.5" in theirs.why
    assert spent(alice.ledger) == [one]


def test_the_last_look_is_in_the_transaction_that_begins(noisy: Pair) -> None:
    job = agree(noisy)
    alice = noisy.parties[0]
    alice.begin(job)
    offer_otherwise(alice.ledger.accounts._offers, budget=BudgetSettings(epsilon=1))
    with pytest.raises(BudgetError, match=r"asked 1\.5, left 1"):
        alice.ledger.runs.met(job, 0, "yao")
    assert spent(alice.ledger) == []
    alice.ledger.runs.unpaid(job, "too much")
    assert alice.state(job) == "refused"


def test_the_same_again_is_for_nothing_even_if_nothing_is_left(noisy: Pair) -> None:
    first = agree(noisy, 1.5)
    run(noisy, first)
    again = agree(noisy, 1.5)
    alice = noisy.parties[0].ledger
    terms = alice.accounts.terms(alice.jobs.find(again))
    assert terms.earlier is not None
    assert terms.earlier.job.id == first
    assert "left 0.5" in terms.refusal
    run(noisy, again, repeats=first)
    for party in noisy.parties:
        assert party.state(again) == "done"
        assert spent(party.ledger) == [first]
        signed = party.ledger.jobs.find(again).ours.signed
        assert signed is not None
        assert signed.result["repeats"] == first
    price = alice.accounts.price(alice.jobs.find(again))
    assert price is not None
    assert (price.repeats, price.charged_at) == (first, None)
    alice.jobs.check(noisy.parties[0].path.parent / "log.json")
    third = alice.accounts.earlier(alice.jobs.find(propose(noisy, 1.5)))
    assert third is not None
    assert third.job.id == again
    for version in ("2", ""):  # other rows; rows that may be others
        noisy.parties[0].version = version
        noisy.parties[0].crash()
        assert noisy.parties[0].ledger.accounts.earlier(alice.jobs.find(again)) is None


@pytest.mark.parametrize("fields", [{"epsilon": 0.25}, {"times": 1, "epsilon": 0.5, "column": "rain"}])
def test_another_question_is_not_the_same(noisy: Pair, fields: dict[str, Any]) -> None:
    run(noisy, agree(noisy, 0.5))
    alice = noisy.parties[0].ledger
    other = alice.jobs.find(propose(noisy, **fields))
    assert alice.accounts.earlier(other) is None


def test_the_order_of_questions_never_changes_the_price(noisy: Pair, tmp_path: Path) -> None:
    """Whatever was asked before, and asked again in between."""
    prices = {}
    alice = noisy.parties[0].ledger
    for order in itertools.permutations((0.1, 0.2, 0.3)):
        before = alice.accounts.account("days").loss.epsilon
        for epsilon in order:
            job = agree(noisy, epsilon)
            earlier = alice.accounts.terms(alice.jobs.find(job)).earlier
            run(noisy, job, earlier.job.id if earlier else "")
        prices[order] = alice.accounts.account("days").loss.epsilon - before
    assert [float(price) for price in prices.values()] == [0.6, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("change", ["removed", "cheaper", "elsewhere", "older", "unpaid"])
def test_a_charge_that_somebody_has_changed(noisy: Pair, change: str) -> None:
    """A row of the jobs says otherwise than the log: the node does not go on."""
    job = agree(noisy)
    run(noisy, job)
    alice = noisy.parties[0]
    (text,) = alice.connection.execute("SELECT record FROM jobs WHERE id = ?", (job,)).fetchone()
    row = json.loads(text)
    charged = row["charged"]
    if change == "cheaper":
        charged["uses"][0]["epsilon"] = 0.1
    elif change == "elsewhere":
        charged["table"] = "visits"
    elif change == "older":
        charged["at"] = (datetime.fromisoformat(charged["at"]) - timedelta(days=400)).isoformat(timespec="milliseconds")
    elif change == "unpaid":
        row["repeats"] = "ab" * 16
    else:
        row["charged"] = None
    with alice.connection:
        alice.connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(row), job))
    alice.crash()
    different = "the job that it repeats" if change == "unpaid" else "what it has spent"
    with pytest.raises(InputError, match=f"{different} is not what the audit log says"):
        alice.ledger.jobs.check(alice.path.parent / "log.json")


def test_a_clock_that_runs_behind_does_not_date_a_charge_back(noisy: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log has been written before, whatever the clock says; and the charge is as the log says it."""
    job, right = agree(noisy), datetime.now(UTC)
    behind = SimpleNamespace(now=lambda zone: right - timedelta(days=400))
    monkeypatch.setattr(spendings, "datetime", behind)
    run(noisy, job)
    ledger = noisy.parties[0].ledger
    charged = ledger.jobs.find(job).charged
    assert charged is not None
    assert abs(charged.at - right) < timedelta(minutes=5)
    (spent,) = (entry for entry in ledger.log.entries(1000, None) if entry.kind == "spent")
    assert spent.fields["counts_from"] == charged.stamp


def test_what_may_be_for_nothing_reserves_all_the_same(noisy: Pair) -> None:
    """A job that an earlier one may answer, beside one under way: the peer may name none, and then both are charged."""
    run(noisy, agree(noisy, 0.75))
    one, again = agree(noisy, 1.0), agree(noisy, 0.75)
    alice = noisy.parties[0]
    assert alice.begin(one) is not None
    alice.ledger.runs.met(one, 0, "yao", both(noisy, one, 0))
    assert alice.begin(again) is None
    alice.opens(one)
    assert alice.begin(again) is not None, "it does not fit any more: it is repeated, or refused when the two have met"
    assert "left 0.25" in alice.ledger.accounts.terms(alice.ledger.jobs.find(again)).refusal
    with pytest.raises(BudgetError):
        alice.ledger.runs.met(again, 0, "yao", both(noisy, again, 0))
    with pytest.raises(BudgetError):  # and if all that had failed
        alice.opens(again)
    assert alice.ledger.accounts.account("days").spent == 1.75


def named(**tables: dict[str, Any]) -> dict[str, TableSettings]:
    """Tables as a file has them, each with a budget of 2 unless it shares one."""
    budget = {"budget": {"epsilon": 2, "bits": 8}}
    own = {name: ({} if "same_rows_as" in more else budget) | more for name, more in tables.items()}
    always = {"schema": "s.toml", "max_rows": 100, "version": "1"}
    return share_budgets({name: TableSettings.model_validate(always | more) for name, more in own.items()})


def offer(party: Party, **tables: dict[str, Any]) -> Accounts:
    """Start a party's node anew with these tables."""
    party.tables = named(**tables)
    party.crash()
    return party.ledger.accounts


def test_a_renamed_table_has_spent_what_it_had(noisy: Pair) -> None:
    """Epsilon and bits, in the account, the peer's share and the register, at every later start; and nothing twice."""
    alice = noisy.parties[0]
    offer(alice, days={"source": "/data/a.csv"})
    run(noisy, agree(noisy, 1.5))
    with alice.ledger.log.writing():
        record = alice.ledger.jobs.all()[0]
        alice.ledger.jobs.apply(record, *alice.ledger.spendings.counted(record, 0, 5))
    for source in ("/data/./a.csv", "/new/a.csv", "/new/a.csv"):  # the rows move, and the name stays known
        accounts = offer(alice, nights={"source": source}, other={"source": "/data/b.csv"})
        assert accounts.tables() == ["nights", "other"]
        assert [accounts.account(name).left for name in ("nights", "other")] == [0.5, 2]
        assert accounts.share("nights", "bob").left == 0.5
        assert [accounts.bits(name, "bob").left for name in ("nights", "other")] == [3, 8]
        assert accounts.names("nights") == {"nights", "days"}
        with pytest.raises(InputError, match=r"spent epsilon 1\.5, asked 1, left 0\.5"):
            propose(noisy, 1.0, table="nights", peer_table="days")
        alice.ledger.jobs.check(alice.path.parent / "log.json")
    entry = alice.ledger.log.entries(1, None)[0]
    assert (entry.kind, entry.fields["same_rows"]) == ("node started", {"nights": ["days"]})
    assert entry.fields["rows"]["nights"] == [["/new/a.csv", None]]
    document = published.entry("alice", "smc 1", accounts, alice.ledger.spendings.released())
    assert [(one["table"], len(one["releases"])) for one in document["tables"]] == [("nights", 1), ("other", 0)]
    accounts = offer(alice, days={"source": "/data/b.csv"}, nights={"source": "/data/c.csv"})
    assert [accounts.account(name).left for name in ("days", "nights")] == [0.5, 0.5]


def test_two_names_of_the_same_rows_spend_one_budget(noisy: Pair) -> None:
    """What is under way on one is reserved for the other; the register has them once."""
    alice = noisy.parties[0]
    accounts = offer(alice, days={"source": "/a.csv"}, nights={"source": "/a.csv", "same_rows_as": "days"})
    one, two = agree(noisy, 1.5), agree(noisy, 1.25, table="nights", peer_table="days")
    assert alice.begin(one) is not None
    assert alice.begin(two) is None
    assert "another job under way" in alice.ledger.jobs.find(two).note
    assert not accounts.bits_fit(alice.ledger.jobs.find(two), 5, [(alice.ledger.jobs.find(one), 4)])
    assert accounts.bits_fit(alice.ledger.jobs.find(two), 4, [(alice.ledger.jobs.find(one), 4)])
    alice.ledger.runs.met(one, 0, "yao", both(noisy, one, 0))
    alice.opens(one)
    assert alice.begin(two) is None
    assert alice.state(two) == "refused"
    assert [accounts.account(name).left for name in ("days", "nights")] == [0.5, 0.5]
    document = published.entry("alice", "smc 1", accounts, alice.ledger.spendings.released())
    assert [one["table"] for one in document["tables"]] == ["days"]


def test_rows_that_one_name_counts_and_another_by_person_have_no_sum(noisy: Pair) -> None:
    """As if one table had said another `person` than before."""
    alice = noisy.parties[0]
    by_person = {"source": "/a.csv", "same_rows_as": "days", "person": "who", "at_most": 3}
    accounts = offer(alice, days={"source": "/a.csv"}, nights=by_person)
    run(noisy, agree(noisy, 0.5))
    assert [accounts.account(name).left for name in ("days", "nights")] == [1.5, 0]
