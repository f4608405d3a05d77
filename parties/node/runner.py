"""One session of a job: from its table's rows and the last common level to the tree, over a link that is ready."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from parties.identity import Identity
from parties.jobs import planner
from parties.jobs.running import profile_for
from parties.link.opening import Link
from parties.node import checkpoint
from parties.node.gate import Offer
from parties.node.proposal import Proposal
from parties.sources import open_table
from parties.sources.source import Source
from parties.tables.schema import Schema
from protocols import id3
from protocols.tree import Tree, open_depth
from smc.engines import Profile, engine_of
from smc.errors import InputError, ProtocolError
from smc.meter import Cost, Meter


class AwayError(InputError):
    """The table cannot be opened now; the job can go on when it can."""


class Watcher(Protocol):
    """Who is told how a session goes on."""

    def met(self, depth: int, profile: str, fingerprint: str) -> None:
        """The peer is there, and both go on from this depth; the fingerprint is of our rows, if they are needed."""

    def reached(self, level: id3.Level, total: Cost) -> None:
        """All levels above this one are decided."""


@dataclass
class OpenTable:
    """A party's rows for one session, checked, and their keyed fingerprint."""

    source: Source
    fingerprint: str


@dataclass
class Finished:
    """What a session has brought."""

    tree: Tree
    total: Cost
    report: dict[str, Any] = field(repr=False)


@contextmanager
def rows_of(job: Proposal, offer: Offer, identity: Identity, known: str) -> Iterator[OpenTable]:
    """Open the job's table and check its rows. `InputError` if they are not fit, or not those of `known` any more."""
    bounds = offer.settings.model_copy(update={"max_rows": job.settings.max_rows})
    columns = list(job.agreed.attributes)
    ours = offer.schema.attributes
    ordered = Schema({name: ours[name] for name in [*columns, *ours]})  # the job's order is what both count in
    try:
        source = open_table(bounds, ordered, job.target, columns)
    except InputError as error:
        raise AwayError(str(error)) from None
    try:
        source.check()
        key = hashlib.sha256(b"smc.node.fingerprint" + identity.key_pem + job.id.encode()).digest()
        found = source.fingerprint(key).hex()
        if known and known != found:
            raise InputError("the table's rows have changed since the job began: it cannot go on; propose it anew")
        yield OpenTable(source, found)
    finally:
        source.close()


def run(
    link: Link,
    job: Proposal,
    own: Tree,
    known: str,
    rows: Callable[[], AbstractContextManager[OpenTable]],
    watcher: Watcher,
) -> Finished:
    """The session: agree on the last common level, go on from there to the end.

    `known` names the profile of the sessions before. The rows are opened only if there is anything left to decide.
    """
    session = link.session()
    meter: Meter = session.meter
    start = checkpoint.common(session, own)
    depth = checkpoint.decided(start)
    if open_depth(start) is None:
        watcher.met(depth, "", "")
        tree, profile = start, "nothing to compute"
    else:
        chosen = _profile(link, job, known)
        profile = str(chosen)
        with rows() as opened:
            watcher.met(depth, profile, opened.fingerprint)
            engine = engine_of(session, chosen)
            tree = id3.id3(engine, job.problem, opened.source, lambda level: watcher.reached(level, meter.total), start)
    link.finish()
    return Finished(tree, meter.total, {"profile": profile, **meter.report()})


def _profile(link: Link, job: Proposal, known: str) -> Profile:
    """The profile of the job. What the engine "auto" has chosen once is kept: another one may decide near-ties else."""
    contenders = planner.contenders(integers=True)
    if job.specification["engine"] == "auto":
        names = [str(profile) for profile in contenders]
        session, none = link.session(), len(contenders)
        own = names.index(known) if known in names else none
        session.send("checkpoint.profile", np.array([own], dtype=np.uint8))
        theirs = int(session.receive("checkpoint.profile", np.uint8, (1,))[0])
        before = {own, theirs} - {none}
        if len(before) > 1 or max(before, default=0) > none:
            raise ProtocolError("the two parties know different profiles of the job: it cannot go on")
        if before:
            return contenders[before.pop()]
    typical = planner.id3_program(job.problem, splits=planner.TYPICAL_SPLITS)
    return profile_for(link, job.specification, lambda: typical)
