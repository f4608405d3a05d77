"""A peer has a joint table sealed to a key of its own, its "statistics office", and subtracts its own rows.

Before: a plain rule that permits joint tables let it pass, on a table with a budget of epsilon 0.01, of which nothing
was spent: all three cells were read, [325, 137, 462], and less its own they were ours. After: none. A key that our file
does not name for the table is refused before data; one that it names counts as exact, for which a rule must say so.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.alone.publish.sealing import sealed
from parties.jobs.publish import analyst
from parties.jobs.publish.sealed_table import SealedTable
from parties.link.identity import Identity, create, load_identity, load_key
from parties.node.acts.gate import Circumstances, Gate, Judgement
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity
from parties.node.policy.rules import Rule
from parties.node.proposal import Proposal
from parties.node.settings import NodeFile
from parties.tables.schema import Schema
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session
from tests.support.outcomes import inputs, proposed
from tests.support.policies import rule

SCHEMA = Schema({"benefit": ("low", "high")})
OURS, THEIRS = (300, 30), (25, 107)
PLAIN = rule(protocol="publish joint-table")
AROUND = Circumstances(runs_today=0, waiting=0, at=datetime(2026, 3, 2, 12, tzinfo=UTC), address=None)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("keys")
    for name in ("we", "peer", "office"):
        create(name, [], directory)
    return directory


@pytest.fixture(scope="module")
def office(keys: Path) -> str:
    return analyst.in_file(keys / "office.crt")


def rows(counts: tuple[int, int]) -> str:
    return "benefit\n" + "low\n" * counts[0] + "high\n" * counts[1]


def job(directory: Path, office: str) -> Proposal:
    """As the peer, party 1, proposes it: its own file names the office."""
    named = {"max_rows": 1000, "analysts": [analyst.of(office)]}
    asked = {"protocol": "publish joint-table", "by": "benefit", "analyst": office, "against": "public"}
    return proposed(asked, inputs(directory / "peer", rows(THEIRS), SCHEMA, 1, **named))


def judged(keys: Path, directory: Path, asked: Proposal, rules: tuple[Rule, ...], **public: Any) -> Judgement:
    """What we say of it; the file with our rows is not there."""
    ours = inputs(directory / "own", None, SCHEMA, max_rows=1000, budget={"epsilon": 0.01}, **public)
    assert ours.table is not None
    who = PeerIdentity(identity(keys, "we"), identity(keys, "peer").certificate, 0)
    offers = Offers({"rows": Offer(ours.table, SCHEMA)}, {})
    return Gate(NodeFile(policy=rules), offers).judge(asked, who, "peer", AROUND)


def identity(keys: Path, name: str) -> Identity:
    return load_identity(keys / f"{name}.key", keys / f"{name}.crt")


def test_what_the_key_reads_is_ours(keys: Path, tmp_path: Path, office: str) -> None:
    """Why it counts as exact: the protocol does what it says, and who has the key and its own rows has ours."""
    task = job(tmp_path, office).task
    assert isinstance(task, SealedTable)

    def program(session: Session) -> Any:
        own = np.array([(*OURS, sum(OURS)), (*THEIRS, sum(THEIRS))][session.party])
        return task.run(engine_of(session, Profile("clear")), np.stack([own, own]), None, lambda step: None)

    state, _ = run_local(program)
    read = sealed.SealedTable.model_validate(json.loads(json.dumps(task.document(state))))
    table = sealed.open_table(Path("x"), read, load_key(keys / "office.key"))
    assert table.values.reshape(-1).tolist() == [325, 137, 462]
    assert (table.values.reshape(-1) - [*THEIRS, sum(THEIRS)]).tolist() == [*OURS, sum(OURS)]
    assert task.disclosure.exact
    assert not task.disclosure.spends


def test_a_key_that_we_do_not_name_is_refused_before_data(keys: Path, tmp_path: Path, office: str) -> None:
    asked = job(tmp_path, office)
    found = judged(keys, tmp_path, asked, (PLAIN, rule(name="exact too", exact=True)))
    assert (found.verdict, found.by) == ("refused", "node")
    assert found.public.startswith(f"the table here is sealed to nobody with the fingerprint {analyst.of(office)}")
    other = analyst.of(analyst.in_file(keys / "peer.crt"))
    assert judged(keys, tmp_path, asked, (PLAIN,), analysts=[other]).verdict == "refused"


def test_a_key_that_we_name_takes_a_rule_for_what_is_exact(keys: Path, tmp_path: Path, office: str) -> None:
    asked, ours = job(tmp_path, office), {"analysts": [analyst.of(office).lower().replace(":", "")]}
    assert judged(keys, tmp_path, asked, (PLAIN,), **ours).verdict == "refused"
    named = rule(protocol="publish joint-table", exact=True, analyst=analyst.of(office))
    assert judged(keys, tmp_path, asked, (named,), **ours).verdict == "approved"
    other = rule(exact=True, analyst=analyst.of(analyst.in_file(keys / "peer.crt")))
    assert judged(keys, tmp_path, asked, (other,), **ours).verdict == "refused"


def test_consent_and_records_say_what_it_is(tmp_path: Path, office: str) -> None:
    task = job(tmp_path, office).task
    told = " ".join(task.disclosure.reveals("peer"))
    assert f"office ({analyst.of(office)})" in told
    assert "Whoever holds that key and one party's rows has the other's numbers: peer has ours if it" in told
    assert task.disclosure.exact == "whoever holds the analyst's key and one party's rows has the other's numbers"
