"""What a session does: the last common level of two trees, and the rows that are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from parties.identity import Identity
from parties.jobs.means import Means
from parties.node import checkpoint, executor
from parties.node.executor import Order
from parties.node.proposal import Proposal
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from protocols.tree import Open, Tree, cut
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from tests.support.ledgers import OTHER, STAGES, TASK, TREE
from tests.support.proposals import proposal_of


def met(own: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
    left, right = run_local(lambda session: checkpoint.common(session, TASK, own[session.party]))
    return left, right


@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 1), (3, 3), (0, 1), (1, 0), (2, 1), (2, 3), (3, 2)])
def test_the_last_common_level(left: int, right: int) -> None:
    expected = cut(TREE, min(left, right))
    assert met((cut(TREE, left), cut(TREE, right))) == (expected, expected)


@pytest.mark.parametrize("depth", [2, 3])
def test_two_trees_have_no_common_level(depth: int) -> None:
    with pytest.raises(ProtocolError, match="differ"):
        met((cut(TREE, depth), cut(OTHER, 3)))


@pytest.mark.parametrize("claimed", [-1, -(2**63), 2**62])
def test_a_level_that_cannot_be(claimed: int) -> None:
    """A number that no honest peer has stands for the nearest that one could have, or ends the session."""

    def program(session: object) -> object:
        if session.party == 0:  # type: ignore[attr-defined]
            return checkpoint.common(session, TASK, STAGES[1])  # type: ignore[arg-type]
        start = cut(STAGES[1], 0 if claimed < 0 else 1)
        session.send("checkpoint.levels", np.array([claimed], dtype=np.int64))  # type: ignore[attr-defined]
        session.receive("checkpoint.levels", np.int64, (1,))  # type: ignore[attr-defined]
        session.send("checkpoint.digest", np.frombuffer(TASK.digest(start), dtype=np.uint8))  # type: ignore[attr-defined]
        session.receive("checkpoint.digest", np.uint8, (32,))  # type: ignore[attr-defined]
        return start

    try:
        left, right = run_local(program)  # type: ignore[arg-type]
    except ProtocolError:
        return
    assert left == right


def test_a_peer_cannot_have_lost_more_than_a_level() -> None:
    """A level is on both disks before the next one is computed: who says otherwise would see another tree's top."""
    with pytest.raises(ProtocolError, match="level"):
        met((TREE, cut(TREE, 1)))


OURS = Schema({"p": ("0", "1"), "q": ("0", "1"), "y": ("n", "y")}, "y")
ROWS = "p,q,y\n0,1,n\n0,1,y\n0,0,y\n"


@pytest.fixture
def means(tmp_path: Path) -> Means:
    OURS.save(tmp_path / "schema.toml")
    (tmp_path / "rows.csv").write_text(ROWS)
    files = {"source": str(tmp_path / "rows.csv"), "schema": str(tmp_path / "schema.toml")}
    return Means(1, TableSettings.model_validate(files), OURS)


def order_of(job: Proposal, means: Means, identity: Identity, known: str = "") -> Order:
    return Order(job, means, None, "", known, identity, b"secret")


@pytest.mark.parametrize("order", [("p", "q", "y"), ("q", "p", "y"), ("y", "q", "p"), ("q", "y"), ("y", "p")])
def test_rows_are_counted_in_the_order_of_the_job(
    means: Means, identities: dict[str, Identity], order: tuple[str, ...]
) -> None:
    """The parties' schemas may list the attributes in different orders: the job's is what counts."""
    job = proposal_of(Schema({name: OURS.attributes[name] for name in order}, "y"), party=1)
    expected = {"p": [[1, 2], [0, 0]], "q": [[0, 1], [1, 1]]}
    with executor.opened(order_of(job, means, identities["alice"])) as (source, _):
        counts = source.level(Open(), attributes=True)
    assert counts.classes.tolist() == [[1, 2]]
    assert [table[0].tolist() for table in counts.values] == [expected[name] for name in order if name != "y"]


def test_changed_rows_do_not_go_on(means: Means, identities: dict[str, Identity], tmp_path: Path) -> None:
    def fingerprint(job: Proposal, who: str, known: str = "") -> str:
        with executor.opened(order_of(job, means, identities[who], known)) as (_, found):
            return found

    job = proposal_of(OURS, party=1)
    known = fingerprint(job, "alice")
    assert fingerprint(job, "alice", known) == known
    assert fingerprint(proposal_of(OURS, party=1), "alice") != known, "two jobs' fingerprints can be compared"
    assert fingerprint(job, "bob") != known, "who knows the counts could compute it"
    (tmp_path / "rows.csv").write_text(ROWS + "1,1,y\n")
    with pytest.raises(InputError, match="changed"):
        fingerprint(job, "alice", known)


def test_more_rows_than_the_job_says_are_an_error(means: Means, identities: dict[str, Identity]) -> None:
    job = proposal_of(OURS, party=1, max_rows=2)
    with (
        pytest.raises(InputError, match="3 rows, more than 2"),
        executor.opened(order_of(job, means, identities["alice"])),
    ):
        pass
