"""All that a peer sees of a session before a charge: messages by name and size, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from parties.jobs.inputs import Inputs
from parties.link.identity import Identity
from parties.link.opening import Link
from parties.node.exchanges.openings import Leaving
from parties.node.exchanges.readiness import STEP, STILL
from parties.node.links.executor import Event, Met, Order, run
from parties.node.proposal import Proposal, propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.channel import Buffer, Channel
from smc.errors import SmcError
from smc.local import run_local
from smc.session import Session
from tests.support.workers import MemoryLink

OPENS = "reveal"  # the step at which an engine opens something: not before a charge


class OpensError(Exception):
    """The session has come to its first charge, before anything is opened: it is ended there."""


class Watched(Channel):
    """One end of a line that notes what is sent, and that nothing is opened."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self.sent: list[tuple[str, int]] = []

    def send(self, step: str, payload: Buffer) -> None:
        assert step != OPENS, "a share leaves without a charge"
        if (step, bytes(payload[:1])) != (STEP, bytes([STILL])):  # a sign of life says how busy the machine is
            self.sent.append((step, memoryview(payload).nbytes))
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)

    def abort(self, why: str) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Outcome:
    """`met`: whether it went on to compute; `ended`: our error's kind, if there is one; `told`: the peer's error."""

    sent: tuple[tuple[str, int], ...]
    met: bool
    ended: str
    told: str


def inputs(directory: Path, rows: str | None, schema: Schema, party: int = 0, **public: Any) -> Inputs:
    """A table of these rows, CSV text, in a file; None: the file is not there."""
    directory.mkdir(exist_ok=True)
    schema.save(directory / "schema.toml")
    source = directory / "rows.csv"
    source.unlink(missing_ok=True)
    if rows is not None:
        source.write_text(rows)
    table = {"source": str(source), "schema": str(directory / "schema.toml"), **public}
    return Inputs(party, TableSettings.model_validate(table), schema)


def proposed(fields: dict[str, Any], by: Inputs) -> Proposal:
    """A job of the table `rows` at both."""
    return propose(read_job({"table": "rows", **fields}), by)


def outcome(job: Proposal, both: tuple[Inputs, Inputs], identities: tuple[Identity, Identity]) -> Outcome:
    """What party 1 sees of party 0 in a session of the job."""
    lines: dict[int, Watched] = {}

    def watched(party: int, inner: Channel) -> Channel:
        lines[party] = Watched(inner)
        return lines[party]

    def program(session: Session) -> tuple[bool, str, str]:
        met: list[bool] = []
        order = Order(job, both[session.party], None, "", "", identities[session.party])

        def tell(event: Event) -> None:
            if isinstance(event, Leaving):  # the first: the job is charged with it
                raise OpensError
            if isinstance(event, Met):
                met.append(True)

        try:
            link = cast("Link", MemoryLink(session))  # type: ignore[arg-type]
            run(link, order, tell)
        except (SmcError, OpensError) as error:
            return bool(met), type(error).__name__, str(error)
        return bool(met), "", ""

    (met, ended, _), (_, kind, text) = run_local(program, wrap=watched)
    return Outcome(tuple(lines[0].sent), met, ended, f"{kind}: {text}")
