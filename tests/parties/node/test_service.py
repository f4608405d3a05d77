"""What a node lets a peer begin, what it compares before anything is said, and what it notes of its link."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parties.base.address import parse_address
from parties.base.rate import Rate
from parties.link.identity import Identity, fingerprint
from parties.link.listening import RefusedError
from parties.node import service
from parties.node.acts.parts import PeerLink
from parties.node.events import Events
from parties.node.links import control, sessions
from parties.node.links.contacts import Contacts
from parties.node.log.heads import Found
from parties.node.service import Node, at_once
from parties.node.settings import LimitSettings, NodeSettings, load
from parties.operator.interface import Operator
from smc.errors import InputError, LinkError
from smc.local import run_local
from tests.support.ledgers import SCHEMA, Pair, agreed, propose
from tests.support.waiting import PATIENCE


class Door:
    """Alice's node as bob comes to it: what is admitted is noted, and no time passes."""

    def __init__(self, pair: Pair, held: str = "", links: int = 2, begun: int = 2) -> None:
        alice = pair.parties[0]
        self.admitted: list[str] = []
        self.refuses: list[str] = []  # jobs of which no session can begin
        link = SimpleNamespace(held=held, admit=lambda: self.admitted.append("link"))
        rates = [Rate(burst, 1.0, lambda: 0.0) for burst in (links, begun)]
        ways = SimpleNamespace(who=alice.who, control=link, sessions=SimpleNamespace(admit=self._session))
        ways.links, ways.begun = rates
        self.node = Contacts.__new__(Contacts)
        self.node.of, self.node._ledger, self.node.stopping = {"bob": ways}, alice.ledger, False  # type: ignore[dict-item]
        self._peer, self.log = alice.who.peer, StringIO()
        self.node._events = Events(self.log)
        self.node._node = NodeSettings(limits=LimitSettings(sessions_a_day=begun))

    def _session(self, job: str) -> None:
        if job in self.refuses:
            raise RefusedError("not this one")
        self.admitted.append(job)

    def come(self, label: str) -> None:
        self.node.admit("bob", self._peer, label)

    def refused(self, label: str) -> str:
        with pytest.raises(RefusedError) as refused:
            self.come(label)
        return str(refused.value)


def test_a_peer_begins_the_link_and_sessions_and_nothing_else(pair: Pair) -> None:
    door = Door(pair)
    for label in (control.LABEL, f"{sessions.LABEL}ab", f"{sessions.LABEL}{control.LABEL}"):
        door.come(label)
    assert door.admitted == ["link", "ab", control.LABEL]
    for label in ("", "jobs", f" {sessions.LABEL}ab", control.LABEL.upper(), f"{control.LABEL} "):
        assert "a node answers here" in door.refused(label)
    assert len(door.admitted) == 3


def test_no_session_begins_before_both_logs_are_compared(pair: Pair) -> None:
    """The link does, for over that they are compared."""
    door = Door(pair, held="the two nodes have not compared their records yet")
    assert "jobs wait" in door.refused(f"{sessions.LABEL}ab")
    door.come(control.LABEL)
    assert door.admitted == ["link"]


def test_a_node_that_stops_admits_nobody(pair: Pair) -> None:
    door = Door(pair)
    door.node.stopping = True
    for label in (control.LABEL, f"{sessions.LABEL}ab", "else"):
        assert door.refused(label) == "the node is stopping"
    assert door.admitted == []


def test_a_peer_that_comes_too_often_waits(pair: Pair) -> None:
    """Links and sessions are counted apart; a session that cannot begin is nobody's fault, and not counted."""
    door = Door(pair, links=1, begun=2)
    door.come(control.LABEL)
    assert "too many links" in door.refused(control.LABEL)
    door.refuses = ["cd"]
    for _ in range(5):
        assert door.refused(f"{sessions.LABEL}cd") == "not this one"
    for job in ("ab", "ef"):
        door.come(sessions.LABEL + job)
    why = door.refused(f"{sessions.LABEL}ab")
    assert (
        "node.limits.sessions_a_day: this node begins 2 sessions a day with a peer; the next begins within 43200 s"
        in why
    )
    (line,) = map(json.loads, door.log.getvalue().splitlines())
    assert (line["event"], line["peer"], line["why"]) == ("session held back", "bob", why)
    assert door.admitted == ["link", "ab", "ef"]


def meeting(pair: Pair) -> tuple[str, str]:
    """Why either does not go on, once both have compared their records."""

    def meet(session: Any) -> str:
        party = pair.parties[session.party]
        node = Contacts.__new__(Contacts)
        node._ledger = party.ledger
        return node._meet(party.who.peer_name, session)

    return run_local(meet)


def test_two_nodes_hold_each_others_heads_once_they_have_met(pair: Pair) -> None:
    pair.session(agreed(pair))
    pair.deliver()
    before = [party.ledger.heads.shown(party.who.peer_name).held for party in pair.parties]
    for party in pair.parties:
        party.ledger.log.note("node stopped")
    assert meeting(pair) == ("", "")
    after = [party.ledger.heads.shown(party.who.peer_name).held for party in pair.parties]
    for old, new, other in zip(before, after, pair.parties[::-1], strict=True):
        assert old is not None
        assert new is not None
        assert new.head.number > old.head.number
        assert new.head == other.ledger.heads.shown(other.who.peer_name).own.head


def test_two_nodes_wait_if_one_of_the_logs_was_rolled_back(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until both operators have accepted that: what is held of the other's log stays so long."""
    pair.session(agreed(pair))
    pair.deliver()
    alice, bob = pair.parties
    held = bob.ledger.heads.shown("alice").held
    assert held is not None
    accepted = {"alice": False, "bob": False}
    for own in pair.parties:
        name = own.who.identity.name

        def lost(*_: Any, name: str = name) -> Found:
            return Found(lost=held.head, accepted=accepted[name])

        monkeypatch.setattr(own.ledger.heads, "lost" if own is alice else "lost_by_peer", lost)
    alice.ledger.log.note("node stopped")
    for words in (("put the newest", "must put its newest"), ("accepted here, not yet by bob", "must put its newest")):
        for why, said in zip(meeting(pair), words, strict=True):
            assert said in why
        assert bob.ledger.heads.shown("alice").held == held
        accepted["alice"] = True
    accepted.update(alice=False, bob=True)
    assert all(meeting(pair))
    accepted["alice"] = True
    assert meeting(pair) == ("", "")
    assert bob.ledger.heads.shown("alice").held != held


def test_what_cannot_be_written_of_a_statement_ends_the_link(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the next link it is said again; else it would be lost."""
    node, log = Contacts.__new__(Contacts), StringIO()
    node._ledger, node._events = pair.parties[0].ledger, Events(log)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("disk is full")

    monkeypatch.setattr(node._ledger.hearing, "hear", full)
    with pytest.raises(LinkError, match=control.UNWRITTEN):
        node._hear("bob", pair.parties[1].ledger.heads.attached(b"{}"))
    (line,) = log.getvalue().splitlines()
    assert json.loads(line)["event"] == "records cannot be written"


def test_a_link_is_noted_as_it_comes_and_goes(pair: Pair) -> None:
    alice, log, woken = pair.parties[0], StringIO(), list[int]()
    link = SimpleNamespace(connected=True, trouble="", group="X25519MLKEM768", tls="TLSv1.3")
    contact = SimpleNamespace(who=alice.who, connect=None, control=link)
    contact.sessions = SimpleNamespace(wake=lambda: woken.append(1))
    node = Contacts.__new__(Contacts)
    node.of, node._ledger, node._events = {"bob": contact}, alice.ledger, Events(log)  # type: ignore[dict-item]
    node._connected("bob", True, "192.0.2.7")
    assert alice.ledger.parts.links["bob"] == PeerLink("192.0.2.7", "TLSv1.3", "X25519MLKEM768")
    link.connected, link.trouble = False, "it hung up"
    node._connected("bob", False, None)
    link.connected, contact.connect = True, "127.0.0.1:7001"
    node._connected("bob", True, None)
    assert alice.ledger.parts.address("bob") == "127.0.0.1"
    entries = [one for one in alice.ledger.log.entries(9, None)[::-1] if one.kind in ("connected", "disconnected")]
    assert [one.kind for one in entries] == ["connected", "disconnected", "connected"]
    assert entries[0].fields.items() >= {"peer": "bob", "address": "192.0.2.7", "tls": "TLSv1.3"}.items()
    assert entries[1].fields["why"] == "it hung up"
    assert len(woken) == 3
    events = [json.loads(line)["event"] for line in log.getvalue().splitlines()]
    assert events == ["connected", "disconnected", "connected"]


def test_a_step_of_a_job_is_logged_once_and_wakes_who_waits(pair: Pair) -> None:
    """Of each job, if two change before either is told, too."""
    alice, log, woken, forgotten = pair.parties[0], StringIO(), list[str](), list[str]()
    wakes = {name: SimpleNamespace(wake=lambda name=name: woken.append(name)) for name in ("sessions", "asking")}
    wakes["sessions"].forget = forgotten.append
    node = Node.__new__(Node)
    node._ledger, node._events, node._states = alice.ledger, Events(log), {}
    node._desk = SimpleNamespace(tell=lambda: woken.append("desk"))  # type: ignore[assignment]
    node._asking = wakes["asking"]  # type: ignore[assignment]
    node._inputs = SimpleNamespace(forget=forgotten.append)  # type: ignore[assignment]
    node._contacts = SimpleNamespace(of={"bob": SimpleNamespace(sessions=wakes["sessions"])})  # type: ignore[assignment]
    job, other = propose(pair), propose(pair)
    for identifier in (job, job, other, job, ""):
        node._changed(identifier)
    alice.ledger.decisions.cancel(job)
    assert forgotten == []
    node._changed(job)
    assert forgotten == [job, job], "its inputs, and how long it is left alone"
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["job"], line["state"]) for line in lines if line["event"] == "job"] == [
        (job, "waiting"),
        (other, "waiting"),
        (job, "cancelled"),
    ]
    assert sorted(set(woken)) == ["asking", "desk", "sessions"]


def allowed(rate: Rate, seconds: float) -> tuple[int, bool, bool]:
    """How often a peer may come at once, and whether again a moment before and after so many seconds."""
    now = rate._at
    rate._clock = lambda: now
    most = next(number for number in range(1000) if not rate.allows())
    now += 0.9 * seconds
    before = rate.allows()
    now += 0.2 * seconds
    return most, before, rate.allows()


@pytest.mark.parametrize("peers", [("bob",), ("bob", "mallory")])
def test_the_life_of_a_node_is_in_its_records_and_its_log(
    tmp_path: Path,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    peers: tuple[str, ...],
) -> None:
    class Page:
        def start(self, operator: Operator, events: Events, failed: Callable[[str, str], None]) -> dict[str, str]:
            failed("anna", "wrong password")
            self.operator = operator
            return {}

        def stop(self) -> None:
            with suppress(InputError):  # a second time the records are closed
                self.last = {entry.kind: entry.fields for entry in self.operator.audit(9)}

    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    compiled, stopped = list[int](), list[float]()
    monkeypatch.setattr(service, "warm", lambda on_compiled: compiled.append(1))
    monkeypatch.setattr(sessions.Sessions, "stop", lambda self, seconds: stopped.append(seconds))
    alice, page = identities["alice"], Page()
    lines = [f'[link]\nidentity = "{alice.key_path}"\ncertificate = "{alice.certificate_path}"']
    lines += [f'[[peers]]\nname = "{name}"\ncertificate = "{identities[name].certificate_path}"' for name in peers]
    ports = "".join(f'{port} = "127.0.0.1:0"\n' for port in ("listen", "web", "metrics", "health"))
    (tmp_path / "party.toml").write_text("\n".join([*lines, f"[node]\n{ports}", "limits.sessions_a_day = 200"]))
    node = Node(load(tmp_path / "party.toml"), page)
    ways = node.start()
    for contact in node._contacts.of.values():
        for rate, most, seconds in ((contact.links, 30, 3.0), (contact.begun, 200, 432.0)):
            assert allowed(rate, seconds) == (most, False, True)
    node.stop("it is evening", seconds=7)
    assert (compiled, stopped) == ([1], [7] * len(peers))
    assert all(watch._over.is_set() for watch in node._watches)
    assert {"listens", "connects", "health"} <= set(ways)
    assert (ways["connects"], parse_address(ways["listens"]).host) == ("", "127.0.0.1")
    prints = [fingerprint(identities[name].certificate) for name in peers]
    known = {"peer_fingerprint": prints[0]} if len(peers) == 1 else {"peer_fingerprints": prints}
    assert page.last["node started"].items() >= {"fingerprint": fingerprint(alice.certificate), **known}.items()
    assert page.last["node stopped"]["why"] == "it is evening"
    assert page.last["log-in failed"].items() >= {"person": "anna", "why": "wrong password"}.items()
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    events = [line["event"] for line in told if line["event"] != "archived"]
    assert events == ["log-in failed", "node started", "ready", "node stopping", "node stopped"]
    assert "anna" not in json.dumps(told)


def test_a_node_does_not_begin_with_two_budgets_for_the_same_rows(
    identities: dict[str, Identity], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor with one that counts for a table which nobody knows. Nothing is left that keeps a later start from it."""
    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    SCHEMA.save(tmp_path / "schema.toml")
    alice, bob = identities["alice"], identities["bob"]
    link = f'[link]\nidentity = "{alice.key_path}"\ncertificate = "{alice.certificate_path}"\n'
    link += f'peer = "{bob.certificate_path}"\nlisten = "127.0.0.1:0"\n'
    link += "[node]\n" + "".join(f'{port} = "127.0.0.1:0"\n' for port in ("web", "metrics", "health"))
    table = '[tables.{}]\nsource = "{}"\nschema = "schema.toml"\n{}\n'
    first = table.format("days", "days.csv", "budget = { epsilon = 1 }")

    def begin(*tables: str) -> str:
        (tmp_path / "party.toml").write_text(link + "".join(tables))
        try:
            node = Node(load(tmp_path / "party.toml"), SimpleNamespace(stop=lambda: None))  # type: ignore[arg-type]
        except InputError as error:
            return str(error)
        node.stop()
        return ""

    two = table.replace("{}", "days2", 1).replace("{}", "./days.csv", 1)
    other = two.replace("./days.csv", "other.csv")
    assert begin(first, two.format("")).startswith("tables.days2: ")
    assert 'set same_rows_as = "days"' in begin(first, two.format(""))
    assert "same_rows_as: there is no table 'nights'" in begin(first, other.format('same_rows_as = "nights"'))
    assert begin(first, two.format('same_rows_as = "days"')) == ""
    assert begin(first) == ""


def test_all_is_done_before_it_goes_on() -> None:
    """And side by side, by threads that keep no process from ending."""
    done, both = list[bool](), threading.Barrier(9)

    def call() -> None:
        both.wait(PATIENCE)
        done.append(threading.current_thread().daemon)

    at_once([call] * 9)
    assert done == [True] * 9
