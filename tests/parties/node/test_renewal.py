"""Jobs that go on while participants renew their certificates: a job that waits, and one amid its steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import create, fingerprint, load_certificate, load_identity
from parties.node.acts.runs import Runs
from parties.node.events import Events
from parties.node.links import control
from parties.node.records import AuditLog, connect
from parties.node.records.succession import succession
from smc.errors import LinkError
from tests.support.consortium import HOLDERS, Consortium
from tests.support.waiting import eventually

RENEWED = ("a", "bert", "cleo")


@pytest.fixture
def consortium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A consortium, of which three members have announced their next certificates."""
    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    monkeypatch.setattr(control, "LONGEST_PAUSE", 0.2)
    made = Consortium(tmp_path)
    for name in RENEWED:
        place = made.directory / name
        (place / "new").mkdir()
        new = create(name, ["127.0.0.1"], place / "new")
        until = datetime.now(UTC).date() + timedelta(days=30)
        word = succession(load_identity(place / f"{name}.key", place / f"{name}.crt"), new.certificate, until)
        for other in set(made.names) - {name}:
            (made.directory / other / f"{name}.next").write_text(word.model_dump_json())
            file = made.directory / other / "party.toml"
            entry = f'[[peers]]\ncertificate = "{name}.crt"\n'
            file.write_text(file.read_text().replace(entry, f'{entry}successor = "{name}.next"\n'))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def renew(consortium: Consortium, name: str) -> None:
    """Stop a member, change its key and certificate, and continue its log, as `smc audit renew` does."""
    place = consortium.directory / name
    consortium[name].stop()
    former = load_certificate(place / f"{name}.crt")
    for file in (f"{name}.key", f"{name}.crt"):
        (place / "new" / file).replace(place / file)
    connection = connect(place / "state" / "node.sqlite")
    with connection:
        AuditLog(connection, load_identity(place / f"{name}.key", place / f"{name}.crt")).renew(former)
    connection.close()


def test_jobs_go_on_under_new_certificates(consortium: Consortium, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computing node, a holder that has paid for a step, and one that has not heard of the other job yet."""
    pay, cut = Runs.pay, []

    def paying(self: Runs, job: str, step: int) -> None:
        if step == 1 and self is consortium["bert"].ledger.runs:
            cut.append(job)
            raise LinkError("the line is cut")
        pay(self, job, step)

    monkeypatch.setattr(Runs, "pay", paying)
    begun = consortium.propose(protocol="id3", plain=True, compute_only=False)
    eventually(lambda: begun in cut)
    consortium["cleo"].stop()
    waiting = consortium.propose(protocol="release count", epsilon=0.01)
    eventually(lambda: consortium["b"].ledger.jobs.known(waiting))
    eventually(lambda: consortium["a"].job(waiting).why == "waits for the consent of cleo")
    monkeypatch.undo()
    before = consortium["b"].record(begun)
    assert before.ours.end == ""
    for name in RENEWED:
        renew(consortium, name)
    for name in RENEWED:
        consortium[name].start()
    for job in (begun, waiting):
        assert set(consortium.ended(job).values()) == {"done"}
        for name, member in consortium.members.items():
            record = member.record(job)
            assert record.keys == {}
            assert member.kinds(job).count("spent") == (name in HOLDERS and job == waiting)
            steps = [charge.step for charge in record.bits]
            assert steps == sorted(set(steps))
            assert all(one.statement is not None and one.statement.end == "computed" for one in record.further.values())
    after = consortium["b"].record(begun)
    assert {side: one.rows for side, one in before.further.items()} == {
        side: one.rows for side, one in after.further.items()
    }
    for name, member in consortium.members.items():
        assert member.operator.verify().problems == []
        listed = {fingerprint(load_certificate(consortium.directory / one / f"{one}.crt")) for one in RENEWED}
        assert not listed & {*member.record(waiting).proposal.holding.everyone}, name
