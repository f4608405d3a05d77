"""Going on after a break: the last common level, and that a job opens one tree, whatever the peer says it has lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.identity import Identity
from parties.node import checkpoint, outcome, runner
from parties.node.gate import Offer
from parties.node.proposal import JobFile, propose
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from protocols.tree import Leaf, Open, Split, Tree, cut
from smc.errors import InputError, ProtocolError, SmcError
from smc.local import run_local
from smc.meter import Cost
from tests.support.ledgers import OTHER, REPORT, STAGES, TREE, Pair, agreed

COST = Cost(1, 2, 3, 4)


def trees(depth: int) -> st.SearchStrategy[Tree]:
    """Whole trees with at most so many levels of questions."""
    leaves = st.builds(Leaf, st.integers(0, 3))
    if depth == 0:
        return leaves
    below = st.lists(trees(depth - 1), min_size=1, max_size=3).map(tuple)
    return st.one_of(leaves, st.builds(Split, st.integers(0, 5), below))


@given(trees(3), st.integers(0, 4))
def test_a_checkpoint_survives_the_disk(tree: Tree, depth: int) -> None:
    stage = cut(tree, depth)
    assert checkpoint.from_json(checkpoint.to_json(stage)) == stage


@pytest.mark.parametrize(
    ("tree", "levels"), [(Open(), 0), (Leaf(1), 1), (STAGES[1], 1), (TREE, 3), (Split(0, (Leaf(0), Leaf(1))), 2)]
)
def test_the_levels_that_are_decided(tree: Tree, levels: int) -> None:
    assert checkpoint.decided(tree) == levels
    assert [checkpoint.decided(cut(tree, depth)) for depth in range(levels + 1)] == list(range(levels + 1))


def met(own: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
    left, right = run_local(lambda session: checkpoint.common(session, own[session.party]))
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
            return checkpoint.common(session, STAGES[1])  # type: ignore[arg-type]
        start = cut(STAGES[1], 0 if claimed < 0 else 1)
        session.send("checkpoint.levels", np.array([claimed], dtype=np.int64))  # type: ignore[attr-defined]
        session.receive("checkpoint.levels", np.int64, (1,))  # type: ignore[attr-defined]
        session.send("checkpoint.digest", np.frombuffer(checkpoint.digest(start), dtype=np.uint8))  # type: ignore[attr-defined]
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


def cut_short(pair: Pair, tree: Tree) -> str:
    """A job that alice has brought to `tree`; then the link broke."""
    job = agreed(pair)
    ledger = pair.parties[0].ledger
    ledger.begin(job)
    ledger.met(job, 0, "mixed", "f" * 64)
    ledger.reached(job, tree, COST)
    ledger.broke(job, "the link broke", COST)
    ledger.over(job)
    ledger.begin(job)
    return job


def test_a_checkpoint_never_goes_back(pair: Pair) -> None:
    """A session that goes on from an earlier level, since the peer has lost the last one, forgets nothing."""
    job = cut_short(pair, cut(TREE, 2))
    alice = pair.parties[0]
    alice.ledger.met(job, 1, "mixed", "f" * 64)
    alice.ledger.reached(job, cut(TREE, 1), COST)
    alice.crash()
    assert checkpoint.from_json(alice.ledger.find(job).tree) == cut(TREE, 2)


def test_the_traffic_of_all_sessions_is_recorded(pair: Pair) -> None:
    job = cut_short(pair, cut(TREE, 2))
    ledger = pair.parties[0].ledger
    ledger.met(job, 2, "mixed", "f" * 64)
    ledger.computed(job, TREE, Cost(10, 20, 30, 40), REPORT)
    finished = next(entry for entry in ledger.entries(100, None) if entry.kind == "finished")
    total = [Cost(1, 2, 3, 4), Cost(10, 20, 30, 40)]
    for name in ("bytes_sent", "bytes_received", "rounds"):
        assert finished.fields[name] == sum(getattr(cost, name) for cost in total)


@pytest.mark.parametrize("last", ["reached", "computed"])
def test_another_tree_the_second_time_ends_the_job(pair: Pair, last: str) -> None:
    """The same rows have one tree: another one means other rows at the peer's, whatever it says of levels it lost."""
    job = cut_short(pair, TREE)
    ledger = pair.parties[0].ledger
    ledger.met(job, 2, "mixed", "f" * 64)
    steps = {
        "reached": lambda: ledger.reached(job, Split(1, (Open(), Open(), Open())), COST),
        "computed": lambda: ledger.computed(job, OTHER, COST, REPORT),
    }
    with pytest.raises(SmcError):
        steps[last]()
    record = ledger.find(job)
    assert checkpoint.from_json(record.tree) == TREE
    assert record.ours.signed is None


def test_a_level_that_is_opened_again_is_recorded_again(pair: Pair) -> None:
    """What the log says was opened is what was opened, in all sessions."""
    job = cut_short(pair, cut(TREE, 2))
    ledger = pair.parties[0].ledger
    ledger.met(job, 1, "mixed", "f" * 64)
    ledger.reached(job, cut(TREE, 2), COST)
    depths = [entry.fields["depth"] for entry in ledger.entries(100, None) if entry.kind == "opened"]
    assert sorted(depths) == [0, 1, 1]


def test_what_is_signed_names_the_job_and_its_whole_digest(pair: Pair) -> None:
    """So a signature for one job is none for another, of the same tree."""
    first, second = agreed(pair), agreed(pair)
    jobs = [pair.parties[0].ledger.find(job).ours.proposal for job in (first, second)]
    results = [outcome.result(job, TREE) for job in jobs]
    assert [(found["job"], found["digest"]) for found in results] == [(job.id, job.digest) for job in jobs]
    assert results[0] != results[1]
    assert results[0]["tree"] == results[1]["tree"]


# The rows of a session.

OURS = Schema({"p": ("0", "1"), "q": ("0", "1"), "y": ("n", "y")}, "y")
ROWS = "p,q,y\n0,1,n\n0,1,y\n0,0,y\n"


@pytest.fixture
def offer(tmp_path: Path) -> Offer:
    OURS.save(tmp_path / "schema.toml")
    (tmp_path / "rows.csv").write_text(ROWS)
    files = {"source": str(tmp_path / "rows.csv"), "schema": str(tmp_path / "schema.toml")}
    return Offer(TableSettings.model_validate(files), OURS)


@pytest.mark.parametrize("order", [("p", "q", "y"), ("q", "p", "y"), ("y", "q", "p"), ("q", "y"), ("y", "p")])
def test_rows_are_counted_in_the_order_of_the_job(
    offer: Offer, identities: dict[str, Identity], order: tuple[str, ...]
) -> None:
    """The parties' schemas may list the attributes in different orders: the job's is what counts."""
    job = propose(JobFile(table="rows"), Schema({name: OURS.attributes[name] for name in order}, "y"), 100, 1)
    expected = {"p": [[1, 2], [0, 0]], "q": [[0, 1], [1, 1]]}
    with runner.rows_of(job, offer, identities["alice"], "") as rows:
        counts = rows.source.level(Open(), attributes=True)
    assert counts.classes.tolist() == [[1, 2]]
    assert [table[0].tolist() for table in counts.values] == [expected[name] for name in order if name != "y"]


def test_changed_rows_do_not_go_on(offer: Offer, identities: dict[str, Identity], tmp_path: Path) -> None:
    job = propose(JobFile(table="rows"), OURS, 100, 1)
    with runner.rows_of(job, offer, identities["alice"], "") as rows:
        known = rows.fingerprint
    with runner.rows_of(job, offer, identities["alice"], known) as rows:
        assert rows.fingerprint == known
    with runner.rows_of(propose(JobFile(table="rows"), OURS, 100, 1), offer, identities["alice"], "") as rows:
        assert rows.fingerprint != known, "two jobs' fingerprints can be compared"
    with runner.rows_of(job, offer, identities["bob"], "") as rows:
        assert rows.fingerprint != known, "who knows the counts could compute it"
    (tmp_path / "rows.csv").write_text(ROWS + "1,1,y\n")
    with pytest.raises(InputError, match="changed"), runner.rows_of(job, offer, identities["alice"], known):
        pass


def test_more_rows_than_the_job_says_are_an_error(offer: Offer, identities: dict[str, Identity]) -> None:
    job = propose(JobFile(table="rows", max_rows=2), OURS, 100, 1)
    with pytest.raises(InputError, match="3 rows, more than 2"), runner.rows_of(job, offer, identities["alice"], ""):
        pass
