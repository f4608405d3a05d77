"""Ledgers of two computing nodes and several holders that hear each other when they are told to, and may crash."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from parties.link.identity import Identity
from parties.node.acts.gate import Gate
from parties.node.acts.ledger import Ledger
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity, Peers
from parties.node.records import connect
from parties.node.settings import NodeFile
from parties.sources.settings import TableSettings
from tests.support.ledgers import SCHEMA

NODES = ("a", "b")


class Seat:
    """The ledger of one member, which can be opened anew."""

    def __init__(self, path: Path, name: str, peers: list[PeerIdentity], said: Any) -> None:
        self.path, self.name, self.peers, self._said = path, name, peers, said
        self.open()

    def open(self) -> None:
        self.connection = connect(self.path)
        table = TableSettings.model_construct(max_rows=100, tries=5, budget=None, version="")
        self.offers = Offers({"days": Offer(table, SCHEMA)}, {})
        speakers = {who.peer_name: self._speaker(who.peer_name) for who in self.peers}
        gate = Gate(NodeFile(), self.offers)
        self.ledger = Ledger(
            self.connection, Peers(self.peers), gate, self.offers, TypedInputs(), speakers, lambda _: None
        )

    def _speaker(self, peer: str) -> Any:
        return lambda job: self.say(peer, job)

    def say(self, peer: str, job: str) -> None:
        if data := self.ledger.hearing.statement(job, peer):
            self._said[self.name, peer].append(data)

    def crash(self) -> None:
        """What it has said and nobody heard is lost; what was written is not."""
        self.connection.close()
        for (speaker, _), waiting in self._said.items():
            if speaker == self.name:
                waiting.clear()
        self.open()

    def state(self, job: str) -> str:
        record = self.ledger.jobs.known(job)
        return "unknown" if record is None else self.ledger.jobs.state(record)


class Group:
    """Members by name, and what each has said to another that has not heard it yet."""

    def __init__(self, directory: Path, identities: dict[str, Identity]) -> None:
        self.said: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        self.seats: dict[str, Seat] = {}
        for name, own in identities.items():
            peers = []
            for other, their in identities.items():
                if other != name and (name in NODES or other in NODES):
                    party = 0 if name == "a" or (name == "b" and other != "a") else 1
                    peers.append(PeerIdentity(own, their.certificate, party, name=other))
            self.seats[name] = Seat(directory / name / "node.sqlite", name, peers, self.said)

    def __getitem__(self, name: str) -> Ledger:
        return self.seats[name].ledger

    def propose(self, **fields: Any) -> str:
        holders = [name for name in self.seats if name not in NODES]
        task = {} if "protocol" in fields else {"protocol": "id3", "plain": True}
        job = {**task, "table": "days", "peer": "b", "holders": holders, **fields}
        return self["a"].decisions.propose(job).id

    def hear(self, speaker: str, hearer: str) -> None:
        """The hearer takes the oldest statement that waits for it."""
        data = self.said[speaker, hearer].pop(0)
        self[hearer].hearing.hear(speaker, data)

    def deliver(self) -> None:
        """All that was said is heard, until nothing more is said."""
        for _ in range(1000):
            waiting = [link for link, data in self.said.items() if data]
            if not waiting:
                return
            self.hear(*waiting[0])
        raise AssertionError("the ledgers never stop talking")

    def meet(self) -> None:
        """All links are new: each says what is open, then all is heard."""
        self.said.clear()
        for name, seat in self.seats.items():
            for who in seat.peers:
                for job in seat.ledger.jobs.to_greet(who.peer_name):
                    self.seats[name].say(who.peer_name, job)
        self.deliver()

    def states(self, job: str) -> set[str]:
        return {seat.state(job) for seat in self.seats.values()}
