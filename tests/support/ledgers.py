"""Two ledgers of one test that hear each other when they are told to, and may crash."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.settings import Id3Settings
from parties.link.identity import Identity
from parties.node.acts.gate import Gate
from parties.node.acts.ledger import Ledger
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.exchanges.openings import Leaving, Written
from parties.node.log.store import Record
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity, Peers
from parties.node.point.decision_point import DecisionPoint
from parties.node.policy.rules import Rule
from parties.node.records import connect
from parties.node.records.database import STATE
from parties.node.settings import LimitSettings, NodeFile, NodeSettings
from parties.sources.settings import BudgetSettings, TableSettings
from parties.tables.schema import Schema
from protocols.tree import Leaf, Open, Split, Tree
from smc.errors import InputError
from smc.meter import Cost
from tests.support.decision_points import Says

SCHEMA = Schema({"wind": ("weak", "strong"), "rain": ("no", "some", "much"), "play": ("yes", "no")}, "play")
TASK = Id3.of(Id3Settings(plain=True), SCHEMA, "play")
REPORT = {"total": {}, "phases": {}}
TREE = Split(0, (Leaf(0), Split(1, (Leaf(0), Leaf(1), Leaf(1)))))
OTHER = Split(0, (Leaf(1), Split(1, (Leaf(0), Leaf(1), Leaf(1)))))
PRINT = ":".join(["AB"] * 32)
STAGES: list[Tree] = [Open(), Split(0, (Open(), Open()))]


def offer_otherwise(offers: Offers, **changed: Any) -> None:
    """Change settings of the table days, as if the node had been started with others."""
    offer = offers.tables["days"]
    cast("dict[str, Offer]", offers.tables)["days"] = replace(offer, settings=offer.settings.model_copy(update=changed))


class Party:
    """A ledger that can be closed and opened anew, and what it has said that the peer has not heard."""

    def __init__(self, path: Path, who: PeerIdentity, rules: tuple[Rule, ...] = ()) -> None:
        self.path, self.who, self.rules = path, who, rules
        self.budget: BudgetSettings | None = None  # of its table, from the next opening on
        self.version = ""  # of its rows, likewise
        self.tables: dict[str, TableSettings] = {}  # in place of that one, likewise
        self.point: Says | None = None  # the decision point, from the next opening on
        self.limits = LimitSettings()  # likewise
        self.said: list[bytes] = []
        self.inputs = TypedInputs()
        self.changed: Callable[[str], None] = lambda _: None
        self.connection: sqlite3.Connection
        self.open()

    def open(self) -> None:
        self.connection = connect(self.path)
        table = TableSettings.model_construct(max_rows=100, tries=5, budget=self.budget, version=self.version)
        tables = self.tables or {"days": table}
        self.offers = Offers({name: Offer(settings, SCHEMA) for name, settings in tables.items()}, {})
        file = NodeFile(policy=self.rules, node=NodeSettings(limits=self.limits))

        def say(identifier: str) -> None:
            if data := self.ledger.hearing.statement(identifier):
                self.said.append(data)

        gate = Gate(file, self.offers, cast("DecisionPoint | None", self.point))
        self.ledger = Ledger(
            self.connection,
            Peers([self.who]),
            gate,
            self.offers,
            self.inputs,
            {self.who.peer_name: say},
            self._has_changed,
        )
        known = {"tables": list(tables), "state": STATE, **self.ledger.accounts.recorded()}
        self.ledger.log.note("node started", version="1", fingerprint=PRINT, peer_fingerprint=PRINT, **known)

    def _has_changed(self, job: str) -> None:
        assert not self.ledger.log.lock._is_owned()  # type: ignore[attr-defined]  # who hears of it takes locks of its own
        self.changed(job)

    def crash(self) -> None:
        """What was not said is lost; what was written is not."""
        self.connection.close()
        self.said.clear()
        self.open()

    def hear(self, data: bytes) -> None:
        """What the peer says."""
        self.ledger.hearing.hear(self.who.peer_name, data)

    def begin(self, identifier: str) -> Record | None:
        """A session with the peer."""
        return self.ledger.runs.begin(identifier, self.who.peer_name)

    def opens(self, identifier: str) -> None:
        """The first share of a job leaves."""
        self.ledger.runs.write_opening(identifier, Written(0, 0, b"share", bytes(16)))
        self.ledger.runs.opening_leaves(identifier, Leaving(0, 0))

    def state(self, identifier: str) -> str:
        return self.ledger.jobs.state(self.ledger.jobs.find(identifier))


class Pair:
    """Two parties and the link between them."""

    def __init__(self, directory: Path, identities: dict[str, Identity], rules: tuple[Rule, ...] = ()) -> None:
        alice, bob = identities["alice"], identities["bob"]
        self.parties = (
            Party(directory / "0" / "node.sqlite", PeerIdentity(alice, bob.certificate, 0)),
            Party(directory / "1" / "node.sqlite", PeerIdentity(bob, alice.certificate, 1), rules),
        )

    def deliver(self) -> None:
        """All that was said is heard, until nothing more is said."""
        for _ in range(100):
            if not any(party.said for party in self.parties):
                return
            for party in (0, 1):
                waiting, self.parties[party].said[:] = list(self.parties[party].said), []
                for data in waiting:
                    self.parties[1 - party].hear(data)
        raise AssertionError("the two ledgers never stop talking")

    def meet(self) -> None:
        """A new link: each says what is open, then all is heard."""
        for party in self.parties:
            party.said[:] = [
                party.ledger.hearing.statement(job) for job in party.ledger.jobs.to_greet(party.who.peer_name)
            ]
        self.deliver()

    def session(
        self, identifier: str, trees: tuple[Tree, Tree] = (TREE, TREE), until: tuple[int, int] = (9, 9)
    ) -> None:
        """A session of the job, which each party leaves after so many steps."""
        for party, tree, last in zip(self.parties, trees, until, strict=True):
            ledger = party.ledger
            with suppress(InputError):
                ledger.runs.begin(identifier, party.who.peer_name)
                steps = [lambda ledger=ledger: ledger.runs.met(identifier, 0, "mixed")]
                steps += [
                    lambda t=t, ledger=ledger: ledger.runs.reached(identifier, TASK.states.encode(t), Cost(1, 2, 3, 4))
                    for t in STAGES
                ]
                steps += [
                    lambda t=tree, ledger=ledger: ledger.runs.computed(
                        identifier, TASK.states.encode(t), Cost(5, 6, 7, 8), REPORT
                    )
                ]
                for step in steps[:last]:
                    step()
                ledger.runs.over(identifier)


@contextmanager
def paired(directory: Path, identities: dict[str, Identity], rules: tuple[Rule, ...] = ()) -> Iterator[Pair]:
    made = Pair(directory, identities, rules)
    try:
        yield made
    finally:
        for party in made.parties:
            party.connection.close()


def propose(pair: Pair, party: int = 0, **fields: Any) -> str:
    return pair.parties[party].ledger.decisions.propose({"table": "days", "splits": "multiway", **fields}).id


def agreed(pair: Pair, **fields: Any) -> str:
    """A job of alice's that both have approved."""
    job = propose(pair, **fields)
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job, "approved")
    pair.deliver()
    return job
