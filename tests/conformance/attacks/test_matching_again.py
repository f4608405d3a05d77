"""A peer that takes the products of a matching of keys, hangs up and comes back with other keys: once for one charge.

The honest party 0 listens and sends products. Its gate is an opening, whose stored share it would repeat. The peer
knows that share, so it can open any value with it; and it may say what it likes of its own disk.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parties.jobs.kind import Inputs
from parties.link.identity import create
from parties.node.exchanges.openings import Leaving, Stored, WrittenFirst
from parties.node.links import executor
from parties.node.links.executor import Order
from parties.node.proposal import propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.channel import Buffer
from smc.errors import LinkError, ProtocolError
from smc.primitives.prg import KEY_BYTES
from smc.session import Session
from tests.support.disks import Disk
from tests.support.workers import Noted, worked

SCHEMA = Schema({"p": ("0", "1")}, "p")
CLAIMS = [None, Stored(), *(Stored(0, left, (b"\0",), bytes(KEY_BYTES)) for left in (0, 1))]


@pytest.fixture
def orders(tmp_path: Path) -> tuple[Order, Order]:
    SCHEMA.save(tmp_path / "schema.toml")
    both = []
    for party in (0, 1):
        source = tmp_path / f"{party}.csv"
        source.write_text("p,tax\n1,7\n0,8\n")
        table = {"source": str(source), "schema": str(tmp_path / "schema.toml"), "max_rows": 4}
        both.append(Inputs(party, TableSettings.model_validate(table), SCHEMA, keep=lambda _: None))
    fields = {"protocol": "align exact", "table": "days", "by": ["tax"], "keys": 4, "learns": "dialler"}
    job = propose(read_job(fields), both[0])
    identities = [create(name, [], tmp_path) for name in ("alice", "bob")]
    left, right = (Order(job, inputs, None, "", "", own) for inputs, own in zip(both, identities, strict=True))
    return left, right


@pytest.mark.parametrize("claim", CLAIMS)
def test_products_leave_once_whatever_the_peer_says(
    orders: Any, claim: Stored | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver hangs up with the products, and never refuses a repeated opening itself."""

    class Own(WrittenFirst):
        is_repeated = False

    class Line(Noted):
        def receive(self, step: str, size: int) -> Buffer:
            payload = super().receive(step, size)
            if step == "alignment.products":
                got.append(bytes(payload))
                raise LinkError("has what it wanted")
            return payload

    def openings(session: Session, *rest: Any) -> WrittenFirst:
        return (WrittenFirst if session.party == 0 else Own)(session, *rest)

    got: list[bytes] = []
    monkeypatch.setattr(executor, "WrittenFirst", openings)
    disks = Disk(), Disk()
    for number in range(3):
        stored = disks[1].stored if claim is None or number == 0 else claim
        own, theirs = worked((disks[0].order(orders[0]), replace(orders[1], stored=stored)), lines=(Noted, Line))
        for disk, heard in zip(disks, (own, theirs), strict=True):
            disk.hear(heard.events)
        if number:
            assert not any(isinstance(event, Leaving) for event in own.events)
            assert isinstance(own.events[-1], executor.Stopped)
            assert isinstance(own.events[-1].error, ProtocolError)
    assert len(got) == 1
