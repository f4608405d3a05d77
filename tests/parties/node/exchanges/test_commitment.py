"""Commitments to rows: exchanged, signed, logged by both, and not to be taken back."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest

from parties.link.identity import Identity
from parties.node.exchanges import commitment
from parties.node.exchanges.commitment import Commitments
from parties.node.links.executor import Order, opened
from parties.node.records import Committed, check_signature, commit
from smc.errors import ProtocolError
from smc.local import run_local
from smc.session import Session
from tests.support.ledgers import SCHEMA, Pair, agreed
from tests.support.proposals import inputs_of, proposal_of

pytestmark = pytest.mark.slow

ROWS, OTHER_ROWS = "a1" * 32, "b2" * 32


def both(pair: Pair, job: str, rows: str = ROWS) -> list[Commitments]:
    """What each party has after the exchange."""
    records = [party.ledger.jobs.find(job) for party in pair.parties]

    def program(session: object) -> Commitments:
        party = session.party  # type: ignore[attr-defined]
        own = pair.parties[party].who.identity
        found = rows if party == 1 else OTHER_ROWS
        return commitment.exchange(session, own, records[party].ours.proposal, found)  # type: ignore[arg-type]

    return list(run_local(program))  # type: ignore[arg-type]


def begin(pair: Pair, job: str, found: Commitments) -> None:
    ledger = pair.parties[0].ledger
    ledger.runs.begin(job, "bob")
    try:
        ledger.runs.met(job, 0, "mixed", found)
    finally:
        ledger.runs.over(job)


def test_what_the_exchange_costs_is_what_is_foretold(identities: dict[str, Identity]) -> None:
    job = proposal_of(SCHEMA)

    def program(session: Session) -> tuple[int, int]:
        commitment.exchange(session, identities["alice"], job, ROWS)
        total = session.meter.total
        return total.bytes_sent + total.bytes_received, total.rounds

    assert run_local(program) == ((commitment.BYTES, commitment.ROUNDS),) * 2


def test_both_logs_have_both_commitments(pair: Pair) -> None:
    job = agreed(pair)
    left, right = both(pair, job)
    assert (left.ours, left.theirs) == (right.theirs, right.ours)
    for party, found in zip(pair.parties, (left, right), strict=True):
        party.begin(job)
        party.ledger.runs.met(job, 0, "mixed", found)
        party.ledger.runs.over(job)
        party.begin(job)
        party.ledger.runs.met(job, 0, "mixed", found)
        party.ledger.runs.over(job)
    entries = [[e.fields for e in p.ledger.log.entries(100, None) if e.kind == "committed"] for p in pair.parties]
    assert [len(found) for found in entries] == [1, 1], "logged at the first session, and then not again"
    (alices,), (bobs,) = entries
    assert (alices["ours"], alices["theirs"]) == (bobs["theirs"], bobs["ours"])
    document = {"job": pair.parties[0].ledger.jobs.find(job).ours.proposal.digest, "rows": ROWS}
    signature = bytes.fromhex(alices["theirs"]["signature"])
    assert alices["theirs"]["rows"] == ROWS
    assert check_signature(pair.parties[1].who.identity.certificate, document, signature, "rows")


def test_other_rows_later_end_the_job(pair: Pair) -> None:
    job = agreed(pair)
    begin(pair, job, both(pair, job)[0])
    with pytest.raises(ProtocolError, match="rows have changed"):
        begin(pair, job, both(pair, job, "cc" * 32)[0])


@pytest.mark.parametrize("forged", ["another key", "another job", "no signature"])
def test_a_commitment_is_the_peers_and_for_this_job(pair: Pair, forged: str) -> None:
    job, other = agreed(pair), agreed(pair)
    alice, bob = (party.who.identity for party in pair.parties)
    digests = [pair.parties[0].ledger.jobs.find(name).ours.proposal.digest for name in (job, other)]
    theirs = {
        "another key": commit(alice, digests[0], ROWS),
        "another job": commit(bob, digests[1], ROWS),
        "no signature": Committed(rows=ROWS, signature="0" * 128),
    }[forged]
    with pytest.raises(ProtocolError, match="signature"):
        begin(pair, job, Commitments(commit(alice, digests[0], OTHER_ROWS), theirs))
    assert pair.parties[0].ledger.jobs.find(job).sessions == 0


def test_it_is_the_keyed_digest_of_the_rows_counts(
    tmp_path: object, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the documented formula: who shows the key of the job and the rows proves which they were."""
    rows = "wind,rain,play\nweak,no,yes\nweak,much,no\nstrong,no,yes\n"
    inputs = inputs_of(SCHEMA)
    (tmp_path / "rows.csv").write_text(rows)  # type: ignore[operator]
    inputs = type(inputs)(
        inputs.party,
        inputs.table.model_copy(update={"source": str(tmp_path / "rows.csv")}),  # type: ignore[operator,union-attr]
        SCHEMA,
    )
    job, alice = proposal_of(SCHEMA), identities["alice"]
    with opened(Order(job, inputs, None, "", "", alice, b"secret")) as (_, found):
        pass
    key = hashlib.sha256(b"smc.node.fingerprint" + alice.key_path.read_bytes() + job.id.encode()).digest()
    attributes = [["wind", ["weak", "strong"]], ["rain", ["no", "some", "much"]], ["play", ["yes", "no"]]]
    tables = [[2, 1], [1, 1, 1, 0], [2, 0, 0, 0, 0, 1]]  # classes; by value, then class
    state = hmac.new(key, b"smc counts at the root 1\0", hashlib.sha256)
    for part in [json.dumps(attributes).encode(), *(b"".join(n.to_bytes(8, "little") for n in t) for t in tables)]:
        state.update(len(part).to_bytes(8, "little") + part)
    assert found == state.hexdigest()
