"""One party's audit log, as its node would write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from parties.link.identity import Identity, fingerprint
from parties.node.records import AuditLog, Signed, connect, sign
from parties.node.records.database import FILE_NAME

JOB = "0123456789abcdef" * 2
DIGEST = "d1" * 32
RESULT = {"job": JOB, "digest": DIGEST, "tree": "7e" * 32, "opened": {"whether a node is a leaf": 3}}
COST = {"bytes_sent": 123_456, "bytes_received": 98_765}


def proposed(by: str, peer: Identity) -> dict[str, Any]:
    """The fields of `proposed`."""
    return {
        "by": by,
        "peer": peer.name,
        "peer_fingerprint": fingerprint(peer.certificate),
        "address": "192.0.2.7",
        "digest": DIGEST,
        "protocol": "id3",
        "purpose": "research — Fälle",
        "table": "patients",
        "peer_table": "patienten",
        "target": "outcome",
        "columns": ["age", "sex", "outcome"],
        "parameters": {"tolerance": 0.001, "min_rows": 20, "max_depth": None, "engine": "mixed"},
    }


class Node:
    """One party's log, open; `sign` and `keep` are the end of a job."""

    def __init__(self, directory: Path, own: Identity, peer: Identity) -> None:
        self.own, self.peer, self.path = own, peer, directory / own.name / FILE_NAME
        self.connection = connect(self.path)
        self.log = AuditLog(self.connection, own)

    def add(self, kind: Any, job: str | None = JOB, **fields: Any) -> None:
        with self.connection:
            self.log.append(kind, job, fields)

    def start(self) -> None:
        certificates = [fingerprint(party.certificate) for party in (self.own, self.peer)]
        prints = dict(zip(("fingerprint", "peer_fingerprint"), certificates, strict=True))
        self.add("node started", None, version="1.0", tables=["patients"], **prints)

    def run(self, by: str) -> Signed:
        """A whole job; our statement about its end."""
        self.add("proposed", **proposed(by, self.peer))
        self.add("decided", party="us", verdict="approved", by="rule coarse trees", reason="permitted")
        self.add("decided", party="peer", verdict="approved", by="proposer")
        self.add("started", digest=DIGEST, depth=0, profile="mixed")
        self.add("opened", depth=0, opened={"whether a node is a leaf": 1, "attribute of a split": 1})
        self.add("opened", depth=1, opened={"whether a node is a leaf": 2, "class of a leaf": 2})
        self.add("finished", outcome="7e" * 32, opened={"whether a node is a leaf": 3}, rounds=44, **COST)
        unsigned = Signed(result=RESULT, head=self.log.head(), signature="0" * 128)
        return unsigned.model_copy(update={"signature": sign(self.own, unsigned.document()).hex()})

    def keep(self, ours: Signed, theirs: Signed) -> None:
        self.add("signed", ours=ours.model_dump(), theirs=theirs.model_dump())

    def rewrite(self, change: Callable[[list[Any]], None]) -> None:
        """What a party itself can do: make a new log with its own key, from changed (kind, job, fields)."""
        entries = [[entry.kind, entry.job, entry.fields] for entry in self.log]
        change(entries)
        self.connection.close()
        self.path.unlink()
        self.connection = connect(self.path)
        self.log = AuditLog(self.connection, self.own)
        for kind, job, fields in entries:
            self.add(kind, job, **fields)


@contextmanager
def two_jobs(directory: Path, identities: dict[str, Identity]) -> Iterator[tuple[Node, Node]]:
    """alice and bob after two jobs; alice was started once more in between, so the numbers differ."""
    alice = Node(directory, identities["alice"], identities["bob"])
    bob = Node(directory, identities["bob"], identities["alice"])
    alice.start()
    bob.start()
    for _ in range(2):
        ours, theirs = alice.run("us"), bob.run("peer")
        alice.keep(ours, theirs)
        bob.keep(theirs, ours)
        alice.add("node stopped", None)
        alice.start()
    with closing(alice.connection), closing(bob.connection):
        yield alice, bob
