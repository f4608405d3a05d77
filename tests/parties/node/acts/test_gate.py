"""Which jobs the gate lets pass."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from parties.link.identity import Identity
from parties.node.acts import gate
from parties.node.acts.gate import Circumstances, Gate, Judgement
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity
from parties.node.policy.rules import Rule
from parties.node.proposal import Proposal
from parties.node.settings import LimitSettings, NodeFile
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from tests.support.proposals import proposal_of

SCHEMA = Schema({"wind": ("weak", "strong"), "rain": ("no", "some"), "play": ("yes", "no")}, "play")
MAX_WAITING = LimitSettings().waiting
AROUND = Circumstances(runs_today=0, waiting=0, at=datetime(2026, 3, 2, 12, tzinfo=UTC), address=None)


PERMIT = (Rule(name="all", effect="permit"),)


def judged(
    identities: dict[str, Identity], job: Proposal, by: Any = "peer", rules: tuple[Rule, ...] = (), **around: Any
) -> Judgement:
    """What alice (party 0) says of a job for her table `days`."""
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    table = TableSettings.model_validate({"source": "days.csv", "schema": "schema.toml", "max_rows": 100})
    offers = Offers({"days": Offer(table, SCHEMA)}, {})
    return Gate(NodeFile(policy=rules), offers).judge(job, who, by, replace(AROUND, **around))


def job_of(party: int, schema: Schema = SCHEMA, **fields: Any) -> Proposal:
    return proposal_of(schema, party=party, **fields)


def test_what_fits_waits_for_the_operator(identities: dict[str, Identity]) -> None:
    assert judged(identities, job_of(1)).verdict == "waiting"
    assert judged(identities, job_of(0), by="us").verdict == "approved"


def test_the_peer_cannot_say_that_we_proposed_a_job(identities: dict[str, Identity]) -> None:
    """A peer that says again what we said before we lost our state, or makes it up, has no consent by that."""
    found = judged(identities, job_of(0), by="peer")
    assert (found.verdict, found.by) == ("refused", "node")
    assert "does not know" in found.public


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"wind": ("weak", "strong"), "hail": ("no", "some")}, "no attribute 'hail'"),
        ({"wind": ("strong", "weak")}, "'wind' has other values"),
        ({"wind": ("weak",)}, "'wind' has other values"),
        ({"wind": ("weak", "strong", "none")}, "'wind' has other values"),
    ],
)
def test_a_job_must_fit_the_table(
    identities: dict[str, Identity], attributes: dict[str, tuple[str, ...]], message: str
) -> None:
    job = job_of(1, Schema({**attributes, "play": ("yes", "no")}, "play"))
    found = judged(identities, job, rules=PERMIT)
    assert found.verdict == "refused"
    assert message in found.public
    assert judged(identities, job) == judged(identities, job_of(1)), "whom no rule serves learns what fits"


def test_the_table_that_counts_is_ours(identities: dict[str, Identity]) -> None:
    """Of the two names in a job, ours is looked up, and ours is what the rules ask for."""
    rules = (Rule.model_validate({"name": "days only", "effect": "permit", "table": "days"}),)
    ours = job_of(1, table="bobs", peer_table="days")
    assert judged(identities, ours, rules=rules).verdict == "approved"
    theirs = job_of(1, table="days", peer_table="bobs")
    assert judged(identities, theirs, rules=rules).verdict == "waiting"
    found = judged(identities, theirs, rules=PERMIT)
    assert found.verdict == "refused"
    assert found.public.startswith("there is no table 'bobs' here (set peer_table")
    assert found.reason.startswith(f"{found.public}; there are 'days'")


def test_no_more_wait_than_somebody_can_look_at(identities: dict[str, Identity]) -> None:
    assert judged(identities, job_of(1), waiting=MAX_WAITING - 1).verdict == "waiting"
    assert judged(identities, job_of(1), waiting=MAX_WAITING).verdict == "refused"
    assert judged(identities, job_of(0), by="us", waiting=MAX_WAITING).verdict == "approved"


def test_a_bound_below_the_tables_own_is_refused_without_a_look_at_the_rows(identities: dict[str, Identity]) -> None:
    """Whether a run fails for too many rows would tell the peer their number, a bit a job."""
    found = judged(identities, job_of(1, max_rows=50), rules=PERMIT)
    assert found.verdict == "refused"
    assert "100" in found.public


def test_a_budget_refuses_after_the_rules_and_before_the_operator(identities: dict[str, Identity]) -> None:
    """The peer is told the numbers: it may plan with them. For our own job it is the same."""
    why = "the privacy budget of table 'days' (epsilon 1): spent epsilon 1, asked 0.5, left 0"
    for by, party in (("peer", 1), ("us", 0)):
        found = judged(identities, job_of(party), by=by, rules=PERMIT, budget=why)
        assert found == Judgement("refused", "budget", why, why)
    assert judged(identities, job_of(1), budget=why).verdict == "waiting", "whom no rule serves learns what is left"
    no = Rule(name="no", effect="deny")
    assert judged(identities, job_of(1), rules=(no, *PERMIT), budget=why).by == "rule no"


def test_whom_no_rule_serves_is_told_one_thing(identities: dict[str, Identity]) -> None:
    """Denied, exact, too many waiting: the same answer, while the operator reads why."""
    deny = Rule.model_validate({"name": "no wind", "effect": "deny", "columns": {"any_of": ["wind"]}})
    others = Rule.model_validate({"name": "carol's", "effect": "permit", "peer": "carol"})
    nights = job_of(1, table="days", peer_table="nights")
    found = [judged(identities, job, rules=(deny, others)) for job in (job_of(1), nights)]
    found += [judged(identities, job, rules=(others,), waiting=MAX_WAITING) for job in (job_of(1), nights)]
    assert {(one.verdict, one.by, one.public) for one in found} == {("refused", "node", gate.NO)}
    assert "no wind" in found[0].reason
    assert "jobs of a peer are waiting" in found[2].reason
    bobs = Rule.model_validate({"name": "bob's", "effect": "permit", "peer": "bob", "purpose": "audit"})
    assert "rule no wind" in judged(identities, job_of(1), rules=(deny, bobs)).public, "a rule serves this peer"


@pytest.mark.parametrize(
    ("protocol", "more"), [("id3", {}), ("id3", {"support_epsilon": 0.001}), ("millionaires", {}), ("equality", {})]
)
def test_a_job_without_noise_on_a_table_with_a_budget_needs_a_rule_that_says_so(
    identities: dict[str, Identity], protocol: str, more: dict[str, float]
) -> None:
    """Also one whose input is typed, if it names the table: nobody could say where the number came from.

    And an exact tree that spends for the counts of its leaves: the tree itself spends nothing.
    """

    def verdict(job: Proposal, budget: bool, exact: bool, by: str = "peer") -> Judgement:
        table: dict[str, Any] = {"source": "days.csv", "schema": "schema.toml", "max_rows": 100}
        rules: list[dict[str, Any]] = [{"name": "anything", "effect": "permit"}]
        rules += [{"name": "audit", "effect": "permit", "exact": True, "proposed_by": by}] if exact else []
        days = table | ({"budget": {"epsilon": 0.01}} if budget else {})
        file = NodeFile.model_validate({"tables": {"days": days}, "policy": rules})
        who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
        offers = Offers({"days": Offer(file.tables["days"], SCHEMA)}, {})
        return Gate(file, offers).judge(job, who, by, AROUND)  # type: ignore[arg-type]

    job = job_of(1, protocol=protocol, **more)
    assert verdict(job, budget=False, exact=False).verdict == "approved"
    found = verdict(job, budget=True, exact=False)
    assert (found.verdict, found.by) == ("refused", "no rule")
    assert "the table has a privacy budget" in found.public
    assert verdict(job, budget=True, exact=True).verdict == "approved"
    ours = job_of(0, protocol=protocol, **more)
    assert [verdict(ours, True, exact, "us").verdict for exact in (False, True)] == ["refused", "approved"]
    if protocol != "id3":
        typed = job_of(1, protocol=protocol, table=None)
        assert verdict(typed, budget=True, exact=False).verdict == "approved"


def test_what_our_file_says_of_peer_and_table_is_put_to_the_rules(identities: dict[str, Identity]) -> None:
    """Attributes, rights and whose word counts: all three are taken from the file, of the table that is ours."""
    table: dict[str, Any] = {"source": "days.csv", "schema": "schema.toml", "max_rows": 100}
    rights = {"contact": "privacy@clinic-a.example", "legal_basis": "public task", "purposes": ["DrugEffect"]}
    rules = [
        {
            "name": "told",
            "owner": "institute",
            "effect": "permit",
            "attributes": {"gdpr_compliant": True},
            "rights": {"declared": True},
        },
        {"name": "not by law", "owner": "patients", "effect": "deny", "rights": {"legal_basis": "public task"}},
    ]
    job = job_of(1, purpose="DrugEffect")

    def verdict(of_table: dict[str, Any], of_peer: dict[str, Any]) -> Judgement:
        file = NodeFile.model_validate(
            {"tables": {"days": table | of_table}, "peer": {"attributes": of_peer}, "policy": rules}
        )
        who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0, file.peer)
        offers = Offers({"days": Offer(file.tables["days"], SCHEMA)}, {})
        return Gate(file, offers).judge(job, who, "peer", AROUND)

    complies = {"gdpr_compliant": True}
    assert verdict({"rights": rights, "combine": "permit-overrides"}, complies).verdict == "approved"
    assert verdict({"rights": rights}, complies).by == "rule not by law"
    assert verdict({"rights": rights, "combine": "permit-overrides"}, {}).verdict == "refused"
    assert verdict({"combine": "permit-overrides"}, complies).verdict == "refused"  # rights are not known


@pytest.mark.parametrize("rules", [(), (Rule(name="days", effect="permit", table=("days",)),)])
def test_a_budget_is_not_found_by_guessing(identities: dict[str, Identity], rules: tuple[Rule, ...]) -> None:
    """An exact job on a table with a budget, without one, and on none: whom no rule permits it hears the same."""
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    plain = {"source": "days.csv", "schema": "schema.toml", "max_rows": 100}
    tables = {"hours": plain, "money": {**plain, "budget": {"epsilon": 1}}}
    offers = Offers({name: Offer(TableSettings.model_validate(one), SCHEMA) for name, one in tables.items()}, {})
    gate = Gate(NodeFile.model_validate({"tables": tables}).model_copy(update={"policy": rules}), offers)
    found = [gate.judge(job_of(1, table=name), who, "peer", AROUND) for name in ("hours", "money", "nights")]
    assert {(one.verdict, one.by, one.public) for one in found} == {("waiting", "", "")}
    assert "has a privacy budget" in found[1].reason
