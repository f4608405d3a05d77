"""A permit of an authority: each field binds the job, the signature binds the fields, and no consent overrides it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from parties.jobs.spending import ConcentratedLoss, Loss, PureLoss
from parties.link.identity import Identity, fingerprint
from parties.node.acts import accounts
from parties.node.acts.gate import Circumstances, Gate, Judgement
from parties.node.acts.permits import Permits, epsilon_of_uses
from parties.node.desk import views
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity
from parties.node.policy.rules import Rule
from parties.node.proposal import Proposal, propose, read_job
from parties.node.records import permit as permits
from parties.node.records.permit import Permit, issue
from parties.node.settings import NodeFile
from parties.sources.settings import TableSettings
from smc.errors import InputError
from smc.meter import Cost
from tests.support.ledgers import SCHEMA, Pair, paired

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
AROUND = Circumstances(runs_today=0, waiting=0, at=NOON, address=None, permitted=0.5)
RULE = {"name": "under a permit", "effect": "permit", "permit": "2026-17"}
SPENT = r"epsilon 1 and delta 0 in all, and with this job epsilon 1\.2 would be spent"
JOB = {"protocol": "release histogram", "table": "days", "by": "wind", "epsilon": 0.5, "purpose": "research"}


def terms(holder: Identity, **changed: Any) -> dict[str, Any]:
    fields = {
        "id": "2026-17",
        "purpose": "research",
        "holders": [fingerprint(holder.certificate)],
        "tables": ["days"],
        "columns": ["wind", "rain"],
        "kinds": ["release histogram", "release count"],
        "epsilon": 1.0,
        "expires": "2026-12-31",
    }
    return fields | changed


@pytest.fixture
def authority(identities: dict[str, Identity]) -> Identity:
    return identities["mallory"]


@pytest.fixture
def permit(identities: dict[str, Identity], authority: Identity) -> Permit:
    return issue(authority, terms(identities["bob"]))


@pytest.fixture
def settings(authority: Identity, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "authority.crt"
    path.write_bytes(authority.certificate.public_bytes(Encoding.PEM))
    return {"issuers": [path], "required": True}


def judged(
    identities: dict[str, Identity],
    settings: dict[str, Any],
    permit: Permit | None,
    around: Circumstances = AROUND,
    rule: dict[str, Any] = RULE,
    **changed: Any,
) -> Judgement:
    """What alice (party 0) says of a job of bob's."""
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    table = TableSettings.model_validate({"source": "days.csv", "schema": "schema.toml"})
    offers = Offers({"days": Offer(table, SCHEMA)}, {})
    fields = {key: value for key, value in (JOB | changed).items() if value is not None}
    job = propose(read_job(fields), offers.inputs(1, "days"), permit=permit)
    job = Proposal.model_validate_json(job.model_dump_json())  # as the peer hears it
    file = NodeFile.model_validate({"policy": [rule], "permits": settings})
    return Gate(file, offers).judge(job, who, "peer", around)


def test_a_covered_job_is_permitted_and_the_reason_names_the_permit(
    identities: dict[str, Identity], settings: dict[str, Any], permit: Permit
) -> None:
    found = judged(identities, settings, permit)
    assert (found.verdict, found.by) == ("approved", "rule under a permit")
    named = (
        f"the permit '2026-17' of the authority {permit.issuer[:23]}, epsilon 1 and delta 0 in all, until 2026-12-31"
    )
    assert found.reason.endswith(f"; under {named}")
    last = replace(AROUND, at=datetime(2026, 12, 31, 23, 59, tzinfo=UTC), permitted=1.0)
    assert judged(identities, settings, permit, last).verdict == "approved"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"purpose": "teaching"}, "it is for the purpose 'teaching', not 'research'"),
        ({"tables": ["nights"]}, "it does not cover the table 'days'"),
        ({"columns": ["rain"]}, "it does not cover the columns 'wind'"),
        ({"kinds": ["id3"]}, "it covers 'id3', not 'release histogram'"),
        ({"epsilon": 0.4}, "it allows epsilon 0.4 and delta 0 in all, and with this job epsilon 0.5 would be spent"),
        ({"expires": "2026-03-01"}, "it ended on 2026-03-01"),
    ],
)
def test_each_term_binds(
    changed: dict[str, Any],
    message: str,
    identities: dict[str, Identity],
    authority: Identity,
    settings: dict[str, Any],
) -> None:
    found = judged(identities, settings, issue(authority, terms(identities["bob"], **changed)))
    assert (found.verdict, found.reason) == ("refused", f"denied: permit '2026-17': {message}")
    assert found.public == found.reason, "a peer that a rule serves learns why"


@pytest.mark.parametrize(
    ("delta", "uses", "epsilon"),
    [
        (0.0, [PureLoss("laplace", epsilon=0.5)] * 2, 1.0),
        (0.0, [PureLoss("laplace", epsilon=0.5, delta=1e-9)], math.inf),
        (1e-9, [PureLoss("laplace", epsilon=0.5, delta=1e-9)], 0.5),
        (1e-9, [PureLoss("laplace", epsilon=0.5, delta=1e-9)] * 2, math.inf),
        (0.0, [ConcentratedLoss("gaussian", rho=0.02)], math.inf),
        # rho + 2 sqrt(rho ln(1 / delta)) (Bun, Steinke 2016) is an upper bound
        (1e-6, [ConcentratedLoss("gaussian", rho=0.02)], 0.02 + 2 * math.sqrt(0.02 * math.log(1e6))),
    ],
)
def test_delta_is_that_of_the_permit(delta: float, uses: list[Loss], epsilon: float) -> None:
    found = epsilon_of_uses(uses, delta)
    assert found == epsilon or (delta > 0 and 0.8 * epsilon < found < epsilon)


def test_a_column_that_only_groups_rows_is_covered_or_refused(
    identities: dict[str, Identity], authority: Identity, settings: dict[str, Any]
) -> None:
    baskets = {"protocol": "rules", "by": None, "epsilon": None, "columns": ["wind"], "transaction": "name"}
    fields = {"kinds": ["rules"], "epsilon": None}
    within = {"columns": {"within": ["wind"]}} | RULE
    covering = {"columns": ["wind", "name"]}
    for more, rule, verdict in (({}, RULE, "refused"), (covering, RULE, "approved"), (covering, within, "waiting")):
        signed = issue(authority, terms(identities["bob"], **fields, **more))
        found = judged(identities, settings, signed, rule=rule, **baskets)
        assert found.verdict == verdict, found.reason
    found = judged(identities, settings, issue(authority, terms(identities["bob"], **fields)), **baskets)
    assert found.reason == "denied: permit '2026-17': it does not cover the columns 'name'"


def test_a_column_by_which_rows_are_held_out_is_covered_or_refused(
    identities: dict[str, Identity], authority: Identity, settings: dict[str, Any]
) -> None:
    split = {"held_out": 0.5, "columns": ["name"]}
    model = {"schema_digest": "0" * 64, "target": "play", "tolerance": 0.1, "tree": {"class": "yes"}, "split": split}
    judge = {"protocol": "evaluate report", "by": "wind", "classifier": json.dumps(model), "exact": True}
    judge["epsilon"] = None
    for columns, verdict in ((["wind", "play"], "refused"), (["wind", "play", "name"], "approved")):
        signed = issue(authority, terms(identities["bob"], kinds=["evaluate report"], columns=columns, epsilon=None))
        found = judged(identities, settings, signed, rule=RULE | {"exact": True}, **judge)
        assert found.verdict == verdict, found.reason


def test_another_holder_may_not_use_it(
    identities: dict[str, Identity], authority: Identity, settings: dict[str, Any]
) -> None:
    found = judged(identities, settings, issue(authority, terms(identities["alice"])))
    bob = fingerprint(identities["bob"].certificate)[:23]
    assert found.reason == f"denied: permit '2026-17': its holders do not include the proposer {bob}"


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "2026-18"},
        {"purpose": "research "},
        {"holders": (":".join(["AB"] * 32),)},
        {"tables": ("days", "nights")},
        {"columns": ("wind", "rain", "play")},
        {"kinds": ("release histogram", "id3")},
        {"epsilon": 10.0},
        {"epsilon": None},
        {"delta": 0.1},
        {"certificate": "ab"},
        {"expires": "2027-12-31"},
        {"signature": "ab" * 64},
    ],
)
def test_no_field_can_be_changed_after_the_signature(
    changed: dict[str, Any], identities: dict[str, Identity], settings: dict[str, Any], permit: Permit
) -> None:
    found = judged(identities, settings, permit.model_copy(update=changed))
    assert found.verdict == "refused"
    assert found.reason.endswith("it was changed, or 'mallory' did not sign it")


def test_only_pinned_issuers_count(identities: dict[str, Identity], settings: dict[str, Any], permit: Permit) -> None:
    """Whoever signs, and whoever is named as the one that signs."""
    other = issue(identities["bob"], terms(identities["bob"]))
    assert f"its issuer {other.issuer[:23]} is none of permits.issuers" in judged(identities, settings, other).reason
    forged = other.model_copy(update={"issuer": permit.issuer})
    assert "it was changed, or 'mallory' did not sign it" in judged(identities, settings, forged).reason
    assert "is none of permits.issuers" in judged(identities, {}, permit).reason


def test_a_job_without_a_permit(identities: dict[str, Identity], settings: dict[str, Any]) -> None:
    everything = {"name": "all", "effect": "permit"}
    found = judged(identities, settings, None, rule=everything)
    assert found.reason == "denied: the job names no permit, which permits.required demands"
    assert judged(identities, settings | {"required": False}, None, rule=everything).verdict == "approved"
    assert judged(identities, settings | {"required": False}, None).verdict == "waiting", "the rule asks for it"


def test_a_bound_on_epsilon_allows_nothing_exact(
    identities: dict[str, Identity], authority: Identity, settings: dict[str, Any], permit: Permit
) -> None:
    exact = {"exact": True, "epsilon": None}
    rule = RULE | {"exact": True}
    found = judged(identities, settings, permit, rule=rule, **exact)
    assert found.reason.endswith("it bounds epsilon, and the job opens values without noise")
    unbounded = issue(authority, terms(identities["bob"], epsilon=None))
    assert judged(identities, settings, unbounded, rule=rule, **exact).verdict == "approved"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0.0}, "epsilon: must be > 0, not 0.0"),
        ({"delta": 1.0}, "delta: must be < 1, not 1.0"),
        ({"holders": []}, "holders: must not be empty"),
        ({"holders": ["bob"]}, "holders: 'bob' is no whole fingerprint"),
        ({"kinds": ["release histgram"]}, "kinds: there is no kind of job 'release histgram'"),
        ({"expires": "soon"}, "expires: must be a day such as 2026-12-31, not 'soon'"),
        ({"expires": "2999-01-01"}, "expires: 2999-01-01 is after the authority's certificate"),
        ({"columms": []}, "columms: unknown key (did you mean 'columns'?)"),
        ({"id": "a\nb"}, "id: must not have control characters"),
    ],
)
def test_a_wrong_term_is_not_signed(
    changed: dict[str, Any], message: str, identities: dict[str, Identity], authority: Identity
) -> None:
    with pytest.raises(InputError) as caught:
        issue(authority, terms(identities["bob"], **changed))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.fixture
def permitted(
    identities: dict[str, Identity], authority: Identity, settings: dict[str, Any], tmp_path: Path
) -> Iterator[Pair]:
    """Alice's file has a permit of epsilon 1 for her, and both accept its authority."""
    permit = issue(authority, terms(identities["alice"], expires=str(datetime.now(UTC).date() + timedelta(days=1))))
    (tmp_path / "2026.json").write_text(permit.model_dump_json())
    with paired(tmp_path, identities, (Rule.model_validate(RULE),)) as pair:
        file = NodeFile.model_validate({"permits": settings | {"folder": tmp_path}})
        for party in pair.parties:
            party.ledger.gate.permits = Permits.of(file)  # type: ignore[attr-defined]
        yield pair


def proposed(pair: Pair, epsilon: float) -> str:
    job = pair.parties[0].ledger.decisions.propose(JOB | {"permit": "2026-17", "epsilon": epsilon}).id
    pair.deliver()
    return job


def test_all_jobs_under_a_permit_share_its_epsilon(permitted: Pair) -> None:
    """What was promised and what was charged, also after the jobs have ended."""
    alice = permitted.parties[0]
    first = proposed(permitted, 0.6)
    with pytest.raises(InputError, match=SPENT):
        proposed(permitted, 0.6)
    assert alice.begin(first) is not None
    alice.ledger.runs.met(first, 0, "yao")
    alice.opens(first)
    alice.ledger.runs.broke(first, "the link broke", Cost(1, 2, 3, 4))
    alice.ledger.runs.over(first)
    alice.ledger.decisions.cancel(first)
    with pytest.raises(InputError, match=SPENT):
        proposed(permitted, 0.6)
    assert proposed(permitted, 0.4)
    spent = [entry.fields for entry in alice.ledger.log.entries(100, None) if entry.kind == "spent"]
    assert [entry["permit"].rpartition(" ")[2] for entry in spent] == ["2026-17"]
    alice.ledger.jobs.check(alice.path.parent / "log.json")


def test_noise_with_a_delta_needs_one_in_the_permit(
    permitted: Pair, identities: dict[str, Identity], authority: Identity, tmp_path: Path
) -> None:
    gaussian = {"protocol": "release count", "table": "days", "purpose": "research", "epsilon": 0.5, "delta": 1e-7}
    propose_job = permitted.parties[0].ledger.decisions.propose
    with pytest.raises(InputError, match="epsilon 1 and delta 0 in all, and with this job more delta would be spent"):
        propose_job(gaussian | {"permit": "2026-17"})
    last = str(datetime.now(UTC).date() + timedelta(days=1))
    covering = issue(authority, terms(identities["alice"], id="2026-18", delta=1e-6, expires=last))
    (tmp_path / "2026-18.json").write_text(covering.model_dump_json())
    assert propose_job(gaussian | {"permit": "2026-18"})
    with pytest.raises(
        InputError, match=r"epsilon 1 and delta 1e-06 in all, and with this job epsilon 1\.[12]\d* would"
    ):
        propose_job(gaussian | {"permit": "2026-18", "epsilon": 1.2})


def test_jobs_under_way_count_however_many_newer_ones_are_approved(
    permitted: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "MOST_APPROVED", 0)  # as if newer jobs hid them
    alice = permitted.parties[0]
    first, second = proposed(permitted, 0.6), proposed(permitted, 0.6)
    assert alice.begin(first) is not None
    assert alice.begin(second) is None
    assert "and with this job epsilon 1.2 would be spent" in alice.ledger.jobs.find(second).note


def test_no_consent_overrides_it(permitted: Pair) -> None:
    """A permit that no longer holds stops a job that was agreed on, and one that waits for an operator."""
    alice, bob = permitted.parties
    agreed = proposed(permitted, 0.3)
    alice.ledger.gate.permits = Permits()  # type: ignore[attr-defined]
    assert alice.begin(agreed) is None
    assert "is none of permits.issuers" in alice.ledger.jobs.find(agreed).note
    bob.ledger.gate._file = NodeFile()  # type: ignore[attr-defined]
    alice.ledger.gate.permits = bob.ledger.gate.permits  # type: ignore[attr-defined]
    waiting = proposed(permitted, 0.3)
    assert bob.state(waiting) == "waiting"
    bob.ledger.gate.permits = Permits()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"this cannot be approved: denied: permit '2026-17': its issuer"):
        bob.ledger.decisions.decide(waiting, "approved")


def test_record_and_consent_name_the_permit(permitted: Pair) -> None:
    job = proposed(permitted, 0.5)
    for party in permitted.parties:
        record = party.ledger.jobs.find(job)
        logged = [entry.fields for entry in party.ledger.log.entries(100, None) if entry.kind == "proposed"]
        assert [entry["permit"].endswith(" 2026-17") for entry in logged] == [True]
        assert views._permit(record)[0].startswith("It is asked under the permit '2026-17' of the authority ")
    decided = [e.fields for e in permitted.parties[1].ledger.log.entries(100, None) if e.kind == "decided"]
    assert any("; under the permit '2026-17'" in entry["reason"] for entry in decided)
    again = permitted.parties[0].ledger.decisions.repeat(job)
    assert again.proposal.permit is not None


def test_a_permit_is_named_by_its_identifier(permit: Permit, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"set folder under .permits."):
        Permits().named("2026-17")
    folder = Permits(folder=tmp_path)
    with pytest.raises(InputError, match="has no permit '2026-17'"):
        folder.named("2026-17")
    (tmp_path / "a.json").write_text(permit.model_dump_json())
    assert folder.named("2026-17") == permits.load(tmp_path / "a.json") == permit
    with pytest.raises(InputError, match=r"has no permit '2026-71' .did you mean '2026-17'"):
        folder.named("2026-71")
    (tmp_path / "b.json").write_text(permit.model_dump_json())
    with pytest.raises(InputError, match="has 2 files of permit '2026-17'; keep one"):
        folder.named("2026-17")
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(InputError, match="this is no permit of smc permit sign"):
        folder.named("2026-17")
