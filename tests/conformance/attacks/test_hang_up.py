"""A peer that takes our share of a noisy number, hangs up and comes back with its own noise bits flipped.

A discrete Laplace sample is g or ~g = -1 - g, as its sign coin falls, and half of each coin is the peer's. With the
same noise bits of ours and its coin flipped, a step that is computed again opens c + x and then c - 1 - x: their mean
is the exact number c but for 1/2. So it was while a step under way was computed again with the same contributions: at
epsilon 0.1, 427 of 427 numbers, for one charge of 0.1. Now the share that left comes again, whatever is computed: what
the peer has is one release.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from parties.jobs.kind import Inputs
from parties.jobs.kinds.release.count import Count
from parties.link.identity import create
from parties.node.exchanges.openings import Stored, WrittenFirst
from parties.node.links import executor
from parties.node.links.executor import Order
from parties.node.proposal import propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.engines import Engine, make_engine
from smc.local import run_local
from smc.primitives.prg import Prg
from smc.session import AnnouncedOpenings, derive
from tests.support.disks import Disk
from tests.support.grasping import Flipped, Grasper
from tests.support.workers import Noted, worked

SCHEMA = Schema({"p": ("0", "1"), "y": ("n", "y")}, "y")
ROWS = 60, 40  # of the honest party and of the hostile one
CLAIMS = [None, (0, 0, 1, 1), (0, 0, 1, 0), (0, 0, 0, 0), (0, -1, 0, 0), (1, 0, 1, 1), (-1, 0, 1, 1)]


class Again(WrittenFirst):
    """The former way: a step that is computed again has the same contributions, and its shares go out."""

    def begin(self, step: int) -> None:
        super().begin(step)
        self._session.contributions = Prg(derive(b"of the job", step))

    def ready(self, own: NDArray[np.uint8]) -> NDArray[np.uint8]:
        AnnouncedOpenings.ready(self, own)
        return own

    def leaves(self) -> None:
        """Nothing is written."""


@pytest.fixture
def orders(tmp_path: Path) -> tuple[Order, Order]:
    """Both parties' orders of one noisy count; the engine is set by the test."""
    identities = [create(name, [], tmp_path) for name in ("alice", "bob")]
    SCHEMA.save(tmp_path / "schema.toml")
    both = []
    for party, rows in enumerate(ROWS):
        source = tmp_path / f"{party}.csv"
        source.write_text("p,y\n" + "1,y\n" * rows)
        table = {"source": str(source), "schema": str(tmp_path / "schema.toml"), "max_rows": 100}
        both.append(Inputs(party, TableSettings.model_validate(table), SCHEMA))
    fields = {"protocol": "release count", "table": "days", "epsilon": 0.1, "max_rows": 100, "where": "p = 1"}
    job = propose(read_job(fields | {"engine": "yao"}), both[0])
    left, right = (Order(job, inputs, None, "", "", own) for inputs, own in zip(both, identities, strict=True))
    return left, right


def on(order: Order, engine: str) -> Order:
    return replace(
        order, job=order.job.model_copy(update={"specification": order.job.specification | {"engine": engine}})
    )


def the_sign(task: Count) -> int:
    """The row of contributions whose flip turns the sign: found by trying, on the engine without secrecy."""
    noise = task.query.parts[0].noise
    assert noise is not None
    law = noise.law(1)
    turned = []
    for row in range(law.bits):
        samples = [_samples(law, flip) for flip in (None, row)]
        turned.append(int(np.count_nonzero(samples[0] + samples[1] == -1)))
    return int(np.argmax(turned))


def _samples(law: Any, row: int | None) -> NDArray[np.int64]:
    from protocols.release.numbers import noisy_sums

    def program(session: Any) -> NDArray[np.int64]:
        session.contributions = Prg(bytes(16)) if session.party == 0 else Flipped(row)
        engine: Engine = make_engine(session, "clear")
        return noisy_sums(engine, np.zeros(60, dtype=np.int64), 8, law)

    return run_local(program)[0]


def attacked(
    orders: tuple[Order, Order], honest: type[WrittenFirst], rows: list[int | None], claim: Any, patch: Any
) -> tuple[Grasper, set[bytes], Disk]:
    """Sessions in which the hostile party flips these rows; what it got, our shares that left, our disk."""
    grasper, disk, shares = Grasper(), Disk(), set()
    patch.setattr(executor, "WrittenFirst", grasper.openings(honest))
    lines: list[Noted] = []

    def line(inner: Any, trouble: Any) -> Noted:
        lines.append(Noted(inner, trouble))
        return lines[-1]

    for number, row in enumerate(rows):
        grasper.row, grasper.claim = row, claim if number else None
        pretended = Stored() if number == 0 or claim is not None else disk.stored
        heard = worked((disk.order(orders[0]), replace(orders[1], stored=pretended)), lines=(line, grasper.line))
        disk.hear(heard[0].events)
    for one in lines:
        shares |= {share for _, share in one.shares}
    return grasper, shares, disk


def number(bits: NDArray[np.uint8]) -> int:
    return int(sum(int(bit) << place for place, bit in enumerate(bits)))


@pytest.mark.parametrize("engine", ["yao", "gmw"])
def test_the_former_way_tells_the_exact_number(orders: Any, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the attack works where a share is computed again."""
    left, right = (on(order, engine) for order in orders)
    task = left.job.task
    sign = the_sign(task)
    exact = 0
    for _ in range(4):
        grasper, shares, _ = attacked((left, right), Again, [None, sign], None, monkeypatch)
        one, other = map(number, grasper.values)
        assert len(shares) == 2
        exact += (one + other + 1) // 2 == (number_of(task) + sum(ROWS))
    assert exact == 4


def number_of(task: Count) -> int:
    """What a count is opened shifted by: noise is from `law.least` on."""
    noise = task.query.parts[0].noise
    assert noise is not None
    law = noise.law(1)
    return 1 << (law.width - 1)


@pytest.mark.parametrize("engine", ["yao", "gmw"])
@pytest.mark.parametrize("claim", CLAIMS)
def test_what_the_peer_has_is_one_release(
    orders: Any, engine: str, claim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it says of its disk and flips, in as many sessions as it likes: one share has left, for one charge."""
    left, right = (on(order, engine) for order in orders)
    grasper, shares, disk = attacked((left, right), WrittenFirst, [None, 0, 5, 11], claim, monkeypatch)
    assert len(shares) == len(set(grasper.shares)) == 1
    assert (disk.stored.step, disk.stored.left) == (0, 1)
