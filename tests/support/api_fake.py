"""A node that only pretends: jobs in memory, states by script. And a real server for it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

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
from parties.web import api
from smc.errors import InputError
from tests.support.budgets import Budgets
from tests.support.waiting import PATIENCE

KEY = "a-key-that-nobody-guesses"
LINK = "http://127.0.0.1:7080/login?token=once"
APPROVED = Verdict(verdict="approved", by="operator", at="2026-03-01T12:01:00+00:00")
WAITING = Verdict(verdict="waiting")
COST = {
    "bytes_sent": 1200,
    "bytes_received": 3400,
    "messages": 12,
    "rounds": 5,
    "seconds": 0.25,
    "and_gates": 640,
    "bits_opened": 9,
}
TREE = {
    "attribute": "outlook",
    "branches": {"sunny": {"class": "no"}, "overcast": {"class": "yes"}, "rain": {"class": "yes"}},
}


def job_view(identifier: str, **changes: Any) -> JobView:
    """A job that the peer has proposed and that waits for us, with changes."""
    fields: dict[str, Any] = {
        "id": identifier,
        "state": "waiting",
        "proposed_by": "peer",
        "proposed_at": "2026-03-01T12:00:00+00:00",
        "ended_at": None,
        "peer": "clinic-b",
        "protocol": "id3",
        "title": "Decision tree",
        "question": "a decision tree",
        "asked": [],
        "purpose": "research",
        "table": "patients",
        "peer_table": "patienten",
        "target": "outcome",
        "columns": ["age", "sex", "outcome"],
        "parameters": {"delta": 0.001, "max_depth": 4, "min_rows": 20, "form": None},
        "reveals": ["The tree, to both.", "Nothing else."],
        "cost": PredictedCost(
            estimate="typical",
            assumed="a tree of at most 8 splits a level",
            profile="mixed, softspoken4",
            bytes=1_400_000,
            rounds=220,
            seconds=3.25,
            link="lan",
        ),
        "digest": "d" * 64,
        "ours": WAITING,
        "theirs": Verdict(verdict="approved", by="proposer", at="2026-03-01T12:00:00+00:00"),
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


class FakeNode(Budgets):
    """An `Operator` in memory. `script`: what becomes of a job, one change each time it is looked at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.known: dict[str, JobView] = {}
        self.script: list[dict[str, Any]] = []
        self.submitted: list[dict[str, Any]] = []
        self.tree: dict[str, Any] = TREE
        self.failing: Exception | None = None
        self.others: list[PeerView] = []  # peers besides clinic-b
        self.asked: list[tuple[int, int | None]] = []
        self.threads: set[str] = set()

    def add(self, identifier: str, **changes: Any) -> str:
        self.known[identifier] = job_view(identifier, **changes)
        return identifier

    def _change(self, identifier: str, **changes: Any) -> JobView:
        with self._lock:
            found = self._find(identifier)
            self.known[found.id] = found.model_copy(update=changes)
            return self.known[found.id]

    def _find(self, identifier: str) -> JobView:
        matching = [job for job in self.known.values() if job.id.startswith(identifier)]
        if len(matching) != 1:
            raise InputError(f"{'no job' if not matching else 'several jobs'} with an identifier like {identifier}")
        return matching[0]

    def node(self) -> NodeView:
        self.threads.add(threading.current_thread().name)
        if self.failing is not None:
            raise self.failing
        return NodeView(
            name="clinic-a",
            fingerprint="AB:CD",
            peers=[
                PeerView(
                    name="clinic-b", fingerprint="EF:01", role="listens", address="127.0.0.1:7001", connected=True
                ),
                *self.others,
            ],
            started_at="2026-03-01T11:00:00+00:00",
            version="0.1.0",
            tables=["patients"],
        )

    def jobs(self, last: int = 100, before: str | None = None, states: Sequence[State] = ()) -> list[JobView]:
        found = list(reversed(self.known.values()))
        if before is not None:
            found = found[found.index(self._find(before)) + 1 :]
        return [job for job in found if not states or job.state in states][:last]

    def job(self, identifier: str) -> JobView:
        if self.script:
            self._change(identifier, **self.script.pop(0))
        return self._find(identifier)

    def submit(self, job: dict[str, Any]) -> JobView:
        if "table" not in job:
            raise InputError("table is missing")
        self.submitted.append(job)
        identifier = f"{len(self.submitted):08x}" + "5" * 24
        self.add(identifier, proposed_by="us", table=job["table"], ours=APPROVED, theirs=WAITING)
        return self.known[identifier]

    def approve(self, identifier: str, typed: dict[str, Any] | None = None) -> JobView:
        if self._find(identifier).state != "waiting":
            raise InputError("the job does not wait for consent")
        return self._change(identifier, state="queued", ours=APPROVED)

    def refuse(self, identifier: str, why: str) -> JobView:
        verdict = Verdict(verdict="refused", by="operator", reason=why)
        return self._change(identifier, state="refused", ours=verdict, why=why)

    def cancel(self, identifier: str, why: str = "") -> JobView:
        if self._find(identifier).state in ENDED:
            raise InputError("the job has ended")
        return self._change(identifier, state="cancelled", why=why)

    def result(self, identifier: str) -> JobResult:
        job = self._find(identifier)
        if job.state != "done":
            raise InputError(f"the job is {job.state}: there is no result")
        tree = {"schema_digest": "0" * 64, "target": "outcome", "delta": 0.001, "tree": self.tree}
        return JobResult(
            id=job.id,
            protocol="id3",
            party=0,
            noun="tree",
            document=tree,
            cost={"profile": "mixed", "total": COST, "phases": {"id3": COST, "id3/level 0": COST}},
            opened={"kinds of nodes": 4, "classes": 3},
            summary={"digest": "d" * 64},
            our_signature="aa",
            their_signature="bb",
        )

    def audit(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        self.asked.append((last, before))
        return [
            AuditEntry(number=7, at="2026-03-01T12:00:00+00:00", kind="proposed", job=None, fields={}, hash="f" * 64)
        ]

    def verify(self) -> AuditState:
        return AuditState(entries=7, ok=False, problems=["entry 3: the hash does not fit"])


def write_access(state: Path, url: str, key: str = KEY) -> None:
    (state / "api.json").write_text(json.dumps({"url": url, "key": key}))


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """An ASGI application on a free port of this machine; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 10
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def application(node: FakeNode) -> Starlette:
    """The node's API, and nothing else."""
    return Starlette(routes=api.routes(node, KEY, lambda: LINK))
