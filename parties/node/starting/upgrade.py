"""Check of the state left by an earlier release, before a node is started; it changes nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from parties.base.settings import required
from parties.link.handshake import WIRE_VERSION
from parties.link.identity import read_certificate
from parties.node.log import integrity, store
from parties.node.records import database, sidecar_files
from parties.node.records.chain import NO_ENTRY
from parties.node.records.database import FILE_NAME, STATE
from parties.node.settings import NodeFile
from smc import __version__
from smc.errors import InputError


class Upgrade(NamedTuple):
    """The findings of a start with this release. `problems` prevent the start, one line each."""

    release: str
    wire: int  # the peer's node must use the same number
    state: int  # the number of this release's state
    found: int | None  # the number of the state on disk; None if there is none, or it cannot be opened
    jobs: int | None  # None if they could not be read; likewise below
    waiting: int | None  # those of the jobs that have not ended
    entries: int | None  # of the audit log
    problems: tuple[str, ...]


def opened(file: NodeFile) -> int | None:
    """Return the number of the state on disk, which is only read. Raise InputError if a start would fail."""
    path = file.node.state / FILE_NAME
    _refuse_plain(file, path)
    if not path.exists():
        return None
    with database.reading(path) as connection:
        return database.state(connection)


def _refuse_plain(file: NodeFile, path: Path) -> None:
    sidecar_files.require_sealed(path, file.node.sealed)
    sidecar_files.refuse_plain(path)


def check(file: NodeFile) -> Upgrade:
    """Return the findings of a start with this release, on a copy in memory; the node may be running."""
    path = file.node.state / FILE_NAME
    try:
        _refuse_plain(file, path)
    except InputError as error:
        return Upgrade(__version__, WIRE_VERSION, STATE, None, None, None, None, (str(error),))
    if not path.exists():
        return Upgrade(__version__, WIRE_VERSION, STATE, None, 0, 0, 0, ())
    number = jobs = waiting = entries = None
    problems: list[str] = []
    try:
        with database.reading(path) as connection, closing(database.copied(connection)) as copy:
            number = database.state_number(copy)
            database.migrate(copy)
            certificate = read_certificate(required(file.link.certificate, "link.certificate"))
            checked = integrity.verify(copy, certificate, state=path.parent)
            entries = checked.entries
            if checked.problems != [NO_ENTRY] or integrity.is_begun(copy, path.parent):
                problems += checked.problems
            kept = list(store.read(copy))
            jobs, waiting = len(kept), sum(record.ended_at is None for record in kept)
    except InputError as error:
        problems.append(str(error))
    return Upgrade(__version__, WIRE_VERSION, STATE, number, jobs, waiting, entries, tuple(problems))


def lines(upgrade: Upgrade) -> list[str]:
    """Return the findings as lines without the problems; no lines for a state that cannot be read."""
    first = f"this release is {upgrade.release} with wire version {upgrade.wire}, which a peer's node must have too"
    if upgrade.found is None:
        return [] if upgrade.problems else [first, "there is no state yet: the first start of the node makes it"]
    if upgrade.found < upgrade.state:
        effect = f"a start upgrades it to {upgrade.state}; copy the directory first: earlier releases cannot read that"
    else:
        effect = (
            "this release reads it without an upgrade"
            if upgrade.found == upgrade.state
            else "this release cannot read it"
        )
    texts = [first, f"the state has number {upgrade.found}: {effect}"]
    if upgrade.jobs is not None:
        texts.append(
            f"{upgrade.jobs} jobs, of which {upgrade.waiting} go on; {upgrade.entries} entries of the audit log"
        )
    return texts
