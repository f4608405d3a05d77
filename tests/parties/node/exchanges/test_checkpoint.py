"""Going on after a break: a job opens one tree, whatever was lost."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.node.exchanges.checkpoint import BYTES, ROUNDS, common
from parties.node.exchanges.openings import Stored
from parties.node.log import outcome
from protocols.tree import Leaf, Open, Split, Tree, cut
from smc.errors import ProtocolError, SmcError
from smc.local import run_local
from smc.meter import Cost
from smc.session import Session
from tests.support.ledgers import OTHER, REPORT, STAGES, TASK, TREE, Pair, agreed, offer_otherwise

pytestmark = pytest.mark.slow

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
    assert TASK.states.decode(TASK.states.encode(stage)) == stage


@pytest.mark.parametrize(
    ("tree", "levels"), [(Open(), 0), (Leaf(1), 1), (STAGES[1], 1), (TREE, 3), (Split(0, (Leaf(0), Leaf(1))), 2)]
)
def test_the_levels_that_are_decided(tree: Tree, levels: int) -> None:
    assert TASK.states.steps(tree) == levels
    assert [TASK.states.steps(cut(tree, depth)) for depth in range(levels + 1)] == list(range(levels + 1))


def met(*states: Tree, openings: tuple[Stored, Stored] = (Stored(), Stored())) -> list[tuple[Tree, Stored]]:
    """From where two parties go on who have come so far."""

    def program(session: Session) -> tuple[Tree, Stored, int, int]:
        found = common(session, TASK, states[session.party], openings[session.party])
        total = session.meter.total
        return *found, total.rounds, total.bytes_sent + total.bytes_received

    both = run_local(program, kernels=())
    behind = TASK.states.steps(states[0]) != TASK.states.steps(states[1])
    assert {one[2:] for one in both} == {(ROUNDS + behind, BYTES + 64 * behind)}, "as it is estimated"
    return [one[:2] for one in both]


def test_two_go_on_from_the_last_step_that_both_have() -> None:
    for ours, theirs in itertools.product(range(4), repeat=2):
        states = [cut(TREE, depth) for depth in (ours, theirs)]
        if abs(ours - theirs) <= 1:
            first, second = met(*states)
            assert first[0] == second[0] == cut(TREE, min(ours, theirs))
        else:
            with pytest.raises(ProtocolError, match="levels and this party"):
                met(*states)
    with pytest.raises(ProtocolError, match="trees differ above level 2"):
        met(cut(OTHER, 2), cut(TREE, 2))
    with pytest.raises(ProtocolError, match="trees differ above level 3"):
        met(OTHER, TREE)
    shares = (b"a", b"b"), (b"c",)
    left = [Stored(1, 1, shares[0], b"seed"), Stored(1, 0, shares[1], b"seed")]
    (_, ours), (_, theirs) = met(STAGES[1], STAGES[1], openings=(left[0], left[1]))
    assert (ours, theirs) == (Stored(1, 1, (b"a",), b"seed"), Stored(1, 0, (b"c",), b"seed"))
    assert [stored for _, stored in met(TREE, TREE, openings=(left[0], left[1]))] == [Stored()] * 2, "it is done"


def cut_short(pair: Pair, tree: Tree) -> str:
    """A job that alice has brought to `tree`; then the link broke."""
    job = agreed(pair)
    ledger = pair.parties[0].ledger
    ledger.runs.begin(job, "bob")
    ledger.runs.met(job, 0, "mixed")
    ledger.runs.reached(job, TASK.states.encode(tree), COST)
    ledger.runs.broke(job, "the link broke", COST)
    ledger.runs.over(job)
    ledger.runs.begin(job, "bob")
    return job


def test_a_checkpoint_never_goes_back(pair: Pair) -> None:
    """A session that goes on from an earlier level, since the peer has lost the last one, forgets nothing."""
    job = cut_short(pair, cut(TREE, 2))
    alice = pair.parties[0]
    alice.ledger.runs.met(job, 1, "mixed")
    alice.ledger.runs.reached(job, TASK.states.encode(cut(TREE, 1)), COST)
    alice.crash()
    assert TASK.states.decode(alice.ledger.jobs.find(job).tree) == cut(TREE, 2)


def test_the_traffic_of_all_sessions_is_recorded(pair: Pair) -> None:
    job = cut_short(pair, cut(TREE, 2))
    ledger = pair.parties[0].ledger
    ledger.runs.met(job, 2, "mixed")
    ledger.runs.computed(job, TASK.states.encode(TREE), Cost(10, 20, 30, 40), REPORT)
    finished = next(entry for entry in ledger.log.entries(100, None) if entry.kind == "finished")
    total = [Cost(1, 2, 3, 4), Cost(10, 20, 30, 40)]
    for name in ("bytes_sent", "bytes_received", "rounds"):
        assert finished.fields[name] == sum(getattr(cost, name) for cost in total)


@pytest.mark.parametrize("last", ["reached", "computed"])
def test_another_tree_the_second_time_ends_the_job(pair: Pair, last: str) -> None:
    """The same rows have one tree: another one means other rows at the peer's, whatever it says of levels it lost."""
    job = cut_short(pair, TREE)
    ledger = pair.parties[0].ledger
    ledger.runs.met(job, 2, "mixed")
    steps = {
        "reached": lambda: ledger.runs.reached(job, TASK.states.encode(Split(1, (Open(), Open(), Open()))), COST),
        "computed": lambda: ledger.runs.computed(job, TASK.states.encode(OTHER), COST, REPORT),
    }
    with pytest.raises(SmcError):
        steps[last]()
    record = ledger.jobs.find(job)
    assert TASK.states.decode(record.tree) == TREE
    assert record.ours.signed is None


def test_a_level_that_is_opened_again_is_recorded_again(pair: Pair) -> None:
    """What the log says was opened is what was opened, in all sessions."""
    job = cut_short(pair, cut(TREE, 2))
    ledger = pair.parties[0].ledger
    ledger.runs.met(job, 1, "mixed")
    ledger.runs.reached(job, TASK.states.encode(cut(TREE, 2)), COST)
    depths = [entry.fields["depth"] for entry in ledger.log.entries(100, None) if entry.kind == "opened"]
    assert sorted(depths) == [0, 1, 1]


def test_what_is_signed_names_the_job_and_its_whole_digest(pair: Pair) -> None:
    """So a signature for one job is none for another, of the same tree."""
    first, second = agreed(pair), agreed(pair)
    jobs = [pair.parties[0].ledger.jobs.find(job).ours.proposal for job in (first, second)]
    results = [outcome.result(job, TREE) for job in jobs]
    assert [(found["job"], found["digest"]) for found in results] == [(job.id, job.digest) for job in jobs]
    assert results[0] != results[1]
    assert results[0]["tree"] == results[1]["tree"]
    assert outcome.result(jobs[1], TREE, first) == {**results[1], "repeats": first}
    assert "repeats" not in results[0]


def begun(pair: Pair, job: str, depth: int, stages: list[Tree]) -> None:
    """A session at alice's, from this depth through these stages; then the link breaks."""
    ledger = pair.parties[0].ledger
    ledger.runs.begin(job, "bob")
    try:
        ledger.runs.met(job, depth, "mixed")
        for stage in stages:
            ledger.runs.reached(job, TASK.states.encode(stage), COST)
        ledger.runs.broke(job, "the link broke", COST)
    finally:
        ledger.runs.over(job)


def test_a_peer_that_goes_back_and_forth_gets_no_more_tries(pair: Pair) -> None:
    """Each session could be run with other rows: between two levels no more than five begin, wherever they begin."""
    job = agreed(pair)
    begun(pair, job, 0, [cut(TREE, 1), cut(TREE, 2)])
    for _ in range(2):
        begun(pair, job, 2, [])
        begun(pair, job, 1, [cut(TREE, 2)])
    for depth in (2, 1):
        with pytest.raises(ProtocolError, match="without progress"):
            begun(pair, job, depth, [])
    assert pair.parties[0].ledger.jobs.find(job).sessions == 5, "a session that was refused counts as begun"


def test_whoever_gets_further_has_all_tries_again(pair: Pair) -> None:
    """A job of many levels on a bad link ends well, if each level needs a few sessions only."""
    job = agreed(pair)
    begun(pair, job, 0, [])
    for depth in range(2):
        for _ in range(3):
            begun(pair, job, depth, [])
        begun(pair, job, depth, [cut(TREE, depth + 1)])
    assert pair.parties[0].ledger.jobs.find(job).sessions == 9


def test_the_tries_survive_a_crash(pair: Pair) -> None:
    job = agreed(pair)
    for _ in range(5):
        begun(pair, job, 0, [])
        pair.parties[0].crash()
    with pytest.raises(ProtocolError, match="5 sessions"):
        begun(pair, job, 0, [])


def test_the_tables_owner_may_allow_more(pair: Pair) -> None:
    offer_otherwise(pair.parties[0].offers, tries=7)
    job = agreed(pair)
    for _ in range(7):
        begun(pair, job, 0, [])
    with pytest.raises(ProtocolError, match="7 sessions"):
        begun(pair, job, 0, [])
