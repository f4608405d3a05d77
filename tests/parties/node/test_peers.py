"""Several peers of one node: who is meant, and that none can touch, see or pay with what is another's."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from parties.base.address import Address
from parties.commands.serving import Page
from parties.jobs.spending import PureLoss, exact
from parties.link.identity import Identity, create, fingerprint
from parties.link.listening import Port, RefusedError
from parties.link.opening import open_link
from parties.node.acts.gate import Gate
from parties.node.acts.ledger import Ledger
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.events import Events
from parties.node.exchanges.openings import Leaving, Written
from parties.node.links.sessions import Sessions
from parties.node.log.statement import Statement
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity, Peers, acquainted, misnamed, reached
from parties.node.policy.rules import Rule
from parties.node.records import connect
from parties.node.records.succession import Successor
from parties.node.service import Node
from parties.node.settings import NodeFile, load
from parties.sources.settings import BudgetSettings, TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError, LinkError, ProtocolError
from tests.support.ledgers import PRINT, SCHEMA, offer_otherwise
from tests.support.proposals import proposal_of

pytestmark = pytest.mark.slow


@pytest.fixture
def whos(identities: dict[str, Identity]) -> tuple[PeerIdentity, PeerIdentity]:
    """Alice's peers: bob connects to her, she connects to mallory, here called lab."""
    alice = identities["alice"]
    bob = PeerIdentity(alice, identities["bob"].certificate, 0, share=0.8)
    return bob, PeerIdentity(alice, identities["mallory"].certificate, 1, name="lab", share=0.2)


def test_a_participant_is_known_by_its_certificates_in_the_order_of_the_job(
    whos: tuple[PeerIdentity, PeerIdentity], identities: dict[str, Identity], tmp_path: Path
) -> None:
    """A renewed certificate is the same participant's; a swapped, missing or additional one is not."""
    bob, lab = whos
    later = create("bob", [], tmp_path).certificate
    renewed = replace(bob, successor=Successor(later, datetime.now(UTC).date())).succeeded
    before = [fingerprint(bob.peer), fingerprint(lab.peer)]
    for known in (Peers([bob, lab]), Peers([renewed, lab])):
        assert known.are([bob.peer, lab.peer], before)
        for others in ([lab.peer, bob.peer], [bob.peer], [*map(getattr, whos, ["peer"] * 2), bob.peer], []):
            assert not known.are(others, before)
        assert not known.are([bob.peer, identities["alice"].certificate], before)
        assert known.are([later, lab.peer], before) == (known.named("bob").peer == later)


@pytest.fixture
def ledger(tmp_path: Path, whos: tuple[PeerIdentity, PeerIdentity]) -> Iterator[Ledger]:
    connection = connect(tmp_path / "node.sqlite")
    table = TableSettings.model_construct(max_rows=100, tries=5, budget=BudgetSettings(epsilon=2.0), version="1")
    offers = Offers({"days": Offer(table, SCHEMA)}, {})
    rules = (Rule(name="of bob", effect="permit", peer=("bob",)),)
    said: list[tuple[str, str]] = []
    made = Ledger(
        connection,
        Peers(whos),
        Gate(NodeFile(policy=rules), offers),
        offers,
        TypedInputs(),
        {who.peer_name: partial(lambda peer, job: said.append((peer, job)), who.peer_name) for who in whos},
        lambda _: None,
    )
    made.said = said  # type: ignore[attr-defined]
    prints = [fingerprint(who.peer) for who in whos]
    made.log.note("node started", version="1", fingerprint=PRINT, peer_fingerprints=prints)
    yield made
    connection.close()


def theirs(party: int, schema: Schema = SCHEMA, **fields: Any) -> Statement:
    """What a peer of this number says of a job that it proposes."""
    return Statement(proposal=proposal_of(schema, party=party, **fields), verdict="approved", by="proposer")


def test_rules_and_numbers_are_of_the_peer(ledger: Ledger) -> None:
    by_bob, by_lab = theirs(1), theirs(0)
    ledger.hearing.hear("bob", by_bob.to_bytes())
    ledger.hearing.hear("lab", by_lab.to_bytes())
    assert [ledger.jobs.state(ledger.jobs.find(one.proposal.id)) for one in (by_bob, by_lab)] == ["queued", "waiting"]
    assert [ledger.jobs.find(one.proposal.id).party for one in (by_bob, by_lab)] == [0, 1]
    forged = theirs(0)  # of number 0 are her own jobs with bob: he cannot have made one
    ledger.hearing.hear("bob", forged.to_bytes())
    with pytest.raises(InputError, match="no job"):
        ledger.jobs.find(forged.proposal.id)


def test_whom_a_job_is_for(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="peer: is missing; there are 'bob', 'lab'"):
        ledger.decisions.propose({"table": "days"})
    with pytest.raises(InputError, match="did you mean 'bob'"):
        ledger.decisions.propose({"table": "days", "peer": "bobb"})
    record = ledger.decisions.propose({"table": "days", "peer": "lab"})
    assert (record.peer, record.party, record.ours.proposal.proposer) == ("lab", 1, 1)
    assert ledger.said == [("lab", record.id)]  # type: ignore[attr-defined]
    assert ledger.jobs.to_greet("lab") == [record.id]
    assert ledger.jobs.to_greet("bob") == []


def test_no_peer_speaks_of_anothers_job(ledger: Ledger) -> None:
    """Neither as it was said, nor to end it, nor to begin its session."""
    said = theirs(1)
    ledger.hearing.hear("bob", said.to_bytes())
    job = said.proposal.id
    for statement in (said, said.model_copy(update={"end": "cancelled", "settled": True})):
        with pytest.raises(ProtocolError, match="with another peer"):
            ledger.hearing.hear("lab", statement.to_bytes())
    assert ledger.jobs.state(ledger.jobs.find(job)) == "queued"
    with pytest.raises(InputError, match="no such job"):
        ledger.runs.begin(job, "lab")
    assert ledger.jobs.agreed("lab", "ready") == []
    assert [record.id for record in ledger.jobs.agreed("bob", "ready")] == [job]
    assert ledger.runs.begin(job, "bob") is not None


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([None], [1.0]),
        ([0.25], [0.25]),
        ([None, None], [0.5, 0.5]),
        ([0.75, None], [0.75, 0.25]),
        ([0.5, 0.5], [0.5, 0.5]),
    ],
)
def test_peers_share_what_the_file_leaves(
    identities: dict[str, Identity], asked: list[float | None], given: list[float]
) -> None:
    alice = identities["alice"]
    peers = [
        {"certificate": identities[name].certificate_path, "share": share}
        for name, share in zip(("bob", "mallory"), asked, strict=False)
    ]
    link = {"identity": alice.key_path, "certificate": alice.certificate_path, "listen": "127.0.0.1:1"}
    file = NodeFile.model_validate({"link": link, "peers": tuple(peers)})
    assert [who.share for who, _ in reached(file)] == given


def test_sessions_with_two_peers_may_begin_at_the_same_moment(
    ledger: Ledger, whos: tuple[PeerIdentity, PeerIdentity], parties: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tells all of them that a job has changed: none waits for another that waits for it."""
    options = parties.options("alice", "bob", listen="127.0.0.1:0")
    both = [Sessions(ledger, who, options, 2, lambda: True, Events(io.StringIO())) for who in whos]
    jobs = [theirs(1), theirs(0)]
    for who, job in zip(whos, jobs, strict=True):
        ledger.hearing.hear(who.peer_name, job.to_bytes())
    ledger.decisions.decide(jobs[1].proposal.id, "approved")
    meeting = threading.Barrier(2)

    def changed(_: str) -> None:
        meeting.wait(30)
        for sessions in both:
            sessions.wake()

    monkeypatch.setattr(ledger.jobs, "changed", changed)
    threads = [
        threading.Thread(target=sessions._begin, args=(job.proposal.id,), daemon=True)
        for sessions, job in zip(both, jobs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert [len(sessions.all_progress()) for sessions in both] == [1, 1]


def test_a_share_of_the_budget_each_and_no_answer_of_anothers_job(ledger: Ledger) -> None:
    """A peer spends its own share, and hears of no other's spending; what one has asked answers no other one."""
    fields = {"epsilon": 1.5, "max_depth": 1, "trees": 1}
    with_bob, with_lab = theirs(1, **fields), theirs(0, **fields)
    ledger.hearing.hear("bob", with_bob.to_bytes())
    record = ledger.jobs.find(with_bob.proposal.id)
    assert ledger.runs.begin(record.id, "bob") is not None
    ledger.runs.met(record.id, 0, "mixed")
    ledger.runs.write_opening(record.id, Written(0, 0, b"share", bytes(16)))
    ledger.runs.opening_leaves(record.id, Leaving(0, 0))
    assert ledger.accounts.account("days").spent == 1.5
    ledger.hearing.hear("lab", with_lab.to_bytes())
    refused = ledger.jobs.find(with_lab.proposal.id)
    with pytest.raises(InputError, match=r"spent epsilon 0, asked 1\.5, left 0\.4"):
        ledger.decisions.decide(refused.id, "approved")
    more = theirs(1, **fields | {"epsilon": 0.25})
    ledger.hearing.hear("bob", more.to_bytes())
    assert "spent epsilon 1.5, asked 0.25, left 0.1" in ledger.jobs.find(more.proposal.id).ours.why
    with ledger.log.writing():
        known = ledger.jobs.find(record.id)
        signed = ledger.log.sign({"tree": None})
        sides = {"ours": known.ours, "theirs": known.theirs or known.ours}
        done = {name: side.model_copy(update={"end": "computed", "signed": signed}) for name, side in sides.items()}
        ledger.jobs.store.put(known.model_copy(update=done))
    same = record.model_copy(update={"ours": Statement(proposal=theirs(1, **fields).proposal)})
    found = ledger.accounts.earlier(same)
    assert found is not None
    assert found.job.id == record.id
    assert ledger.accounts.earlier(same.model_copy(update={"peer": "lab"})) is None


def test_what_all_have_spent_counts_without_numbers(ledger: Ledger) -> None:
    """A peer that is gone has spent, too: a share may be more than what is left, and nobody is told why."""
    fields = {"max_depth": 1, "trees": 1}
    with_bob, with_lab = theirs(1, epsilon=1.5, **fields), theirs(0, epsilon=0.3125, **fields)
    ledger.hearing.hear("bob", with_bob.to_bytes())
    record = ledger.jobs.find(with_bob.proposal.id)
    ledger.runs.begin(record.id, "bob")
    ledger.runs.met(record.id, 0, "mixed")
    ledger.runs.write_opening(record.id, Written(0, 0, b"share", bytes(16)))
    ledger.runs.opening_leaves(record.id, Leaving(0, 0))
    charged = ledger.jobs.find(record.id)
    assert charged.charged is not None
    ledger.jobs.store.put(charged.model_copy(update={"charged": replace(charged.charged, peer="gone")}))
    offer_otherwise(ledger.decisions._offers, budget=BudgetSettings(epsilon=1.75))
    ledger.hearing.hear("lab", with_lab.to_bytes())
    with pytest.raises(InputError, match=r"^the privacy budget of table .days. does not allow the job$"):
        ledger.decisions.decide(with_lab.proposal.id, "approved")


def test_bits_are_of_a_share_and_of_the_whole(ledger: Ledger) -> None:
    """Jobs side by side count together: a peer's for its share, all for the table, and those of a peer that is gone."""
    records = []
    for peer, said in (("bob", theirs(1)), ("bob", theirs(1)), ("lab", theirs(0))):
        ledger.hearing.hear(peer, said.to_bytes())
        records.append(ledger.jobs.find(said.proposal.id))
    job, beside, of_lab = records
    fits = ledger.accounts.bits_fit
    assert [fits(job, bits, ()) for bits in (3276, 3277)] == [True, False]
    assert [fits(job, bits, [(beside, 276)]) for bits in (3000, 3001)] == [True, False]
    assert [fits(job, 3276, [(of_lab, bits)]) for bits in (820, 821)] == [True, False]
    gone = BitsCharge(datetime.now(UTC), "days", "gone", "1", 0, 4000)
    ledger.jobs.store.put(beside.model_copy(update={"bits": (gone,)}))
    assert [fits(of_lab, bits, ()) for bits in (96, 97)] == [True, False]
    assert [fits(of_lab, bits, [(job, 50)]) for bits in (46, 47)] == [True, False]


def test_the_log_is_whole_and_a_moved_job_is_noticed(ledger: Ledger, tmp_path: Path) -> None:
    record = ledger.decisions.propose({"table": "days", "peer": "lab"})
    ledger.jobs.check(tmp_path / "log.json")
    ledger.jobs.store.put(record.model_copy(update={"peer": "bob"}))
    with pytest.raises(InputError, match="its peer is not what the audit log says"):
        ledger.jobs.check(tmp_path / "log.json")


def test_jobs_from_before_learn_their_peer_from_the_log(ledger: Ledger, tmp_path: Path) -> None:
    record = ledger.decisions.propose({"table": "days", "peer": "lab"})
    with ledger.log.writing():
        ledger.jobs.store.put(record.model_copy(update={"peer": ""}))
    ledger.jobs.check(tmp_path / "log.json")
    assert ledger.jobs.find(record.id).peer == "lab"


def test_a_port_knows_its_peers_apart(identities: dict[str, Identity], parties: Any) -> None:
    """By their certificates; and one that opens all the streams it may takes none of another's."""
    heard: list[tuple[str, str]] = []

    def of(name: str) -> Any:
        def admit(label: str) -> Any:
            heard.append((name, label))
            raise RefusedError(f"you are {name}")

        return admit

    own = identities["alice"]
    port = Port(
        Address("127.0.0.1", 0), own, {identities[name].certificate: of(name) for name in ("bob", "mallory")}, 10.0
    )
    with closing(port):
        for name in ("mallory", "bob"):
            options = parties.options(name, "alice", connect=str(port.address), label=name, wait=5.0)
            with pytest.raises(LinkError, match=f"you are {name}"), open_link(options, {}):
                pass
    assert heard == [("mallory", "mallory"), ("bob", "bob")]


TWO = """
[link]
identity = "alice.key"
certificate = "alice.crt"

[node]
state = "state"
listen = "127.0.0.1:7001"

[[peers]]
certificate = "bob.crt"
attributes.gdpr_compliant = true

[[peers]]
name = "lab"
certificate = "mallory.crt"
connect = "lab.example:7001"
"""


@pytest.fixture
def party_file(tmp_path: Path, identities: dict[str, Identity]) -> Path:
    for identity in identities.values():
        for path in (identity.key_path, identity.certificate_path):
            (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / f"{identity.name}.key").chmod(0o600)
    (tmp_path / "party.toml").write_text(TWO)
    return tmp_path / "party.toml"


def test_the_peers_of_a_file(party_file: Path) -> None:
    (bob, to_bob), (lab, to_lab) = reached(load(party_file))
    assert (bob.peer_name, bob.party, to_bob.listen, to_bob.connect) == ("bob", 0, "127.0.0.1:7001", None)
    assert (lab.peer_name, lab.party, to_lab.listen, to_lab.connect) == ("lab", 1, None, "lab.example:7001")
    assert bob.settings.attributes == {"gdpr_compliant": True}
    assert acquainted(load(party_file), "lab").certificate == lab.peer
    with pytest.raises(InputError, match="there are 'bob', 'lab'"):
        acquainted(load(party_file), None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "lab"', 'name = "bob"', "two are called 'bob'"),
        ("mallory.crt", "bob.crt", "two entries have the certificate of 'bob'"),
        (
            'name = "lab"\ncertificate = "mallory.crt"',
            'certificate = "bob.crt"',
            "two entries have the certificate of 'bob'",
        ),
        ('listen = "127.0.0.1:7001"', "", r"peers.0: no way to the peer: give connect, or node.listen"),
        ("[node]", 'peer = "bob.crt"\n[node]', "link.peer and link.connect are for a single peer"),
        ("[node]", 'peer = "bob.crt"\n[node]', r"one more \[\[peers\]\] instead, with link.peer as its certificate"),
        ("[node]", 'listen = "127.0.0.1:1"\n[node]', "node.listen: .link. already sets"),
        ("[[peers]]\nname", '[peer]\nroles = ["x"]\n[[peers]]\nname', r"\[peer\] is for a single peer"),
        ('certificate = "bob.crt"\n', "", r"peers.0.certificate: is missing"),
        (
            "connect = ",
            '[[policy]]\nname = "r"\neffekt = "permit"\n[[peers]]\nconnect = ',
            "effekt: unknown key .did you",
        ),
        ("connect = ", "conect = ", "peers 'lab': conect: unknown key .did you mean 'connect'"),
    ],
)
def test_what_a_file_must_not_say(party_file: Path, old: str, new: str, message: str) -> None:
    party_file.write_text(TWO.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        reached(load(party_file))


def test_a_peer_more_beside_that_of_the_short_form(party_file: Path) -> None:
    """As the tutorial says: `peer` becomes a certificate under [[peers]], and `listen` may stay."""
    party_file.write_text(
        '[link]\nidentity = "alice.key"\ncertificate = "alice.crt"\nlisten = "127.0.0.1:7001"\n'
        '[[peers]]\ncertificate = "bob.crt"\n[[peers]]\ncertificate = "mallory.crt"\n'
    )
    both = reached(load(party_file))
    assert [(who.peer_name, options.listen) for who, options in both] == [
        (n, "127.0.0.1:7001") for n in ("bob", "mallory")
    ]


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ('metrics = "127.0.0.1:7080"', "^node.metrics: 127.0.0.1:7080 is node.web as well: give each its own port$"),
        (
            'data_ports = "7079-7081"',
            "^node.web: 127.0.0.1:7080 has a port of link.data_ports, 7079-7081: give each its own port$",
        ),
        (
            'state = "alice.key"',
            r"^node.state: cannot open \S+/alice.key/node.sqlite: a file stands where its directory",
        ),
        ('state = "alice.key/deep"', "^node.state: cannot open .*: a file stands where"),
    ],
)
def test_what_keeps_a_node_from_starting_names_its_key(party_file: Path, node: str, said: str) -> None:
    lines = [line for line in TWO.splitlines() if line.partition("=")[0] != node.partition("=")[0]]
    table = "[link]" if node.startswith("data_ports") else "[node]"
    party_file.write_text("\n".join(lines).replace(table, f"{table}\n{node}", 1))
    with pytest.raises(InputError, match=said):
        Node(load(party_file), cast("Any", None))


def test_the_short_form_is_one_peer(party_file: Path) -> None:
    party_file.write_text(
        '[link]\nidentity = "alice.key"\ncertificate = "alice.crt"\npeer = "bob.crt"\nlisten = "127.0.0.1:7001"\n'
        '[peer]\nroles = ["clinic"]\n'
    )
    ((bob, options),) = reached(load(party_file))
    assert (bob.peer_name, bob.party, bob.settings.roles, options.listen) == ("bob", 0, ("clinic",), "127.0.0.1:7001")
    assert Peers([bob]).named(None) == bob


@pytest.mark.parametrize("key", ["node.listen", "node.web", "node.metrics", "node.health"])
def test_a_taken_port_names_its_key(party_file: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """All ports of a node are keys of one table, and the one that is taken is named, before any state is touched."""
    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = dict.fromkeys(("listen", "web", "metrics", "health"), "127.0.0.1:0")
        ports[key.removeprefix("node.")] = f"127.0.0.1:{taken.getsockname()[1]}"
        lines = "\n".join(f'{name} = "{address}"' for name, address in ports.items())
        party_file.write_text(TWO.replace('listen = "127.0.0.1:7001"', lines))
        file = load(party_file)
        with pytest.raises(InputError, match=f"^{key}: .*127.0.0.1:{taken.getsockname()[1]}"):
            Node(file, Page(file.node))
        assert {path.name for path in file.node.state.iterdir()} == {"lock", "starting"}


def test_nobody_can_connect_before_the_inner_loops_are_compiled(
    party_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a first session waits for the compiler, and counts that among what the protocol takes."""

    def compiling(on_compiled: object) -> None:
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=1):
            pass
        raise InputError("compiled")

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    monkeypatch.setattr("parties.node.service.warm", compiling)
    ports = "\n".join(f'{name} = "127.0.0.1:0"' for name in ("web", "metrics", "health"))
    party_file.write_text(TWO.replace('listen = "127.0.0.1:7001"', f'listen = "127.0.0.1:{port}"\n{ports}'))
    file = load(party_file)
    node = Node(file, Page(file.node))
    try:
        with pytest.raises(InputError, match="compiled"):
            node.start()
    finally:
        node.stop(seconds=0)


def test_a_name_fits_its_certificate_or_what_the_log_knows(whos: tuple[PeerIdentity, PeerIdentity]) -> None:
    bob, lab = whos
    known = {fingerprint(bob.peer): "bob", fingerprint(lab.peer): "lab"}
    swapped = (replace(bob, name="lab"), replace(lab, name="bob"))
    assert [misnamed(who, whos, known) for who in whos] == ["", ""]
    assert [misnamed(who, whos, {}) for who in whos] == ["", ""]  # a new certificate: any name that is nobody's
    for who in swapped:
        assert "the log knows it as" in misnamed(who, swapped, known)
    assert "another has that of 'bob'" in misnamed(swapped[1], swapped, {})
    assert not misnamed(replace(lab, name=""), whos, known)  # the certificate's own name is always right


def test_names_that_were_exchanged_keep_the_ledger_shut(
    ledger: Ledger, whos: tuple[PeerIdentity, PeerIdentity], tmp_path: Path
) -> None:
    for who in whos:
        ledger.log.note("connected", peer=who.peer_name, fingerprint=fingerprint(who.peer))
    ledger.jobs.check(tmp_path / "log.json")
    bob, lab = whos
    ledger.log.peers = Peers((replace(bob, name="lab"), replace(lab, name="bob")))
    with pytest.raises(InputError, match=r"^peers: the certificate .* is called 'lab', and the log knows it as 'bob'"):
        ledger.jobs.check(tmp_path / "log.json")


def test_small_answers_to_one_peer_leave_another_its_share(ledger: Ledger) -> None:
    """Many small answers are less than their sum where a delta is allowed; another's share is what the file says."""
    offer_otherwise(ledger.decisions._offers, budget=BudgetSettings(epsilon=1.0, delta=1e-6))
    accounts = ledger.accounts
    accounts._peers = Peers([replace(who, share=0.5) for who in accounts._peers])
    charge = Charge(
        datetime.now(UTC), "days", "bob", "ab" * 16, (PureLoss("discrete Laplace", exact(0.01), times=124),)
    )
    accounts._charges = lambda *_: [charge]  # type: ignore[method-assign]
    assert accounts.share("days", "bob").fits(())
    assert not accounts.account("days").fits((PureLoss("discrete Laplace", exact(0.5)),)), "the whole would refuse it"
    with_lab = theirs(0, epsilon=0.5, max_depth=1, trees=1)
    ledger.hearing.hear("lab", with_lab.to_bytes())
    ledger.decisions.decide(with_lab.proposal.id, "approved")


def test_a_holder_opens_no_port(party_file: Path) -> None:
    text = '[node]\nrole = "holder"\nlisten = "127.0.0.1:7001"\n' + "".join(
        f'[[peers]]\ncertificate = "{name}.crt"\nconnect = "127.0.0.1:700{i}"\n' for i, name in enumerate("ab", 2)
    )
    party_file.write_text(text)
    with pytest.raises(InputError, match=r"node\.listen: a holder opens no port to those that compute; remove listen"):
        load(party_file)
