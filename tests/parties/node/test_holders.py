"""Jobs of two computing nodes and three holders of rows, each a node with its own policy, budget and log."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from parties.jobs.tree.result import named
from parties.link.channel import GrpcChannel
from parties.link.identity import load_certificate
from parties.models.trees.tree import to_json
from parties.node.acts.accounts import Accounts
from parties.node.acts.runs import Runs
from parties.node.events import Events
from parties.node.exchanges import readiness
from parties.node.links import executor
from parties.node.links.giving import ROWS_REFUSE
from parties.node.links.sessions import Sessions
from parties.node.log.statement import Statement
from parties.tables import schema as schemas
from protocols.counts import RowCounts
from protocols.edges import Questions
from protocols.id3 import Problem, id3
from smc.engines import make_engine
from smc.errors import InputError, JointRefusalError, LinkError
from smc.local import run_local
from tests.support.consortium import HOLDERS, NODES, VALUES, Consortium
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def consortium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consortium]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Events, "watch_process", lambda self: None)
        made = Consortium(tmp_path_factory.mktemp("consortium"))
        try:
            made.start()
            yield made
        finally:
            made.stop()


def tree_of(consortium: Consortium, names: Sequence[str]) -> Any:
    """The plain tree of the rows of these members, which one party grows alone."""
    agreed = schemas.load(consortium.directory / "a" / "schema.toml")
    rows = [row for name in names for row in consortium.rows[name]]
    cells = np.array([[values.index(cell) for values, cell in zip(VALUES, row, strict=True)] for row in rows])
    problem = Problem((2, 3), 2, 65535)

    def program(session: Any) -> Any:
        own = cells if session.party == 0 else cells[:0]
        return id3(make_engine(session, "clear"), problem, RowCounts((2, 3), 2, own[:, :2], own[:, 2]))

    return to_json(named(run_local(program)[0], agreed, "play", Questions((2, 3), (False, False))))


def test_a_noisy_count_is_charged_once_at_each_holder_and_signed_by_all(consortium: Consortium) -> None:
    job = consortium.propose(protocol="release count", epsilon=1.0, to=["anna"])
    assert set(consortium.ended(job).values()) == {"done"}
    for name, member in consortium.members.items():
        record, kinds = member.record(job), member.kinds(job)
        assert kinds.count("spent") == (name in HOLDERS)
        assert (record.charged is not None) == (name in HOLDERS)
        assert member.operator.verify().problems == []
        entries = member.operator.audit(1000)[::-1]
        logged = [entry.fields for entry in entries if (entry.job, entry.kind) == (job, "declared")]
        certificates = {one: load_certificate(consortium.directory / one / f"{one}.crt") for one in consortium.names}
        last = {fields["party"]: fields["said"] for fields in logged if fields["party"] != "us"}
        assert len(last) == len(consortium.names) - 1
        statements = [Statement.model_validate({**said, "proposal": record.proposal}) for said in last.values()]
        assert all(side.end == "computed" and side.verdict == "approved" for side in statements)
        signers = [who for side in statements for who in certificates if side.is_signed_by(certificates[who])]
        assert {*signers, name} == {*consortium.names}
        if name in NODES:  # all have paid, and said so, before anything was opened
            order = [(entry.kind, entry.fields) for entry in entries if entry.job == job]
            opened = next(i for i, (kind, _) in enumerate(order) if kind == "opened")
            paid = {fields["party"] for kind, fields in order[:opened] if fields.get("said", {}).get("paid")}
            assert len(paid) == len(HOLDERS)
    costs = [consortium[name].record(job).cost["phases"]["holders"] for name in NODES]
    assert all(cost["bytes_received"] > 32 * len(HOLDERS) < cost["bytes_sent"] for cost in costs)
    at_holders = [consortium[name].record(job).cost["total"] for name in HOLDERS]
    for sent, received in itertools.permutations(("bytes_sent", "bytes_received")):
        assert sum(cost[sent] for cost in costs) == sum(cost[received] for cost in at_holders)
    answers = [consortium[name].operator.result(job).document for name in (*NODES, "anna")]
    assert answers[0] == answers[1] == answers[2]
    signed = {name: consortium[name].record(job).said_by("peer").signed for name in HOLDERS}
    assert [name for name, word in signed.items() if word is not None] == ["anna"]
    with pytest.raises(InputError, match="its result is not for this holder"):
        consortium["bert"].operator.result(job)


@pytest.mark.parametrize("compute_only", [True, False])
def test_an_exact_tree_is_that_of_all_who_give_and_its_bits_are_booked_there(
    consortium: Consortium, compute_only: bool
) -> None:
    job = consortium.propose(protocol="id3", plain=True, to=["anna", "cleo"], compute_only=compute_only)
    giving = HOLDERS if compute_only else consortium.names
    tree = tree_of(consortium, giving)
    assert compute_only or tree != tree_of(consortium, HOLDERS)
    assert set(consortium.ended(job).values()) == {"done"}
    for name in (*NODES, "anna", "cleo"):
        assert consortium[name].operator.result(job).document["tree"] == tree
    booked = {name: [charge.bits for charge in member.record(job).bits] for name, member in consortium.members.items()}
    assert len(booked["anna"]) > 1
    assert booked == {name: booked["anna"] if name in giving else [] for name in consortium.names}


CUTS = [("a", event) for event in ("Preparing", "Met", "Reached", "Paid", "Written", "Leaving", "Finished")]
CUTS += [("anna", event) for event in ("Met", "Reached", "Counted", "Paying", "Finished")]


@pytest.mark.one_of(4)
@pytest.mark.parametrize(("name", "event"), CUTS)
def test_a_session_that_is_cut_goes_on_to_one_answer_and_one_charge(
    consortium: Consortium, name: str, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line or a worker breaks right after an event is on the disk: of a node, or of a holder."""
    cut: list[str] = []
    heard = Sessions._heard

    def cutting(self: Sessions, identifier: str, session: Any, what: Any) -> None:
        heard(self, identifier, session, what)
        if (self._who.identity.name, type(what).__name__) == (name, event) and not cut:
            cut.append(identifier)
            raise LinkError("cut")

    monkeypatch.setattr(Sessions, "_heard", cutting)
    job = consortium.propose(protocol="release count", epsilon=0.01, to=["anna"])
    assert set(consortium.ended(job).values()) == {"done"}
    assert cut == [job]
    for holder in HOLDERS:
        assert consortium[holder].kinds(job).count("spent") == 1
    answers = [consortium[one].operator.result(job).document for one in (*NODES, "anna")]
    assert answers[0] == answers[1] == answers[2]
    for member in consortium.members.values():
        assert member.operator.verify().problems == []


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", ["a", "b", "anna"])
@pytest.mark.parametrize("event", ["Met", "Paid", "Leaving", "Finished"])
def test_a_consent_that_is_withdrawn_ends_the_job_for_all(
    consortium: Consortium, name: str, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after an event at the node that dials: what was opened by then is paid for."""
    heard, acts = Sessions._heard, list[str]()

    def withdrawing(self: Sessions, identifier: str, session: Any, what: Any) -> None:
        if type(what).__name__ == event == "Finished" and not acts:  # nothing is computed by the log yet
            acts.append(consortium[name].operator.cancel(identifier, "we do not want it").state)
        heard(self, identifier, session, what)
        if (self._who.identity.name, type(what).__name__) == ("b", event) and not acts:
            acts.append(consortium[name].operator.cancel(identifier, "we do not want it").state)

    monkeypatch.setattr(Sessions, "_heard", withdrawing)
    job = consortium.propose(protocol="release count", epsilon=0.01)
    assert set(consortium.ended(job).values()) == {"cancelled"}
    eventually(lambda: acts == ["cancelled"])
    for one, member in consortium.members.items():
        assert "we do not want it" in member.job(job).why
        assert member.operator.verify().problems == []
        assert ("spent" in member.kinds(job)) <= (one in HOLDERS)
    if event in ("Paid", "Leaving", "Finished"):
        assert any("spent" in consortium[one].kinds(job) for one in HOLDERS)
    if any("opened" in member.kinds(job) for member in consortium.members.values()) or event == "Leaving":
        assert all("spent" in consortium[one].kinds(job) for one in HOLDERS)


def test_a_job_waits_for_a_holder_that_is_away_and_names_it(consortium: Consortium) -> None:
    consortium["cleo"].stop()
    job = consortium.propose(protocol="release count", epsilon=0.01)
    eventually(lambda: consortium["a"].job(job).why == "waits for the consent of cleo")
    consortium["cleo"].start()
    assert set(consortium.ended(job).values()) == {"done"}


@pytest.mark.parametrize(("name", "other"), [("a", "b"), ("bert", "a")])
def test_a_job_waits_for_a_table_that_is_away(consortium: Consortium, name: str, other: str) -> None:
    """The others learn that it is away; once it is back the job runs, and nobody has paid before."""
    table, away = (consortium.directory / name / file for file in ("days.csv", "elsewhere.csv"))
    table.rename(away)
    job = consortium.propose(protocol="release count", epsilon=0.01, compute_only=False)
    eventually(lambda: consortium[other].ledger.jobs.known(job))
    eventually(lambda: consortium[other].job(job).why == f"{name} waits for its table")
    eventually(lambda: not any(job in member.ledger.jobs.running for member in consortium.members.values()))
    assert "spent" not in consortium["anna"].kinds(job)
    away.rename(table)
    assert set(consortium.ended(job).values()) == {"done"}


def test_a_connection_that_breaks_after_consent_is_named(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No session begins at the nodes; the job goes on when the holder is back."""
    links = [consortium[name].contacts["bert"].control for name in NODES]
    for link in links:
        monkeypatch.setattr(link, "held", "as if it were not there")
    job = consortium.propose(protocol="release count", epsilon=0.01)
    eventually(lambda: consortium["a"].job(job).why == "waits for bert, not connected here")
    assert consortium["a"].job(job).state == "queued"
    monkeypatch.undo()
    assert set(consortium.ended(job).values()) == {"done"}


def test_a_holder_that_cannot_pay_ends_the_job_for_all_and_nobody_pays(consortium: Consortium) -> None:
    job = consortium.propose(protocol="release count", epsilon=2.5)
    assert set(consortium.ended(job).values()) == {"refused"}
    for member in consortium.members.values():
        assert "spent" not in member.kinds(job)


def test_nothing_is_opened_if_a_holder_has_not_paid(consortium: Consortium, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runs, "pay", lambda *_: None)
    job = consortium.propose(protocol="release count", epsilon=0.01)
    assert set(consortium.ended(job).values()) == {"failed"}
    assert "has not declared that it has paid" in consortium["a"].job(job).why
    for member in consortium.members.values():
        assert not {"opened", "spent"} & {*member.kinds(job)}


def test_bits_that_do_not_fit_at_one_holder_end_the_job_before_the_step(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anna has bits for one step: all stop before the second one, which nobody pays."""
    fits = Accounts.bits_fit
    monkeypatch.setattr(
        Accounts, "bits_fit", lambda self, job, *rest: not (job.number == 2 and job.bits) and fits(self, job, *rest)
    )
    job = consortium.propose(protocol="id3", plain=True)
    assert set(consortium.ended(job).values()) == {"failed"}
    assert {len(consortium[name].record(job).bits) for name in HOLDERS} == {1}
    assert {consortium[name].kinds(job).count("started") for name in consortium.names} == {1}
    assert "has fewer left" in consortium["bert"].record(job).ours.why


def test_no_holder_is_dropped_that_leaves_while_a_session_begins(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    doors, tries = Sessions._doors, []

    def racing(self: Sessions, identifier: str) -> Any:
        """The link to cleo breaks after the first look at it, in each node's first try."""
        way, looks = self._way, []

        def once(name: str) -> Any:
            looks.append(name)
            return None if looks.count("cleo") > 1 and name == "cleo" else way(name)

        monkeypatch.setattr(self, "_way", once)
        tries.append(identifier)
        try:
            return doors(self, identifier)
        finally:
            monkeypatch.setattr(self, "_way", way)

    monkeypatch.setattr(Sessions, "_doors", racing)
    job = consortium.propose(protocol="release count", epsilon=0.01)
    assert set(consortium.ended(job).values()) == {"done"}
    assert job in tries
    assert "spent" in consortium["cleo"].kinds(job)


def test_holders_do_not_read_a_refusal_that_depends_on_rows(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_: object) -> None:
        raise JointRefusalError("there are fewer than 7 rows")

    monkeypatch.setattr(executor, "sharded", refusing)
    job = consortium.propose(protocol="release count", epsilon=0.01)
    assert set(consortium.ended(job).values()) == {"failed"}
    for name in HOLDERS:
        statements = consortium[name].record(job).statements
        assert {side.why for side in statements if side.why} == {ROWS_REFUSE}
    assert all("fewer than 7 rows" in consortium[name].record(job).note for name in NODES)


@pytest.mark.parametrize("name", ["a", "anna"])
def test_rows_that_end_a_job_are_charged_before_others_notice(
    consortium: Consortium, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    charge, abort, ready = Runs._charge, GrpcChannel.abort, readiness.exchange
    sharded, opened = executor.sharded, executor.opened

    def charged(self: Runs, record: Any) -> Any:
        record = charge(self, record)
        if self is consortium[name].ledger.runs:
            order.append("charged")
        return record

    def aborted(self: GrpcChannel, why: str) -> None:
        if why == "an error in its own input":
            order.append("noticed")
        abort(self, why)

    def exchanged(session: Any, is_open: bool, waiting: Any) -> bool:
        if not is_open:
            order.append("noticed")
        return ready(session, is_open, waiting)

    def failing(at: str, function: Any, *arguments: Any) -> Any:
        if at == name:
            raise InputError("own rows do not fit")
        return function(*arguments)

    monkeypatch.setattr(Runs, "_charge", charged)
    monkeypatch.setattr(GrpcChannel, "abort", aborted)
    monkeypatch.setattr(readiness, "exchange", exchanged)
    if name in NODES:
        monkeypatch.setattr(executor, "sharded", lambda one, *a: failing(one.options.identity.name, sharded, one, *a))
    else:
        monkeypatch.setattr(executor, "opened", lambda one: failing(one.identity.name, opened, one))
    job = consortium.propose(protocol="release count", epsilon=0.01, compute_only=False)
    assert set(consortium.ended(job).values()) == {"failed"}
    assert order.index("charged") < order.index("noticed")
    assert {one for one in consortium.names if "spent" in consortium[one].kinds(job)} == {name}


def test_the_page_names_who_computes_who_gives_and_who_learns(consortium: Consortium) -> None:
    job = consortium.propose(protocol="release count", epsilon=0.01, to=["anna"])
    consortium.ended(job)
    at_a, at_anna = (consortium[name].job(job).reveals for name in ("a", "anna"))
    assert at_a[0].startswith("this node and b compute. If these two put their shares together")
    assert at_a[1] == "anna, bert, cleo give at most 40 rows each."
    assert at_a[2:4] == ["this node and b learn the result.", "anna learns the result."]
    assert at_a[7] == "Consent of this node with b, word for word ('we' is this node):"
    assert at_anna[0].startswith("a and b compute.")
    assert at_anna[1].startswith("this node, holder ")
    assert at_anna[6:8] == [
        "Both tables, in the consent below, are all these rows, counted as two parts of at most 60 rows.",
        "Consent of a with b, word for word ('we' is a):",
    ]
    assert not [line for line in at_anna[8:] if "a learns" in line or "a's" in line]
    views = [consortium[name].job(job) for name in ("a", "bert")]
    assert [view.parameters["max_rows"] for view in views] == [40, 40]
    assert {*views[0].further} == {"anna", "bert", "cleo"}


def test_an_older_state_of_a_holder_is_found_before_the_next_job(consortium: Consortium) -> None:
    """Found by both nodes and by the holder itself, at its next connection: its charge is not forgotten."""
    bert = consortium["bert"]
    state, older, newest = (bert.directory / name for name in ("state", "older", "newest"))

    def held(*words: str) -> bool:
        """Whether each node and bert part with these words, about bert's records; without words, whether all go on."""
        controls = [consortium[node].contacts["bert"].control for node in NODES]
        controls += [bert.contacts[node].control for node in NODES]
        return all(any(word in one.held for word in words) if words else one.held == "" for one in controls)

    eventually(held)
    with bert.ledger.log.reading():  # a copy since its last connection: no head of a connection tells it apart
        shutil.copytree(state, older)
    spent = consortium.propose(protocol="release count", epsilon=0.01)
    assert set(consortium.ended(spent).values()) == {"done"}
    bert.stop()
    state.rename(newest)
    older.rename(state)
    bert.start()
    eventually(lambda: held("the records of bert were rolled back", "the records here were rolled back"))
    bert.stop()
    shutil.rmtree(state)
    newest.rename(state)
    bert.start()
    eventually(held)
    job = consortium.propose(protocol="release count", epsilon=0.01)
    assert set(consortium.ended(job).values()) == {"done"}
