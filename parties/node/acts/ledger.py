"""A node's jobs with all actions on them: they share one log, and one way to change a job (`Jobs.apply`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from parties.node.acts.accounts import Accounts
from parties.node.acts.decisions import Decisions
from parties.node.acts.gate import Gate
from parties.node.acts.hearing import Hearing
from parties.node.acts.matchings import Matchings
from parties.node.acts.parts import Parts
from parties.node.acts.runs import Runs
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.log.heads import Heads
from parties.node.log.jobs import Jobs
from parties.node.log.node_log import NodeLog
from parties.node.log.pins import Pins
from parties.node.log.retention import Retention
from parties.node.log.spendings import Spendings
from parties.node.offers import Offers
from parties.node.peers import Peers


class Ledger:
    """The jobs of a node, with one log and all actions on them.

    A session begins only for a job that both parties' statements approve. Ours is approved by the operator or by a
    rule, never otherwise.

    `decisions` are the operator's, `hearing` handles the peer's statements, `runs` the sessions' results. `log`
    records all of them.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        peers: Peers,
        gate: Gate,
        offers: Offers,
        inputs: TypedInputs,
        speakers: Mapping[str, Callable[[str], None]],
        changed: Callable[[str], None],
    ) -> None:
        self.gate = gate
        self.log = NodeLog(connection, peers)
        self.jobs = Jobs(self.log, speakers, changed)
        self.matchings = Matchings(self.jobs, offers)
        gate.matching = self.matchings.find
        self.spendings = Spendings(self.jobs)
        self.retention = Retention(self.jobs, self.spendings)
        self.heads = Heads(self.log, self.spendings.reread)
        self.pins = Pins(self.log, self.heads)
        self.accounts = Accounts(offers, self.jobs, self.spendings, peers)
        self.parts = Parts(self.jobs, self.spendings, self.accounts, self.heads, self.pins, gate, offers, inputs)
        self.runs = Runs(self.parts)
        self.hearing = Hearing(self.parts)
        self.decisions = Decisions(self.parts, self.runs)
