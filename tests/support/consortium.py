"""Two nodes that compute and holders of rows, each a node in a directory of its own, in this process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from parties.link.identity import create
from parties.node.service import Node
from parties.node.settings import load
from parties.operator.interface import ENDED, JobView, Operator
from tests.support.ports import free_port
from tests.support.waiting import eventually

NODES, HOLDERS = ("a", "b"), ("anna", "bert", "cleo")
ROWS = {"a": 21, "b": 0, "anna": 30, "bert": 0, "cleo": 17}
SCHEMA = """target = "play"
[attributes]
wind = ["weak", "strong"]
rain = ["no", "some", "much"]
play = ["yes", "no"]
"""
VALUES = (("weak", "strong"), ("no", "some", "much"), ("yes", "no"))
HEAD = """
[node]
{role}
web = "127.0.0.1:0"
metrics = "127.0.0.1:0"
health = "127.0.0.1:0"
stop = 1.0
{listen}

[link]
identity = "{name}.key"
certificate = "{name}.crt"

[tables.days]
source = "days.csv"
schema = "schema.toml"
max_rows = 40
budget = {{ epsilon = 2.0, bits = 100000 }}
"""
PERMIT = '[[policy]]\nname = "all"\neffect = "permit"\nexact = {exact}\n'


class Member:
    """A node of the consortium; it can be stopped and started again."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.name = directory, directory.name
        self._node: Node | None = None
        self.operator: Operator

    def start(self) -> None:
        def serve(operator: Operator, *_: object) -> dict[str, str]:
            self.operator = operator
            return {}

        page: Any = SimpleNamespace(start=serve, stop=lambda: None)
        self._node = Node(load(self.directory / "party.toml"), page)
        self._node.start()

    def stop(self) -> None:
        if self._node is not None:
            self._node.stop(seconds=0)
        self._node = None

    def job(self, identifier: str) -> JobView:
        return self.operator.job(identifier)

    @property
    def ledger(self) -> Any:
        assert self._node is not None
        return self._node._ledger

    @property
    def contacts(self) -> Any:
        assert self._node is not None
        return self._node._contacts.of

    def record(self, identifier: str) -> Any:
        return self.ledger.jobs.find(identifier)

    def kinds(self, identifier: str) -> list[str]:
        """The kinds of the log's entries about a job."""
        return [entry.kind for entry in self.operator.audit(1000) if entry.job == identifier][::-1]


class Consortium:
    """All members, by name, with their rows."""

    def __init__(self, directory: Path, policy: str = PERMIT) -> None:
        self.directory = directory
        port = {name: free_port() for name in NODES}
        self.names = (*NODES, *HOLDERS)
        self.members = {name: Member(directory / name) for name in self.names}
        for name in self.names:
            (directory / name).mkdir()
            create(name, ["127.0.0.1"], directory / name)
        random = np.random.default_rng(0)
        self.rows: dict[str, list[tuple[str, ...]]] = {}
        for name in self.names:
            cells = [[values[i] for i in random.integers(0, len(values), ROWS[name])] for values in VALUES]
            self.rows[name] = [*zip(*cells, strict=True)]
            lines = ["wind,rain,play", *map(",".join, self.rows[name]), ""]
            (directory / name / "days.csv").write_text("\n".join(lines))
            (directory / name / "schema.toml").write_text(SCHEMA)
            others = NODES if name in HOLDERS else [other for other in self.names if other != name]
            peers = ""
            for other in others:
                (directory / name / f"{other}.crt").write_bytes((directory / other / f"{other}.crt").read_bytes())
                dials = name in HOLDERS or (name, other) == ("b", "a")
                way = f'connect = "127.0.0.1:{port[other]}"\n' if dials else ""
                peers += f'[[peers]]\ncertificate = "{other}.crt"\n{way}'
            role = 'role = "holder"' if name in HOLDERS else ""
            listen = "" if name in HOLDERS else f'listen = "127.0.0.1:{port[name]}"'
            text = HEAD.format(name=name, role=role, listen=listen) + peers
            rules = policy.format(exact="true") + policy.format(exact="false").replace('"all"', '"noisy"')
            (directory / name / "party.toml").write_text(text + rules)

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def start(self) -> None:
        for member in self.members.values():
            member.start()

    def stop(self) -> None:
        for member in self.members.values():
            member.stop()

    def propose(self, **fields: Any) -> str:
        job = {"table": "days", "peer": "b", "holders": list(HOLDERS), "compute_only": True, "max_rows": 40, **fields}
        return self["a"].operator.submit(job).id

    def ended(self, identifier: str) -> dict[str, str]:
        """The state of the job at each member, once it has ended at all."""

        def known() -> bool:
            return all(member.ledger.jobs.known(identifier) for member in self.members.values())

        eventually(known)
        eventually(lambda: all(member.job(identifier).state in ENDED for member in self.members.values()))
        return {name: member.job(identifier).state for name, member in self.members.items()}
