"""A node that the page's tests and pictures play with: everything in memory, jobs move when they are told to.

And a client that has signed in to its page.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.testclient import TestClient

from parties.models.trees.tree import MAX_DEPTH, Leaf, Node, Split, TreeFile
from parties.operator.interface import (
    ENDED,
    AuditEntry,
    AuditState,
    JobResult,
    JobView,
    NodeView,
    PeerView,
    PredictedCost,
    Progress,
    State,
    Verdict,
)
from parties.web.app import make_app
from parties.web.login import Logins
from smc.errors import InputError
from tests.support.budgets import Budgets

ORIGIN = "http://127.0.0.1:7080"
NOON = datetime(2026, 3, 1, 12, 2, tzinfo=UTC)
APPROVED = Verdict(verdict="approved", by="operator", at="2026-03-01T12:01:00+00:00")
WAITING = Verdict(verdict="waiting")
COLUMNS = ["age", "sex", "smoker", "blood_pressure", "readmitted"]
REVEALS = [
    "Both parties learn the tree: its questions and the class of every leaf.",
    "Both learn where the joint rows of a node are fewer than 20.",
    "No row and no count leaves either party.",
]


def tree() -> Node:
    """A tree of four levels."""
    smoker = Split("smoker", {"no": Leaf("no"), "yes": Leaf("yes"), "former": Leaf("perhaps")})
    pressure = Split("blood_pressure", {"low": Leaf("no"), "normal": smoker, "high": Leaf("yes")})
    sex = Split("sex", {"female": pressure, "male": Leaf("maybe")})
    return Split("age", {"under 40": Leaf("no"), "40 to 60": sex, "over 60": pressure})


def wide_tree(depth: int, ways: int, level: int = 0, place: int = 0) -> Node:
    """A full tree, in which no sister leaves are alike."""
    if level == depth:
        return Leaf(("yes", "no", "maybe", "never")[place])
    return Split(f"question {level}", {f"value {i}": wide_tree(depth, ways, level + 1, i) for i in range(ways)})


def deep_tree() -> Node:
    """The deepest tree that files may hold."""
    tree: Node = Leaf("yes")
    for depth in range(MAX_DEPTH):
        tree = Split(f"a{depth}", {"no": Leaf("no"), "yes": tree})
    return tree


def cost() -> dict[str, Any]:
    """A cost report as a run of four levels has it."""

    def phase(sent: int, received: int, rounds: int, seconds: float) -> dict[str, Any]:
        gates = {"and_gates": sent // 40, "bits_opened": 0, "messages": 2 * rounds}
        return {"bytes_sent": sent, "bytes_received": received, "rounds": rounds, "seconds": seconds, **gates}

    phases = {"base ot": phase(4_200, 9_100, 2, 0.05)}
    for level, scale in enumerate((1, 3, 6, 2)):
        phases[f"level {level}"] = phase(420_000 * scale, 180_000 * scale, 40, 0.21 * scale)
        phases[f"level {level}/leaves"] = phase(20_000 * scale, 11_000 * scale, 8, 0.02 * scale)
        phases[f"level {level}/entropy"] = phase(400_000 * scale, 169_000 * scale, 32, 0.19 * scale)
        phases[f"level {level}/entropy/series"] = phase(90_000 * scale, 50_000 * scale, 12, 0.08 * scale)
    return {"profile": "mixed extension half", "total": phase(5_100_000, 2_200_000, 164, 2.71), "phases": phases}


def job_view(identifier: str, now: datetime = NOON, **changes: Any) -> JobView:
    """A job that the peer proposed two minutes ago and that waits for us, with changes."""
    asked_at = _moment(now, -120)
    fields: dict[str, Any] = {
        "id": identifier,
        "state": "waiting",
        "proposed_by": "peer",
        "proposed_at": asked_at,
        "ended_at": None,
        "peer": "university",
        "protocol": "id3",
        "title": "Decision tree",
        "question": "a decision tree that predicts readmitted",
        "asked": [],
        "purpose": "research on readmissions",
        "table": "patients",
        "peer_table": "patienten",
        "target": "readmitted",
        "columns": COLUMNS,
        "parameters": {"tolerance": 0.001, "min_rows": 20, "max_depth": 4, "max_rows": 65535, "engine": "mixed"},
        "reveals": REVEALS,
        "cost": PredictedCost(
            estimate="typical",
            assumed="a tree with 1, 2, 3 splits on its levels",
            profile="mixed extension half",
            bytes=9_400_000,
            most=61_000_000,
            rounds=172,
            seconds=3.2,
            link="100 Mbit/s, 20 ms",
        ),
        "digest": hashlib.sha256(identifier.encode()).hexdigest(),
        "ours": WAITING,
        "theirs": Verdict(verdict="approved", by="proposer", at=asked_at),
        "progress": None,
        "why": "",
    }
    return JobView(**fields | changes)


def progress(depth: int, nodes: int, seconds_left: float | None = 30.0) -> Progress:
    return Progress(
        depth=depth,
        nodes=nodes,
        doing=f"level {depth} with {nodes:,} {'node' if nodes == 1 else 'nodes'}",
        bytes_sent=1_000_000 * (depth + 1),
        bytes_received=2000,
        rounds=10,
        seconds=75.0,
        seconds_left=seconds_left,
    )


def _moment(now: datetime, seconds: float) -> str:
    return (now + timedelta(seconds=seconds)).isoformat(timespec="seconds")


class FakeNode(Budgets):
    """An `Operator` without a peer. `trouble` is raised by the next decision or proposal, `failing` by `node`.

    `script` is what becomes of a job, one change each time it is looked at.
    """

    def __init__(self, now: datetime | None = None) -> None:
        self._lock = threading.RLock()
        self._now = now
        self.clear()

    # ---- what tests do

    def clear(self) -> None:
        """Begin anew."""
        self.known: dict[str, JobView] = {}
        self._entries: list[AuditEntry] = []
        self._trees: dict[str, Node] = {}
        self.connected = True
        self.away: list[str] = []  # peers that are not connected, though others are
        self.tables = ["patients", "visits"]
        self.columns = dict.fromkeys(self.tables, COLUMNS)
        self.trouble = ""
        self.failing: Exception | None = None
        self.script: list[dict[str, Any]] = []
        self.asked: list[tuple[int, int | None]] = []  # of the audit log
        self.threads: set[str] = set()
        self.peers = ["university"]
        self.warning = ""  # of certificates
        self.unbounded: list[str] = []  # of rules
        self.submitted: list[dict[str, Any]] = []
        self.typed: dict[str, Any] | None = None

    def add(self, identifier: str = "", **fields: Any) -> JobView:
        """A job, proposed by the peer and waiting for us unless said otherwise."""
        with self._lock:
            identifier = identifier or hashlib.sha256(str(len(self.known) + 1).encode()).hexdigest()[:32]
            job = self.known[identifier] = job_view(identifier, self._now or datetime.now(UTC), **fields)
            self.note("proposed", job.id, by=job.proposed_by, purpose=job.purpose)
            return job

    def change(self, identifier: str, **fields: Any) -> JobView:
        """Another state of a job."""
        with self._lock:
            job = self._find(identifier)
            self.known[job.id] = job.model_copy(update=fields)
            return self.known[job.id]

    def run(self, identifier: str, seconds: float, left: float | None, depth: int = 2) -> JobView:
        """Let a job be running, so far along."""
        sent, received = int(410_000 * seconds), int(190_000 * seconds)
        rounds = int(44 * seconds)
        progress = Progress(
            depth=depth, nodes=7, doing=f"level {depth} with 7 nodes",
            bytes_sent=sent, bytes_received=received, rounds=rounds, seconds=seconds,
            seconds_left=left,
        )  # fmt: skip
        consent = Verdict(verdict="approved", by="rule coarse trees for research", at=self._time(-60))
        return self.change(identifier, state="running", ours=consent, progress=progress)

    def finish(self, identifier: str, result: Node | None = None) -> JobView:
        """Let a job be done."""
        with self._lock:
            consent = Verdict(verdict="approved", by="operator", reason="as agreed in March", at=self._time(-30))
            job = self.change(identifier, state="done", ours=consent, progress=None, ended_at=self._time(0))
            if result is not None:
                self._trees[job.id] = result
            self.note("done", job.id, profile="mixed extension half")
            return job

    def note(self, kind: str, job: str | None, **fields: Any) -> None:
        """Write an audit entry."""
        with self._lock:
            number = len(self._entries) + 1
            entry = {"number": number, "at": self._time(0), "kind": kind, "job": job, "fields": fields}
            self._entries.append(AuditEntry(**entry, hash=self._hash(number - 1, entry)))

    def tamper(self, number: int, **fields: Any) -> None:
        """Change an entry behind the log's back."""
        with self._lock:
            self._entries[number - 1] = self._entries[number - 1].model_copy(update={"fields": fields})

    # ---- what an operator does

    def node(self) -> NodeView:
        self.threads.add(threading.current_thread().name)
        if self.failing is not None:
            raise self.failing
        return NodeView(
            name="hospital",
            fingerprint="3F:9A:C0:11:27:5D",
            unbounded=self.unbounded,
            peers=[
                PeerView(
                    name=name,
                    fingerprint="B2:0E:77:41:9C:F8",
                    role="listens",
                    address="0.0.0.0:7000",
                    connected=there,
                    trouble="" if there else "192.0.2.7:7000 does not answer",
                    warning=self.warning,
                )
                for name in self.peers
                for there in [self.connected and name not in self.away]
            ],
            started_at=self._time(-7200),
            version="0.1.0",
            tables=self.tables,
            columns={table: self.columns[table] for table in self.tables},
        )

    def changes(self, since: str = "", wait: float = 0.0) -> str:
        with self._lock:
            return str([self.node().model_copy(update={"started_at": ""}), *self.known.values()])

    def jobs(self, last: int = 100, before: str | None = None, states: Sequence[State] = ()) -> list[JobView]:
        with self._lock:
            found = list(reversed(self.known.values()))
        if before is not None:
            found = found[found.index(self._find(before)) + 1 :]
        return [job for job in found if not states or job.state in states][:last]

    def job(self, identifier: str, wait: float = 0.0) -> JobView:
        if self.script:
            self.change(identifier, **self.script.pop(0))
        return self._find(identifier)

    def submit(self, job: dict[str, Any]) -> JobView:
        self._stumble()
        if "table" not in job and "value" not in job:
            raise InputError("table is missing")
        table = job.get("table", "")
        if table not in ("", *self.tables):
            raise InputError(f"table: there is no table {table!r}")
        self.submitted.append(job)
        ours = Verdict(verdict="approved", by="proposer", at=self._time(0))
        fields = {"table": table, "purpose": job.get("purpose", "")}
        identifier = f"{len(self.submitted):08x}" + "5" * 24
        return self.add(identifier, proposed_by="us", ours=ours, theirs=WAITING, **fields)

    def approve(self, identifier: str, typed: dict[str, Any] | None = None) -> JobView:
        self.typed = typed
        return self._decide(identifier, "approved", "", "queued")

    def refuse(self, identifier: str, why: str) -> JobView:
        return self._decide(identifier, "refused", why, "refused")

    def cancel(self, identifier: str, why: str = "") -> JobView:
        self._stumble()
        job = self._find(identifier)
        if job.state in ENDED:
            raise InputError(f"the job {job.id[:8]} has ended: it is {job.state}")
        return self.change(identifier, state="cancelled", why=why, ended_at=self._time(0), progress=None)

    def withdraw(self, identifier: str, why: str) -> JobView:
        self._stumble()
        job = self._find(identifier)
        if job.state != "done":
            raise InputError(f"job {job.id[:8]} has no result to withdraw: it is {job.state}")
        return self.change(identifier, withdrawn=[f"by us, {self._time(0)}: {why}"])

    def revoke(self, peer: str, why: str = "") -> NodeView:
        return self.node()

    def repeat(self, identifier: str) -> JobView:
        job = self._find(identifier)
        return self.submit({"table": job.table, "purpose": job.purpose})

    def result(self, identifier: str) -> JobResult:
        job = self._find(identifier)
        if job.state != "done":
            raise InputError(f"the job {job.id[:8]} is not done: it is {job.state}")
        file = TreeFile("5" * 64, job.target, 0.001, self._trees.get(job.id) or tree())
        return JobResult(
            id=job.id,
            protocol="id3",
            party=0,
            noun="tree",
            document=file.fields(),
            cost=cost(),
            opened={"leaf or split": 12, "class of a leaf": 9, "chosen attribute": 5},
            summary={"job": job.digest, "tree": "9" * 64},
            our_signature="ab" * 64,
            their_signature="cd" * 64,
            withdrawn=job.withdrawn,
        )

    def audit(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        self.asked.append((last, before))
        with self._lock:
            entries = [entry for entry in self._entries if before is None or entry.number < before]
            return entries[::-1][:last]

    def verify(self) -> AuditState:
        with self._lock:
            problems = [
                f"entry {entry.number} was changed: its hash does not fit"
                for entry in self._entries
                if self._hash(entry.number - 1, entry.model_dump(exclude={"hash"})) != entry.hash
            ]
            return AuditState(entries=len(self._entries), ok=not problems, problems=problems)

    def _decide(self, identifier: str, verdict: Any, why: str, state: Any) -> JobView:
        self._stumble()
        with self._lock:
            job = self._find(identifier)
            if job.state != "waiting" or job.ours.verdict != "waiting":
                raise InputError(f"the job {job.id[:8]} does not wait for our consent: it is {job.state}")
            ours = Verdict(verdict=verdict, by="operator", reason=why, at=self._time(0))
            self.note(verdict, job.id, by="operator", reason=why)
            ended = {"ended_at": self._time(0), "why": why} if state == "refused" else {}
            return self.change(identifier, state=state, ours=ours, **ended)

    def _find(self, identifier: str) -> JobView:
        with self._lock:
            found = [job for job in self.known.values() if job.id.startswith(identifier) and len(identifier) >= 4]
            if len(found) != 1:
                raise InputError(f"there {'are several jobs' if found else 'is no job'} {identifier[:40]!r}")
            return found[0]

    def _stumble(self) -> None:
        if self.trouble:
            trouble, self.trouble = self.trouble, ""
            raise InputError(trouble)

    def _time(self, seconds: float) -> str:
        return _moment(self._now or datetime.now(UTC), seconds)

    def _hash(self, before: int, entry: dict[str, Any]) -> str:
        above = self._entries[before - 1].hash if before else ""
        return hashlib.sha256((above + json.dumps(entry, sort_keys=True)).encode()).hexdigest()


class Browser(TestClient):
    """A client of the page of a node, signed in, that posts forms as the page would."""

    def __init__(self, node: FakeNode, logins: Logins | None = None, signed_in: bool = True, **options: Any) -> None:
        self.logins = logins or Logins()
        super().__init__(make_app(node, self.logins), base_url=ORIGIN, follow_redirects=False, **options)
        if signed_in:
            assert self.get(self.logins.link(ORIGIN)).status_code == 303

    @property
    def form_token(self) -> str:
        return self.get("/tables").text.split('name="form_token" value="')[1].split('"')[0]

    def send_form(self, path: str, **fields: str) -> Any:
        return self.post(path, data={"form_token": self.form_token, **fields})
